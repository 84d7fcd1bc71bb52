"""Cards: ids, values, texts and sets."""

import pytest

from santase_env import cards


def test_ids_run_through_the_suits_and_ranks() -> None:
    assert cards.CARD_TEXTS[0] == "9C"
    assert cards.CARD_TEXTS[4] == "TC"
    assert cards.CARD_TEXTS[6] == "9D"
    assert cards.CARD_TEXTS[23] == "AS"
    assert [cards.card_id(text) for text in cards.CARD_TEXTS] == list(range(24))
    assert cards.card_id("QH") == 6 * "CDHS".index("H") + "9JQKTA".index("Q")


def test_the_deck_is_worth_120_points() -> None:
    assert dict(zip(cards.RANKS, cards.VALUES, strict=True)) == {"9": 0, "J": 2, "Q": 3, "K": 4, "T": 10, "A": 11}
    assert cards.NUM_SUITS * sum(cards.VALUES) == 120


def test_parse_and_write() -> None:
    assert cards.parse_cards("TC 9D  AS") == [4, 6, 23]
    assert cards.parse_cards(["AS", "TC"]) == [23, 4]
    assert cards.parse_cards("") == []
    assert cards.card_texts([23, 4]) == ("AS", "TC")


@pytest.mark.parametrize("text", ["", "10C", "CT", "tc", "7H", "9X", "9C9D"])
def test_what_is_no_card_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not a card") as caught:
        cards.card_id(text)
    assert repr(text) in str(caught.value)


def test_sets() -> None:
    assert cards.card_set([0, 4, 23]) == 1 | 1 << 4 | 1 << 23
    assert cards.cards_in(cards.card_set([23, 4, 0])) == [0, 4, 23]
    assert cards.cards_in(cards.SUIT_BITS << 6) == [6, 7, 8, 9, 10, 11]


def test_pretty() -> None:
    assert [cards.pretty_card(card) for card in (4, 6, 14, 23)] == ["10♣", "9♦", "Q♥", "A♠"]
