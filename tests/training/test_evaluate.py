"""Duplicate play: the sign, the interval, the keys, the share of matches, and agents that misbehave."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from santase_agents.greedy import GreedyPolicy
from santase_env import ObservationPolicy, RandomPolicy, Rules, __version__, engine, load_policy, view_of
from santase_env.actions import CLAIM
from santase_env.batch import apply_all, deal_all, new_games, views_to_move
from santase_env.policy import AgentError, ChainPolicy
from santase_training import evaluate as module
from santase_training.evaluate import (
    Interrupted,
    Result,
    decision_keys,
    decisions,
    evaluate,
    evaluate_all,
    games_at_once,
    match_share,
    play_duplicate,
    rules_notes,
    summarise,
)

ONLINE = Rules.preset("online", false_claim="illegal")


class Careless:
    """Greedy, but at random in a share of its decisions."""

    def __init__(self, share: float) -> None:
        self.share = share

    def act(self, views: Any, masks: Any, keys: Any) -> Any:
        slips = (keys >> np.uint64(40)) % np.uint64(1000) < np.uint64(1000 * self.share)
        return np.where(slips, RandomPolicy().act(views, masks, keys), GreedyPolicy().act(views, masks, keys))


class Claimer:
    """Claims 66 at its first turn in half of the deals, which costs 3 game points, and else plays greedily."""

    def act(self, views: Any, masks: Any, keys: Any) -> Any:
        nothing_played = views["played"][np.arange(len(views)), views["seat"]] == 0
        first_turn = nothing_played & ((views["log_length"] == 0) | (views["table"] >= 0))
        rash = first_turn & (keys >> np.uint64(63) == 0)
        return np.where(rash, CLAIM, GreedyPolicy().act(views, masks, keys))


@pytest.mark.parametrize("pair", [("random", "greedy"), ("greedy", "random"), (Careless(0.3), Careless(0.1))])
def test_exchanging_the_agents_flips_the_sign_exactly(pair: tuple[Any, Any]) -> None:
    there, back = evaluate(*pair, deals=600, seed=3), evaluate(*reversed(pair), deals=600, seed=3)
    assert there.mean == -back.mean != 0
    assert there.ci95 == (-back.ci95[1], -back.ci95[0])
    assert (there.deals_won, there.deals_lost) == (back.deals_lost, back.deals_won)
    assert there.matches_won + back.matches_won == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("agent", ["random", "greedy"])
def test_an_agent_against_itself_makes_exactly_nothing(agent: str) -> None:
    result = evaluate(agent, agent, deals=400)
    assert (result.mean, result.ci95) == (0, (0, 0))
    assert result.matches_won == pytest.approx(0.5)


def test_a_seed_gives_the_same_result_again_and_another_seed_another() -> None:
    assert evaluate("random", "greedy", 400, seed=5) == evaluate("random", "greedy", 400, seed=5)
    assert evaluate("random", "greedy", 400, seed=5).mean != evaluate("random", "greedy", 400, seed=6).mean


def test_results_depend_neither_on_the_chunk_nor_on_the_number_of_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    policies = (Careless(0.3), RandomPolicy())
    points = play_duplicate(policies, 120, ONLINE, seed=1)
    np.testing.assert_array_equal(play_duplicate(policies, 60, ONLINE, seed=1), points[:30])
    for chunk in (2, 14):
        monkeypatch.setattr(module, "CHUNK", chunk)
        np.testing.assert_array_equal(play_duplicate(policies, 120, ONLINE, seed=1), points)


class Few(Careless):
    """Wants few games at once, and counts how many it is shown."""

    batch = 15
    most = 0

    def act(self, views: Any, masks: Any, keys: Any) -> Any:
        self.most = max(self.most, len(views))
        return super().act(views, masks, keys)


def test_an_agent_says_how_many_games_run_side_by_side_and_that_changes_no_result() -> None:
    few = Few(0.3)
    chained = ChainPolicy(Sometimes(), few)
    assert play_duplicate((few, GreedyPolicy()), 120, ONLINE, seed=1).tolist() == (
        play_duplicate((Careless(0.3), GreedyPolicy()), 120, ONLINE, seed=1).tolist()
    )
    assert 0 < few.most <= 14
    assert games_at_once((GreedyPolicy(), GreedyPolicy())) == module.CHUNK
    assert games_at_once((GreedyPolicy(), few)) == games_at_once((few, GreedyPolicy())) == 14
    assert games_at_once((GreedyPolicy(), chained)) == games_at_once((GreedyPolicy(), ChainPolicy(chained, few))) == 14
    for batch, games in ((1, 2), (2, 2), (0, 2), (10**9, module.CHUNK)):
        few.batch = batch
        assert games_at_once((few, RandomPolicy())) == games


class Sometimes(GreedyPolicy):
    def applies(self, views: Any, masks: Any) -> Any:
        return views["tricks"].sum(axis=1) > 3


@pytest.mark.parametrize("rules", ["online,false_claim=illegal", "paper", "classic"])
def test_duplicate_play_equals_deals_played_one_by_one(rules: str) -> None:
    """The same by a plain loop over single deals, in which forced moves are asked for, too."""
    rules, seed = Rules.of(rules), 11
    policies = (Careless(0.2), RandomPolicy())
    points = play_duplicate(policies, 24, rules, seed)
    for pair in range(12):
        for first_seat in range(2):
            states = new_games(1, rules, seed, first=pair)
            state = states[0]
            engine.deal(state, pair % 2)
            while state.player >= 0:
                policy = policies[0] if state.player == first_seat else policies[1]
                mask = np.zeros((1, 31), np.int8)
                engine.legal_mask(state, mask[0])
                key = decision_keys(states, np.array([0]), np.array([pair]), seed)
                engine.apply(state, policy.act(np.array([view_of(state, int(state.player))]), mask, key)[0])
            assert points[pair, first_seat] == int(state.game_points[first_seat]) - int(
                state.game_points[1 - first_seat]
            )


def test_the_interval_holds_the_true_mean_as_often_as_it_says() -> None:
    policies, names = (Careless(0.25), GreedyPolicy()), ("careless", "greedy")
    truth = evaluate(*policies, deals=40_000, seed=100).mean
    points = play_duplicate(policies, 24_000, ONLINE, seed=101)
    parts = [summarise(part, names, ONLINE, 0).ci95 for part in points.reshape(-1, 20, 2)]
    held = np.mean([low <= truth <= high for low, high in parts])
    assert len(parts) == 600
    assert 0.92 < held < 0.98


def test_a_gap_that_is_known_is_measured() -> None:
    """Half of the deals lost by 3, the others played as the opponent does: -1.5 game points per deal."""
    result = evaluate(Claimer(), "greedy", deals=8000, rules="online")
    assert result.ci95[0] < -1.5 < result.ci95[1]
    assert result.ci95[1] - result.ci95[0] < 0.15


def test_greedy_beats_random_clearly() -> None:
    result = evaluate("greedy", "random", deals=4000)
    assert result.ci95[0] > 1.3
    assert result.matches_won > 0.99


# --------------------------------------------------------------------------------------------- matches


@pytest.mark.parametrize("rules", ["online,false_claim=illegal", "paper", "classic,match_target=3"])
def test_the_share_of_matches_is_that_of_matches_really_played(rules: str) -> None:
    rules, policies, count = Rules.of(rules), (Careless(0.1), GreedyPolicy()), 3000
    computed = evaluate(*policies, deals=30_000, rules=rules, seed=7).matches_won
    assert 0.1 < computed < 0.45
    played = np.mean(play_matches(policies, rules, count, seed=8))
    assert abs(played - computed) < 3 * np.sqrt(computed * (1 - computed) / count) + 0.01


def play_matches(policies: tuple[Any, Any], rules: Rules, count: int, seed: int) -> Any:
    """[count] bool: the first policy won; it sits in seat i % 2 of match i, and seat i // 2 % 2 leads first."""
    states = new_games(count, rules, seed)
    numbers = np.arange(count)
    deal_all(states, numbers // 2 % 2)
    while True:
        rows, players = decisions(states)
        for index, policy in enumerate(policies):
            mine = rows[(players != numbers[rows] % 2) == index]
            if len(mine):
                keys = decision_keys(states, mine, numbers + count * states["deal"], seed)
                assert apply_all(states, mine, policy.act(*views_to_move(states, mine), keys)) == -1
        ended = np.flatnonzero((states["player"] < 0) & (states["match_points"].max(axis=1) < rules.match_target))
        for row in ended:
            engine.next_deal(states[row])
        if not len(rows) and not len(ended):
            return states["match_points"].argmax(axis=1) == numbers % 2


def test_the_share_of_matches_by_hand() -> None:
    leading, following = np.array([1, 1, 1, -1]), np.array([1, -1, -1, -1])
    assert match_share(leading, following, 1) == pytest.approx((3 / 4 + 1 / 4) / 2)
    # To 2 by single points: the leader of a deal wins it with 3/4, and then the other leads.
    ahead_and_following, behind_and_leading = 1 / 4 + 3 / 4 * 3 / 4, 3 / 4 * 1 / 4
    led = 3 / 4 * ahead_and_following + 1 / 4 * behind_and_leading
    followed = 1 / 4 * ahead_and_following + 3 / 4 * behind_and_leading
    assert match_share(leading, following, 2) == pytest.approx((led + followed) / 2)


def test_draws_change_no_share_but_a_game_of_draws_only_is_even() -> None:
    leading, following = np.array([2, 1, -1]), np.array([1, -1, -3])
    drawn = np.zeros(3, int)
    plain = match_share(leading, following, 11)
    assert match_share(np.append(leading, drawn), np.append(following, drawn), 11) == pytest.approx(plain)
    assert match_share(drawn, drawn, 11) == 0.5


# ---------------------------------------------------------------------------------------- odd agents


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda masks: np.full(len(masks), CLAIM), "Answer chose claim, which is not legal there; legal: "),
        (lambda masks: np.full(len(masks), 99), "Answer chose action 99"),
        (lambda masks: masks.argmax(axis=1)[:-1], "Answer must return .* integers, one action per view"),
        (lambda masks: masks.argmax(axis=1) + 0.5, "not an array of shape .* and type float64"),
    ],
)
def test_an_agent_that_misbehaves_is_named(answer: Any, sentence: str) -> None:
    class Answer:
        def act(self, views: Any, masks: Any, keys: Any) -> Any:
            return answer(masks)

    with pytest.raises(AgentError, match=sentence):
        evaluate("greedy", Answer(), deals=40)


class Breaks(Careless):
    """Fails at a certain question."""

    batch = 10

    def __init__(self, question: int, error: BaseException) -> None:
        super().__init__(0.2)
        self.left, self.error = question, error

    def act(self, views: Any, masks: Any, keys: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise self.error
        return super().act(views, masks, keys)


@pytest.mark.parametrize("error", [AgentError("it broke"), KeyboardInterrupt()])
def test_the_deals_of_whole_chunks_are_kept(error: BaseException) -> None:
    kept = set()
    for question in range(0, 60, 7):
        with pytest.raises((AgentError, Interrupted)) as raised:
            evaluate(Breaks(question, error), "greedy", 100, names=("careless", "greedy"))
        results = raised.value.results  # type: ignore[attr-defined]
        if results:
            kept.add(results[0].deals)
            assert results == [evaluate(Careless(0.2), "greedy", results[0].deals, names=("careless", "greedy"))]
        else:
            kept.add(0)
    assert len(kept) > 2
    assert all(deals % 10 == 0 for deals in kept)


@pytest.mark.parametrize("error", [AgentError("it broke"), KeyboardInterrupt()])
@pytest.mark.parametrize(("batch", "stop", "kept"), [(10, 0, 0), (10, 30, 30), (2, 2, 0)])  # of one pair, no interval
def test_all_that_was_finished_before_is_kept(
    error: BaseException, batch: int, stop: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_chunk = module._play_chunk
    agent = Few(0.2)
    agent.batch = batch

    def play(policies: Any, labels: Any, start: int, *others: Any) -> Any:
        if policies[0] is agent and start == stop:
            raise error
        return play_chunk(policies, labels, start, *others)

    monkeypatch.setattr(module, "_play_chunk", play)
    with pytest.raises((AgentError, Interrupted)) as raised:
        evaluate_all(["random", "greedy", agent, "greedy"], 40, names=["random", "greedy", "careless", "last"])
    assert [(result.a, result.b, result.deals) for result in raised.value.results] == [  # type: ignore[attr-defined]
        *[("random", other, 40) for other in ("greedy", "careless", "last")],
        *[("greedy", other, 40) for other in ("careless", "last")],
        *([("careless", "last", kept)] if kept else []),
    ]


def test_a_result_comes_back_from_json_and_from_the_other_side() -> None:
    result = evaluate("random", "greedy", 200, seed=3)
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result
    back = evaluate("greedy", "random", 200, seed=3)
    flipped = result.flipped()
    assert replace(flipped, matches_won=0.0) == replace(back, matches_won=0.0)
    assert flipped.matches_won == pytest.approx(back.matches_won)
    assert result.half == pytest.approx(result.ci95[1] - result.mean)
    drawn = evaluate("greedy", "greedy", 40)
    assert str(drawn.flipped().mean) == "0.0"
    good = result.to_json()
    for bad in (None, [], {}, {**good, "x": 1}, {**good, "mean": "1"}, {**good, "ci95": [1]}, {**good, "seed": None}):
        with pytest.raises(ValueError, match="a result "):
            Result.from_json(bad)


@pytest.mark.parametrize(
    "change",
    [
        *({"seed": value} for value in (True, 1.0, -1, 2**63)),
        *({"deals": value} for value in (True, 0, -4, 2, 5, 4.0, "4")),
        *({"mean": value} for value in (False, math.nan, math.inf, 10**400, 3.5, -3.5)),
        *({"ci95": value} for value in ([3, -3], [0, math.inf], [math.nan, 1], [0, True], [-3, 0, 3], {"0": 1}, "01")),
        *(
            {name: value}
            for name in ("deals_won", "deals_lost", "matches_won")
            for value in (-0.1, 1.1, math.nan, True)
        ),
        *({name: 1} for name in ("a", "b", "rules", "version", "a_identity", "b_identity")),
    ],
)
def test_what_no_evaluation_gives_is_refused(change: dict[str, Any]) -> None:
    good = {**summarise(np.array([[1, 0], [0, -1]]), ("a", "b"), ONLINE, 0).to_json(), "ci95": [-3, 3]}
    Result.from_json(good)
    with pytest.raises(ValueError, match=r"^a result |^seed must |^deals must "):
        Result.from_json({**good, **change})


def test_a_share_may_be_rounded() -> None:
    good = evaluate("greedy", "random", 40).to_json()
    for share in (1 + 2**-52, -(2**-52)):
        assert Result.from_json({**good, "matches_won": share}).matches_won == share


def test_a_result_says_which_version_and_checkpoints_played() -> None:
    network, other = Careless(0.5), Careless(0.5)
    network.identity, other.identity = "abc", "def"  # type: ignore[attr-defined]
    network.applies = lambda views, masks: np.ones(len(views), bool)  # type: ignore[attr-defined]
    result = evaluate(ChainPolicy(network, other), "random", 4)
    assert (result.version, result.a_identity, result.b_identity) == (__version__, "abc,def", "")
    flipped = result.flipped()
    assert (flipped.version, flipped.a_identity, flipped.b_identity) == (__version__, "", "abc,def")
    assert Result.from_json(result.to_json()) == result
    old = {name: value for name, value in result.to_json().items() if "identity" not in name and name != "version"}
    assert Result.from_json(old) == replace(result, version="", a_identity="")


@pytest.mark.parametrize("deals", [0, 2, 5, True, 4.0])
def test_a_number_of_deals_that_makes_no_pairs_is_refused(deals: Any) -> None:
    with pytest.raises(ValueError, match="deals must be an even number of at least 4"):
        evaluate("random", "greedy", deals)


def test_progress_counts_every_deal() -> None:
    done: list[int] = []
    evaluate("random", "greedy", deals=5000, progress=done.append)
    assert sum(done) == 5000
    assert min(done) > 0


def test_every_pairing_is_on_the_same_deals() -> None:
    results = evaluate_all(["greedy", "random", "greedy"], deals=200, seed=4)
    assert [(result.a, result.b) for result in results] == [
        ("greedy", "random"),
        ("greedy", "greedy"),
        ("random", "greedy"),
    ]
    assert results[0] == evaluate("greedy", "random", 200, seed=4)
    assert results[1].mean == 0
    assert results[2].mean == -results[0].mean


def test_an_agent_trained_under_other_rules_is_named() -> None:
    trained = load_policy("greedy")
    trained.rules = "classic"
    trained.applies = lambda views, masks: np.ones(len(views), bool)
    agents = [("net:a", trained), ("random", load_policy("random")), ("net:a+random", ChainPolicy(trained, trained))]
    assert rules_notes(agents, Rules.preset("classic")) == []
    assert rules_notes(agents, ONLINE) == [
        f"{name} was trained under rules classic; here it plays under online,false_claim=illegal"
        for name in ("net:a", "net:a+random")
    ]
    trained.rules = None
    assert rules_notes(agents, ONLINE) == []


def test_a_function_of_the_observation_can_be_measured() -> None:
    first = ObservationPolicy(lambda observation, mask: mask.argmax(axis=1), canonical_suits=True)
    result = evaluate(first, "random", deals=200, names=("first", "random"))
    assert result.a == "first"
    assert "first against random" in str(result)
    assert result.to_json()["ci95"] == list(result.ci95)
