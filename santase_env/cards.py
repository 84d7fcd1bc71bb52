"""Cards: ids, values and text forms.

A card is written rank then suit, ``TC`` for the ten of clubs, and numbered ``6 * suit + rank`` with
ranks ``9 J Q K T A`` and suits ``C D H S``, so ``9C`` is 0 and ``AS`` is 23. A set of cards is an
integer with bit *id* set for every card in it. Both rule texts agree on the cards, their values and
their order (nine lowest, ten above the king).
"""

from collections.abc import Iterable

RANKS = "9JQKTA"
SUITS = "CDHS"
VALUES = (0, 2, 3, 4, 10, 11)
"""Card points of each rank; the 24 cards make 120."""

NUM_RANKS = len(RANKS)
NUM_SUITS = len(SUITS)
NUM_CARDS = NUM_RANKS * NUM_SUITS
QUEEN = RANKS.index("Q")
KING = RANKS.index("K")
SUIT_BITS = (1 << NUM_RANKS) - 1
"""The set of the six clubs; shift left by ``6 * suit`` for another suit."""

CARD_TEXTS = tuple(rank + suit for suit in SUITS for rank in RANKS)
CARD_IDS = {text: card for card, text in enumerate(CARD_TEXTS)}
SUIT_SYMBOLS = "♣♦♥♠"


def card_id(text: str) -> int:
    """Number of the card written ``text``; raises ValueError when it is no card."""
    try:
        return CARD_IDS[text]
    except KeyError:
        raise ValueError(
            f"{text!r} is not a card: write a rank of 9 J Q K T A, then a suit of C D H S, such as 'TC'"
        ) from None


def parse_cards(text: str | Iterable[str]) -> list[int]:
    """Ids of the cards in ``text`` (separated by blanks, or a sequence of texts), in their order."""
    return [card_id(part) for part in (text.split() if isinstance(text, str) else text)]


def card_set(cards: Iterable[int]) -> int:
    """The set (an integer of 24 bits) that holds these card ids."""
    bits = 0
    for card in cards:
        bits |= 1 << card
    return bits


def cards_in(bits: int) -> list[int]:
    """Ids of the cards in a set, ascending."""
    return [card for card in range(NUM_CARDS) if bits >> card & 1]


def card_texts(cards: Iterable[int]) -> tuple[str, ...]:
    """The cards as texts, in the order given."""
    return tuple(CARD_TEXTS[card] for card in cards)


def pretty_card(card: int) -> str:
    """The card for a person's eye: ``10♣`` for the ten of clubs."""
    rank = RANKS[card % NUM_RANKS]
    return ("10" if rank == "T" else rank) + SUIT_SYMBOLS[card // NUM_RANKS]
