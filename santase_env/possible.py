"""Which VIEWs can be: one that no play can lead to is refused before anything is computed from it.

``bounds_fault`` looks at the numbers alone, so that whatever reads the view stays within its arrays.
``replay_fault`` asks the engine: a deal drawn from the view must replay its log and show that same view again.
"""

from itertools import combinations

import numpy as np
from numba import literal_unroll

from . import engine
from .actions import ACTION_TEXTS, NUM_ACTIONS
from .cards import CARD_TEXTS, NUM_CARDS, NUM_RANKS, NUM_SUITS, SUIT_BITS, cards_in
from .compiled import Record, bit_count, copy_bytes, int64, jit
from .rules import _LARGEST, _LARGEST_POINTS, _SMALLEST, CHOICES, RULES, Rules
from .state import LOG_PLAYER, LOG_SIZE, MAX_TRICKS, PUBLIC_FIELDS, STATE

_ALL_CARDS = (1 << NUM_CARDS) - 1
_STATE_SIZE = STATE.itemsize


def _limits_of_rules() -> dict[str, tuple[int, int]]:
    limits = {"deck": (1, _ALL_CARDS), "deck_size": (4, NUM_CARDS), "lowest_rank": (0, NUM_RANKS - 1)}
    for name in set(RULES.names or ()) - set(limits) - {"gap_1"}:
        if name in CHOICES:
            limits[name] = (0, len(CHOICES[name]) - 1)
        elif isinstance(getattr(Rules, name), bool):
            limits[name] = (0, 1)
        else:
            limits[name] = (_SMALLEST.get(name, 0), _LARGEST.get(name, _LARGEST_POINTS))
    return {name: limits[name] for name in RULES.names or () if name in limits}


LIMITS = {
    **_limits_of_rules(),
    "seat": (0, 1),
    "opener": (0, 1),
    "player": (-1, 1),
    "closed_by": (-1, 1),
    "exchanged_by": (-1, 1),
    "trump": (0, NUM_SUITS - 1),
    "turned_up": (0, NUM_CARDS - 1),
    "face_up": (-1, NUM_CARDS - 1),
    "talon": (0, NUM_CARDS - 2),
    "log_length": (0, LOG_SIZE),
}
"""Smallest and largest value of the fields that count, index or shift something before the log is replayed."""

_LIMITED = tuple(LIMITS)
_LOW = np.array([low for low, _ in LIMITS.values()])
_HIGH = np.array([high for _, high in LIMITS.values()])
_SINGLE = tuple(field[0] for field in PUBLIC_FIELDS if len(field) == 2)
_ROWS = tuple(field[0] for field in PUBLIC_FIELDS if len(field) == 3)

FINE = 0
"""The code of a view that is possible; every other code is an index into FAULTS."""

_LIMIT = 1
_DECK = _LIMIT + len(LIMITS)
(
    _HAND_SIZE,
    _TALON,
    _FACE_UP,
    _CARDS,
    _NOT_IN_DECK,
    _EXCLUDED,
    _TWO_PLACES,
    _NOT_PLAYED,
    _NOT_RECEIVED,
    _HAND_COUNT,
    _OTHER_COUNT,
    _TOO_FEW,
    _LOG_CARDS,
    _MATCH_POINTS,
    _DEALT,
    _ENTRY,
) = range(_DECK + 1, _DECK + 17)
_LOG = _ENTRY + LOG_SIZE
_FIELD = _LOG + LOG_SIZE
_OWN = _FIELD + len(_SINGLE) + len(_ROWS)

FAULTS = (
    "",
    *(f"{name} is {{value}}, not from {low} to {high}" for name, (low, high) in LIMITS.items()),
    "its deck is not deck_size cards, the same ranks from lowest_rank up in every suit",
    "its hand_size leaves no even talon of at least 2 cards",
    "its talon is odd, or larger than at the deal",
    "face_up must be a card while there is a talon, and -1 after it",
    "cards must hold what the player was dealt and drew, as many as the talon says, and -1 after them",
    "{card} is not in the deck",
    "excluded holds something that is no card",
    "{card} is both {place} and {other}",
    "{card} is taken but was not played",
    "{card} is the player's own but is not among the cards that he was dealt and drew",
    "the hand and the cards played do not make the number of cards dealt and drawn",
    "the other player has played, or is known to hold, more cards than he was dealt and drew",
    "too few cards are left that the other player's replies do not exclude",
    "the log and played differ about {card}",
    "the match points before this deal are negative",
    "no deal of its deck fits its cards and its log",
    *(f"entry {i} of the log is {{value}}, which is no action" for i in range(LOG_SIZE)),
    *(f"action {i} of the log ({{action}}) is not legal" for i in range(LOG_SIZE)),
    *(
        "log holds something after its log_length" if name == "log" else f"{name} is not what the log leads to"
        for name in (*_SINGLE, *_ROWS, "hand", "cards")
    ),
)
"""What is wrong with a view, by the code of the fault."""


# -------------------------------------------------------------------------------------- numbers that fit


@jit
def bounds_fault(view: Record) -> int:
    """The first thing wrong with the numbers of a view, a code; FINE: a state can be drawn from it safely."""
    fault = limit_fault(view)
    if fault == FINE:
        fault = talon_fault(view)
    if fault == FINE:
        fault = place_fault(view)
    if fault == FINE:
        fault = count_fault(view)
    if fault == FINE:
        fault = log_fault(view)
    return fault


@jit
def limit_fault(view: Record) -> int:
    """Is every field within LIMITS?"""
    code = _LIMIT
    for name in literal_unroll(_LIMITED):
        if not _LOW[code - _LIMIT] <= view[name] <= _HIGH[code - _LIMIT]:
            return code
        code += 1
    return FINE


@jit
def talon_fault(view: Record) -> int:
    """Do the deck, the hands dealt and the talon fit each other?"""
    if not is_deck(int64(view.deck), int64(view.lowest_rank), int64(view.deck_size)):
        return _DECK
    first_talon = int64(view.deck_size) - 2 * int64(view.hand_size)
    if first_talon < 2 or first_talon % 2:
        return _HAND_SIZE
    if view.talon > first_talon or view.talon % 2:
        return _TALON
    if (view.face_up >= 0) != (view.talon > 0):
        return _FACE_UP
    return FINE


@jit
def is_deck(deck: int, lowest_rank: int, size: int) -> bool:
    """Are these ``size`` cards, the same ranks in every suit in play, ``lowest_rank`` the lowest?"""
    ranks = 0
    for suit in range(NUM_SUITS):
        ranks |= deck >> NUM_RANKS * suit & SUIT_BITS
    for suit in range(NUM_SUITS):
        mine = deck >> NUM_RANKS * suit & SUIT_BITS
        if mine != 0 and mine != ranks:
            return False
    return ranks & ((2 << lowest_rank) - 1) == 1 << lowest_rank and int64(bit_count(deck)) == size


@jit
def place_fault(view: Record) -> int:
    """Is every card of the deck, and at one place only?"""
    deck, hand, known, face_up = int64(view.deck), int64(view.hand), known_of_other(view), face_up_set(view)
    played = int64(view.played[0]) | int64(view.played[1])
    taken = int64(view.taken[0]) | int64(view.taken[1])
    if cards_named(view) & ~deck:
        return _NOT_IN_DECK
    if (int64(view.excluded[0]) | int64(view.excluded[1])) & ~_ALL_CARDS:
        return _EXCLUDED
    places = bit_count(hand) + bit_count(known) + bit_count(face_up)
    places += bit_count(int64(view.played[0])) + bit_count(int64(view.played[1]))
    if places != bit_count(hand | known | face_up | played):
        return _TWO_PLACES
    if taken & (hand | known | face_up) or int64(view.taken[0]) & int64(view.taken[1]):
        return _TWO_PLACES
    if taken & ~played:
        return _NOT_PLAYED
    return FINE


@jit
def count_fault(view: Record) -> int:
    """Do the numbers of cards add up?"""
    received = engine.cards_received(view)
    me, other = int64(view.seat), 1 - int64(view.seat)
    if not is_list_of(view, received):
        return _CARDS
    if not_received(view):
        return _NOT_RECEIVED
    if bit_count(int64(view.hand)) + bit_count(int64(view.played[me])) != received:
        return _HAND_COUNT
    known = known_of_other(view)
    to_find = received - bit_count(int64(view.played[other])) - bit_count(known)
    if to_find < 0:
        return _OTHER_COUNT
    seen = int64(view.hand) | int64(view.played[0]) | int64(view.played[1]) | known | face_up_set(view)
    if bit_count(int64(view.deck) & ~seen & ~int64(view.excluded[other])) < to_find:
        return _TOO_FEW
    return FINE


@jit
def log_fault(view: Record) -> int:
    """Does the log hold actions, and play the cards that were played?"""
    for i in range(view.log_length):
        if not 0 <= view.log[i] < 2 * LOG_PLAYER or view.log[i] % LOG_PLAYER >= NUM_ACTIONS:
            return _ENTRY + i
    if log_differs(view):
        return _LOG_CARDS
    return FINE


@jit
def log_differs(view: Record) -> int:
    """Cards that only one of the log and ``played`` has a player play."""
    first, second = int64(view.played[0]), int64(view.played[1])
    by_first, by_second = 0, 0
    for i in range(view.log_length):
        action = int64(view.log[i]) % LOG_PLAYER
        if action < NUM_CARDS and view.log[i] < LOG_PLAYER:
            by_first |= 1 << action
        elif action < NUM_CARDS:
            by_second |= 1 << action
    return (first ^ by_first) | (second ^ by_second)


@jit
def is_list_of(view: Record, count: int) -> bool:
    """Does ``cards`` begin with ``count`` cards of the deck, with -1 after them?"""
    for i in range(MAX_TRICKS):
        card = int64(view.cards[i])
        is_card = 0 <= card < NUM_CARDS and int64(view.deck) >> card & 1 == 1
        if not is_card if i < count else card != -1:
            return False
    return True


@jit
def known_of_other(view: Record) -> int:
    """The set of the cards known in the other hand."""
    return int64(view.known[1 - view.seat])


@jit
def face_up_set(view: Record) -> int:
    """The face-up card as a set, empty once it is drawn."""
    return 1 << int64(view.face_up) if view.face_up >= 0 else 0


@jit
def cards_named(view: Record) -> int:
    """Every card that the view says to lie somewhere."""
    cards = int64(view.hand) | face_up_set(view) | 1 << int64(view.turned_up)
    for seat in range(2):
        cards |= int64(view.played[seat]) | int64(view.taken[seat]) | int64(view.known[seat])
    return cards


@jit
def not_received(view: Record) -> int:
    """Cards of the hand, or played from it, that were neither dealt, drawn, nor to be had by the exchange."""
    received = 1 << int64(view.turned_up)
    for i in range(engine.cards_received(view)):
        received |= 1 << int64(view.cards[i])
    return (int64(view.hand) | int64(view.played[view.seat])) & ~received


# ----------------------------------------------------------------------------------- play that leads to it


@jit
def replay_fault(view: Record, world: Record, scratch: Record) -> int:
    """The first thing wrong with what the log of a view leads to, a code; FINE: the view is possible.

    world: a STATE drawn from the view, which has no bounds_fault; scratch: a STATE to play in.
    """
    if cards_dealt(world) != view.deck:
        return _DEALT
    copy_bytes(scratch, world, _STATE_SIZE)
    for seat in range(2):
        before = int64(view.match_points[seat]) - int64(view.game_points[seat])
        if before < 0:
            return _MATCH_POINTS
        scratch.match_points[seat] = before
    engine.begin(scratch, int64(view.opener))
    for i in range(view.log_length):
        player, action = int64(view.log[i]) // LOG_PLAYER, int64(view.log[i]) % LOG_PLAYER
        if player != scratch.player or not engine.is_legal(scratch, action):
            return _LOG + i
        engine.advance(scratch, action)
    return field_fault(view, scratch)


@jit
def cards_dealt(world: Record) -> int:
    """The set of the cards that lie in ``dealt``, or 0 when something else lies there."""
    cards = 0
    for i in range(world.deck_size):
        card = int64(world.dealt[i])
        if not 0 <= card < NUM_CARDS:
            return 0
        cards |= 1 << card
    return cards


@jit
def field_fault(view: Record, state: Record) -> int:
    """Is the view what its player sees of ``state``?"""
    code = _FIELD
    for name in literal_unroll(_SINGLE):
        if view[name] != state[name]:
            return code
        code += 1
    for name in literal_unroll(_ROWS):
        for i in range(len(view[name])):
            if view[name][i] != state[name][i]:
                return code
        code += 1
    if view.hand != state.hands[view.seat]:
        return _OWN
    for i in range(MAX_TRICKS):
        if view.cards[i] != state.cards[view.seat, i]:
            return _OWN + 1
    return FINE


# ------------------------------------------------------------------------------------------------ in words


def describe_fault(view: Record, code: int) -> str:
    """What is wrong with a view that has this fault."""
    text = FAULTS[code]
    if _LIMIT <= code < _DECK:
        return text.format(value=int(view[_LIMITED[code - _LIMIT]]))
    if code == _NOT_IN_DECK:
        return text.format(card=_name_of(int(cards_named(view)) & ~int(view.deck)))
    if code == _TWO_PLACES:
        return text.format(**_overlap(view))
    if code == _NOT_PLAYED:
        return text.format(card=_name_of(int((view.taken[0] | view.taken[1]) & ~(view.played[0] | view.played[1]))))
    if code == _NOT_RECEIVED:
        return text.format(card=_name_of(int(not_received(view))))
    if code == _LOG_CARDS:
        return text.format(card=_name_of(int(log_differs(view))))
    if _ENTRY <= code < _LOG:
        return text.format(value=int(view.log[code - _ENTRY]))
    if _LOG <= code < _FIELD:
        return text.format(action=_log_text(int(view.log[code - _LOG])))
    return text


def _name_of(bits: int) -> str:
    """The first card of a set that is not empty."""
    cards = cards_in(bits)
    return CARD_TEXTS[cards[0]] if cards else "a number above those of the cards"


def _overlap(view: Record) -> dict[str, str]:
    """The first card that is at two places, and these; that a card taken was played is no clash."""
    places = {
        "in the hand": view.hand,
        "face up": face_up_set(view),
        "known in the other hand": known_of_other(view),
        **{f"taken by seat {seat}": view.taken[seat] for seat in range(2)},
        **{f"played by seat {seat}": view.played[seat] for seat in range(2)},
    }
    for place, other in combinations(places, 2):
        both = int(places[place]) & int(places[other])
        if both and not (place.startswith("taken") and other.startswith("played")):
            return {"card": _name_of(both), "place": place, "other": other}
    raise AssertionError("no card is at two places")


def _log_text(entry: int) -> str:
    seat, action = divmod(entry, LOG_PLAYER)
    return f"{ACTION_TEXTS[action]} by seat {seat}"
