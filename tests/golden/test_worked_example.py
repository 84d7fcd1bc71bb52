"""The worked example of the paper text, „Примерно разиграване“: 74 to 28, two game points."""

import pytest

from santase_env import Game, IllegalAction


def test_the_worked_example_of_the_paper_text() -> None:
    # "Раздаващ е играч 2": player 2 deals, so player 1 (seat 0) leads. Clubs are trumps, with the king turned up. The
    # text shows only the cards that get played; the others are filled in freely.
    game = Game.from_cards(
        hands=("9H AH AC QS KD 9D", "TH QH KH JC QC JS"),
        talon="TS AS JD 9C 9S TD JH TC KS QD AD KC",
        leader=0,
        rules="paper",
    )
    assert game.trump == "C"

    # "Играч 1 изиграва 9 купа, играч 2 печели ръката с 10 купа." The winner draws first: the ten of spades, then the
    # ace of spades for player 1.
    game.apply("9H")
    game.apply("TH")
    assert game.points == (0, 10)
    assert "TS" in game.hands[1]
    assert "AS" in game.hands[0]
    assert game.player == 1

    # "играч 2 изиграва Q купа и обявява „двадесет“, играч 1 – A купа": the ace takes the trick, the twenty stays.
    game.apply("announce:H")
    assert game.points == (0, 30)
    assert game.legal_texts() == ["QH", "KH"]
    game.apply("QH")
    game.apply("AH")
    assert game.points == (14, 30)
    assert "JD" in game.hands[0]
    assert "9C" in game.hands[1]

    # "Играч 1 изиграва J каро, играч 2 цака с J спатия": with an open talon any card may be played.
    game.apply("JD")
    game.apply("JC")
    assert game.points == (14, 34)
    assert "9S" in game.hands[1]
    assert "TD" in game.hands[0]

    # "играч 2 сменя K спатия за 9 спатия от дъното на талона, ... „Затварям!“ и изиграва Q спатия, като обявява
    # „четиридесет“": exchange, close, announce, lead, all in one turn.
    assert game.talon[-1] == "KC"
    game.apply("exchange")
    assert game.talon[-1] == "9C"
    assert "KC" in game.hands[1]
    game.apply("close")
    game.apply("announce:C")
    assert game.points == (14, 74)
    assert not game.over  # by this text the trick is still played
    game.apply("QC")

    # "Играч 1 взема с A спатия": the talon is closed, so he must follow suit, and has to beat the queen.
    assert game.legal_texts() == ["AC"]
    game.apply("AC")

    # 14 from cards + 20 + 40 make 74; player 1 has 28, fewer than 33 with tricks of his own: two game points.
    assert game.result is not None
    assert game.result.points == (28, 74)
    assert game.result.tricks == (2, 2)
    assert game.result.winner == 1
    assert game.result.game_points == (0, 2)
    assert game.result.reason == "reached_66"
    with pytest.raises(IllegalAction, match="over"):
        game.apply("9D")


def test_had_the_closer_of_the_example_failed_it_would_cost_three() -> None:
    # "Ако при преждевременното затваряне на талона играч 2 не успее да победи, играч 1 има право да си запише 3 точки."
    game = Game.from_cards(
        hands=("9H AH AC QS KD 9D", "TH QH KH JC QC JS"),
        talon="TS AS JD 9C 9S TD JH TC KS QD AD KC",
        leader=0,
        rules="paper",
    )
    for action in ("9H", "TH", "announce:H", "QH", "AH", "JD", "JC", "exchange", "close"):
        game.apply(action)
    # He forgets the forty, and his 34 points grow to no more than 56.
    for action in ("JS", "QS", "AC", "QC", "AS", "TS", "KD", "KC", "KH", "9D", "9S", "TD"):
        game.apply(action)
    assert game.result is not None
    assert game.result.points == (54, 56)
    assert game.result.reason == "failed_close"
    assert game.result.game_points == (3, 0)
