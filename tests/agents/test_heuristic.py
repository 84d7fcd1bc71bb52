"""heuristic: a position for each of its ideas, its strength, and play by any rules."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from santase_agents import counting, playout
from santase_agents.heuristic import HeuristicPolicy
from santase_env import Game, Rules, engine, view_of
from santase_env.actions import CLAIM
from santase_env.batch import apply_all, deal_all, new_games, views_to_move
from santase_env.cards import card_set, cards_in, parse_cards
from santase_env.compiled import Array, Record
from santase_env.policy import RandomPolicy
from santase_env.state import REASONS
from santase_env.view import count_cards, opponent_hand_size
from santase_training.evaluate import evaluate

Choose = Callable[[str, Game], str]
Deal = Callable[..., Game]

ME = "heuristic"
OPEN_HAND = "rules=classic"


def bits(cards: str) -> int:
    """The set of these cards."""
    return card_set(parse_cards(cards))


# ------------------------------------------------------------------------------- what is not a card


def test_claims_what_it_holds(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC KH QH 9C JC 9H", "KC QC 9D JD 9S JS", "QD", rules="online,target=15", then="AC KC")
    assert choose(ME, game) == "claim"


def test_never_claims_falsely() -> None:
    states = play(Rules.preset("online"), 3000)
    assert (states["reason"] == REASONS.index("claim")).mean() > 0.5
    assert not (states["reason"] == REASONS.index("false_claim")).any()


def test_exchanges_before_all_else(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC KH QH 9D TD KD", "KC 9C JC TC 9H JH", "AD", first="JD QS", then="AC KC")
    assert {"exchange", "close", "announce:H"} <= set(game.legal_texts())
    assert choose(ME, game) == "exchange"


def test_announces_trumps_first(choose: Choose, deal_of: Deal) -> None:
    assert choose(ME, deal_of("KC QC KD QD 9H JH", "9C JC TC AC 9S JS", "AD")) == "announce:D"


def test_closes_when_what_it_can_cash_makes_66(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC TC KC AD TD AH", "9D JD 9H JH 9S JS", "9C", rules="paper")
    assert choose(ME, game) == "close"


def test_does_not_close_where_its_aces_may_be_trumped(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AH TH AD TD AS TS", "9D JD 9H JH 9S JS", "9C", rules="paper")
    assert "close" in game.legal_texts()
    assert choose(ME, game) != "close"


def test_does_not_close_on_a_hand_that_does_not_count_to_66(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC TC 9C AD 9H 9S", "9D JD JH QH JS QS", "JC", rules="paper")
    assert choose(ME, game) != "close"


def test_counts_its_marriage_when_it_closes(choose: Choose, deal_of: Deal) -> None:
    # 11 + 10 + a trump marriage of 40 are not 66; the ace of hearts would make it, trumps being drawn.
    hand = "AC TC KC QC 9H 9S"
    game = deal_of("AH " + hand[:-3], "9D JD 9H JH 9S JS".replace("9H", "TS"), "9C", rules="paper")
    assert choose(ME, game) == "close"


# ------------------------------------------------------------------------------------- open talon


def test_gives_no_tens_or_aces_away(choose: Choose, deal_of: Deal) -> None:
    assert choose(ME, deal_of("AC TC AH TH AS JS", "9C JC 9H KH 9S QS", "9D")) == "JS"


def test_keeps_a_marriage_that_it_cannot_announce_yet(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC JC 9H JH 9S JS", "QH KH KS TH AH AS", "9D", then="AC")
    assert choose(ME, game) == "KS", "a point dearer than the queen of hearts, but no half of a marriage"


def test_keeps_a_queen_whose_king_may_come(choose: Choose, deal_of: Deal) -> None:
    assert choose(ME, deal_of("AC KH 9H JH 9C JC", "QH QS TH TS AH AS", "9D", rules="classic", then="KH")) in ("TH", "AH")
    # The king of hearts has gone, the king of spades may still come.
    game = deal_of("KH AC 9H JH 9C JC", "QH QS TH TS AH AS", "9D", first="JD TC", then="KH AH AS 9C TC AC")
    assert game.player == 0
    game = deal_of("AC KH 9H JH TC JC", "QH QS TH TS AD AS", "9D", first="JD KD", then="KH TH AD 9H TS")
    assert game.table == "TS"


def test_trumps_with_the_jack_while_the_nine_can_exchange(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("TC JC 9H JH 9S JS", "KC 9D JD KH AH AS", "AD", then="TC")
    assert choose(ME, game) == "JD"


def test_keeps_trumps_when_a_trick_is_cheap(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("QC JC 9H JH 9S JS", "JD QD AD KH QH 9C", "KD", then="QC")
    assert choose(ME, game) == "9C"


def test_takes_a_cheap_trick_with_a_ten_of_the_suit(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("9C JC 9H JH 9S JS", "TC QC AD KH QH KS", "KD", then="9C")
    assert choose(ME, game) == "TC", "nobody can take it any more"


def test_spends_the_ace_of_trumps_on_the_trick_that_reaches_66(choose: Choose, deal_of: Deal) -> None:
    cards = ("9C JC 9H JH 9S JS", "AD QC QS KH AH AS", "KD")
    assert choose(ME, deal_of(*cards, rules="classic", then="JC")) != "AD"
    assert choose(ME, deal_of(*cards, rules="classic,target=13", then="JC")) == "AD"


def test_lets_the_last_open_trick_go_for_a_high_face_up_trump(choose: Choose, deal_of: Deal) -> None:
    mini = "classic,ranks=9JQKTA,suits=CDHS,hand_size=11"
    mine = "QC KC TC 9D JD QD 9H JH QH 9S JS"
    theirs = "9C JC AC KD TD KH TH QS KS TS AH"
    assert choose(ME, deal_of(mine, theirs, "AS", rules=mini, then="QC")) != "AC"
