"""SantaseVectorEnv equals the scalar game step by step, and keeps its contract."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from santase_env import Game, Rules, SantaseVectorEnv, engine
from santase_env.actions import ANNOUNCE, CLAIM, EXCHANGE, NUM_ACTIONS
from santase_env.batch import new_games, opener_of
from santase_env.cards import NUM_CARDS, NUM_RANKS
from santase_env.observation import encode
from santase_env.state import REASONS


class ScalarGame:
    """One game of the vector environment, played with Game alone."""

    def __init__(self, rules: Rules, seed: int, number: int, episode: str, skip_forced: bool) -> None:
        self.number, self.episode, self.skip_forced = number, episode, skip_forced
        self.game = Game(rules, seed)
        self.game._states = new_games(1, rules, seed, number)
        self.begin()

    def begin(self) -> None:
        engine.new_match(self.game.state, opener_of(self.number, int(self.game.state.deal)))

    def step(self, action: int) -> dict[str, Any]:
        game = self.game
        game.apply(action)
        steps = 1
        while self.skip_forced and not game.over and len(game.legal_actions()) == 1:
            game.apply(game.legal_actions()[0])
            steps += 1
        told: dict[str, Any] = {"rewards": [0, 0], "terminated": False, "deal_over": game.over, "steps": steps}
        if game.over:
            told["result"] = game.result
            if self.episode == "match" and max(game.state.match_points) < game.rules.match_target:
                engine.next_deal(game.state)
            else:
                told["terminated"] = True
                if game.result is not None and game.result.winner is not None:
                    won = 1 if self.episode == "match" else max(game.result.game_points)
                    told["rewards"] = [won if seat == game.result.winner else -won for seat in range(2)]
                game.state.deal += 1
                self.begin()
        return told


def canonical_names(trump: int) -> list[int]:
    """Of every real action, its number when trumps come first."""
    order = [trump, *(suit for suit in range(4) if suit != trump)]
    cards = [order.index(card // NUM_RANKS) * NUM_RANKS + card % NUM_RANKS for card in range(NUM_CARDS)]
    return [*cards, *(ANNOUNCE + order.index(suit) for suit in range(4)), *range(EXCHANGE, NUM_ACTIONS)]


@pytest.mark.parametrize(
    ("rules", "episode", "canonical_suits", "skip_forced"),
    [
        ("online,false_claim=illegal", "deal", False, False),
        ("online,false_claim=illegal", "deal", True, True),
        ("paper", "match", False, True),
        ("classic", "match", True, False),
        ("online", "match", False, False),
        ("paper,ranks=QKTA,suits=CH,hand_size=2,target=30,schneider=15", "deal", True, True),
    ],
)
def test_every_step_equals_the_scalar_game(rules: str, episode: Any, canonical_suits: bool, skip_forced: bool) -> None:
    count, seed = 6, 11
    options: dict[str, Any] = {"episode": episode, "canonical_suits": canonical_suits, "skip_forced": skip_forced}
    env = SantaseVectorEnv(count, rules, **options)
    games = [ScalarGame(Rules.of(rules), seed, i, episode, skip_forced) for i in range(count)]
    observation, info = env.reset(seed=seed)
    random = np.random.default_rng(0)
    ended = 0
    for _ in range(500):
        actions = np.zeros(count, np.int64)
        real = np.zeros(count, np.int64)
        for i, scalar in enumerate(games):
            game = scalar.game
            assert info["player"][i] == game.player
            names = canonical_names(int(game.state.trump)) if canonical_suits else list(range(NUM_ACTIONS))
            assert (
                sorted(names[action] for action in game.legal_actions())
                == observation["action_mask"][i].nonzero()[0].tolist()
            )
            row = encode(game.view(game.player), canonical_suits)
            np.testing.assert_array_equal(observation["observation"][i], row)
            legal = [action for action in game.legal_actions() if action != CLAIM or random.random() < 0.1]
            real[i] = random.choice(legal or [CLAIM])
            actions[i] = names[real[i]]
        observation, rewards, terminations, truncations, info = env.step(actions)
        assert not truncations.any()
        for i, scalar in enumerate(games):
            told = scalar.step(int(real[i]))
            assert rewards[i].tolist() == told["rewards"]
            assert terminations[i] == told["terminated"]
            assert info["deal_over"][i] == told["deal_over"]
            assert info["steps"][i] == told["steps"]
            if "result" in told:
                result, final = told["result"], {key: value[i] for key, value in info["final"].items()}
                assert final["winner"] == (-1 if result.winner is None else result.winner)
                assert tuple(final["game_points"]) == result.game_points
                assert tuple(final["points"]) == result.points
                assert tuple(final["tricks"]) == result.tricks
                assert REASONS[final["reason"]] == result.reason
                ended += told["terminated"]
    assert ended >= 2


def play(env: SantaseVectorEnv, steps: int, observation: dict[str, Any]) -> list[Any]:
    """First legal actions for some steps, and all that came back."""
    history = []
    for _ in range(steps):
        result = env.step(observation["action_mask"].argmax(axis=1))
        observation = result[0]
        history.append(result)
    return history


def same(first: Any, second: Any) -> bool:
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return bool(np.array_equal(first, second))


def test_a_deal_does_not_depend_on_the_games_around_it() -> None:
    few, many = SantaseVectorEnv(2), SantaseVectorEnv(9)
    first, second = few.reset(seed=5)[0], many.reset(seed=5)[0]
    for one, other in zip(play(few, 60, first), play(many, 60, second), strict=True):
        np.testing.assert_array_equal(one[0]["observation"], other[0]["observation"][:2])
        np.testing.assert_array_equal(one[1], other[1][:2])


def test_deal_0_of_game_0_is_that_of_game() -> None:
    env = SantaseVectorEnv(3)
    env.reset(seed=7)
    assert env.states[0].dealt.tolist() == Game(seed=7).state.dealt.tolist()


def test_rewards_of_the_two_seats_sum_to_zero_whoever_moved_last_tianshou_399() -> None:
    env = SantaseVectorEnv(64)
    observation, info = env.reset(seed=1)
    seen = set()
    for _ in range(100):
        movers = info["player"]
        observation, rewards, terminations, _, info = env.step(observation["action_mask"].argmax(axis=1))
        assert (rewards.sum(axis=1) == 0).all()
        assert not rewards[~terminations].any()
        for i in np.flatnonzero(terminations):
            won = info["final"]["winner"][i]
            assert rewards[i, won] == info["final"]["game_points"][i, won] > 0
            seen.add((int(won), bool(won == movers[i])))
    assert seen == {(0, True), (0, False), (1, True), (1, False)}


def test_a_new_deal_keeps_no_flag_of_the_one_before_pgx_1315() -> None:
    env = SantaseVectorEnv(8)
    observation, _ = env.reset(seed=1)
    terminations = np.zeros(8, bool)
    while not terminations.any():
        observation, _, terminations, _, _ = env.step(observation["action_mask"].argmax(axis=1))
    observation, info = env.reset()
    assert not info["deal_over"].any()
    _, rewards, terminations, _, info = env.step(observation["action_mask"].argmax(axis=1))
    assert not terminations.any()
    assert not info["deal_over"].any()
    assert not rewards.any()


def test_reset_without_a_seed_goes_on_to_the_next_deal() -> None:
    env = SantaseVectorEnv(2)
    first, _ = env.reset(seed=3)
    second, info = env.reset()
    assert not np.array_equal(first["observation"], second["observation"])
    assert info["player"].tolist() == [1, 0]
    assert env.states["deal"].tolist() == [1, 1]


def test_copy_decides_who_owns_the_arrays() -> None:
    for share in (False, True):
        env = SantaseVectorEnv(4, copy=not share)
        observation, _ = env.reset(seed=2)
        first = env.step(observation["action_mask"].argmax(axis=1))
        second = env.step(first[0]["action_mask"].argmax(axis=1))
        pairs = [
            (first[0]["observation"], second[0]["observation"]),
            (first[0]["action_mask"], second[0]["action_mask"]),
            (first[1], second[1]),
            (first[2], second[2]),
            (first[4]["player"], second[4]["player"]),
            (first[4]["final"]["points"], second[4]["final"]["points"]),
        ]
        assert all(np.shares_memory(one, other) == share for one, other in pairs)


def test_shared_and_copied_arrays_hold_the_same() -> None:
    copied, shared = SantaseVectorEnv(4), SantaseVectorEnv(4, copy=False)
    observation, _ = copied.reset(seed=2)
    shared.reset(seed=2)
    for _ in range(60):
        actions = observation["action_mask"].argmax(axis=1)
        one, other = copied.step(actions), shared.step(actions)
        assert same(one, other)
        observation = one[0]


@pytest.mark.parametrize("action", [-1, 31, 2**40, None])
def test_an_illegal_action_names_the_game_and_moves_none(action: int | None) -> None:
    env = SantaseVectorEnv(5)
    observation, _ = env.reset(seed=2)
    before = env.states.copy()
    actions = observation["action_mask"].argmax(axis=1)
    actions[3] = observation["action_mask"][3].argmin() if action is None else action
    with pytest.raises(ValueError, match=r"game 3: action -?\d+ is not legal for player 1; no game has moved"):
        env.step(actions)
    assert (env.states == before).all()


@pytest.mark.parametrize("actions", [[0, 1], [0.0, 1.0, 2.0], [[0, 1, 2]], "abc"])
def test_actions_of_a_wrong_kind_are_refused(actions: Any) -> None:
    env = SantaseVectorEnv(3)
    env.reset(seed=2)
    with pytest.raises(ValueError, match="actions must be 3 integers, one per game"):
        env.step(actions)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_mid_deal_goes_on_by_itself(duplicate: Any) -> None:
    env = SantaseVectorEnv(4, episode="match", canonical_suits=True)
    observation, _ = env.reset(seed=2)
    observation = play(env, 9, observation)[-1][0]
    other = duplicate(env)
    history = play(env, 50, observation)
    assert same(history, play(other, 50, observation))


def test_wrong_options_are_named() -> None:
    with pytest.raises(ValueError, match="num_envs must be an integer of at least 1, not 0"):
        SantaseVectorEnv(0)
    with pytest.raises(ValueError, match="episode must be 'deal' or 'match', not 'game'"):
        SantaseVectorEnv(1, episode="game")
    with pytest.raises(ValueError, match="call reset"):
        SantaseVectorEnv(1).step([0])


RULES_MIXED = "classic | online,false_claim=illegal | paper"


def play_together(envs: list[SantaseVectorEnv], steps: int) -> list[bytes]:
    """What environments that share the games of one seed show and do, put together."""
    told: list[bytes] = []
    observations = [env.reset(seed=4)[0] for env in envs]
    for _ in range(steps):
        for key in ("observation", "action_mask"):
            told.append(np.concatenate([seen[key] for seen in observations]).tobytes())
        told.append(np.concatenate([env.states for env in envs]).tobytes())
        results = [env.step(seen["action_mask"].argmax(axis=1)) for env, seen in zip(envs, observations, strict=True)]
        observations = [result[0] for result in results]
        told.append(np.concatenate([result[1] for result in results]).tobytes())
    return told


@pytest.mark.parametrize("rules", ["classic", RULES_MIXED])
def test_environments_that_share_the_games_of_a_seed_play_what_one_does(rules: str) -> None:
    whole = play_together([SantaseVectorEnv(11, rules)], 60)
    parts = play_together([SantaseVectorEnv(4, rules), SantaseVectorEnv(7, rules, first_game=4)], 60)
    assert parts == whole


def test_in_a_mixture_every_game_keeps_its_rules() -> None:
    env = SantaseVectorEnv(7, RULES_MIXED)
    assert [str(rules) for rules in env.mixture] == RULES_MIXED.split(" | ")
    assert env.rules == env.mixture[0]
    observations, _ = env.reset(seed=1)
    for _ in range(300):
        observations, *_ = env.step(observations["action_mask"].argmax(axis=1))
    assert (env.states["deal"] > 0).all()
    for game in range(7):
        assert Rules.from_packed(env.states[game]) == env.mixture[game % 3]
    saved = env.states.copy()
    env.load_states(saved)
    with pytest.raises(ValueError, match=r"under rules classic \| online,false_claim=illegal \| paper"):
        env.load_states(saved[::-1].copy())


@pytest.mark.parametrize("first_game", [-1, 1.5])
def test_an_impossible_first_game_is_refused(first_game: Any) -> None:
    with pytest.raises(ValueError, match="first_game must be an integer of at least 0"):
        SantaseVectorEnv(2, first_game=first_game)


def test_recall_stands_behind_the_observation() -> None:
    plain, long = (SantaseVectorEnv(5, "classic", canonical_suits=True, recall=recall) for recall in (False, True))
    seen, more = plain.reset(seed=2)[0], long.reset(seed=2)[0]
    for _ in range(40):
        size = seen["observation"].shape[1]
        assert more["observation"].shape == (5, *(long.single_observation_space["observation"].shape or ()))
        assert (more["observation"][:, :size] == seen["observation"]).all()
        for row, view in enumerate(long.views()):
            assert (more["observation"][row] == encode(view, canonical_suits=True, recall=True)).all()
        actions = seen["action_mask"].argmax(axis=1)
        seen, more = plain.step(actions)[0], long.step(actions)[0]
