"""The observation vector: a named layout, and ``encode(view)`` that fills it.

Every entry lies in [0, 1]. "Mine" is the viewer's, "theirs" the opponent's. Sets of cards are 24 zeros and
ones in the order of card ids. The vector is a summary, which forgets when things happened; with ``recall`` the public
log and the order in which one's own cards came stand behind it, and a row tells all that the player ever saw in the
deal, which the theory of such games calls an information state.

With canonical suits the trump suit comes first and the others keep their order, in the observation, the mask
and the actions alike, so that a learner need not learn the same thing four times.
"""

from typing import Any, NamedTuple

import numpy as np

from .actions import ANNOUNCE, EXCHANGE, NUM_ACTIONS
from .cards import NUM_CARDS, NUM_RANKS, NUM_SUITS, SUIT_BITS
from .compiled import Array, Record, int64, jit, lowest_bit
from .engine import is_strict
from .rules import DRAW, ILLEGAL, THREE
from .state import LOG_PLAYER, LOG_SIZE, MAX_TRICKS
from .view import unseen_cards


class Piece(NamedTuple):
    """A named part of the observation: where it starts, how many entries, and what they say."""

    name: str
    start: int
    size: int
    meaning: str


def _layout(first: int, *pieces: tuple[str, int, str]) -> tuple[Piece, ...]:
    starts = np.cumsum([first] + [size for _, size, _ in pieces])
    return tuple(Piece(name, int(start), size, text) for (name, size, text), start in zip(pieces, starts, strict=False))


LAYOUT = _layout(
    0,
    ("hand", NUM_CARDS, "cards in my hand"),
    ("played_mine", NUM_CARDS, "cards that I played"),
    ("played_theirs", NUM_CARDS, "cards that the opponent played"),
    ("taken_mine", NUM_CARDS, "cards in the tricks that I won; the other played cards off the table are theirs"),
    ("table", NUM_CARDS, "the card on the table, led to this trick"),
    ("known_theirs", NUM_CARDS, "cards known to be in the opponent's hand"),
    ("unseen", NUM_CARDS, "cards in the opponent's hand or face down in the talon, one cannot tell which"),
    ("trump_suit", NUM_SUITS, "the trump suit"),
    ("face_up", NUM_RANKS, "rank of the trump at the bottom of the talon, until it is drawn; closed talons too"),
    ("talon", 1, "cards left in the talon, as a share of those at the deal"),
    ("closed", 2, "the talon was closed by me, by the opponent"),
    ("strict", 1, "the talon is used up or closed: the follower must follow suit"),
    ("leading", 1, "I lead, or led, the current trick"),
    ("to_move", 1, "it is my turn"),
    ("announced", 1, "a marriage was just announced: its king or queen must be led"),
    ("points", 2, "my, their points, as a share of the target, at most 1"),
    ("points_beyond", 2, "my, their points beyond the target, per 200"),
    ("pending", 2, "my, their marriage points that count from the first trick on, as a share of the target"),
    ("safe", 2, "I have, they have the 33 points that save a game point"),
    ("first_to_target", 2, "I, they were the first at the target"),
    ("tricks", 2, "tricks that I, they won, per 12"),
    ("marriages_mine", NUM_SUITS, "suits whose marriage I announced"),
    ("marriages_theirs", NUM_SUITS, "suits whose marriage the opponent announced"),
    ("match_points", 2, "my, their game points in the match, as a share of what ends it, at most 1"),
    (
        "rules",
        9,
        "marriage and close on the opening lead; close needs more than 2 talon cards; claims after the trick, on turn, "
        "at once; false claims masked; a failed close costs 3; 65–65 is a draw",
    ),
)
OBSERVATION_SIZE = LAYOUT[-1].start + LAYOUT[-1].size
LAYOUT_VERSION = 1
"""Rises with every change of LAYOUT; checkpoints name it and are refused under another."""

RECALL_LAYOUT = _layout(
    OBSERVATION_SIZE,
    ("when_mine", NUM_ACTIONS, "actions that I took: place in the log from 1 on, per 32; else 0"),
    ("when_theirs", NUM_ACTIONS, "actions that the opponent took, likewise"),
    ("came", NUM_CARDS, "cards dealt to me or drawn by me: the order in which they came from 1 on, per 12; else 0"),
)
"""What ``recall`` adds."""
RECALL_SIZE = sum(piece.size for piece in RECALL_LAYOUT)
WHEN_MINE, WHEN_THEIRS, CAME = (piece.start for piece in RECALL_LAYOUT)

_AT = {piece.name: piece.start for piece in LAYOUT}
HAND, PLAYED_MINE, PLAYED_THEIRS, TAKEN_MINE = (_AT[n] for n in ("hand", "played_mine", "played_theirs", "taken_mine"))
TABLE, KNOWN_THEIRS, UNSEEN = (_AT[name] for name in ("table", "known_theirs", "unseen"))
TRUMP_SUIT, FACE_UP, TALON, CLOSED = (_AT[name] for name in ("trump_suit", "face_up", "talon", "closed"))
STRICT, LEADING, TO_MOVE, ANNOUNCED = (_AT[name] for name in ("strict", "leading", "to_move", "announced"))
POINTS, POINTS_BEYOND, PENDING, SAFE = (_AT[name] for name in ("points", "points_beyond", "pending", "safe"))
FIRST_TO_TARGET, TRICKS, MATCH_POINTS, RULES = (_AT[n] for n in ("first_to_target", "tricks", "match_points", "rules"))
MARRIAGES_MINE, MARRIAGES_THEIRS = _AT["marriages_mine"], _AT["marriages_theirs"]

_BYTES = np.array([[byte >> bit & 1 for bit in range(8)] for byte in range(256)])
_FLOAT_BITS = _BYTES.astype(np.float32)
_ONE = np.float32(1)
_PER = np.concatenate([[0], 1 / np.arange(1, 1001)]).astype(np.float32)
_INT8_BITS = _BYTES.astype(np.int8)


def observation_size(recall: bool = False) -> int:
    """Numbers in a row, [D]."""
    return OBSERVATION_SIZE + (RECALL_SIZE if recall else 0)


def encode(view: Record, canonical_suits: bool = False, recall: bool = False) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The observation [D] float32 of one VIEW."""
    row = np.empty(observation_size(recall), np.float32)
    encode_row(view, canonical_suits, row)
    return row


def encode_batch(
    views: Array, masks: Array, canonical_suits: bool = False, recall: bool = False
) -> tuple[np.ndarray[Any, np.dtype[np.float32]], np.ndarray[Any, np.dtype[np.int8]]]:
    """Observations [B, D] float32 and masks [B, 31] int8 of VIEWs [B] with real-suit masks [B, 31]."""
    rows = np.empty((len(views), observation_size(recall)), np.float32)
    encode_all(views, canonical_suits, rows)
    return rows, canonical_masks(views, masks) if canonical_suits else masks


@jit
def encode_row(view: Record, canonical: bool, row: Array) -> None:
    """row: [D] float32; receives the observation, and recall behind it if the row is long enough."""
    encode_into(view, canonical, row)
    if len(row) > OBSERVATION_SIZE:
        encode_recall(view, canonical, row)


@jit
def encode_into(view: Record, canonical: bool, row: Array) -> None:
    """row: float32; receives the observation without recall."""
    me = int64(view.seat)
    other = 1 - me
    trump = int64(view.trump)
    first = trump if canonical else 0
    write_cards(row, HAND, canonical_cards(view.hand, first))
    write_cards(row, PLAYED_MINE, canonical_cards(view.played[me], first))
    write_cards(row, PLAYED_THEIRS, canonical_cards(view.played[other], first))
    write_cards(row, TAKEN_MINE, canonical_cards(view.taken[me], first))
    write_cards(row, TABLE, canonical_cards(1 << int64(view.table) if view.table >= 0 else 0, first))
    write_cards(row, KNOWN_THEIRS, canonical_cards(view.known[other], first))
    write_cards(row, UNSEEN, canonical_cards(unseen_cards(view), first))
    for i in range(TRUMP_SUIT, OBSERVATION_SIZE):
        row[i] = 0
    row[TRUMP_SUIT + (0 if canonical else trump)] = 1
    row[FACE_UP + max(int64(view.face_up), 0) % NUM_RANKS] = view.face_up >= 0
    row[TALON] = view.talon * _PER[view.deck_size - 2 * view.hand_size]
    row[STRICT] = is_strict(view)
    row[LEADING] = view.leader == me
    row[TO_MOVE] = view.player == me
    row[ANNOUNCED] = view.announced >= 0
    per_target, per_match = _PER[view.target], _PER[view.match_target]
    for side in range(2):
        seat = me ^ side
        points = view.points[seat]
        row[POINTS + side] = min(points * per_target, _ONE)
        row[POINTS_BEYOND + side] = min(max(points - view.target, 0) * _PER[200], _ONE)
        row[PENDING + side] = min(view.pending[seat] * per_target, _ONE)
        row[SAFE + side] = points >= view.schneider
        row[CLOSED + side] = view.closed_by == seat
        row[FIRST_TO_TARGET + side] = view.first_to_target == seat
        row[TRICKS + side] = view.tricks[seat] * _PER[12]
        row[MATCH_POINTS + side] = min(view.match_points[seat] * per_match, _ONE)
    write_suits(row, MARRIAGES_MINE, canonical_suits_of(view.marriages[me], first))
    write_suits(row, MARRIAGES_THEIRS, canonical_suits_of(view.marriages[other], first))
    row[RULES] = view.marriage_on_opening_lead
    row[RULES + 1] = view.close_on_opening_lead
    row[RULES + 2] = view.close_min_talon > 2
    row[RULES + 3 + view.claim] = 1
    row[RULES + 6] = view.false_claim == ILLEGAL
    row[RULES + 7] = view.failed_close == THREE
    row[RULES + 8] = view.exhausted == DRAW


@jit
def encode_recall(view: Record, canonical: bool, row: Array) -> None:
    """Write what stands behind the observation."""
    first = int64(view.trump) if canonical else 0
    for i in range(WHEN_MINE, WHEN_MINE + RECALL_SIZE):
        row[i] = 0
    for i in range(view.log_length):
        entry = int64(view.log[i])
        action = int64(lowest_bit(canonical_actions(1 << (entry % LOG_PLAYER), first)))
        start = WHEN_MINE if entry // LOG_PLAYER == view.seat else WHEN_THEIRS
        row[start + action] = (i + 1) / LOG_SIZE
    for i in range(MAX_TRICKS):
        if view.cards[i] >= 0:
            card = int64(lowest_bit(canonical_cards(1 << int64(view.cards[i]), first)))
            row[CAME + card] = (i + 1) / MAX_TRICKS


@jit
def encode_all(views: Array, canonical: bool, rows: Array) -> None:
    """views: [B] VIEW; rows: [B, D] float32, receives the observations."""
    for i in range(len(views)):
        encode_row(views[i], canonical, rows[i])


@jit
def write_cards(row: Array, start: int, bits: int) -> None:
    """Write a set as 24 zeros and ones, eight at a time from a table."""
    for byte in range(3):
        values = _FLOAT_BITS[bits >> 8 * byte & 255]
        for i in range(8):
            row[start + 8 * byte + i] = values[i]


@jit
def write_suits(row: Array, start: int, bits: int) -> None:
    """Write a set of suits as 4 zeros and ones."""
    for suit in range(NUM_SUITS):
        row[start + suit] = bits >> suit & 1


@jit
def write_mask(bits: int, mask: Array) -> None:
    """Write a set of actions into mask [31] int8."""
    for byte in range(4):
        start = min(8 * byte, NUM_ACTIONS - 8)  # the last eight overlap the ones before
        values = _INT8_BITS[bits >> start & 255]
        for i in range(8):
            mask[start + i] = values[i]


# ---------------------------------------------------------------------------------------- suit names


@jit
def canonical_cards(bits: int, first: int) -> int:
    """A set of cards with suit ``first`` moved to the front."""
    cards = int64(bits)
    if first == 0:
        return cards
    before = (1 << NUM_RANKS * int64(first)) - 1
    moved = cards >> NUM_RANKS * int64(first) & SUIT_BITS
    return cards & ~(before << NUM_RANKS | SUIT_BITS) | (cards & before) << NUM_RANKS | moved


@jit
def canonical_suits_of(bits: int, first: int) -> int:
    """A set of suits with suit ``first`` moved to the front."""
    suits = int64(bits)
    before = (1 << int64(first)) - 1
    return suits & ~(before << 1 | 1) | (suits & before) << 1 | (suits >> int64(first) & 1)


@jit
def canonical_actions(bits: int, first: int) -> int:
    """A set of actions with suit ``first`` moved to the front."""
    cards = canonical_cards(bits & ((1 << ANNOUNCE) - 1), first)
    marriages = canonical_suits_of(bits >> ANNOUNCE & ((1 << NUM_SUITS) - 1), first)
    return bits >> EXCHANGE << EXCHANGE | marriages << ANNOUNCE | cards


@jit
def real_action(action: int, first: int) -> int:
    """The action in real suits that is called ``action`` when suit ``first`` is moved to the front."""
    if action < ANNOUNCE:
        return NUM_RANKS * real_suit(action // NUM_RANKS, first) + action % NUM_RANKS
    return ANNOUNCE + real_suit(action - ANNOUNCE, first) if action < EXCHANGE else action


@jit
def real_suit(suit: int, first: int) -> int:
    """The suit that stands at place ``suit`` when suit ``first`` is moved to the front."""
    if suit == 0:
        return int64(first)
    return suit - 1 if suit <= first else suit


def canonical_masks(views: Array, masks: Array) -> np.ndarray[Any, np.dtype[np.int8]]:
    """Real-suit masks [B, 31] of these VIEWs [B] as canonical ones."""
    renamed = np.empty_like(masks)
    _rename_masks(views, masks, renamed)
    return renamed


@jit
def _rename_masks(views: Array, masks: Array, renamed: Array) -> None:
    for i in range(len(views)):
        for action in range(NUM_ACTIONS):
            renamed[i, action] = masks[i, real_action(action, views[i].trump)]


def real_actions(views: Array, actions: Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Canonical actions [B] for these VIEWs [B] as real ones."""
    real = np.empty(len(actions), np.int64)
    _rename_actions(views, np.asarray(actions, np.int64), real)
    return real


@jit
def _rename_actions(views: Array, actions: Array, real: Array) -> None:
    for i in range(len(views)):
        real[i] = real_action(actions[i], views[i].trump)
