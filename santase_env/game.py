"""Game: one deal for people and notebooks, text in and text out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import engine
from .actions import ACTION_TEXTS, NUM_ACTIONS, IllegalAction, action_id
from .batch import new_games
from .cards import CARD_TEXTS, card_texts, cards_in, parse_cards
from .compiled import Array, Record
from .observation import encode, write_mask
from .render import ansi
from .rng import check_seed
from .rules import DEFAULT_RULES, Rules
from .state import LOG_PLAYER, REASONS, new_states
from .view import view_of


@dataclass(frozen=True)
class DealResult:
    """How a deal ended; pairs are (seat 0, seat 1)."""

    winner: int | None
    game_points: tuple[int, int]
    points: tuple[int, int]
    tricks: tuple[int, int]
    reason: str


class Game:
    """One deal of Santase.

    ``Game(rules="online", seed=7)`` deals; seat 0 leads. ``Game.from_cards`` takes the cards as they lie.
    Rules are Rules or their text; without a seed the deal is random.
    """

    def __init__(
        self,
        rules: Rules | str | Mapping[str, Any] = DEFAULT_RULES,
        seed: int | None = None,
    ) -> None:
        self.rules = Rules.of(rules)
        self._states = new_games(1, self.rules, check_seed(seed))
        engine.deal(self.state, 0)

    @classmethod
    def from_cards(
        cls,
        hands: tuple[str, str] | list[str],
        talon: str,
        leader: int = 0,
        rules: Rules | str | Mapping[str, Any] = DEFAULT_RULES,
    ) -> "Game":
        """A deal of these cards: two hands by seat, and the talon from its top, the face-up card last.

        Raises ValueError that names a card given twice, missing or not in play, or a hand of the wrong size.
        """
        game = cls.__new__(cls)
        game.rules = Rules.of(rules)
        dealt = check_deal(game.rules, hands, talon)
        if isinstance(leader, bool) or not isinstance(leader, int | np.integer) or leader not in (0, 1):
            raise ValueError(f"leader must be 0 or 1, not {leader!r}")
        game._states = new_states(1, game.rules)
        game.state.dealt[: len(dealt)] = dealt
        engine.begin(game.state, leader)
        return game

    @property
    def state(self) -> Record:
        """The STATE record itself, hidden cards included."""
        return self._states[0]

    @property
    def player(self) -> int | None:
        """Seat to move; None when the deal is over."""
        return None if self.over else int(self.state.player)

    @property
    def over(self) -> bool:
        """Has the deal ended?"""
        return bool(self.state.player < 0)

    @property
    def leader(self) -> int:
        """Seat that led the first trick."""
        return int(self.state.opener)

    @property
    def trump(self) -> str:
        """The trump suit: C, D, H or S."""
        return CARD_TEXTS[int(self.state.turned_up)][1]

    @property
    def hands(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Card texts of seat 0 and seat 1, ascending by card id."""
        first, second = (card_texts(cards_in(int(hand))) for hand in self.state.hands)
        return first, second

    @property
    def talon(self) -> tuple[str, ...]:
        """Card texts of what is left of the talon, top first, the face-up card last."""
        state = self.state
        if state.talon == 0:
            return ()
        hidden = state.dealt[state.deck_size - state.talon : state.deck_size - 1]
        return card_texts([*(int(card) for card in hidden), int(state.face_up)])

    @property
    def table(self) -> str | None:
        """The card led to the current trick, or None."""
        return CARD_TEXTS[int(self.state.table)] if self.state.table >= 0 else None

    @property
    def points(self) -> tuple[int, int]:
        """Card points that count, by seat."""
        return _pair(self.state.points)

    @property
    def pending(self) -> tuple[int, int]:
        """Marriage points, by seat, that will count with that player's first trick."""
        return _pair(self.state.pending)

    @property
    def tricks(self) -> tuple[int, int]:
        """Tricks won, by seat."""
        return _pair(self.state.tricks)

    @property
    def result(self) -> DealResult | None:
        """How the deal ended, or None while it goes on."""
        if not self.over:
            return None
        state = self.state
        return DealResult(
            winner=int(state.winner) if state.winner >= 0 else None,
            game_points=_pair(state.game_points),
            points=self.points,
            tricks=self.tricks,
            reason=REASONS[state.reason],
        )

    def legal_actions(self) -> list[int]:
        """Ids of what the player to move may do, ascending; empty when the deal is over."""
        bits = engine.legal_bits(self.state)
        return [action for action in range(NUM_ACTIONS) if bits >> action & 1]

    def legal_texts(self) -> list[str]:
        """The legal actions as texts, in the order of their ids."""
        return [ACTION_TEXTS[action] for action in self.legal_actions()]

    def apply(self, action: int | str) -> None:
        """Take an action, by id or text; raises IllegalAction, and then nothing has changed."""
        if self.over:
            raise IllegalAction(f"the deal is over, so {action!r} cannot follow")
        number = action_id(action)
        if number not in self.legal_actions():
            raise IllegalAction(
                f"{ACTION_TEXTS[number]!r} is not legal for player {self.player}, who may choose "
                f"{', '.join(self.legal_texts())}"
            )
        engine.advance(self.state, number)

    def view(self, player: int) -> Record:
        """VIEW of seat 0 or 1: all that this player may know, at any time."""
        if isinstance(player, bool) or player not in (0, 1):
            raise ValueError(f"player must be 0 or 1, not {player!r}")
        return view_of(self.state, int(player))

    def observation(self, player: int) -> dict[str, Array]:
        """{"observation": [D] float32, "action_mask": [31] int8}; the mask is 0 for who is not to move."""
        mask = np.zeros(NUM_ACTIONS, np.int8)
        if player == self.state.player:
            write_mask(engine.legal_bits(self.state), mask)
        return {"observation": encode(self.view(player)), "action_mask": mask}

    def actions(self) -> list[str]:
        """Texts of the actions so far."""
        return [ACTION_TEXTS[entry % LOG_PLAYER] for entry in self.state.log[: self.state.log_length].tolist()]

    def record(self) -> dict[str, Any]:
        """The deal so far as a record that JSON can hold, and ``santase replay`` can read."""
        state, size = self.state, self.rules.hand_size
        dealt = card_texts(state.dealt[: state.deck_size].tolist())
        return {
            "rules": self.rules.to_json(),
            "leader": self.leader,
            "hands": [" ".join(dealt[:size]), " ".join(dealt[size : 2 * size])],
            "talon": " ".join(dealt[2 * size :]),
            "actions": self.actions(),
        }

    def copy(self) -> "Game":
        """An independent game at the same point."""
        game = Game.__new__(Game)
        game.rules = self.rules
        game._states = self._states.copy()
        return game

    def __str__(self) -> str:
        return ansi(self.state)

    def __copy__(self) -> "Game":
        return self.copy()

    def __repr__(self) -> str:
        where = f"player {self.player} to move" if not self.over else f"over: {self.result}"
        return f"<Game {self.rules}, trump {self.trump}, {len(self.actions())} actions, {where}>"


def check_deal(rules: Rules, hands: Iterable[str], talon: str) -> list[int]:
    """Ids of all cards as they lie (hand 0, hand 1, talon); raises ValueError that names the fault."""
    parts = [*hands, talon] if isinstance(hands, list | tuple) else []
    if not parts or not all(isinstance(part, str) for part in parts):
        raise ValueError("hands must be two texts of cards, such as '9H AH AC', and the talon one text")
    if len(parts) != 3:
        raise ValueError(f"there must be two hands, not {len(parts) - 1}")
    names = ("the hand of seat 0", "the hand of seat 1", "the talon")
    sizes = (rules.hand_size, rules.hand_size, rules.deck_size - 2 * rules.hand_size)
    dealt: list[int] = []
    for name, text in zip(names, parts, strict=True):
        for card in parse_cards(text):
            if card in dealt:
                raise ValueError(f"{CARD_TEXTS[card]} is there twice, the second time in {name}")
            if card not in rules.deck:
                raise ValueError(f"{CARD_TEXTS[card]} in {name} is not in play under rules {rules}")
            dealt.append(card)
    missing = card_texts(card for card in rules.deck if card not in dealt)
    if missing:
        raise ValueError(f"{', '.join(missing)} missing from the deal")
    for name, text, size in zip(names, parts, sizes, strict=True):
        if len(text.split()) != size:
            raise ValueError(f"{name} must have {size} cards, not {len(text.split())}")
    return dealt


def _pair(values: Array) -> tuple[int, int]:
    return int(values[0]), int(values[1])
