"""The 31 actions: ids and texts.

0–23 play that card, 24–27 announce the marriage of suit C D H S, 28 exchange the lowest trump for the
face-up card, 29 close the talon, 30 claim to hold the target (66).
"""

from typing import Any

from .cards import CARD_TEXTS, NUM_CARDS, NUM_SUITS, SUITS

ANNOUNCE = NUM_CARDS
EXCHANGE = ANNOUNCE + NUM_SUITS
CLOSE = EXCHANGE + 1
CLAIM = CLOSE + 1
NUM_ACTIONS = CLAIM + 1

ACTION_TEXTS = (*CARD_TEXTS, *(f"announce:{suit}" for suit in SUITS), "exchange", "close", "claim")
ACTION_IDS = {text: action for action, text in enumerate(ACTION_TEXTS)}


class IllegalAction(ValueError):
    """An action that the rules do not allow here; the game is as it was before."""


def action_id(action: int | str) -> int:
    """Id of an action given as id or text; raises IllegalAction when there is no such action."""
    if isinstance(action, str):
        if action in ACTION_IDS:
            return ACTION_IDS[action]
        raise IllegalAction(
            f"{action!r} is not an action: write a card such as 'QH', 'announce:H', 'exchange', 'close' or 'claim'"
        )
    number = action_number(action)
    if number < 0:
        raise IllegalAction(f"{action} is not an action: ids run from 0 to {NUM_ACTIONS - 1}")
    return number


def action_number(action: Any) -> int:
    """Id of an action given as an integer of any kind, -1 when out of range; raises IllegalAction for other things."""
    try:
        number = int(action.__index__())
    except (AttributeError, TypeError):
        raise IllegalAction(f"{action!r} is not an action: give an integer from 0 to {NUM_ACTIONS - 1}") from None
    return number if 0 <= number < NUM_ACTIONS else -1
