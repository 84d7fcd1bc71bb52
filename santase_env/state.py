"""STATE: one deal, and the score of its match, as a flat numpy record.

    rules        | public                                     | hidden
    target, ...  | points, tricks, table, log, ...             | hands, dealt, key, deal

The first two parts are known to both players, and a VIEW begins with the very same fields. A set of
cards is an integer with bit *id* set. An index by seat is written ``[seat]``. -1 means "none".
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from .cards import NUM_CARDS
from .compiled import Array
from .rules import DEFAULT_RULES, RULES_FIELDS, Rules

MAX_TRICKS = NUM_CARDS // 2
LOG_SIZE = 32
"""A deal has at most 24 plays, 4 marriages, an exchange, a close and a claim."""
LOG_PLAYER = 32
"""A log entry is the action, plus this when seat 1 did it."""

REASONS = ("none", "claim", "false_claim", "reached_66", "failed_close", "exhausted", "last_trick", "draw")
"""Why a deal ended, by the code in ``reason`` of states and infos; code 0: it has not ended."""
NOT_OVER, CLAIMED, FALSE_CLAIM, REACHED_TARGET, FAILED_CLOSE, EXHAUSTED, LAST_TRICK_TAKEN, DRAWN = range(len(REASONS))


FieldList: TypeAlias = list[tuple[str, type] | tuple[str, type, tuple[int, ...]]]

PUBLIC_FIELDS: FieldList = [
    ("played", np.int32, (2,)),  # cards played by this seat
    ("taken", np.int32, (2,)),  # cards in the tricks that this seat won
    ("known", np.int32, (2,)),  # cards that everybody knows to be in this seat's hand
    ("excluded", np.int32, (2,)),  # cards that this seat's replies show it cannot hold
    ("points", np.int16, (2,)),  # card points that count
    ("pending", np.int16, (2,)),  # marriage points that will count with this seat's first trick
    ("match_points", np.int16, (2,)),  # game points in the match, this deal included once it is over
    ("trick_winners", np.int16),  # bit k: seat 1 won trick k
    ("tricks", np.int8, (2,)),
    ("marriages", np.int8, (2,)),  # bit s: this seat announced the marriage of suit s
    ("game_points", np.int8, (2,)),  # of this deal, once it is over
    ("trump", np.int8),  # suit
    ("turned_up", np.int8),  # the card turned up at the deal
    ("face_up", np.int8),  # the card at the bottom of the talon now, closed or not; -1 once drawn
    ("talon", np.int8),  # cards left in it, the face-up one included
    ("opener", np.int8),  # seat that led the first trick
    ("leader", np.int8),  # seat that leads this trick
    ("player", np.int8),  # seat to move; -1 when the deal is over
    ("table", np.int8),  # card led to this trick; -1 before the lead
    ("announced", np.int8),  # suit of the marriage just announced, whose king or queen must be led now
    ("closed_by", np.int8),  # seat that closed the talon
    ("exchanged_by", np.int8),  # seat that exchanged the lowest trump
    ("first_to_target", np.int8),  # seat that first counted 66 points
    ("winner", np.int8),  # of the deal; -1: none, or not over
    ("reason", np.int8),  # why the deal ended, an index into REASONS
    ("log_length", np.int8),
    ("log", np.int8, (LOG_SIZE,)),  # every action in order: action + LOG_PLAYER * seat
]
HIDDEN_FIELDS: FieldList = [
    ("gap_2", np.int8),  # unused, as gap_1 of the rules
    ("hands", np.int32, (2,)),
    ("cards", np.int8, (2, MAX_TRICKS)),  # each seat's cards in the order they were dealt and drawn; -1 after them
    ("dealt", np.int8, (NUM_CARDS,)),  # seat 0's first hand, seat 1's, then the talon, top first
    ("key", np.uint64),  # of the generator: (seed, game)
    ("deal", np.int64),  # number of this deal in its game
]

STATE = np.dtype((np.record, np.dtype(RULES_FIELDS + PUBLIC_FIELDS + HIDDEN_FIELDS, align=True)))


def new_states(count: int, rules: Rules | str | Mapping[str, Any] = DEFAULT_RULES) -> Array:
    """``count`` blank records of dtype STATE under ``rules``: set their keys, then deal."""
    packed = Rules.of(rules).packed
    states = np.zeros(count, STATE)
    for name in packed.dtype.names or ():
        states[name] = packed[name]
    return states
