"""Rules as data: one frozen value, three named presets, and the packed form that the engine reads.

Two Bulgarian rule texts define the game. In the comments, P is the text for paper cards, O the text of
an online game, D a decision of ours where both are silent or must be read one way. **paper** and
**online** follow the two texts; **classic** is what most existing Bulgarian programs and bots play.
"""

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np

from .cards import CARD_TEXTS, NUM_CARDS, RANKS, SUITS, card_set, cards_in

Claim = Literal["after_trick", "on_turn", "immediate"]
FalseClaim = Literal["penalty", "illegal"]
FailedClose = Literal["three", "two_or_three"]
Exhausted = Literal["draw", "last_trick"]

CHOICES: dict[str, tuple[str, ...]] = {
    "claim": ("after_trick", "on_turn", "immediate"),
    "false_claim": ("penalty", "illegal"),
    "failed_close": ("three", "two_or_three"),
    "exhausted": ("draw", "last_trick"),
}
"""The fields whose value is one of a few words; the packed form holds the word's index."""

AFTER_TRICK, ON_TURN, IMMEDIATE = range(3)
PENALTY, ILLEGAL = range(2)
THREE, TWO_OR_THREE = range(2)
DRAW, LAST_TRICK = range(2)


@dataclass(frozen=True)
class Rules:
    """One way to play Santase; ``Rules.preset(name, **changes)`` makes it. The defaults are ``paper``.

    Points are card points unless called game points. A field that has no effect under the others is
    accepted; an impossible value raises ValueError.
    """

    marriage_on_opening_lead: bool = False
    """May a marriage be announced on the first lead of the deal? P: only after the first trick. O: at any
    lead; until the announcer has won a trick the points are pending and do not count."""
    close_on_opening_lead: bool = True
    """May the talon be closed on the first lead? P: to be on turn is the only condition. O: after a trick."""
    close_min_talon: int = 2
    """Cards that the talon must still hold, the face-up one included, to be closed. P O: 2 (no minimum but
    that it is not used up). classic: 4."""
    claim: Claim = "after_trick"
    """How 66 ends a deal. P: ``after_trick``, by itself once the trick is complete (D: it cannot be
    forgotten). O: ``on_turn``, only by a claim on a turn of one's own. classic: ``immediate``, by itself at
    the announcement or the trick that reaches it."""
    false_claim: FalseClaim = "penalty"
    """With ``on_turn``: O lets a player claim wrongly (``penalty``: the opponent scores 2, or 3 if the
    claimer has no trick). ``illegal`` masks false claims instead, which learning wants (D)."""
    failed_close: FailedClose = "three"
    """What the opponent scores when the closer fails. P: 3. O: 2, or 3 if the closer has no trick."""
    exhausted: Exhausted = "draw"
    """An open deal out of cards that nobody has ended. P: 65–65 is a draw (D: unequal totals, possible in
    other decks, go to the higher). O: ``last_trick``: the higher total if someone has 66 (D: equal totals
    go to the taker of the last trick), else 1 game point to the taker of the last trick."""

    ranks: str = RANKS
    """Ranks in play, lowest first. P O: all six. Fewer make a mini deck."""
    suits: str = SUITS
    """Suits in play. P O: all four."""
    hand_size: int = 6
    """Cards dealt to each player. P O: 6."""
    target: int = 66
    """Points that win the deal. P O: 66."""
    schneider: int = 33
    """A loser below this loses 2 game points. P O: 33, counting cards, marriages and the last ten (O)."""
    marriage: int = 20
    """Points of a marriage. P O: 20."""
    trump_marriage: int = 40
    """Points of a marriage in trumps. P O: 40."""
    last_trick_bonus: int = 10
    """Points for the last trick, not in a closed deal. P O: 10."""
    exchange_min_talon: int = 4
    """Cards that the talon must still hold for the exchange. O: more than two over the face-up card, which,
    the talon being even at every lead, is 4 or more."""
    match_target: int = 11
    """Game points that end a match. P O: 11."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            _check_value(field.name, getattr(self, field.name), getattr(Rules, field.name))
        spare = self.deck_size - 2 * self.hand_size
        if spare < 2 or spare % 2:
            raise ValueError(
                f"hand_size={self.hand_size} does not fit a deck of {self.deck_size} cards: after both hands an "
                f"even talon of at least 2 cards must be left, not {spare}"
            )

    @classmethod
    def preset(cls, name: str, /, **changes: Any) -> "Rules":
        """The preset ``paper``, ``online`` or ``classic``, with some fields changed.

        Raises ValueError for an unknown preset or field (naming the nearest) and for impossible values.
        """
        if not isinstance(name, str) or name not in PRESETS:
            raise ValueError(f"unknown rules preset {name!r}{_nearest(name, PRESETS)}; there are {', '.join(PRESETS)}")
        _check_fields(changes)
        return cls(**{**PRESETS[name], **{key: _plain(value) for key, value in changes.items()}})

    @classmethod
    def of(cls, value: "Rules | str | Mapping[str, Any]") -> "Rules":
        """Rules from any of their written forms.

        ``"online"``, ``"online,false_claim=illegal"``, ``{"preset": "online", "false_claim": "illegal"}``, or
        Rules themselves. Raises ValueError that names what is wrong.
        """
        if isinstance(value, Rules):
            return value
        if isinstance(value, str):
            name, *parts = [part.strip() for part in value.split(",")]
            changes = {}
            for part in parts:
                key, equals, text = (piece.strip() for piece in part.partition("="))
                if not equals:
                    raise ValueError(f"rules {value!r}: {part!r} should read field=value")
                _check_fields([key])
                if key in changes:
                    raise ValueError(f"rules {value!r}: {key} is given twice")
                changes[key] = _parse_value(key, text)
            return cls.preset(name, **changes)
        if isinstance(value, Mapping):
            if not isinstance(value.get("preset"), str):
                raise ValueError(f"rules {dict(value)!r}: the key 'preset' must name one of {', '.join(PRESETS)}")
            return cls.preset(value["preset"], **{str(key): value[key] for key in value if key != "preset"})
        raise ValueError(f"rules must be Rules, a text such as 'online' or an object with 'preset', not {value!r}")

    @classmethod
    def from_packed(cls, record: Any) -> "Rules":
        """The rules that a record begins with: one of dtype RULES, a STATE or a VIEW; the inverse of ``packed``."""
        cards = [CARD_TEXTS[card] for card in cards_in(int(record["deck"]))]
        values: dict[str, Any] = {
            "ranks": "".join(rank for rank in RANKS if any(card[0] == rank for card in cards)),
            "suits": "".join(suit for suit in SUITS if any(card[1] == suit for card in cards)),
        }
        for field in dataclasses.fields(cls):
            if field.name not in values:
                number = int(record[field.name])
                words = CHOICES.get(field.name)
                kind = type(getattr(cls, field.name))
                values[field.name] = words[number] if words else kind(number)
        return cls(**values)

    def to_json(self) -> str | dict[str, Any]:
        """The shortest written form: a preset's name, or an object with ``preset`` and the changed fields."""
        name, changes = self._nearest_preset()
        return {"preset": name, **changes} if changes else name

    def __str__(self) -> str:
        name, changes = self._nearest_preset()
        return ",".join([name, *(f"{key}={_format_value(value)}" for key, value in changes.items())])

    @property
    def deck_size(self) -> int:
        """Number of cards in play."""
        return len(self.ranks) * len(self.suits)

    @property
    def deck(self) -> tuple[int, ...]:
        """Ids of the cards in play, ascending."""
        return tuple(card for card in range(NUM_CARDS) if set(CARD_TEXTS[card]) <= set(self.ranks + self.suits))

    @property
    def packed(self) -> np.record:
        """The record of dtype ``RULES`` that the engine reads; shared and read-only."""
        return _pack(self)

    def _nearest_preset(self) -> tuple[str, dict[str, Any]]:
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        differences = {}
        for name, changed in PRESETS.items():
            full = {key: changed.get(key, getattr(Rules, key)) for key in values}
            differences[name] = {key: values[key] for key in values if values[key] != full[key]}
        name = min(differences, key=lambda preset: len(differences[preset]))
        return name, differences[name]


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {},
    "online": {
        "marriage_on_opening_lead": True,
        "close_on_opening_lead": False,
        "claim": "on_turn",
        "failed_close": "two_or_three",
        "exhausted": "last_trick",
    },
    "classic": {"close_on_opening_lead": False, "close_min_talon": 4, "claim": "immediate"},
}
"""What each preset changes in the defaults of ``Rules``, which are the paper text's."""

RULES_FIELDS: list[tuple[str, type] | tuple[str, type, tuple[int, ...]]] = [
    ("deck", np.int32),  # the set of cards in play
    ("target", np.int16),
    ("schneider", np.int16),
    ("marriage", np.int16),
    ("trump_marriage", np.int16),
    ("last_trick_bonus", np.int16),
    ("match_target", np.int16),
    ("hand_size", np.int8),
    ("deck_size", np.int8),
    ("lowest_rank", np.int8),
    ("exchange_min_talon", np.int8),
    ("close_min_talon", np.int8),
    ("marriage_on_opening_lead", np.int8),
    ("close_on_opening_lead", np.int8),
    ("claim", np.int8),
    ("false_claim", np.int8),
    ("failed_close", np.int8),
    ("exhausted", np.int8),
    ("gap_1", np.int8),  # unused: without gaps between fields, equal records are equal byte by byte
]
RULES = np.dtype((np.record, np.dtype(RULES_FIELDS, align=True)))
"""Rules packed for the engine: the first fields of every STATE and VIEW."""


Mixture: TypeAlias = Sequence[Rules | str | Mapping[str, Any]]
"""Several rules, each for a share of the games."""


def mixture_of(rules: Rules | str | Mapping[str, Any] | Mixture) -> tuple[Rules, ...]:
    """One or several rules as a tuple; in a text, "|" stands between them: ``classic|online``. Raises ValueError as
    ``Rules.of`` does, and for none at all."""
    if isinstance(rules, str):
        return tuple(Rules.of(part.strip()) for part in rules.split("|"))
    if isinstance(rules, Rules | Mapping):
        return (Rules.of(rules),)
    if not isinstance(rules, Sequence) or not rules:
        raise ValueError(f"rules must be Rules, a text or a mapping, or several of them, not {rules!r}")
    return tuple(Rules.of(one) for one in rules)


@cache
def _pack(rules: Rules) -> np.record:
    array = np.zeros(1, RULES)
    packed: Any = array[0]
    for name in RULES.names or ():
        if name == "deck":
            packed[name] = card_set(rules.deck)
        elif name == "lowest_rank":
            packed[name] = RANKS.index(rules.ranks[0])
        elif name in CHOICES:
            packed[name] = CHOICES[name].index(getattr(rules, name))
        elif name != "gap_1":
            packed[name] = getattr(rules, name)
    array.flags.writeable = False
    record: np.record = array[0]
    return record


_SMALLEST = {"hand_size": 1, "target": 1, "match_target": 1, "close_min_talon": 2, "exchange_min_talon": 2}
_LARGEST = {"hand_size": 11, "close_min_talon": NUM_CARDS, "exchange_min_talon": NUM_CARDS}
_LARGEST_POINTS = 1000


def _check_value(name: str, value: object, default: object) -> None:
    if name in CHOICES:
        if value not in CHOICES[name]:
            raise ValueError(f"{name}={value!r} is impossible: it is one of {', '.join(CHOICES[name])}")
    elif isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{name}={value!r} is impossible: it is true or false")
    elif isinstance(default, int):
        low, high = _SMALLEST.get(name, 0), _LARGEST.get(name, _LARGEST_POINTS)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"{name}={value!r} is impossible: it is an integer from {low} to {high}")
    else:
        order = RANKS if name == "ranks" else SUITS
        if not isinstance(value, str) or not value or value != "".join(c for c in order if c in value):
            raise ValueError(f"{name}={value!r} is impossible: it is some of {order}, each once, in this order")


def _check_fields(names: Mapping[str, Any] | list[str]) -> None:
    known = [field.name for field in dataclasses.fields(Rules)]
    for name in names:
        if name not in known:
            raise ValueError(f"unknown rule field {name!r}{_nearest(name, known)}; there are {', '.join(known)}")


def _plain(value: Any) -> Any:
    """A number of numpy's as Python's, so that rules written with either are equal."""
    return value.item() if isinstance(value, np.generic) else value


def _nearest(name: object, names: Mapping[str, Any] | list[str]) -> str:
    close = difflib.get_close_matches(str(name), list(names), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _parse_value(name: str, text: str) -> Any:
    default = getattr(Rules, name)
    if isinstance(default, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    if isinstance(default, int) and text.strip().isdecimal():
        return int(text)
    return text


def _format_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


DEFAULT_RULES = Rules.preset("online", false_claim="illegal")
"""What environments, training and evaluation play unless told otherwise. With false claims allowed, as the
online text has it, uniformly random play ends most deals within a few moves."""
