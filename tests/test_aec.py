"""The PettingZoo environment: what its module docstring promises, and the faults that others met."""

import copy
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from santase_env import Game, IllegalAction, SantaseVectorEnv, santase_v0
from santase_env.actions import action_id
from santase_env.aec import AGENTS, SantaseAECEnv
from santase_env.cards import NUM_CARDS, card_id
from santase_env.observation import OBSERVATION_SIZE, encode
from santase_env.state import REASONS

INFO_KEYS = {"winner", "game_points", "points", "tricks", "reason", "illegal", "deals"}


def legal(env: Any, random: np.random.Generator | None = None) -> int:
    """A legal action of the agent to move: the first one, or any."""
    actions = env.observe(env.agent_selection)["action_mask"].nonzero()[0]
    return int(actions[0] if random is None else random.choice(actions))


def play_out(env: Any, random: np.random.Generator | None = None) -> str:
    """Play to the end of the episode; returns the agent that moved last."""
    agent = ""
    while not any(env.terminations.values()):
        agent = env.agent_selection
        env.step(legal(env, random))
    return agent


@pytest.mark.parametrize("rules", ["online,false_claim=illegal", "online", "paper", "classic"])
def test_every_step_equals_the_scalar_game(rules: str) -> None:
    random = np.random.default_rng(1)
    env = santase_v0.raw_env(rules=rules)
    for seed in range(10):
        env.reset(seed=seed)
        game = Game(rules, seed=seed)
        while not game.over:
            assert env.agent_selection == AGENTS[game.player]
            for seat, agent in enumerate(AGENTS):
                seen, wanted = env.observe(agent), game.observation(seat)
                np.testing.assert_array_equal(seen["observation"], wanted["observation"])
                np.testing.assert_array_equal(seen["action_mask"], wanted["action_mask"])
            action = legal(env, random)
            env.step(action)
            game.apply(action)
        result = game.result
        assert result is not None
        for seat, agent in enumerate(AGENTS):
            np.testing.assert_array_equal(env.observe(agent)["observation"], game.observation(seat)["observation"])
            assert env.rewards[agent] == result.game_points[seat] - result.game_points[1 - seat]
            assert env.infos[agent] == {
                "winner": -1 if result.winner is None else result.winner,
                "game_points": result.game_points[seat],
                "points": result.points[seat],
                "tricks": result.tricks[seat],
                "reason": REASONS.index(result.reason),
                "illegal": 0,
                "deals": 1,
            }


@pytest.mark.parametrize("canonical_suits", [False, True])
def test_matches_equal_those_of_the_vector_environment(canonical_suits: bool) -> None:
    random = np.random.default_rng(1)
    options: Any = {"episode": "match", "canonical_suits": canonical_suits}
    env, vector = santase_v0.raw_env(**options), SantaseVectorEnv(1, **options)
    env.reset(seed=4)
    expected, info = vector.reset(seed=4)
    deals = ends = 0
    for _ in range(1500):
        agent = AGENTS[info["player"][0]]
        assert env.agent_selection == agent
        seen = env.observe(agent)
        np.testing.assert_array_equal(seen["observation"], expected["observation"][0])
        np.testing.assert_array_equal(seen["action_mask"], expected["action_mask"][0])
        action = legal(env, random)
        env.step(action)
        expected, rewards, terminations, _, info = vector.step(np.array([action]))
        deals += info["deal_over"][0]
        if info["deal_over"][0]:
            for seat, name in enumerate(AGENTS):
                told = {key: value[0] for key, value in info["final"].items()}
                told = {key: value if key in ("winner", "reason") else value[seat] for key, value in told.items()}
                assert env.infos[name] == {**told, "illegal": 0, "deals": deals}
        assert all(env.terminations[name] == terminations[0] for name in AGENTS)
        assert [env.rewards[name] for name in AGENTS] == rewards[0].tolist()
        if terminations[0]:
            assert abs(rewards[0, 0]) == 1
            ends, deals = ends + 1, 0
            env.reset()
    assert ends >= 2


def test_reset_with_a_seed_gives_the_cards_of_game_and_without_one_the_next_deal() -> None:
    env = santase_v0.raw_env()
    env.reset(seed=7)
    assert env._states[0].dealt.tolist() == Game(seed=7).state.dealt.tolist()
    assert env.agent_selection == "player_0"
    env.reset()
    assert env._states[0].dealt.tolist() != Game(seed=7).state.dealt.tolist()
    assert env.agent_selection == "player_1"
    other = santase_v0.raw_env()
    other.reset(seed=7)
    other.reset()
    assert (other._states == env._states).all()


def test_the_first_reset_without_a_seed_is_random() -> None:
    dealt = set()
    for _ in range(3):
        env = santase_v0.raw_env()
        env.reset()
        dealt.add(tuple(env._states[0].dealt.tolist()))
    assert len(dealt) == 3


def test_last_gives_each_agent_its_own_reward_pettingzoo_1147_1203() -> None:
    for seed in range(20):
        env = santase_v0.env()
        env.reset(seed=seed)
        play_out(env)
        told = {}
        for agent in env.agent_iter():
            _, told[agent], termination, truncation, info = env.last()
            assert termination
            assert not truncation
            seat = AGENTS.index(agent)
            assert (told[agent] > 0) == (info["winner"] == seat)
            assert info["game_points"] == max(told[agent], 0)
            env.step(None)
        assert told["player_0"] == -told["player_1"] != 0


def test_rewards_earned_on_the_opponents_move_reach_both_seats_and_sum_to_zero_tianshou_399_900_1137() -> None:
    random, cases = np.random.default_rng(3), set()
    env = santase_v0.env()
    env.reset(seed=0)
    for _ in range(60):
        env.reset()
        total = dict.fromkeys(AGENTS, 0)
        mover = ""
        for agent in env.agent_iter():
            _, reward, termination, _, info = env.last()
            total[agent] += reward
            if termination and agent != mover:
                cases.add((agent, reward > 0))
            if not termination:
                mover = agent
            env.step(None if termination else legal(env, random))
        assert sum(total.values()) == 0
        if info["winner"] >= 0:
            assert total[AGENTS[info["winner"]]] in (1, 2, 3)
    # The one who did not move last has won and lost, in either seat.
    assert cases == {(agent, won) for agent in AGENTS for won in (False, True)}


def test_both_agents_end_together_and_take_their_dead_steps_pettingzoo_355_1085_1114_1260() -> None:
    env = santase_v0.raw_env()
    env.reset(seed=1)
    play_out(env)
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.truncations == {"player_0": False, "player_1": False}
    rewards = dict(env.rewards)
    assert env._cumulative_rewards == rewards
    assert env.agent_selection == "player_0"
    with pytest.raises(ValueError, match="only valid action is None"):
        env.step(0)
    env.step(None)
    assert env.agents == ["player_1"]
    assert env.last()[1] == rewards["player_1"]
    env.step(None)
    assert env.agents == []
    with pytest.raises(ValueError, match="call reset"):
        env.step(None)


def test_infos_name_winner_game_points_and_reason_pettingzoo_1260() -> None:
    env = santase_v0.raw_env(rules="classic")
    env.reset(seed=2)
    play_out(env)
    winner = env.infos["player_0"]["winner"]
    assert winner == env.infos["player_1"]["winner"] >= 0
    assert env.infos[AGENTS[winner]]["game_points"] == env.rewards[AGENTS[winner]]
    assert env.infos[AGENTS[1 - winner]]["game_points"] == 0
    assert REASONS[env.infos["player_0"]["reason"]] == "reached_66"


def test_a_player_may_move_several_times_in_a_row_pettingzoo_1233_ray_14880() -> None:
    game = Game.from_cards(
        ("9H KH QH AS TS KS", "9S JS QS 9D JD QD"), "9C JC QC KC TC AC AD TD KD JH AH TH", rules="online"
    )
    env = santase_v0.raw_env(rules="online")
    env.reset(seed=0)
    env._states = game._states
    env._show()
    movers = []
    for action in ("AS", "9S", "announce:H", "KH", "QD", "close"):
        movers.append(env.agent_selection)
        env.step(action_id(action))
    assert movers == [AGENTS[seat] for seat in (0, 1, 0, 0, 1, 0)]
    assert env.agent_selection == "player_0"


def test_reset_clears_the_flags_of_the_game_before_pgx_1315() -> None:
    for finish in (0, 1, 2):
        env = santase_v0.env()
        env.reset(seed=1)
        play_out(env)
        for _ in range(finish):
            env.step(None)
        env.reset()
        assert env.agents == list(AGENTS)
        assert not any(env.terminations.values())
        assert not any(env.rewards.values())
        assert not any(env._cumulative_rewards.values())
        assert env.infos["player_0"] == {**dict.fromkeys(INFO_KEYS, 0), "winner": -1}
        play_out(env)
        for _ in AGENTS:
            env.step(None)
        assert env.agents == []


def test_the_mask_is_empty_for_who_is_not_to_move_and_after_the_end_pytorch_rl_1471() -> None:
    env = santase_v0.env()
    env.reset(seed=1)
    while not any(env.terminations.values()):
        idle = AGENTS[1 - AGENTS.index(env.agent_selection)]
        assert env.observe(env.agent_selection)["action_mask"].any()
        assert not env.observe(idle)["action_mask"].any()
        env.step(legal(env))
    assert not any(env.observe(agent)["action_mask"].any() for agent in AGENTS)


def test_observations_are_one_flat_array_and_a_mask_pettingzoo_354_1039_1111_1211() -> None:
    env = santase_v0.env()
    env.reset(seed=1)
    for agent in AGENTS:
        space = env.observation_space(agent)
        assert isinstance(space, spaces.Dict)
        assert {key: (box.shape, box.dtype) for key, box in space.items()} == {
            "observation": ((OBSERVATION_SIZE,), np.float32),
            "action_mask": ((31,), np.int8),
        }
        assert env.observe(agent) in space
        assert env.action_space(agent) == spaces.Discrete(31)


def test_observe_answers_for_the_idle_agent_at_any_time_pytorch_rl_2990() -> None:
    env = santase_v0.env()
    env.reset(seed=1)
    play_out(env)
    for _ in AGENTS:
        for agent in AGENTS:
            assert env.observe(agent) in env.observation_space(agent)
        env.step(None)
    assert env.observe("player_0")["observation"].any()


def test_what_observe_gave_is_not_changed_by_the_next_step() -> None:
    env = santase_v0.raw_env()
    env.reset(seed=1)
    first = env.observe("player_0")
    kept = {key: value.copy() for key, value in first.items()}
    env.step(legal(env))
    for key, value in kept.items():
        np.testing.assert_array_equal(first[key], value)


@pytest.mark.parametrize("episode", ["deal", "match"])
def test_infos_are_numeric_with_the_same_keys_from_reset_on_pytorch_rl_3702(episode: Any) -> None:
    env = santase_v0.env(episode=episode)
    env.reset(seed=1)
    while True:
        for agent in AGENTS:
            assert set(env.infos[agent]) == INFO_KEYS
            assert all(type(value) is int for value in env.infos[agent].values())
        if any(env.terminations.values()):
            break
        env.step(legal(env))


@pytest.mark.parametrize("action", [None, -1, 31, 10**30])
def test_an_illegal_action_raises_in_raw_env_and_changes_nothing(action: int | None) -> None:
    env = santase_v0.raw_env()
    env.reset(seed=1)
    env.step(legal(env))
    before, seen = env._states.copy(), env.observe("player_1")
    number = int(seen["action_mask"].argmin()) if action is None else action
    with pytest.raises(IllegalAction, match="is not legal for player_1, whose mask allows"):
        env.step(number)
    assert (env._states == before).all()
    np.testing.assert_array_equal(env.observe("player_1")["observation"], seen["observation"])
    assert env.agent_selection == "player_1"
    assert not any(env.terminations.values())


@pytest.mark.parametrize("moves", [0, 1, 2, 5])
@pytest.mark.parametrize("episode", ["deal", "match"])
def test_an_illegal_action_ends_the_episode_in_env(moves: int, episode: Any) -> None:
    env = santase_v0.env(episode=episode)
    env.reset(seed=1)
    for _ in range(moves):
        env.step(legal(env))
    loser = env.agent_selection
    other = AGENTS[1 - AGENTS.index(loser)]
    env.step(int(env.observe(loser)["action_mask"].argmin()))
    assert env.rewards == {loser: -3, other: 3}
    assert all(env.terminations.values())
    assert not any(env.truncations.values())
    assert [env.infos[agent]["illegal"] for agent in AGENTS] == [1, 1]
    assert env.infos[loser]["winner"] == AGENTS.index(other)
    assert [env.infos[agent]["game_points"] for agent in (loser, other)] == [0, 3]
    assert not env.observe(loser)["action_mask"].any()
    told = {}
    for agent in env.agent_iter():
        told[agent] = env.last()[1]
        env.step(None)
    assert told == {loser: -3, other: 3}
    env.reset()
    assert env.infos[loser]["illegal"] == 0


@pytest.mark.parametrize("action", [None, 1.5, "QH", [1]])
def test_what_is_no_action_at_all_raises_in_both(action: Any) -> None:
    for env in (santase_v0.raw_env(), santase_v0.env()):
        env.reset(seed=1)
        with pytest.raises(IllegalAction, match="is not an action: give an integer from 0 to 30"):
            env.step(action)
        assert not any(env.terminations.values())


def test_integers_of_any_kind_are_actions() -> None:
    for kind in (np.int8, np.int32, np.int64, np.uint8):
        env = santase_v0.raw_env()
        env.reset(seed=1)
        env.step(kind(legal(env)))
        assert env._states[0].log_length == 1


@pytest.mark.parametrize("make", [santase_v0.raw_env, santase_v0.env])
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_mid_deal_goes_on_by_itself(make: Any, duplicate: Any) -> None:
    env = make(episode="match", canonical_suits=True)
    env.reset(seed=3)
    for _ in range(7):
        env.step(legal(env))
    other = duplicate(env)
    kept = env.observe("player_0")
    play_out(other)
    np.testing.assert_array_equal(env.observe("player_0")["observation"], kept["observation"])
    assert not any(env.terminations.values())
    play_out(env)
    assert env.rewards == other.rewards
    assert env.infos == other.infos
    np.testing.assert_array_equal(env.state(), other.state())


def test_state_holds_both_views_and_the_order_of_the_talon() -> None:
    env = santase_v0.raw_env()
    env.reset(seed=5)
    game = Game(seed=5)
    while not game.over:
        state = env.state()
        assert state in env.state_space
        for seat in range(2):
            part = state[seat * OBSERVATION_SIZE : (seat + 1) * OBSERVATION_SIZE]
            np.testing.assert_array_equal(part, encode(game.view(seat)))
        talon = np.zeros(NUM_CARDS, np.float32)
        for place, card in enumerate(game.talon):
            talon[card_id(card)] = 1 - place / 24
        np.testing.assert_allclose(state[2 * OBSERVATION_SIZE :], talon)
        env.step(legal(env))
        game.apply(game.legal_actions()[0])
    assert env.state() in env.state_space


def test_canonical_suits_rename_the_talon_of_the_state_too() -> None:
    plain, canonical = santase_v0.raw_env(), santase_v0.raw_env(canonical_suits=True)
    for seed in range(8):
        plain.reset(seed=seed)
        canonical.reset(seed=seed)
        trump = int(plain._states[0].trump)
        order = [trump, *(suit for suit in range(4) if suit != trump)]
        talon = plain.state()[-NUM_CARDS:].reshape(4, 6)
        np.testing.assert_array_equal(canonical.state()[-NUM_CARDS:].reshape(4, 6), talon[order])


def test_calls_before_reset_say_what_is_missing() -> None:
    raw = santase_v0.raw_env()
    for call in (raw.state, raw.render, lambda: raw.observe("player_0"), lambda: raw.step(0)):
        with pytest.raises(ValueError, match="call reset"):
            call()
    with pytest.raises(AssertionError, match="reset"):
        santase_v0.env().step(0)
    raw.reset(seed=1)
    with pytest.raises(ValueError, match="no agent 'player_2'; there are player_0, player_1"):
        raw.observe("player_2")


def test_wrong_options_are_named() -> None:
    with pytest.raises(ValueError, match="episode must be 'deal' or 'match'"):
        SantaseAECEnv(episode="game")
    with pytest.raises(ValueError, match="render_mode must be None or one of ansi, human, not 'rgb'"):
        SantaseAECEnv(render_mode="rgb")
    with pytest.raises(ValueError, match="unknown rules preset 'onlin'"):
        SantaseAECEnv(rules="onlin")
    with pytest.raises(ValueError, match="seed must lie between"):
        SantaseAECEnv().reset(seed=-1)


def test_rendering_needs_no_screen_pettingzoo_778(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    env = santase_v0.env(render_mode="ansi")
    env.reset(seed=1)
    assert "trump" in env.render()
    assert "pygame" not in sys.modules


def test_rendering_hides_the_hand_of_the_idle_agent_until_the_end() -> None:
    env = santase_v0.env(render_mode="ansi")
    env.reset(seed=1)
    while not any(env.terminations.values()):
        assert ("?" in env.render()) != _open(env)
        env.step(legal(env))
    assert "?" not in env.render()
    assert "over" in env.render()


def _open(env: Any) -> bool:
    """Does everybody know all cards of the idle agent?"""
    state = env.unwrapped._states[0]
    idle = 1 - int(state.player)
    return bool(state.hands[idle] == state.known[idle])


def test_human_rendering_prints_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    env = santase_v0.env(render_mode="human")
    env.reset(seed=1)
    env.step(legal(env))
    assert capsys.readouterr().out.count("trump") == 2
    env.step(int(env.observe(env.agent_selection)["action_mask"].argmin()))
    assert capsys.readouterr().out.count("trump") == 1


def test_human_rendering_shows_the_end_of_every_deal_of_a_match(capsys: pytest.CaptureFixture[str]) -> None:
    env = santase_v0.env(render_mode="human", episode="match")
    env.reset(seed=1)
    play_out(env)
    out = capsys.readouterr().out
    assert out.count("over  ") == env.infos["player_0"]["deals"]
    assert out.count("leads first") == env.infos["player_0"]["deals"]


def test_a_legal_action_in_an_array_raises_and_does_not_lose_the_game() -> None:
    env = santase_v0.env()
    env.reset(seed=1)
    action = int(env.observe(env.agent_selection)["action_mask"].argmax())
    with pytest.raises(IllegalAction, match="give an integer"):
        env.step(np.array([action]))
    assert not any(env.terminations.values())
    env.step(action)
