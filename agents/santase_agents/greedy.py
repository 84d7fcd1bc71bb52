"""greedy: a fixed yardstick that takes what it can get.

It claims when it holds 66; else announces (trumps first); else exchanges; never closes. On lead it plays its
cheapest card, trumps last. As follower it plays the cheapest card that wins a trick of ten or more, plain suits
before trumps; if there is none, its cheapest card, trumps last.
"""

import numpy as np

from santase_env.actions import CLAIM, EXCHANGE
from santase_env.cards import NUM_CARDS, NUM_RANKS, NUM_SUITS
from santase_env.compiled import Array, Record, int64, jit, lowest_bit
from santase_env.engine import CARD_VALUES, beats
from santase_env.policy import action_set, check_masks

from .counting import best_announcement

WORTH_WINNING = 10
"""Card points in a trick from which the follower tries to win it."""


class GreedyPolicy:
    """The greedy player; it uses no randomness."""

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        """views [B], masks [B, 31], keys [B] (unused) -> actions [B]."""
        check_masks(masks)
        actions = np.empty(len(views), np.int64)
        _act_all(views, masks, actions)
        return actions


@jit
def _act_all(views: Array, masks: Array, actions: Array) -> None:
    for i in range(len(views)):
        actions[i] = choose(views[i], masks[i])


@jit
def choose(view: Record, mask: Array) -> int:
    """The greedy action for one view and its mask [31]."""
    if mask[CLAIM] and view.points[view.seat] >= view.target:
        return CLAIM
    announcement = best_announcement(mask, view.trump)
    if announcement >= 0:
        return announcement
    if mask[EXCHANGE]:
        return EXCHANGE
    if view.table >= 0:
        winning = cheapest_winning(mask, view.table, view.trump)
        if winning >= 0:
            return winning
    card = cheapest(mask, view.trump)
    return card if card >= 0 else int64(lowest_bit(action_set(mask)))


@jit
def cost(card: int, trump: int) -> int:
    """Order in which cards are given away: plain suits before trumps, then by value, then by suit."""
    is_trump = card // NUM_RANKS == trump
    return int64(is_trump * 100 + CARD_VALUES[card]) * NUM_SUITS + card // NUM_RANKS


@jit
def cheapest(mask: Array, trump: int) -> int:
    """The legal card that costs least, or -1."""
    best = -1
    for card in range(NUM_CARDS):
        if mask[card] and (best < 0 or cost(card, trump) < cost(best, trump)):
            best = card
    return best


@jit
def cheapest_winning(mask: Array, led: int, trump: int) -> int:
    """The legal card that costs least among those that win a trick worth winning, or -1."""
    best = -1
    for card in range(NUM_CARDS):
        wins = mask[card] and beats(card, led, trump) and CARD_VALUES[led] + CARD_VALUES[card] >= WORTH_WINNING
        if wins and (best < 0 or cost(card, trump) < cost(best, trump)):
            best = card
    return best
