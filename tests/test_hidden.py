"""What critics see: exactly what the observation does not show."""

import numpy as np
import pytest

from santase_env import SantaseVectorEnv
from santase_env.cards import NUM_CARDS
from santase_env.hidden import HIDDEN_LAYOUT, HIDDEN_SIZE
from santase_env.observation import real_action


@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("rules", ["classic", "online"])
def test_hand_and_talon_are_those_of_the_state(rules: str, canonical: bool) -> None:
    env = SantaseVectorEnv(40, rules, canonical_suits=canonical)
    rng = np.random.default_rng(1)
    observations, info = env.reset(seed=3)
    assert sum(piece.size for piece in HIDDEN_LAYOUT) == HIDDEN_SIZE
    for _ in range(60):
        rows = env.hidden()
        assert rows.shape == (40, HIDDEN_SIZE)
        for game, state in enumerate(env.states):
            told = {piece.name: rows[game, piece.start : piece.start + piece.size] for piece in HIDDEN_LAYOUT}

            def real(cards: np.ndarray, trump: int = int(state.trump)) -> list[int]:
                return [real_action(int(card), trump) if canonical else int(card) for card in cards]

            hand = int(state.hands[1 - info["player"][game]])
            assert sorted(real(np.flatnonzero(told["hand_theirs"]))) == [c for c in range(NUM_CARDS) if hand >> c & 1]
            talon = [int(card) for card in state.dealt[state.deck_size - state.talon : state.deck_size]]
            if talon:
                talon[-1] = int(state.face_up)
            order = sorted(np.flatnonzero(told["order"]), key=lambda card: -float(told["order"][card]))
            assert real(np.array(order, int)) == talon
            assert real(np.flatnonzero(told["next"])) == talon[:1]
        masks = observations["action_mask"]
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        observations, _, _, _, info = env.step(actions)


def test_rows_are_written_where_they_are_wanted() -> None:
    env = SantaseVectorEnv(3)
    env.reset(seed=1)
    out = np.ones((3, HIDDEN_SIZE), np.float32)
    assert env.hidden(out) is out
    assert (out == env.hidden()).all()
