"""Counting cards: what the opponent can hold, and how likely it is. Shared by the hand-written players.

A set of cards is an integer with bit *id* set, as in ``santase_env.cards``.
"""

import numpy as np

from santase_env.actions import ANNOUNCE
from santase_env.cards import KING, NUM_CARDS, NUM_RANKS, NUM_SUITS, QUEEN, SUIT_BITS
from santase_env.compiled import Array, Record, int64, jit
from santase_env.view import count_cards, opponent_hand_size, unseen_cards

_CHOICES = np.zeros((NUM_CARDS + 1, NUM_CARDS + 1))
"""_CHOICES[n, k]: ways to choose k of n cards."""
_CHOICES[:, 0] = 1
for _n in range(1, NUM_CARDS + 1):
    _CHOICES[_n, 1:] = _CHOICES[_n - 1, 1:] + _CHOICES[_n - 1, :-1]


@jit
def cards_allowed(mask: Array) -> int:
    """The cards among the actions of ``mask`` [31], as a set."""
    bits = 0
    for card in range(NUM_CARDS):
        if mask[card]:
            bits |= 1 << card
    return bits


@jit
def suit_cards(suit: int) -> int:
    """The set of the six cards of a suit."""
    return SUIT_BITS << NUM_RANKS * int64(suit)


@jit
def points_of(view: Record, seat: int) -> int:
    """Points, pending ones included: who wins no more trick has lost anyway."""
    return int64(view.points[seat]) + int64(view.pending[seat])


@jit
def partner_of(card: int) -> int:
    """The queen of a king, the king of a queen, or -1 for another card."""
    rank = card % NUM_RANKS
    if rank == QUEEN:
        return card + KING - QUEEN
    return card + QUEEN - KING if rank == KING else -1


@jit
def best_announcement(mask: Array, trump: int) -> int:
    """The announcement worth most among the actions of ``mask`` [31], or -1."""
    if mask[ANNOUNCE + trump]:
        return ANNOUNCE + int64(trump)
    for suit in range(NUM_SUITS):
        if mask[ANNOUNCE + suit]:
            return ANNOUNCE + suit
    return -1


@jit
def drawn_from(view: Record) -> int:
    """The cards from which those in the opponent's hand that are not known come."""
    return unseen_cards(view) & ~int64(view.excluded[1 - view.seat])


@jit
def can_hold(view: Record) -> int:
    """The cards that the opponent can hold."""
    return drawn_from(view) | int64(view.known[1 - view.seat])


@jit
def chance_of_at_most(view: Record, cards: int, most: int) -> float:
    """Probability that the opponent holds at most ``most`` of ``cards``, every hand he can hold being as likely."""
    known = int64(view.known[1 - view.seat])
    pool = drawn_from(view)
    size, good = count_cards(pool), count_cards(pool & cards)
    drawn = opponent_hand_size(view) - count_cards(known)
    ways = 0.0
    for count in range(min(most - count_cards(known & cards), good, drawn) + 1):
        if drawn - count <= size - good:
            ways += _CHOICES[good, count] * _CHOICES[size - good, drawn - count]
    return float(ways / _CHOICES[size, drawn])


@jit
def chance_of_none(view: Record, cards: int) -> float:
    """Probability that the opponent holds none of ``cards``."""
    return chance_of_at_most(view, cards, 0)
