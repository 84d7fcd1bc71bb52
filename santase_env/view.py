"""VIEW: all that one player may know, and the one door to it from a STATE.

    rules        | public                                     | own
    target, ...  | points, tricks, table, log, ...             | seat, hand, cards

The first two parts are those of STATE. Whatever a player decides on is computed from a VIEW, so nothing
hidden can leak into a decision. ``sample_state`` goes the other way: a full deal that the player cannot
tell from the real one.
"""

import numpy as np

from . import engine
from .actions import ANNOUNCE, CLOSE, EXCHANGE
from .cards import NUM_CARDS
from .compiled import Array, Record, bit_count, copy_bytes, int64, jit, shared_size
from .possible import FINE, bounds_fault, describe_fault, replay_fault
from .rng import below, mix
from .rules import RULES_FIELDS
from .state import LOG_PLAYER, MAX_TRICKS, PUBLIC_FIELDS, STATE, FieldList

OWN_FIELDS: FieldList = [
    ("seat", np.int8),  # whose view this is
    ("hand", np.int32),  # his hand, a set
    ("cards", np.int8, (MAX_TRICKS,)),  # the cards he was dealt and drew, in the order they came; -1 after them
]
VIEW = np.dtype((np.record, np.dtype(RULES_FIELDS + PUBLIC_FIELDS + OWN_FIELDS, align=True)))
_SHARED = shared_size(STATE, VIEW)


def view_of(state: Record, player: int) -> Record:
    """A new VIEW: what ``player`` (0 or 1) knows of ``state``."""
    views = np.zeros(1, VIEW)
    fill_view(state, player, views[0])
    return views[0]


@jit
def fill_view(state: Record, player: int, view: Record) -> None:
    """Write into ``view`` what ``player`` knows of ``state``."""
    copy_bytes(view, state, _SHARED)
    view.seat = player
    view.hand = state.hands[player]
    for i in range(MAX_TRICKS):
        view.cards[i] = state.cards[player, i]


@jit
def unseen_cards(view: Record) -> int:
    """The set of cards that may be in the other hand or face down in the talon, as far as plain sight tells.

    Not in it: one's own cards, all that was played, the face-up card, and cards known in the other hand.
    """
    seen = int64(view.hand) | view.played[0] | view.played[1] | view.known[1 - view.seat]
    if view.face_up >= 0:
        seen |= 1 << int64(view.face_up)
    return int64(view.deck & ~seen)


@jit
def opponent_hand_size(view: Record) -> int:
    """Number of cards in the other hand."""
    return engine.cards_received(view) - count_cards(view.played[1 - view.seat])


@jit
def count_cards(bits: int) -> int:
    """Number of cards in a set."""
    return int64(bit_count(bits))


@jit
def list_cards(bits: int, cards: Array, start: int) -> int:
    """Write the ids of a set into ``cards`` from place ``start``, ascending; returns the place after them."""
    for card in range(NUM_CARDS):
        if bits >> card & 1:
            cards[start] = card
            start += 1
    return start


def check_views(views: Array | Record, where: Array | None = None) -> None:
    """Raises ValueError, naming the row and what is wrong, unless every one of ``views`` can come about by play.

    views: [B] VIEW, or one VIEW; the match score before the deal may be anything from 0 up. where: [B] bool, the rows
    to look at; all of them if it is None.
    """
    array = np.asarray(views)
    if array.dtype != VIEW:
        fields = "other fields" if array.dtype.names else f"dtype {array.dtype}"
        raise TypeError(
            f"a view is a record of dtype VIEW, as view_of makes it, not {type(views).__name__} of {fields}"
        )
    if array.ndim > 1:
        raise ValueError(f"views must be one view or a row of them, not an array of shape {array.shape}")
    rows = np.require(np.atleast_1d(array), requirements=("C", "A")).view(VIEW)
    chosen = np.arange(len(rows)) if where is None else np.flatnonzero(where)
    place, code = first_impossible(rows, chosen)
    if code != FINE:
        row = chosen[place]
        which = f"row {row} is an impossible view" if array.ndim else "impossible view"
        raise ValueError(f"{which}: {describe_fault(rows[row], code)}")


@jit
def first_impossible(views: Array, rows: Array) -> tuple[int, int]:
    """views: [B] VIEW, rows: int64; (place in ``rows``, code of its fault) of the first view there that cannot be, or
    (-1, FINE)."""
    worlds = np.zeros(2, STATE)
    for place in range(len(rows)):
        fault = view_fault(views[rows[place]], worlds)
        if fault != FINE:
            return place, fault
    return -1, FINE


@jit
def view_fault(view: Record, worlds: Array) -> int:
    """The code of what is wrong with a view, or FINE; worlds: [2] STATE to work in."""
    fault = bounds_fault(view)
    if fault != FINE:
        return fault
    # Every deal that fits a possible view replays, so one of them tells.
    fill_sample(view, np.uint64(0), worlds[0])
    return replay_fault(view, worlds[0], worlds[1])


def sample_state(view: Record, key: int) -> Record:
    """A STATE drawn uniformly among those that ``view`` cannot tell from the real one.

    Uniform over the opponent's hand and the order of the face-down talon, given that every action of the
    log was legal. That is the chance prior, not a belief about how the opponent plays. Its log replays from
    its own deal, and its generator is fresh. ``key`` (uint64) is all the randomness. Raises ValueError for a
    view that is not possible.
    """
    check_views(view)
    states = np.zeros(1, STATE)
    fill_sample(view, np.uint64(key), states[0])
    return states[0]


@jit
def fill_sample(view: Record, key: np.uint64, state: Record) -> None:
    """Write a state drawn as by ``sample_state`` into ``state``."""
    copy_bytes(state, view, _SHARED)
    state.key = mix(key, 0)
    state.deal = 0
    me = int64(view.seat)
    opponent = 1 - me
    hidden = np.empty(NUM_CARDS, np.int64)
    in_hand, total = shuffle_hidden(view, mix(key, 1), hidden)
    known = int64(view.known[opponent])
    hand = known
    for i in range(in_hand):
        hand |= 1 << hidden[i]
    state.hands[me] = view.hand
    state.hands[opponent] = hand

    received = engine.cards_received(view)
    drawn = received - view.hand_size
    for i in range(received):
        state.dealt[slot(view, me, i)] = view.cards[i]
    state.dealt[view.deck_size - 1] = view.turned_up
    for i in range(in_hand, total):
        state.dealt[view.deck_size - view.talon + i - in_hand] = hidden[i]
    deal_opponent(view, mix(key, 2), hidden, state)

    for i in range(MAX_TRICKS):
        state.cards[me, i] = view.cards[i]
        state.cards[opponent, i] = state.dealt[slot(view, opponent, i)] if i < received else -1
    if drawn > 0 and view.talon == 0 and slot(view, opponent, received - 1) == view.deck_size - 1:
        state.cards[opponent, received - 1] = view.turned_up if view.exchanged_by < 0 else engine.lowest_trump(view)


@jit
def shuffle_hidden(view: Record, key: np.uint64, hidden: Array) -> tuple[int, int]:
    """Order the unseen cards: first those that complete the other hand, then the face-down talon from its top.

    Returns how many complete the hand, and how many there are. A hand never gets what the opponent's replies
    exclude; among the others every choice and every order is equally likely.
    """
    opponent = 1 - int64(view.seat)
    unseen = unseen_cards(view)
    possible = list_cards(unseen & ~view.excluded[opponent], hidden, 0)
    total = list_cards(unseen & view.excluded[opponent], hidden, possible)
    in_hand = opponent_hand_size(view) - count_cards(view.known[opponent])
    for i in range(total - 1):
        reach = possible if i < in_hand else total
        other = i + below(mix(key, i), reach - i)
        hidden[i], hidden[other] = hidden[other], hidden[i]
    return in_hand, total


@jit
def slot(view: Record, seat: int, index: int) -> int:
    """Place in ``dealt`` of the card that ``seat`` received as number ``index`` (0: the first one dealt)."""
    size = int64(view.hand_size)
    if index < size:
        return seat * size + index
    trick = index - size
    winner = int64(view.trick_winners) >> trick & 1
    return 2 * (size + trick) + (0 if winner == seat else 1)


@jit
def deal_opponent(view: Record, key: np.uint64, hidden: Array, state: Record) -> None:
    """Give every card that the opponent held a place in ``dealt``, uniformly among those where the log replays.

    A card must have come before it was shown. The places open at one showing are open at every later one,
    so choosing freely in the order of the showings is uniform.
    """
    opponent = 1 - int64(view.seat)
    places = np.empty(MAX_TRICKS, np.int64)
    free = 0
    for i in range(view.hand_size):
        places[free] = slot(view, opponent, i)
        free += 1
    settled = 1 << int64(view.turned_up)  # cards that he can only have had from the bottom of the talon
    if view.exchanged_by == view.seat:
        settled |= 1 << engine.lowest_trump(view)

    plays, talon, is_open = 0, view.deck_size - 2 * int64(view.hand_size), True
    for i in range(view.log_length):
        entry = int64(view.log[i])
        action = entry % LOG_PLAYER
        if action == CLOSE:
            is_open = False
        if entry // LOG_PLAYER == opponent:
            shown = shown_by(view, action) & ~settled
            settled |= shown
            for card in range(NUM_CARDS):
                if shown >> card & 1 and free > 0:  # none is free only where the log cannot be
                    choice = below(mix(key, card), free)
                    state.dealt[places[choice]] = card
                    free -= 1
                    places[choice] = places[free]
        if action < NUM_CARDS:
            plays += 1
            if plays % 2 == 0 and is_open and talon > 0:
                talon -= 2
                place = slot(view, opponent, view.hand_size + plays // 2 - 1)
                if place != view.deck_size - 1:
                    places[free] = place
                    free += 1
    for i in range(free):
        choice = below(mix(key, NUM_CARDS + i), free - i)
        state.dealt[places[choice]] = hidden[i]
        places[choice] = places[free - i - 1]


@jit
def shown_by(view: Record, action: int) -> int:
    """Cards that a player was seen to hold when he took ``action``."""
    if action < ANNOUNCE:
        return 1 << action
    if action < EXCHANGE:
        return engine.pair_of(action - ANNOUNCE)
    return 1 << engine.lowest_trump(view) if action == EXCHANGE else 0
