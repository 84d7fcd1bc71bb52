"""A deal as text, for people.

    match     4–7
    trump     ♥   face up 9♥   talon 6
    player 0  K♥ ? ? ? ?               points 16   tricks 1
    player 1  9♣ Q♣ K♣ 10♦ A♥ J♠  *    points 24   tricks 2
    table     Q♦, led by player 0
    last      player 0 plays Q♦

A VIEW shows what its player may know: his hand, and of the other one only the cards known to all. A STATE
shows both hands. ``*`` marks who is to move.
"""

from typing import Any

from gymnasium import logger

from ..actions import ANNOUNCE, CLAIM, CLOSE, EXCHANGE
from ..cards import NUM_CARDS, SUIT_SYMBOLS, cards_in, pretty_card
from ..compiled import Record
from ..engine import lowest_trump
from ..state import LOG_PLAYER, REASONS
from ..view import opponent_hand_size

RENDER_MODES = ("ansi", "human")
"""ansi returns the text, human prints it."""

REASON_TEXTS = {
    "claim": "a true claim",
    "false_claim": "a false claim",
    "reached_66": "{target} points reached",
    "failed_close": "a failed close",
    "exhausted": "all cards played",
    "last_trick": "the last trick, nobody at {target}",
    "draw": "all cards played",
}
"""Why a deal ended, for people; see REASONS."""


def ansi(record: Record) -> str:
    """The deal in lines of text: a VIEW as its player knows it, a STATE with both hands open."""
    lines = [
        ("match", _match(record)),
        ("trump", _trump(record)),
        *((f"player {seat}", _player(record, seat)) for seat in range(2)),
        ("table", _table(record)),
        ("last", _last_action(record)),
        ("over", _result(record)),
    ]
    return "\n".join(f"{name:<9} {text}" for name, text in lines if text)


def render(record: Record, mode: str | None) -> str | None:
    """What ``env.render()`` does in this render mode: return the text, or print it and return None."""
    if mode is None:
        logger.warn("render() shows nothing: make the environment with render_mode='ansi' or 'human'")
    elif mode == "ansi":
        return ansi(record)
    else:
        print(ansi(record), end="\n\n", flush=True)
    return None


def check_render_mode(mode: str | None) -> str | None:
    """The mode itself; raises ValueError when there is no such one."""
    if mode is not None and mode not in RENDER_MODES:
        raise ValueError(f"render_mode must be None or one of {', '.join(RENDER_MODES)}, not {mode!r}")
    return mode


def action_text(record: Record, action: int) -> str:
    """An action in words: ``plays Q♦``."""
    if action < NUM_CARDS:
        return f"plays {pretty_card(action)}"
    if action < EXCHANGE:
        suit = action - ANNOUNCE
        value = record.trump_marriage if suit == record.trump else record.marriage
        return f"announces K{SUIT_SYMBOLS[suit]} Q{SUIT_SYMBOLS[suit]}, {value} points"
    lowest = pretty_card(int(lowest_trump(record)))
    return {
        EXCHANGE: f"exchanges {lowest} for {pretty_card(int(record.turned_up))}",
        CLOSE: "closes the talon",
        CLAIM: f"claims {record.target}",
    }[action]


def _match(record: Record) -> str:
    before = record.match_points - record.game_points
    return "–".join(map(str, record.match_points)) if before.any() else ""


def _trump(record: Record) -> str:
    parts = [SUIT_SYMBOLS[record.trump]]
    if record.face_up >= 0:
        parts.append(f"face up {pretty_card(int(record.face_up))}")
    parts.append(f"talon {record.talon}" if record.talon else "talon used up")
    if record.closed_by >= 0:
        parts.append(f"closed by player {record.closed_by}")
    return "   ".join(parts)


def _player(record: Record, seat: int) -> str:
    hand = " ".join(_hand(record, seat)) + ("  *" if record.player == seat else "")
    points = str(record.points[seat]) + (f" (+{record.pending[seat]} pending)" if record.pending[seat] else "")
    return f"{hand:<{3 * record.hand_size + 6}} points {points}   tricks {record.tricks[seat]}"


def _hand(record: Any, seat: int) -> list[str]:
    if "hands" in record.dtype.names:
        return [pretty_card(card) for card in cards_in(int(record.hands[seat]))]
    if record.seat == seat:
        return [pretty_card(card) for card in cards_in(int(record.hand))]
    known = [pretty_card(card) for card in cards_in(int(record.known[seat]))]
    return known + ["?"] * (opponent_hand_size(record) - len(known))


def _table(record: Record) -> str:
    if record.table >= 0:
        return f"{pretty_card(int(record.table))}, led by player {record.leader}"
    if record.announced >= 0:
        suit = SUIT_SYMBOLS[record.announced]
        return f"K{suit} or Q{suit} must be led"
    return ""


def _last_action(record: Record) -> str:
    if record.log_length == 0:
        return f"player {record.opener} leads first"
    entry = int(record.log[record.log_length - 1])
    text = f"player {entry // LOG_PLAYER} {action_text(record, entry % LOG_PLAYER)}"
    if entry % LOG_PLAYER >= NUM_CARDS or record.table >= 0:
        return text
    lead = int(record.log[record.log_length - 2])
    winner = int(record.trick_winners) >> int(record.tricks.sum()) - 1 & 1
    return f"player {lead // LOG_PLAYER} {action_text(record, lead % LOG_PLAYER)}, {text}, to player {winner}"


def _result(record: Record) -> str:
    if record.player >= 0:
        return ""
    why = REASON_TEXTS[REASONS[record.reason]].format(target=record.target)
    if record.winner < 0:
        return f"a draw ({why})"
    points = record.game_points[record.winner]
    return f"player {record.winner} wins {points} game point{'s' if points > 1 else ''} ({why})"
