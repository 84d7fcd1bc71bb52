"""A VIEW in words: plain values for people and for programs in other languages."""

from typing import Any

from .actions import ACTION_TEXTS
from .cards import CARD_TEXTS, NUM_SUITS, SUITS, card_texts, cards_in
from .compiled import Record
from .rules import Rules
from .state import LOG_PLAYER


def readable(view: Record) -> dict[str, Any]:
    """What a VIEW says, as values that JSON can hold; nothing that is not in the VIEW.

    Cards, suits and actions are texts (``"QH"``, ``"H"``, ``"announce:H"``), sets are lists ascending by id, what
    there are two of is a list by seat, and None stands for "none". docs/exec.md has every key and an example.
    """
    return {
        "rules": Rules.from_packed(view).to_json(),
        "seat": int(view.seat),
        "player": _seat(view.player),
        "hand": _cards(view.hand),
        "trump": SUITS[view.trump],
        "turned_up": CARD_TEXTS[view.turned_up],
        "face_up": _card(view.face_up),
        "talon": int(view.talon),
        "closed_by": _seat(view.closed_by),
        "exchanged_by": _seat(view.exchanged_by),
        "opener": int(view.opener),
        "leader": int(view.leader),
        "table": _card(view.table),
        "announced": SUITS[view.announced] if view.announced >= 0 else None,
        "points": view.points.tolist(),
        "pending": view.pending.tolist(),
        "tricks": view.tricks.tolist(),
        "match_points": view.match_points.tolist(),
        "marriages": [_suits(view.marriages[seat]) for seat in range(2)],
        "played": [_cards(view.played[seat]) for seat in range(2)],
        "taken": [_cards(view.taken[seat]) for seat in range(2)],
        "opponent_known": _cards(view.known[1 - view.seat]),
        "cards": list(card_texts(card for card in view.cards.tolist() if card >= 0)),
        "log": [
            {"seat": entry // LOG_PLAYER, "action": ACTION_TEXTS[entry % LOG_PLAYER]}
            for entry in view.log[: view.log_length].tolist()
        ],
    }


def _cards(bits: int) -> list[str]:
    return list(card_texts(cards_in(int(bits))))


def _card(card: int) -> str | None:
    return CARD_TEXTS[card] if card >= 0 else None


def _seat(seat: int) -> int | None:
    return int(seat) if seat >= 0 else None


def _suits(bits: int) -> list[str]:
    return [SUITS[suit] for suit in range(NUM_SUITS) if int(bits) >> suit & 1]
