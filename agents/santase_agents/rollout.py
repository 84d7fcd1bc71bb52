"""Roll-outs: a deal whose cards are all laid out, played to its end by both sides.

``random`` plays legal actions at random (false claims apart), ``habit`` by the simple habits of ``playout.py``,
which look at both hands, ``heuristic`` by the heuristic player, each side from its own view.
"""

from typing import NamedTuple

import numpy as np

from santase_env import engine
from santase_env.actions import CLAIM, NUM_ACTIONS
from santase_env.compiled import Array, Record, int64, jit, lowest_bit
from santase_env.observation import write_mask
from santase_env.rng import mix, random_element
from santase_env.state import STATE
from santase_env.view import VIEW, fill_view

from .endgame import Solver, value_of
from .heuristic import choose
from .playout import habit

KINDS = ("random", "habit", "heuristic")
RANDOM, HABIT, HEURISTIC = range(len(KINDS))


class RollOut(NamedTuple):
    """A kind of roll-out, and what one thread needs for it."""

    kind: int
    views: Array
    """[1] VIEW."""
    mask: Array
    """[31] int8."""
    worlds: Array
    """[2] STATE."""


def new_roll_out(name: str) -> RollOut:
    """The roll-out of this name; raises ValueError for an unknown one."""
    return RollOut(kind_of(name), np.zeros(1, VIEW), np.zeros(NUM_ACTIONS, np.int8), np.zeros(2, STATE))


def kind_of(name: str) -> int:
    """The number of a kind of roll-out; raises ValueError for an unknown one."""
    if name not in KINDS:
        raise ValueError(f"rollout must be one of {', '.join(KINDS)}, not {name!r}")
    return KINDS.index(name)


@jit
def roll_out(state: Record, rollout: RollOut, key: np.uint64, solver: Solver, exact: bool) -> int:
    """Play ``state`` to its end; the game points of seat 0 less those of seat 1. ``key`` is all the randomness.

    With ``exact``, the value of a position in which the talon is used up is solved instead.
    """
    while state.player >= 0:
        if exact and state.talon == 0:
            return value_of(state, solver)
        engine.advance(state, rollout_action(state, rollout, key))
    return int64(state.game_points[0]) - int64(state.game_points[1])


@jit
def rollout_action(state: Record, rollout: RollOut, key: np.uint64) -> int:
    """What the player to move does in this kind of roll-out."""
    legal = engine.legal_bits(state)
    if legal & (legal - 1) == 0:
        return int64(lowest_bit(legal))
    if rollout.kind == RANDOM:
        if state.points[state.player] < state.target:
            legal &= ~(1 << CLAIM)
        return random_element(legal, mix(key, state.log_length))
    if rollout.kind == HABIT:
        return habit(state)
    fill_view(state, state.player, rollout.views[0])
    write_mask(legal, rollout.mask)
    return choose(rollout.views[0], rollout.mask, rollout.worlds)
