"""Game: the contract for people and notebooks."""

import numpy as np
import pytest

from santase_env import DealResult, Game, IllegalAction, Rules
from santase_env.actions import ACTION_TEXTS
from santase_env.observation import OBSERVATION_SIZE
from santase_env.rules import DEFAULT_RULES
from santase_env.view import VIEW

HANDS, TALON = ("9H AH AC QS KD 9D", "TH QH KH JC QC JS"), "TS AS JD 9C 9S TD JH TC KS QD AD KC"
ACTIONS = ("9H", "TH", "announce:H", "QH", "AH", "JD", "JC", "exchange", "close", "announce:C", "QC", "AC")


def example(steps: int = 0, rules: str = "paper") -> Game:
    """The paper text's worked example after some of its steps."""
    game = Game.from_cards(hands=HANDS, talon=TALON, leader=0, rules=rules)
    for action in ACTIONS[:steps]:
        game.apply(action)
    return game


def test_a_new_game() -> None:
    game = Game(rules=Rules.preset("online", false_claim="illegal"), seed=7)
    assert game.player == 0
    assert game.leader == 0
    assert not game.over
    assert game.result is None
    assert [len(hand) for hand in game.hands] == [6, 6]
    assert len(game.talon) == 12
    assert game.trump == game.talon[-1][1]
    assert game.points == game.pending == game.tricks == (0, 0)
    assert game.table is None
    assert Game(seed=7).rules == DEFAULT_RULES == game.rules
    assert Game("classic", 7).hands == game.hands


def test_the_properties_in_the_middle_of_a_deal() -> None:
    game = example(8)
    assert game.player == 1
    assert game.hands == (("AC", "9D", "KD", "TD", "QS", "AS"), ("QC", "KC", "KH", "9S", "JS", "TS"))
    assert game.talon == ("JH", "TC", "KS", "QD", "AD", "9C")
    assert game.points == (14, 34)
    assert game.tricks == (1, 2)
    assert game.legal_texts() == ["QC", "KC", "KH", "9S", "JS", "TS", "announce:C", "close"]
    assert game.legal_actions() == [2, 3, 15, 18, 19, 22, 24, 29]
    assert example(4).table == "QH"
    assert game.actions() == list(ACTIONS[:8])
    assert "player 1 to move" in repr(game)


def test_values_are_plain_python() -> None:
    game = example(8)
    for value in (game.player, game.leader, *game.points, *game.pending, *game.tricks, *game.legal_actions()):
        assert type(value) is int
    assert type(game.over) is bool
    assert type(game.hands) is type(game.hands[0]) is type(game.talon) is tuple


def test_legal_actions_are_ids_ascending_and_the_same_as_the_texts() -> None:
    for steps in range(len(ACTIONS)):
        game = example(steps)
        assert game.legal_actions() == sorted(game.legal_actions())
        assert [ACTION_TEXTS[action] for action in game.legal_actions()] == game.legal_texts()


def test_ids_and_texts_do_the_same() -> None:
    by_text, by_id = example(), example()
    for action in ACTIONS:
        by_text.apply(action)
        by_id.apply(np.int64(ACTION_TEXTS.index(action)) if action == "QH" else ACTION_TEXTS.index(action))
    assert by_text.state.tobytes() == by_id.state.tobytes()


def test_the_end() -> None:
    game = example(12)
    assert game.over
    assert game.player is None
    assert game.legal_actions() == game.legal_texts() == []
    assert game.result == DealResult(
        winner=1, game_points=(0, 2), points=(28, 74), tricks=(2, 2), reason="reached_66"
    )  # fmt: skip
    assert type(game.result.winner) is type(game.result.game_points[1]) is int
    assert "over" in repr(game)


def test_a_draw_has_no_winner() -> None:
    rules = Rules(ranks="9J", suits="CD", hand_size=1, last_trick_bonus=0)
    game = Game.from_cards(("JC", "9C"), "9D JD", 1, rules)
    for action in ("9C", "JC", "9D", "JD"):
        game.apply(action)
    assert game.result == DealResult(None, (0, 0), (2, 2), (1, 1), "draw")


def test_pending_points_are_not_points() -> None:
    game = Game.from_cards(
        ("QH KH 9S JS 9D JD", "AH TH AC TC KC AS"), "9C JC QC QD KD TD AD 9H QS KS TS JH", 0, "online"
    )
    game.apply("announce:H")
    assert (game.points, game.pending) == ((0, 0), (40, 0))
    for action in ("QH", "AH", "AC", "9S"):
        game.apply(action)
    assert (game.points, game.pending) == ((0, 25), (40, 0))


@pytest.mark.parametrize("action", ["TH", "close ", "QC", "announce:C", "exchange", "claim", 24, -1, 99, 3.5, None])
def test_an_illegal_action_changes_nothing(action: object) -> None:
    game = example()
    before = game.state.tobytes()
    with pytest.raises(IllegalAction):
        game.apply(action)  # type: ignore[arg-type]
    assert game.state.tobytes() == before


def test_an_illegal_action_says_what_is_legal() -> None:
    with pytest.raises(IllegalAction) as caught:
        example(1).apply("close")
    assert str(caught.value) == "'close' is not legal for player 1, who may choose JC, QC, QH, KH, TH, JS"


def test_nothing_follows_the_end() -> None:
    game = example(12)
    before = game.state.tobytes()
    with pytest.raises(IllegalAction, match="the deal is over"):
        game.apply("9D")
    assert game.state.tobytes() == before


def test_a_copy_is_independent() -> None:
    game = example(3)
    copy = game.copy()
    assert copy.record() == game.record()
    copy.apply("QH")
    assert game.actions() == list(ACTIONS[:3])
    assert copy.actions() == list(ACTIONS[:4])
    game.apply("KH")
    assert copy.table == "QH"


def test_views_and_observations_of_both_players_at_any_time() -> None:
    for steps in (0, 3, 12):
        game = example(steps)
        for player in range(2):
            view, observation = game.view(player), game.observation(player)
            assert view.dtype == VIEW
            assert view.seat == player
            assert set(observation) == {"observation", "action_mask"}
            assert observation["observation"].shape == (OBSERVATION_SIZE,)
            assert observation["observation"].dtype == np.float32
            mask = observation["action_mask"]
            assert (mask.shape, mask.dtype) == ((31,), np.int8)
            assert np.flatnonzero(mask).tolist() == (game.legal_actions() if player == game.player else [])
    for player in (-1, 2, None):
        with pytest.raises(ValueError, match="player must be 0 or 1"):
            example().view(player)  # type: ignore[arg-type]


def test_a_view_does_not_follow_the_game() -> None:
    game = example()
    view = game.view(0)
    before = view.tobytes()
    game.apply("9H")
    assert view.tobytes() == before


def test_record_is_what_from_cards_takes() -> None:
    game = example(5)
    record = game.record()
    assert record == {"rules": "paper", "leader": 0, "hands": list(HANDS), "talon": TALON, "actions": list(ACTIONS[:5])}
    again = Game.from_cards(record["hands"], record["talon"], record["leader"], record["rules"])
    for action in record["actions"]:
        again.apply(action)
    assert again.record() == record
    assert again.hands == game.hands


@pytest.mark.parametrize("leader", [0, 1])
def test_leader(leader: int) -> None:
    game = Game.from_cards(HANDS, TALON, leader, "paper")
    assert game.player == game.leader == leader


@pytest.mark.parametrize(
    ("hands", "talon", "says"),
    [
        (("9H AH AC QS KD AH", HANDS[1]), TALON, "^AH is there twice, the second time in the hand of seat 0$"),
        (("9H AH AC QS KD TH", HANDS[1]), TALON, "^TH is there twice, the second time in the hand of seat 1$"),
        (HANDS, TALON.replace("TS", "9H"), "^9H is there twice, the second time in the talon$"),
        (("9H AH AC QS KD", HANDS[1]), TALON, "^9D missing from the deal$"),
        (HANDS, TALON.replace("TS AS ", ""), "^TS, AS missing from the deal$"),
        (("9H AH AC QS KD", HANDS[1] + " 9D"), TALON, "^the hand of seat 0 must have 6 cards, not 5$"),
        ((HANDS[0] + " TS", HANDS[1]), TALON[3:], "^the hand of seat 0 must have 6 cards, not 7$"),
        (("9H AH AC QS KD 7D", HANDS[1]), TALON, "^'7D' is not a card"),
        (("9H,AH", HANDS[1]), TALON, "^'9H,AH' is not a card"),
        ((HANDS[0],), TALON, "^there must be two hands, not 1$"),
        ((*HANDS, ""), TALON, "^there must be two hands, not 3$"),
        (HANDS[0], TALON, "^hands must be two texts"),
        (HANDS, None, "^hands must be two texts.*and the talon one text$"),
        ((5, HANDS[1]), TALON, "^hands must be two texts"),
    ],
)
def test_a_wrong_deal_is_named(hands: object, talon: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Game.from_cards(hands, talon, 0, "paper")  # type: ignore[arg-type]


def test_a_card_that_is_not_in_play_is_named() -> None:
    rules = Rules(ranks="QKTA", suits="CH", hand_size=2)
    with pytest.raises(ValueError, match=r"^9C in the talon is not in play under rules paper,ranks=QKTA"):
        Game.from_cards(("QC KC", "QH KH"), "TC TH 9C AH", 0, rules)


@pytest.mark.parametrize("leader", [2, -1, None, True, "0", 1.0])
def test_a_wrong_leader_is_named(leader: object) -> None:
    with pytest.raises(ValueError, match="leader must be 0 or 1"):
        Game.from_cards(HANDS, TALON, leader, "paper")  # type: ignore[arg-type]


def test_wrong_rules_and_seeds_are_named() -> None:
    with pytest.raises(ValueError, match="did you mean 'paper'"):
        Game("papr")
    with pytest.raises(ValueError, match="seed must"):
        Game(seed=-1)
