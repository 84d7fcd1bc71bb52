"""endgame: exact play once both hands are known, by alpha-beta search on the engine; and the oracle, ``solve``.

When the talon is used up, every unseen card is in the other hand, and what is left is a game of perfect information.
Its value in game points is computed under any rules: marriages, claims and the last ten are whatever the engine makes
of them. In a closed deal one player may know the other hand, once the cards that the opponent can hold are no more
than he has, and not be known himself; the value is then what he can be sure of.

``endgame+heuristic`` plays the last phase exactly and leaves the rest to ``heuristic``; ``endgame`` alone plays at
random until the hands are known. Among actions of equal value it takes the one that does best against an opponent
of simple habits (``playout.py``): the value is what the best play allows, and few opponents play best.

The search is plain alpha-beta with three aids. What a player can still win is bounded by what he would win now. A
position between tricks is kept in a table by all that matters for the rest of the deal. And leads that cannot be
beaten, and replies that win, are tried first.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from santase_env import engine
from santase_env.actions import ACTION_TEXTS, ANNOUNCE, NUM_ACTIONS
from santase_env.cards import NUM_CARDS
from santase_env.compiled import Array, Record, copy_bytes, int64, jit, lowest_bit
from santase_env.engine import beats
from santase_env.policy import action_set, random_play
from santase_env.rng import derive
from santase_env.state import LOG_SIZE, STATE
from santase_env.view import VIEW, check_views, count_cards, fill_sample, opponent_hand_size

from .counting import drawn_from
from .decide import check_decisions
from .playout import holds_against, play_out, promise

_ENTRY_FIELDS = [
    ("hands", np.int64),  # both hands and who is to move
    ("rest", np.int64),  # all else that matters, and the number of the solve; 0: empty
    ("low", np.int8),  # bounds of the value to seat 0
    ("high", np.int8),
]
ENTRY = np.dtype((np.record, np.dtype(_ENTRY_FIELDS, align=True)))
TABLE_SIZE = 1 << 12

_FRAME_FIELDS = [
    ("hands", np.int64),  # as in ENTRY
    ("rest", np.int64),
    ("legal", np.int64),  # actions not tried yet
    ("place", np.int64),  # in the table, or -1
    ("low", np.int64),  # the bounds between which the value was asked for
    ("high", np.int64),
    ("alpha", np.int64),  # what is left of them
    ("beta", np.int64),
    ("maximises", np.int64),  # is seat 0 to move?
]
FRAME = np.dtype((np.record, np.dtype(_FRAME_FIELDS, align=True)))
"""A position on the way from the one to solve to the one being looked at."""

_DEPTH = LOG_SIZE + 2
_SIZE = STATE.itemsize
_LIMIT = 4  # beyond every number of game points
_OPEN = -9  # not a value
_MOST_SOLVES = 1 << 26


class Solver(NamedTuple):
    """What one thread needs for solving; it carries nothing over that changes a result."""

    worlds: Array
    """[34] STATE: the position to solve, then those under it."""
    frames: Array
    """[34] FRAME."""
    table: Array
    """[4096] ENTRY."""
    solves: Array
    """[1] int64: how many there were."""


def new_solver() -> Solver:
    """A Solver with nothing in it."""
    return Solver(np.zeros(_DEPTH, STATE), np.zeros(_DEPTH, FRAME), np.zeros(TABLE_SIZE, ENTRY), np.zeros(1, np.int64))


@dataclass(frozen=True)
class Solution:
    """The exact value of a position, in game points of this deal, seen by the player whose view it is."""

    value: int
    """With best play of both, who know both hands."""
    values: dict[str, int]
    """After each legal action of the player to move, by the action's text; empty once the deal is over."""

    @property
    def best(self) -> list[str]:
        """The actions that keep the value."""
        return [action for action, value in self.values.items() if value == self.value]


def solve(view: Record) -> Solution:
    """The value of a position whose hands are known, and of every legal action in it.

    ``view`` may be of either player. Raises ValueError when the hands are not known yet, or the view is impossible,
    and TypeError for anything but a VIEW.
    """
    check_views(view)
    value, values = (array[0] for array in solve_all(np.array([view], VIEW)))
    return Solution(int(value), {ACTION_TEXTS[a]: int(values[a]) for a in range(NUM_ACTIONS) if values[a] != -_LIMIT})


def solve_all(views: Array) -> tuple[Array, Array]:
    """``solve`` for views [B]: values [B] and action values [B, 31], int8, to the players whose views they are.

    Actions that are not legal have -4. Raises ValueError for an impossible view, and where the hands are not known.
    """
    known = hands_known(views)
    if not known.all():
        where = f"; in row {int(np.flatnonzero(~known)[0])} they are not" if len(views) > 1 else ""
        raise ValueError(f"only a position whose hands are both known can be solved{where}")
    values = np.empty(len(views), np.int8)
    actions = np.full((len(views), NUM_ACTIONS), -_LIMIT, np.int8)
    _solve_views(views, new_solver(), values, actions)
    return values, actions


def hands_known(views: Array) -> Array:
    """[B] bool: can the players of views [B] tell the other hand for certain, with nothing left to draw?

    Raises ValueError for an impossible view.
    """
    check_views(views)
    known = np.empty(len(views), bool)
    _fill_known(views, known)
    return known


class EndgamePolicy:
    """Exact play where it applies; alone, it plays at random elsewhere."""

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        """views [B], masks [B, 31], keys [B] -> actions [B]. Raises ValueError as ``check_decisions`` does."""
        views, masks, keys = check_decisions(views, masks, keys)
        actions = np.empty(len(views), np.int64)
        _act_all(views, masks, keys, new_solver(), actions)
        return actions

    def applies(self, views: Array, masks: Array) -> Array:
        """[B] bool: where the hands are known."""
        return hands_known(views)


@jit
def _fill_known(views: Array, known: Array) -> None:
    for i in range(len(views)):
        known[i] = is_known(views[i])


@jit
def _solve_views(views: Array, solver: Solver, values: Array, actions: Array) -> None:
    for i in range(len(views)):
        fill_sample(views[i], np.uint64(0), solver.worlds[0])
        sign = 1 - 2 * int64(views[i].seat)
        values[i] = sign * action_values(solver, actions[i])
        for action in range(NUM_ACTIONS):
            if actions[i, action] != -_LIMIT:
                actions[i, action] *= sign


@jit
def _act_all(views: Array, masks: Array, keys: Array, solver: Solver, actions: Array) -> None:
    for i in range(len(views)):
        if is_known(views[i]):
            actions[i] = exact_action(views[i], action_set(masks[i]), solver)
        else:
            actions[i] = random_play(views[i], masks[i], derive(keys[i], 0))


# ------------------------------------------------------------------------------------------ solving


@jit
def is_known(view: Record) -> bool:
    """Is the other hand known, and will nobody draw any more?"""
    if view.talon > 0 and view.closed_by < 0:
        return False
    missing = opponent_hand_size(view) - count_cards(view.known[1 - view.seat])
    return bool(count_cards(drawn_from(view)) == missing)


@jit
def exact_action(view: Record, allowed: int, solver: Solver) -> int:
    """The best action of the set ``allowed``, for a view whose hands are known; of several, the one that does best
    against simple habits."""
    values = np.empty(NUM_ACTIONS, np.int8)
    fill_sample(view, np.uint64(0), solver.worlds[0])
    action_values(solver, values)
    seat = int64(view.player)
    sign = 1 - 2 * seat
    best, best_value, best_score = -1, -_LIMIT, 0.0
    while allowed:
        action = lowest_bit(allowed)
        allowed &= allowed - 1
        value = sign * int64(values[action])
        if value >= best_value:
            score = play_out(solver.worlds, seat, action)
            if value > best_value or score > best_score:
                best, best_value, best_score = int64(action), value, score
    return best


@jit
def action_values(solver: Solver, values: Array) -> int:
    """The value to seat 0 of ``solver.worlds[0]``; ``values`` [31] receives the actions', -4 where not legal."""
    state = solver.worlds[0]
    values[:] = -_LIMIT
    if state.player < 0:
        return int64(state.game_points[0]) - int64(state.game_points[1])
    stamp = next_stamp(solver)
    legal = engine.legal_bits(state)
    best = -_LIMIT
    sign = 1 - 2 * int64(state.player)
    while legal:
        action = lowest_bit(legal)
        legal &= legal - 1
        copy_bytes(solver.worlds[1], state, _SIZE)
        engine.advance(solver.worlds[1], action)
        values[action] = search(solver.worlds[1:], solver.frames, solver.table, stamp)
        best = max(best, sign * int64(values[action]))
    return sign * best


@jit
def value_of(state: Record, solver: Solver) -> int:
    """The value to seat 0 of a state in which nothing is left to draw."""
    copy_bytes(solver.worlds[0], state, _SIZE)
    return search(solver.worlds, solver.frames, solver.table, next_stamp(solver))


@jit
def next_stamp(solver: Solver) -> int:
    """A new number for the entries of this solve, so that those of earlier ones do not count."""
    solver.solves[0] += 1
    if solver.solves[0] == _MOST_SOLVES:
        solver.solves[0] = 1
        for i in range(len(solver.table)):
            solver.table[i].rest = 0
    return int64(solver.solves[0])


@jit
def search(worlds: Array, frames: Array, table: Array, stamp: int) -> int:
    """The value to seat 0 of ``worlds[0]``; the places after it are written over.

    Alpha-beta with a stack of its own: frame d is about ``worlds[d]``.
    """
    value = enter(worlds[0], frames[0], -_LIMIT, _LIMIT, table, stamp)
    if value != _OPEN:
        return value
    depth = 0
    while True:
        frame = frames[depth]
        if frame.legal == 0 or frame.alpha >= frame.beta:
            value = leave(frame, table)
            if depth == 0:
                return value
            depth -= 1
            learn(frames[depth], value)
            continue
        action = most_promising(worlds[depth], frame.legal)
        frame.legal ^= 1 << action
        copy_bytes(worlds[depth + 1], worlds[depth], _SIZE)
        engine.advance(worlds[depth + 1], action)
        value = enter(worlds[depth + 1], frames[depth + 1], frame.alpha, frame.beta, table, stamp)
        if value == _OPEN:
            depth += 1
        else:
            learn(frame, value)


@jit
def enter(state: Record, frame: Record, alpha: int, beta: int, table: Array, stamp: int) -> int:
    """The value of ``state`` to seat 0, or a bound of it outside (alpha, beta), if it can be told at once; else -9,
    and ``frame`` is ready for searching it."""
    if state.player < 0:
        return int64(state.game_points[0]) - int64(state.game_points[1])
    alpha = max(alpha, -engine.most_game_points(state, 1))
    beta = min(beta, engine.most_game_points(state, 0))
    if alpha >= beta:
        return alpha
    frame.place = -1
    if state.table < 0 and state.announced < 0:
        hands, rest = identity(state, stamp)
        place = slot_of(hands, rest)
        entry = table[place]
        if entry.hands == hands and entry.rest == rest:
            alpha, beta = max(alpha, int64(entry.low)), min(beta, int64(entry.high))
            if alpha >= beta:
                return alpha
        frame.place, frame.hands, frame.rest = place, hands, rest
    frame.alpha = frame.low = alpha
    frame.beta = frame.high = beta
    frame.legal = engine.legal_bits(state)
    frame.maximises = state.player == 0
    return _OPEN


@jit
def learn(frame: Record, value: int) -> None:
    """An action of this position leads to ``value``."""
    if frame.maximises:
        frame.alpha = max(frame.alpha, value)
    else:
        frame.beta = min(frame.beta, value)


@jit
def leave(frame: Record, table: Array) -> int:
    """What searching this position found, noted in the table."""
    value = int64(frame.alpha if frame.maximises else frame.beta)
    if frame.place >= 0:
        entry = table[frame.place]
        if entry.hands != frame.hands or entry.rest != frame.rest:
            entry.hands, entry.rest = frame.hands, frame.rest
            entry.low, entry.high = -_LIMIT, _LIMIT
        if value < frame.high:
            entry.high = value
        if value > frame.low:
            entry.low = value
    return value


@jit
def identity(state: Record, stamp: int) -> tuple[int, int]:
    """All that the rest of a deal with nothing left to draw depends on, exactly, as two integers.

    Marriages announced before do not matter, since their king or queen is gone; pending points are those of a
    player without a trick, who has no others.
    """
    hands = int64(state.hands[0]) | int64(state.hands[1]) << NUM_CARDS | int64(state.player) << 2 * NUM_CARDS
    score = 0
    for seat in range(2):
        points = int64(state.points[seat]) + int64(state.pending[seat])
        score = score << 16 | points << 1 | int64(state.tricks[seat] == 0)
    score = score << 4 | (int64(state.first_to_target) + 1) << 2 | (int64(state.closed_by) + 1)
    return hands, score | stamp << 36


@jit
def slot_of(hands: int, rest: int) -> int:
    """The place of a position in the table."""
    return (hands * 0x2545F4914F6CDD1D ^ rest * 0x5851F42D4C957F2D) >> 40 & (TABLE_SIZE - 1)


@jit
def most_promising(state: Record, legal: int) -> int:
    """The action to try first: announcing, claiming; a lead that holds or a reply that wins, dear ones first; the
    cheapest card."""
    trump = int64(state.trump)
    following = int64(state.hands[1 - state.player])
    best, best_score = -1, 0
    while legal:
        action = lowest_bit(legal)
        legal &= legal - 1
        if action >= ANNOUNCE:
            return int64(action)
        leads = state.table < 0
        wins = holds_against(following, action, trump) if leads else beats(action, state.table, trump)
        score = promise(int64(action), wins, trump)
        if best < 0 or score > best_score:
            best, best_score = int64(action), score
    return best
