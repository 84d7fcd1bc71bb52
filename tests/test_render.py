"""Text pictures: what they say, and that a VIEW's picture hides what the VIEW does not hold."""

import re

import numpy as np
import pytest

from santase_env import Game
from santase_env.cards import SUIT_SYMBOLS
from santase_env.render import ansi, check_render_mode, render
from santase_env.render.text import REASON_TEXTS
from santase_env.state import REASONS


@pytest.fixture
def game() -> Game:
    hands = ("9H KH QH AS TS KS", "9S JS QS 9D JD QD")
    return Game.from_cards(hands, "9C JC QC KC TC AC AD TD KD JH AH TH", rules="online")


def test_a_state_is_drawn_with_both_hands_open(game: Game) -> None:
    assert ansi(game.state).splitlines() == [
        "trump     ♥   face up 10♥   talon 12",
        "player 0  9♥ Q♥ K♥ K♠ 10♠ A♠  *    points 0   tricks 0",
        "player 1  9♦ J♦ Q♦ 9♠ J♠ Q♠        points 0   tricks 0",
        "last      player 0 leads first",
    ]


def test_a_view_is_drawn_with_the_other_hand_hidden(game: Game) -> None:
    lines = ansi(game.view(1)).splitlines()
    assert lines[1] == "player 0  ? ? ? ? ? ?  *           points 0   tricks 0"
    assert lines[2] == "player 1  9♦ J♦ Q♦ 9♠ J♠ Q♠        points 0   tricks 0"


def test_every_action_is_told(game: Game) -> None:
    told = []
    for action in ("announce:H", "QH", "9D", "AS", "9S", "exchange", "close"):
        game.apply(action)
        told.append(ansi(game.view(1)))
    assert "last      player 0 announces K♥ Q♥, 40 points" in told[0]
    assert "table     K♥ or Q♥ must be led" in told[0]
    assert "player 0  Q♥ K♥ ? ? ? ?  *         points 0 (+40 pending)   tricks 0" in told[0]
    assert "table     Q♥, led by player 0" in told[1]
    assert "last      player 0 plays Q♥, player 1 plays 9♦, to player 0" in told[2]
    assert "player 0  K♥ ? ? ? ? ?  *          points 43   tricks 1" in told[2]
    assert "last      player 0 exchanges 9♥ for 10♥" in told[5]
    assert "face up 9♥" in told[5]
    assert "last      player 0 closes the talon" in told[6]
    assert "closed by player 0" in told[6]


@pytest.mark.parametrize(
    ("points", "why"),
    [
        ((70, 10), "player 0 wins 2 game points (a true claim)"),
        ((20, 0), "player 1 wins 3 game points (a false claim)"),
    ],
)
def test_the_result_is_told(game: Game, points: tuple[int, int], why: str) -> None:
    game.state.points = points
    game.state.tricks = (points[0] > 60, points[0] > 60)
    game.apply("claim")
    assert ansi(game.view(0)).splitlines()[-2:] == ["last      player 0 claims 66", f"over      {why}"]


def test_the_match_score_is_told_once_there_is_one(game: Game) -> None:
    assert not ansi(game.state).startswith("match")
    game.state.match_points = (4, 7)
    assert ansi(game.state).splitlines()[0] == "match     4–7"


def test_every_reason_has_words() -> None:
    assert set(REASON_TEXTS) == set(REASONS) - {"none"}


def test_the_picture_of_a_view_names_no_hidden_card() -> None:
    random = np.random.default_rng(0)
    for seed in range(40):
        game = Game(seed=seed)
        while not game.over:
            for seat in range(2):
                view = game.view(seat)
                seen = int(view.hand | view.played.sum() | view.known[1 - seat]) | 1 << int(view.turned_up)
                seen |= int(view.hand) | (1 << 6 * int(view.trump) if view.exchanged_by >= 0 else 0)
                for rank, suit in re.findall(r"(10|[9JQKA])([♣♦♥♠])", ansi(view)):
                    card = 6 * SUIT_SYMBOLS.index(suit) + ["9", "J", "Q", "K", "10", "A"].index(rank)
                    assert seen >> card & 1
            game.apply(int(random.choice(game.legal_actions())))


def test_a_game_prints_as_its_picture(game: Game) -> None:
    assert str(game) == ansi(game.state)


def test_render_returns_or_prints(game: Game, capsys: pytest.CaptureFixture[str]) -> None:
    assert render(game.state, "ansi") == ansi(game.state)
    assert render(game.state, "human") is None
    assert capsys.readouterr().out == ansi(game.state) + "\n\n"
    with pytest.warns(UserWarning, match="render_mode='ansi' or 'human'"):
        render(game.state, None)


def test_an_unknown_render_mode_is_named() -> None:
    assert check_render_mode(None) is None
    with pytest.raises(ValueError, match="render_mode must be None or one of ansi, human, not 'rgb_array'"):
        check_render_mode("rgb_array")
