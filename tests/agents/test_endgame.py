"""endgame: equal to plain minimax under all rules, a promise that nobody breaks, refusal of what is not known."""

from typing import Any

import numba
import numpy as np
import pytest

from santase_agents.endgame import EndgamePolicy, Solution, hands_known, new_solver, solve, solve_all, value_of
from santase_env import Game, Rules, engine, load_policy, view_of
from santase_env.actions import ACTION_TEXTS
from santase_env.batch import apply_all, deal_all, new_games, views_to_move
from santase_env.compiled import Array, copy_bytes
from santase_env.state import STATE
from santase_env.view import VIEW, fill_sample
from santase_training.evaluate import evaluate

RULES = (
    "paper",
    "online",
    "online,false_claim=illegal",
    "classic",
    "classic,claim=on_turn,exhausted=last_trick,failed_close=two_or_three",
    "online,target=50,schneider=40,marriage=30,last_trick_bonus=25",
    "paper,ranks=JKTA,suits=DHS,hand_size=4,target=40,schneider=20",
    "online,ranks=QKTA,suits=CH,hand_size=2,target=30,schneider=15,false_claim=illegal",
    "classic,ranks=QKTA,suits=CHS,hand_size=5,target=60",
)
SIZE = STATE.itemsize


# Not cached on disk: numba cannot load a function again that calls itself.
@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def minimax(worlds: Array, depth: int) -> int:
    """The value to seat 0 of ``worlds[depth]``, by trying everything."""
    state = worlds[depth]
    if state.player < 0:
        return np.int64(state.game_points[0]) - np.int64(state.game_points[1])
    legal = engine.legal_bits(state)
    sign = 1 if state.player == 0 else -1
    best = -9
    for action in range(31):
        if legal >> action & 1:
            copy_bytes(worlds[depth + 1], state, SIZE)
            engine.advance(worlds[depth + 1], action)
            best = max(best, sign * minimax(worlds, depth + 1))
    return sign * best


def known_positions(rules: str, player: str, deals: int, seed: int = 3) -> Array:
    """STATEs [B] at every turn at which the player to move knows both hands, in play of ``player`` with itself."""
    policy = load_policy(player)
    states = new_games(deals, rules, seed=seed)
    deal_all(states, np.arange(deals) % 2)
    found = [states[:0].copy()]
    while (rows := np.flatnonzero(states["player"] >= 0)).size:
        views, masks = views_to_move(states, rows)
        found.append(states[rows[hands_known(views)]].copy())
        keys = np.arange(len(rows), dtype=np.uint64) * np.uint64(1_000_003) + np.uint64(len(found))
        assert apply_all(states, rows, policy.act(views, masks, keys)) == -1
    return np.concatenate(found)


def to_move(states: Array) -> tuple[Array, Array]:
    return views_to_move(states, np.arange(len(states)))


# ------------------------------------------------------------------------------------------- the value


@pytest.mark.parametrize("player", ["random", "heuristic"])
@pytest.mark.parametrize("rules", RULES)
def test_values_equal_plain_minimax(rules: str, player: str) -> None:
    states = known_positions(rules, player, 400)
    cards = np.bitwise_count(states["hands"].astype(np.int64)).sum(axis=1)
    late, early = states[cards <= 8], states[cards > 8][:60]
    states = np.concatenate([late[:: max(1, len(late) // 300)], early])
    assert len(states) > 40
    views, masks = to_move(states)
    values, actions = solve_all(views)
    worlds = np.zeros(60, STATE)
    for row, state in enumerate(states):
        sign = 1 if state["player"] == 0 else -1
        worlds[0] = state
        assert values[row] == sign * minimax(worlds, 0)
        for action in np.flatnonzero(masks[row]):
            worlds[0] = state
            engine.advance(worlds[0], action)
            assert actions[row, action] == sign * minimax(worlds, 0)
        assert (actions[row, masks[row] == 0] == -4).all()


def test_values_do_not_depend_on_what_was_solved_before() -> None:
    views, _ = to_move(known_positions("online", "random", 200))
    together = solve_all(views)
    backwards = solve_all(views[::-1].copy())
    for one, other in zip(together, backwards, strict=True):
        np.testing.assert_array_equal(one, other[::-1])
    for row in range(0, len(views), 20):
        assert solve_all(views[row : row + 1])[0][0] == together[0][row]


def test_both_players_see_the_same_value_with_opposite_signs() -> None:
    for state in known_positions("online,false_claim=illegal", "heuristic", 60)[::5]:
        if state["talon"] == 0:
            mine, theirs = (solve(view_of(state, seat)) for seat in (0, 1))
            assert mine.value == -theirs.value
            assert mine.values == {action: -value for action, value in theirs.values.items()}


def test_the_number_of_solves_may_run_over() -> None:
    states = known_positions("classic", "random", 30)
    solver = new_solver()
    first = [value_of(state, solver) for state in states]
    solver.solves[0] = (1 << 26) - len(states) // 2
    assert [value_of(state, solver) for state in states] == first
    assert solver.solves[0] < len(states)


@pytest.mark.parametrize("opponent", ["random", "greedy", "heuristic", "endgame"])
@pytest.mark.parametrize("rules", ["online", "classic", "paper"])
def test_nobody_does_better_against_it_than_the_value(rules: str, opponent: str) -> None:
    start = known_positions(rules, "heuristic", 300)
    views, _ = to_move(start)
    promised = solve_all(views)[0] * np.where(views["seat"] == 0, 1, -1)  # to seat 0
    for seat in (0, 1):
        states = start.copy()
        policies = {seat: load_policy("endgame"), 1 - seat: load_policy(opponent)}
        while (rows := np.flatnonzero(states["player"] >= 0)).size:
            for player, policy in policies.items():
                mine = rows[states["player"][rows] == player]
                views, masks = views_to_move(states, mine)
                known = hands_known(views) if player == seat else np.ones(len(mine), bool)
                # In a closed deal one player may know the other hand and not be known himself.
                states["player"][mine[~known]] = -2
                views, masks, mine = views[known], masks[known], mine[known]
                keys = np.arange(len(mine), dtype=np.uint64)
                assert apply_all(states, mine, policy.act(views, masks, keys)) == -1
        done = states["player"] == -1
        assert done.sum() > 500
        won = (states["game_points"][:, seat] - states["game_points"][:, 1 - seat]).astype(int)
        sign = 1 if seat == 0 else -1
        assert (won >= sign * promised)[done].all()


# --------------------------------------------------------------------------------------- where it applies


def test_it_applies_once_the_talon_is_used_up() -> None:
    game = Game(rules="paper", seed=4)
    policy = EndgamePolicy()
    seen = []
    while not game.over:
        views, masks = views_to_move(game._states, np.array([0]))
        assert policy.applies(views, masks)[0] == (int(views["talon"][0]) == 0)
        seen.append(bool(policy.applies(views, masks)[0]))
        plain = [text for text in game.legal_texts() if text != "close"]
        game.apply(plain[-1])
    assert True in seen
    assert False in seen


def test_it_applies_in_a_closed_deal_when_all_cards_of_the_opponent_are_known() -> None:
    states = known_positions("classic", "random", 3000)
    closed = states[states["talon"] > 0]
    assert len(closed) > 20
    for state in closed[:50]:
        view = view_of(state, int(state["player"]))
        for key in range(5):
            world = np.zeros(1, STATE)
            fill_sample(view, np.uint64(key), world[0])
            assert (world["hands"][0] == state["hands"]).all()


def test_alone_it_makes_no_false_claims() -> None:
    assert evaluate("endgame", "random", 400, "online").ci95[0] > 0


def test_a_chain_is_exact_at_the_end_and_the_other_agent_before() -> None:
    states = known_positions("online,false_claim=illegal", "heuristic", 100)
    early = new_games(50, "classic", seed=1)
    deal_all(early, np.zeros(50, np.int64))
    for some, alone in ((states, "endgame"), (early, "heuristic")):
        views, masks = to_move(some)
        keys = np.arange(len(views), dtype=np.uint64)
        chain = load_policy("endgame+heuristic").act(views, masks, keys)
        np.testing.assert_array_equal(chain, load_policy(alone).act(views, masks, keys))


def test_every_action_taken_keeps_the_value() -> None:
    states = known_positions("online", "random", 300)
    views, masks = to_move(states)
    values, actions = solve_all(views)
    taken = EndgamePolicy().act(views, masks, np.zeros(len(views), np.uint64))
    np.testing.assert_array_equal(actions[np.arange(len(views)), taken], values)


# ------------------------------------------------------------------------------------------- the oracle


def test_solve_names_the_actions_and_their_values() -> None:
    state = known_positions("paper", "heuristic", 20)[0]
    view = view_of(state, int(state["player"]))
    solution = solve(view)
    assert isinstance(solution, Solution)
    mask = views_to_move(np.array([state], STATE), np.array([0]))[1][0]
    assert list(solution.values) == [ACTION_TEXTS[action] for action in np.flatnonzero(mask)]
    assert solution.value == max(solution.values.values())
    assert solution.best == [action for action, value in solution.values.items() if value == solution.value]


def test_a_deal_that_is_over_has_its_result_and_no_actions() -> None:
    game = Game(rules="classic", seed=5)
    while not game.over:
        game.apply(next(text for text in game.legal_texts() if text != "close"))
    assert game.result is not None
    for player in (0, 1):
        if hands_known(np.array([game.view(player)], VIEW))[0]:
            mine, theirs = game.result.game_points[player], game.result.game_points[1 - player]
            assert solve(game.view(player)) == Solution(mine - theirs, {})


def test_a_view_with_cards_left_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="only a position whose hands are both known"):
        solve(Game(seed=1).view(0))


def test_an_impossible_view_is_refused() -> None:
    state = known_positions("classic", "heuristic", 20)[0]
    view: Any = view_of(state, int(state["player"]))
    view.taken[0] |= view.hand
    with pytest.raises(ValueError, match="impossible view"):
        solve(view)
    views, masks = to_move(np.array([state], STATE))
    views["taken"][0, 0] |= views["hand"][0]
    with pytest.raises(ValueError, match="impossible view"):
        EndgamePolicy().act(views, masks, np.zeros(1, np.uint64))


@pytest.mark.parametrize("hand_size", [9, 11])
def test_long_endgames_are_solved_too(hand_size: int) -> None:
    rules = Rules.preset("paper", hand_size=hand_size)
    states = known_positions(str(rules), "random", 20)
    values, _ = solve_all(to_move(states)[0])
    assert (abs(values) <= 3).all()


def test_a_state_is_not_taken_for_a_view() -> None:
    """Whoever has the state sees both hands; an agent must not."""
    states = new_games(2, "classic", seed=1)
    for wrong in (states[0], states[:1]):
        with pytest.raises(TypeError, match="VIEW"):
            solve(wrong)
    with pytest.raises(TypeError, match="VIEW"):
        solve_all(states)


def test_of_a_narrower_mask_it_takes_the_best_that_is_allowed() -> None:
    views, _ = to_move(known_positions("online,false_claim=illegal", "random", 60))
    _, values = solve_all(views)
    masks = (values > -4).astype(np.int8)
    rows = np.flatnonzero(masks.sum(axis=1) > 2)
    views, masks, values = views[rows], masks[rows], values[rows]
    best = values.argmax(axis=1)
    masks[np.arange(len(rows)), best] = 0
    taken = EndgamePolicy().act(views, masks, np.arange(len(rows), dtype=np.uint64))
    left = np.where(masks == 1, values, -9)
    np.testing.assert_array_equal(left[np.arange(len(rows)), taken], left.max(axis=1))
    assert len(rows) > 50
