"""greedy: one test for each clause of its docstring."""

from collections.abc import Callable

import pytest

from santase_env import Game

Choose = Callable[[str, Game], str]
Deal = Callable[..., Game]


def test_claims_as_soon_as_it_holds_the_target(choose: Choose, deal_of: Deal) -> None:
    mine, theirs = "AC KH QH 9C JC 9H", "KC QC 9D JD 9S JS"
    game = deal_of(mine, theirs, "QD", rules="online,target=15", then="AC KC")
    assert game.points == (15, 0)
    assert choose("greedy", game) == "claim"


def test_claims_as_follower_too(choose: Choose, deal_of: Deal) -> None:
    mine, theirs = "AC AD AH 9S JS QS", "9C JC QC KC 9H TS"
    game = deal_of(mine, theirs, "QD", rules="online,target=15", then="AC KC 9S TS JC")
    assert game.table == "JC"
    assert choose("greedy", game) == "claim"


def test_never_claims_falsely(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC TC 9H JH 9S JS", "9C JC QC KC 9D JD", "QD", rules="online")
    assert "claim" in game.legal_texts()
    assert choose("greedy", game) != "claim"


def test_announces_trumps_first(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("KC QC KD QD 9H JH", "9C JC TC AC 9S JS", "AD")
    assert choose("greedy", game) == "announce:D"


def test_announces_before_it_exchanges(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC KH QH 9D 9S JS", "KC 9C JC TC 9H JH", "AD", first="JD QS", then="AC KC")
    assert {"announce:H", "exchange"} <= set(game.legal_texts())
    assert choose("greedy", game) == "announce:H"


@pytest.mark.parametrize("suit", ["C", "H", "S"])
def test_announces_any_suit(choose: Choose, deal_of: Deal, suit: str) -> None:
    mine = f"K{suit} Q{suit} 9D JD TD AD"
    theirs = " ".join(rank + other for other in "CHS" if other != suit for rank in "9JA")
    assert choose("greedy", deal_of(mine, theirs, "KD")) == f"announce:{suit}"


def test_exchanges_before_it_leads(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC KH JH 9D 9S JS", "KC 9C JC TC 9H QH", "AD", first="JD QS", then="AC KC")
    assert choose("greedy", game) == "exchange"


def test_never_closes(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC TC AD TD KD QD", "9C JC 9H JH 9S JS", "9D", rules="paper")
    assert "close" in game.legal_texts()
    assert choose("greedy", game) not in ("close", "claim")


def test_leads_its_cheapest_card(choose: Choose, deal_of: Deal) -> None:
    assert choose("greedy", deal_of("AC KC JH QH TS KS", "9C JC 9H KH 9S JS", "9D")) == "JH"


def test_leads_trumps_last(choose: Choose, deal_of: Deal) -> None:
    assert choose("greedy", deal_of("9D JD QD KC AH TS", "9C JC 9H KH 9S JS", "AD")) == "KC"


def test_leads_the_queen_of_an_announced_marriage(choose: Choose, deal_of: Deal) -> None:
    assert choose("greedy", deal_of("KC QC 9H JH 9S JS", "9C JC TC AC KS AS", "AD", then="announce:C")) == "QC"


def test_takes_a_trick_of_ten_with_the_cheapest_card_that_wins(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("TC JC 9H JH 9S JS", "AC 9D AD KH AH AS", "KD", then="TC")
    assert choose("greedy", game) == "AC"


def test_takes_with_a_plain_card_before_a_trump_that_costs_less(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("KC JC 9H JH 9S JS", "TC AC 9D KH AH AS", "KD", then="KC")
    assert choose("greedy", game) == "TC"


def test_trumps_a_ten_with_its_lowest_trump(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("TC JC 9H JH 9S JS", "KC 9D AD KH AH AS", "KD", then="TC")
    assert choose("greedy", game) == "9D"


def test_makes_the_trick_worth_ten_with_its_own_card(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("9C JC 9H JH QS JS", "TC KC 9D KH AH AS", "KD", then="9C")
    assert choose("greedy", game) == "TC", "the king would win, but the ten brings ten"


def test_lets_a_trick_below_ten_go(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("QC JC 9H JH 9S JS", "KC 9D JD KH AH QS", "KD", then="QC")
    assert choose("greedy", game) == "QS", "the king would win seven"


def test_throws_its_cheapest_card_when_nothing_wins(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC JC 9H JH 9S JS", "KC TC QH KH AH QS", "KD", then="AC")
    assert choose("greedy", game) == "QH"


def test_throws_trumps_last(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AD JC 9H JH 9S JS", "KC TC 9D KH AH KS", "KD", then="AD")
    assert choose("greedy", game) == "KC"
