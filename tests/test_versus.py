"""One learner against a policy: the single environment equals the scalar game, the vector one equals the single."""

import copy
import pickle
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from santase_env import Game, RandomPolicy, Rules, VersusEnv, VersusVectorEnv, engine, load_policy
from santase_env.actions import CLAIM, CLOSE
from santase_env.cards import NUM_CARDS
from santase_env.compiled import Array
from santase_env.duel import INFO_KEYS
from santase_env.rng import derive, game_key
from santase_env.state import LOG_SIZE, REASONS

MODES = list(AutoresetMode)


class Watcher:
    """A random player that looks at what it is given."""

    def __init__(self) -> None:
        self.policy = RandomPolicy()
        self.asked = 0

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        assert len(views) == len(masks) == len(keys) == len(set(keys.tolist()))
        assert (masks.sum(axis=1) > 1).all()
        for view, mask in zip(views, masks, strict=True):
            assert view.player == view.seat
            assert not mask[[card for card in range(NUM_CARDS) if not view.hand >> card & 1]].any()
        self.asked += len(views)
        return self.policy.act(views, masks, keys)


class FalseClaimer:
    """Claims at once, right or wrong."""

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        return np.where(masks[:, CLAIM] == 1, CLAIM, masks.argmax(axis=1))


class Stubborn:
    """Always closes, legal or not."""

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        return np.full(len(views), CLOSE)


def choose(masks: Array, random: np.random.Generator, illegal: float = 0.0) -> Array:
    """A legal action for every row [N, 31], or with some chance an illegal one."""
    wanted = masks.astype(bool) ^ (random.random((len(masks), 1)) < illegal)
    return np.array([random.choice(row.nonzero()[0]) if row.any() else 0 for row in wanted])


def play_out(env: Any, observation: Any) -> tuple[float, Any]:
    """First legal actions to the end of the episode; returns the reward and the last info."""
    while True:
        observation, reward, terminated, _, info = env.step(int(observation["action_mask"].argmax()))
        if terminated:
            return reward, info


@pytest.mark.parametrize("opponent", ["random", "greedy"])
@pytest.mark.parametrize("rules", ["online,false_claim=illegal", "paper", "classic"])
def test_every_step_equals_the_scalar_game(opponent: str, rules: str) -> None:
    policy = load_policy(opponent)
    env, random, seed = VersusEnv(opponent, rules), np.random.default_rng(2), 9
    for deal in range(12):
        observation, info = env.reset(seed=seed if deal == 0 else None)
        game = Game(rules, seed)
        game.state.deal = deal
        engine.deal(game.state, deal % 2)
        seat, reward, terminated = deal // 2 % 2, 0.0, False
        assert info["seat"] == seat
        while True:
            while game.player == 1 - seat:
                key = np.uint64(game_key(seed, 0))
                for counter in (deal, (NUM_CARDS + game.player) * LOG_SIZE + len(game.actions())):
                    key = np.uint64(derive(key, counter))
                mask = game.observation(game.player)["action_mask"]
                view = np.array([game.view(game.player)], game.view(game.player).dtype)
                game.apply(int(policy.act(view, mask[None], np.array([key]))[0]))
            assert data_equivalence(observation, game.observation(seat), exact=True)
            assert terminated == game.over
            if terminated:
                break
            assert reward == 0
            action = int(choose(observation["action_mask"][None], random)[0])
            game.apply(action)
            observation, reward, terminated, truncated, info = env.step(action)
            assert not truncated
        result = game.result
        assert result is not None
        assert reward == result.game_points[seat] - result.game_points[1 - seat]
        assert info["winner"] == (-1 if result.winner is None else result.winner)
        assert info["game_points"] == result.game_points[seat]
        assert info["points"] == result.points[seat]
        assert info["tricks"] == result.tricks[seat]
        assert REASONS[info["reason"]] == result.reason
        assert (info["illegal"], info["deals"], info["seat"], info["skipped"]) == (0, 1, seat, 0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "options",
    [
        {"opponent": "greedy"},
        {"opponent": "random", "episode": "match", "canonical_suits": True},
        {"opponent": RandomPolicy(claims="any"), "rules": "online", "seat": 1},
    ],
    ids=["deals", "matches", "false claims"],
)
def test_vector_equals_single_environments_in_gymnasiums_own_loop_cleanrl_499(
    mode: AutoresetMode, options: dict[str, Any]
) -> None:
    count, seed, random = 5, 21, np.random.default_rng(4)
    native = VersusVectorEnv(count, **options, autoreset_mode=mode)
    loop = SyncVectorEnv([lambda i=i: VersusEnv(**options, game=i) for i in range(count)], autoreset_mode=mode)
    assert native.metadata["autoreset_mode"] is mode
    ends = 0
    observation, info = native.reset(seed=seed)
    assert data_equivalence((observation, info), loop.reset(seed=[seed] * count), exact=True)
    for _ in range(250):
        actions = choose(observation["action_mask"], random, illegal=0.01)
        mine, theirs = native.step(actions), loop.step(actions)
        assert data_equivalence(mine, theirs, exact=True)
        observation, _, terminations, _, _ = mine
        ends += terminations.sum()
        if mode is AutoresetMode.DISABLED and terminations.any():
            mine = native.reset(options={"reset_mask": terminations})
            theirs = loop.reset(options={"reset_mask": terminations})
            assert data_equivalence(mine, theirs, exact=True)
            observation = mine[0]
    assert ends > 5


def test_the_final_observation_is_not_lost_gymnasium_1103_envpool_33() -> None:
    env = VersusVectorEnv(16, autoreset_mode="SameStep")
    observation, _ = env.reset(seed=1)
    ended = False
    while not ended:
        observation, rewards, terminations, _, info = env.step(observation["action_mask"].argmax(axis=1))
        ended = terminations.any()
    assert observation["action_mask"].any(axis=1).all()
    for i in range(16):
        assert info["_final_obs"][i] == info["_final_info"][i] == terminations[i]
        if terminations[i]:
            assert not info["final_obs"][i]["action_mask"].any()
            assert info["final_info"]["deals"][i] == 1
            assert rewards[i] == 0 or info["final_info"]["winner"][i] >= 0
            assert info["deals"][i] == 0


def test_next_step_is_the_declared_default_and_ignores_the_action_of_a_finished_game() -> None:
    env = gymnasium.make_vec("Santase-v0", num_envs=8, vectorization_mode="vector_entry_point", opponent="greedy")
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    observation, _ = env.reset(seed=1)
    terminations = np.zeros(8, bool)
    while not terminations.any():
        observation, _, terminations, _, _ = env.step(observation["action_mask"].argmax(axis=1))
    actions = observation["action_mask"].argmax(axis=1)
    actions[terminations] = 99
    observation, rewards, after, _, info = env.step(actions)
    assert not after[terminations].any()
    assert not rewards[terminations].any()
    assert not info["illegal"].any()
    assert observation["action_mask"].any(axis=1)[terminations].all()


def test_disabled_autoreset_waits_for_its_caller() -> None:
    env = VersusVectorEnv(3, autoreset_mode=AutoresetMode.DISABLED)
    with pytest.raises(ValueError, match="the first reset all of them"):
        env.reset(options={"reset_mask": np.array([True, False, False])})
    observation, _ = env.reset(seed=1)
    terminations = np.zeros(3, bool)
    while not terminations.any():
        observation, _, terminations, _, _ = env.step(observation["action_mask"].argmax(axis=1))
    with pytest.raises(ResetNeeded, match=rf"game {terminations.argmax()} is over"):
        env.step(observation["action_mask"].argmax(axis=1))
    for wrong in ([True, True, True], np.ones(2, bool), np.ones(3), np.zeros(3, bool)):
        with pytest.raises(ValueError, match="reset_mask"):
            env.reset(options={"reset_mask": wrong})
    kept = {"reset_mask": terminations}
    after, info = env.reset(options=kept)
    assert kept["reset_mask"] is terminations
    assert info["_deals"].tolist() == terminations.tolist()
    assert after["action_mask"].any(axis=1).all()
    going = ~terminations
    np.testing.assert_array_equal(after["observation"][going], observation["observation"][going])


def test_a_game_does_not_depend_on_the_batch_around_it() -> None:
    few, many = VersusVectorEnv(2, "random"), VersusVectorEnv(9, "random")
    one, other = few.reset(seed=5)[0], many.reset(seed=5)[0]
    later = VersusVectorEnv(1, "random", game=1)
    third = later.reset(seed=5)[0]
    for _ in range(80):
        np.testing.assert_array_equal(one["observation"], other["observation"][:2])
        np.testing.assert_array_equal(third["observation"], other["observation"][1:2])
        one, other, third = (
            env.step(seen["action_mask"].argmax(axis=1))[0] for env, seen in ((few, one), (many, other), (later, third))
        )


def test_four_deals_show_both_seats_leading_and_following() -> None:
    env = VersusEnv()
    for reset_seed in (3, None):
        seen = set()
        for deal in range(4):
            _, info = env.reset(seed=reset_seed if deal == 0 else None)
            seen.add((info["seat"], int(env._duels.states["opener"][0])))
        assert len(seen) == 4
    for seat in (0, 1):
        fixed = VersusEnv(seat=seat)
        assert {fixed.reset()[1]["seat"] for _ in range(5)} == {seat}


def test_deals_over_before_the_learners_first_move_are_counted_and_not_lost() -> None:
    env = VersusEnv(FalseClaimer(), "online")
    total, deals = 0.0, 0
    observation, info = env.reset(seed=1)
    while deals < 20:
        total, deals = total + info["skipped_reward"], deals + info["skipped"]
        assert observation["action_mask"].any()
        assert env._duels.duels["episode"][0] == deals
        reward, info = play_out(env, observation)
        total, deals = total + reward, deals + 1
        observation, info = env.reset()
    # The opponent claims on its first turn, before it has a trick: 3 game points in every deal.
    assert total == 3 * deals
    assert env.reset(seed=1)[1]["skipped"] == 0
    assert env.reset()[1]["skipped"] == 2


@pytest.mark.parametrize("game", range(4))
def test_matches_over_before_the_learners_first_move_end_too(game: int) -> None:
    env = VersusEnv(FalseClaimer(), "online", episode="match", game=game)
    for seed in range(3):
        observation, info = env.reset(seed=seed)
        assert observation["action_mask"].any()
        assert info["skipped_reward"] == info["skipped"]
        reward, info = play_out(env, observation)
        assert (reward, info["deals"]) == (1, 4)


def test_match_episodes_last_until_somebody_has_eleven() -> None:
    env = VersusEnv("random", episode="match")
    for seed in range(6):
        observation, _ = env.reset(seed=seed)
        reward, info = play_out(env, observation)
        score = env._duels.states["match_points"][0]
        assert reward == (1 if score[info["seat"]] >= 11 else -1)
        assert score.max() >= 11
        assert info["deals"] >= 4


@pytest.mark.parametrize("action", [None, -1, 31, 10**30])
def test_an_illegal_action_loses_the_episode_and_does_not_raise_sb3_contrib_145(action: int | None) -> None:
    for episode in ("deal", "match"):
        env = VersusEnv(seat=1, episode=episode)
        observation, _ = env.reset(seed=1)
        number = int(observation["action_mask"].argmin()) if action is None else action
        observation, reward, terminated, truncated, info = env.step(number)
        assert (reward, terminated, truncated) == (-3, True, False)
        assert (info["illegal"], info["winner"], info["game_points"], info["deals"]) == (1, 0, 0, 1)
        assert not observation["action_mask"].any()
        assert env.reset()[1]["illegal"] == 0


def test_a_new_episode_keeps_no_flag_of_the_one_before_pgx_1315() -> None:
    env = VersusEnv()
    observation, first = env.reset(seed=1)
    play_out(env, observation)
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)
    observation, info = env.reset()
    assert info == {**first, "seat": info["seat"]}
    assert env.step(int(observation["action_mask"].argmax()))[1:4] == (0, False, False)


def test_the_opponent_always_gets_its_own_mask_never_an_empty_one_sb3_contrib_142_pytorch_rl_1471() -> None:
    watcher = Watcher()
    env = VersusVectorEnv(16, watcher, episode="match")
    random = np.random.default_rng(0)
    observation, _ = env.reset(seed=1)
    for _ in range(60):
        observation, _, terminations, _, _ = env.step(choose(observation["action_mask"], random))
        assert (observation["action_mask"].any(axis=1) != terminations).all()
    assert watcher.asked > 500


def test_a_policy_cannot_be_asked_without_a_mask_sb3_contrib_178() -> None:
    with pytest.raises(TypeError):
        RandomPolicy().act(np.zeros(1), np.zeros(1))


def test_action_masks_survive_wrappers_and_pickling_sb3_contrib_49_256() -> None:
    env = gymnasium.make("Santase-v0", opponent="greedy")
    observation, _ = env.reset(seed=1)
    wrapped = gymnasium.wrappers.RecordEpisodeStatistics(env)
    for other in (wrapped, pickle.loads(pickle.dumps(wrapped)), copy.deepcopy(wrapped)):
        masks = other.get_wrapper_attr("action_masks")()
        assert masks.dtype == np.bool_
        np.testing.assert_array_equal(masks, observation["action_mask"])
    envs = VersusVectorEnv(3)
    observation, _ = envs.reset(seed=1)
    np.testing.assert_array_equal(envs.action_masks(), observation["action_mask"])


@pytest.mark.parametrize("episode", ["deal", "match"])
def test_infos_are_numeric_with_the_same_keys_from_reset_on_pytorch_rl_3702(episode: Any) -> None:
    env = VersusEnv(episode=episode)
    observation, first = env.reset(seed=1)
    _, last = play_out(env, observation)
    for info in (first, last):
        assert tuple(info) == INFO_KEYS
        assert all(type(value) is (float if key == "skipped_reward" else int) for key, value in info.items())


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_mid_deal_goes_on_by_itself(duplicate: Any) -> None:
    env = VersusEnv("greedy", episode="match", canonical_suits=True)
    observation, _ = env.reset(seed=3)
    for _ in range(4):
        observation, *_ = env.step(int(observation["action_mask"].argmax()))
    other = duplicate(env)
    outcome = play_out(other, observation)
    assert env._duels.states["log_length"][0] < 25
    assert not env._duels.duels["over"][0]
    assert play_out(env, observation) == outcome
    envs = VersusVectorEnv(4, "greedy")
    observation, _ = envs.reset(seed=3)
    others = duplicate(envs)
    actions = observation["action_mask"].argmax(axis=1)
    assert data_equivalence(envs.step(actions), others.step(actions), exact=True)


def test_an_opponents_illegal_action_is_named() -> None:
    env = VersusEnv(Stubborn(), "online,false_claim=illegal", seat=1)
    with pytest.raises(ValueError, match=r"the opponent Stubborn chose close, which is not legal there; legal: "):
        env.reset(seed=1)


def test_wrong_options_are_named() -> None:
    for options, message in (
        ({"opponent": "gredy"}, "unknown agent 'gredy'"),
        ({"seat": 2}, "seat must be 0, 1 or None, not 2"),
        ({"episode": "game"}, "episode must be 'deal' or 'match'"),
        ({"render_mode": "rgb"}, "render_mode must be None or one of ansi, human"),
        ({"game": -1}, "game must be at least 0"),
        ({"rules": "onlin"}, "unknown rules preset 'onlin'"),
    ):
        with pytest.raises(ValueError, match=message):
            VersusEnv(**options)
    with pytest.raises(ValueError, match="num_envs must be at least 1, not 0"):
        VersusVectorEnv(0)
    with pytest.raises(ValueError, match="render_mode of many games must be None or 'ansi', not 'human'"):
        VersusVectorEnv(1, render_mode="human")
    envs = VersusVectorEnv(2)
    with pytest.raises(ResetNeeded, match="call reset"):
        envs.step([0, 0])
    envs.reset(seed=1)
    with pytest.raises(ValueError, match="actions must be 2 integers"):
        envs.step([0.5, 1.0])


def test_what_is_no_action_at_all_raises() -> None:
    env = VersusEnv()
    env.reset(seed=1)
    for action in (None, 1.5, "QH"):
        with pytest.raises(ValueError, match="is not an action: give an integer from 0 to 30"):
            env.step(action)


def test_rules_may_be_given_in_any_form() -> None:
    for rules in ("classic", Rules.preset("classic"), {"preset": "classic"}):
        assert VersusEnv(rules=rules)._duels.rules == Rules.preset("classic")


def test_rendering_needs_no_screen_and_hides_the_opponents_hand_pettingzoo_778(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    env = VersusEnv(render_mode="ansi", seat=1)
    observation, _ = env.reset(seed=1)
    first, second = env.render().splitlines()[1:3]
    assert first.count("?") >= 5
    assert "?" not in second
    play_out(env, observation)
    assert "over" in env.render()
    assert "pygame" not in sys.modules
    envs = VersusVectorEnv(3, render_mode="ansi")
    envs.reset(seed=1)
    assert len(envs.render() or ()) == 3


def test_human_rendering_prints_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    env = VersusEnv(render_mode="human")
    env.reset(seed=1)
    env.step(int(env.action_masks().argmax()))
    assert capsys.readouterr().out.count("trump") == 2
