"""The Stable-Baselines3 VecEnv: what that library and sb3-contrib ask of it, and the same games as VersusEnv."""

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecMonitor

from santase_env.compiled import Array
from santase_env.policy import RandomPolicy
from santase_env.sb3 import SantaseSB3VecEnv
from santase_env.versus import VersusEnv


def first_legal(masks: Array) -> Array:
    return np.asarray(masks).argmax(axis=1)


def test_every_row_plays_the_games_of_the_single_environment() -> None:
    env = SantaseSB3VecEnv(4, "greedy", "classic", canonical_suits=True, game=3)
    env.seed(11)
    rows = env.reset()
    singles = [VersusEnv("greedy", "classic", canonical_suits=True, game=3 + i) for i in range(4)]
    seen = [single.reset(seed=11)[0] for single in singles]
    for _ in range(60):
        for i, observation in enumerate(seen):
            np.testing.assert_array_equal(rows[i], observation["observation"])
            np.testing.assert_array_equal(env.action_masks()[i], observation["action_mask"].astype(bool))
        actions = first_legal(env.action_masks())
        rows, rewards, dones, infos = env.step(actions)
        for i, single in enumerate(singles):
            observation, reward, over, _, info = single.step(int(actions[i]))
            assert (rewards[i], dones[i]) == (reward, over)
            if over:
                assert {key: infos[i][key] for key in info} == info
                np.testing.assert_array_equal(infos[i]["terminal_observation"], observation["observation"])
                observation, _ = single.reset()
            seen[i] = observation


def test_what_the_libraries_ask_for_is_there() -> None:
    """sb3-contrib 49, 256: the mask function lost behind wrappers."""
    env = SantaseSB3VecEnv(3)
    assert env.get_attr("render_mode") == [None, None, None]
    assert env.has_attr("action_masks")
    assert not env.has_attr("nothing")
    wrapped = VecMonitor(env)
    wrapped.reset()
    assert is_masking_supported(wrapped)
    np.testing.assert_array_equal(get_action_masks(wrapped), env.action_masks())
    assert env.env_method("action_masks", indices=[1])[0].tolist() == env.action_masks()[1].tolist()
    assert env.env_is_wrapped(VecMonitor) == [False] * 3
    with pytest.raises(AttributeError, match="no method 'render'"):
        env.env_method("render")


def test_monitored_returns_are_game_points() -> None:
    wrapped = VecMonitor(SantaseSB3VecEnv(8, "random", "classic"))
    wrapped.reset()
    returns = []
    for _ in range(100):
        _, _, dones, infos = wrapped.step(first_legal(get_action_masks(wrapped)))
        returns += [infos[i]["episode"]["r"] for i in np.flatnonzero(dones)]
    assert set(returns) <= {-3, -2, -1, 0, 1, 2, 3}
    assert len(set(returns)) > 3


def test_an_illegal_action_costs_the_deal() -> None:
    env = SantaseSB3VecEnv(2, "random", "classic", reward_scale=0.5)
    env.seed(0)
    env.reset()
    illegal = (~env.action_masks()).argmax(axis=1)
    _, rewards, dones, infos = env.step(illegal)
    assert rewards.tolist() == [-1.5, -1.5]
    assert dones.all()
    assert infos[0]["illegal"] == 1


def test_without_a_reset_there_is_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"call reset\(\) first"):
        SantaseSB3VecEnv(2).step(np.zeros(2, np.int64))


class Counting(RandomPolicy):
    """Remembers which deals it was asked about, by what is the same all through a deal."""

    def __init__(self) -> None:
        super().__init__()
        self.deals: set[bytes] = set()

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        for view in views:
            self.deals.add(view["cards"][:6].tobytes() + bytes([view["turned_up"], view["seat"], view["opener"]]))
        return super().act(views, masks, keys)


def test_opponents_are_bound_to_their_deals_and_drawn_by_their_shares() -> None:
    """PufferLib 620: opponents swapped in the middle of a game."""
    env = SantaseSB3VecEnv(50, "random", "classic")
    env.seed(1)
    env.reset()
    players: list[Counting] = []
    for _ in range(20):
        group = [Counting(), Counting()]
        players += group
        env.set_opponents(group, [0.8, 0.2])
        for _ in range(15):
            env.step(first_legal(env.action_masks()))
    for number, player in enumerate(players):
        for other in players[number + 1 :]:
            assert not player.deals & other.deals
    often, seldom = (sum(len(player.deals) for player in players[k::2]) for k in range(2))
    assert often + seldom > 1000
    assert often / (often + seldom) == pytest.approx(0.8, abs=0.05)
    assert len(env.duels.opponents) <= 6, "those without a deal are forgotten"


@pytest.mark.parametrize("shares", [[], [1.0], [-1.0, 2.0], [0.0, 0.0]])
def test_shares_that_do_not_fit_are_refused(shares: list[float]) -> None:
    with pytest.raises(ValueError, match="a share of at least 0 for every opponent"):
        SantaseSB3VecEnv(2).set_opponents(["random", "greedy"], shares)


def test_the_actions_of_both_players_are_counted() -> None:
    env = SantaseSB3VecEnv(6, "random", "classic")
    env.seed(2)
    env.reset()
    counted, lengths = 0, np.array(env.duels.states["log_length"], np.int64)
    counted += int(lengths.sum())
    for _ in range(80):
        states = env.duels.states.copy()
        env.step(first_legal(env.action_masks()))
        same = env.duels.states["deal"] == states["deal"]
        counted += int((env.duels.states["log_length"][same].astype(int) - states["log_length"][same]).sum())
        # A deal that ended: what was left of it cannot be seen any more, so ask the counter for the sum of both.
        if not same.all():
            counted = env.actions_taken
        assert env.actions_taken == counted


def test_maskable_ppo_learns_on_it() -> None:
    env = SantaseSB3VecEnv(16, "random", "classic", canonical_suits=True)
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=64, seed=1)
    model.learn(512)
    actions, _ = model.predict(env.reset(), action_masks=env.action_masks(), deterministic=True)
    assert env.action_masks()[np.arange(16), actions].all()
