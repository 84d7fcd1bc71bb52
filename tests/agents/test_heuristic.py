"""heuristic: a position for each of its ideas, its strength, and play by any rules."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from santase_agents.counting import chance_of_at_most, drawn_from
from santase_agents.heuristic import HeuristicPolicy
from santase_agents.heuristic import choose as choose_unchecked
from santase_agents.playout import ANYTHING, POINT, habit, look_ahead, play_out
from santase_env import Game, Rules, engine, view_of
from santase_env.actions import ACTION_TEXTS, NUM_ACTIONS
from santase_env.batch import apply_all, deal_all, new_games, views_to_move
from santase_env.cards import card_id, cards_in
from santase_env.compiled import Array, Record
from santase_env.policy import Policy, RandomPolicy
from santase_env.state import REASONS, STATE
from santase_env.view import fill_sample, opponent_hand_size
from santase_training.evaluate import evaluate

Choose = Callable[[str, Game], str]
Deal = Callable[..., Game]

ME = "heuristic"
PRESETS = ("paper", "online", "online,false_claim=illegal", "classic")
SMALL = "classic,ranks=QKTA,suits=CHS,hand_size=5"
"""Twelve cards: after the first trick the talon is used up, and every card is known."""


def positions(rules: Rules | str, count: int, policy: Policy) -> Array:
    """STATEs [B] at every turn, and at the end, of ``count`` deals that ``policy`` plays with itself."""
    states = new_games(count, rules, seed=21)
    deal_all(states, np.arange(count) % 2)
    found = [states.copy()]
    while (rows := np.flatnonzero(states["player"] >= 0)).size:
        views, masks = views_to_move(states, rows)
        keys = np.arange(len(rows), dtype=np.uint64) * np.uint64(1_000_003) + np.uint64(len(found))
        assert apply_all(states, rows, policy.act(views, masks, keys)) == -1
        found.append(states[rows].copy())
    return np.concatenate(found)


def legal_actions(state: Record) -> list[int]:
    """The legal actions of the player to move, none after the end."""
    return [action for action in range(NUM_ACTIONS) if engine.is_legal(state, action)]


# ------------------------------------------------------------------------------- what is not a card


def test_claims_what_it_holds(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC KH QH 9C JC 9H", "KC QC 9D JD 9S JS", "QD", rules="online,target=15", then="AC KC")
    assert choose(ME, game) == "claim"


def test_never_claims_falsely() -> None:
    states = positions("online", 2000, HeuristicPolicy())
    assert (states["reason"] == REASONS.index("claim")).sum() > 1000
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


def test_counts_its_marriages_when_it_closes(choose: Choose, deal_of: Deal) -> None:
    theirs, face_up = "9D JD 9H JH 9S JS", "9C"
    assert choose(ME, deal_of("AC TC AH TH KD QS", theirs, face_up, rules="paper")) != "close"
    assert choose(ME, deal_of("AC TC AH TH KD QD", theirs, face_up, rules="paper")) == "close"


def test_announces_before_it_closes(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC TC KC AH KD QD", "9D JD 9H JH 9S JS", "9C", first="JC QC", then="AH 9H")
    assert "close" in game.legal_texts()
    assert choose(ME, game) == "announce:D", "the points are safe then, and it can close on its next lead"


@pytest.mark.parametrize(("theirs", "action"), [(0, "JS"), (40, "close")])
def test_closes_sooner_when_waiting_is_dangerous(choose: Choose, deal_of: Deal, theirs: int, action: str) -> None:
    game = deal_of("AC TC JC AH KD JS", "9D JD 9H JH 9S QS", "9C", first="TS TD", then="AC 9S")
    game.state.points[:] = 31, theirs
    assert choose(ME, game) == action


# ------------------------------------------------------------------------------------- open talon


def test_gives_no_tens_or_aces_away(choose: Choose, deal_of: Deal) -> None:
    assert choose(ME, deal_of("AC TC AH TH AS JS", "9C JC 9H KH 9S QS", "9D")) == "JS"


def test_keeps_a_marriage_that_it_cannot_announce_yet(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC JC 9H JH 9S JS", "QH KH KS TH AH AS", "9D", then="AC")
    assert choose(ME, game) == "KS", "a point dearer than the queen of hearts, but no half of a marriage"


@pytest.mark.parametrize(("gone", "thrown"), [("KH", "QH"), ("KS", "QS")])
def test_keeps_a_queen_whose_king_may_come(choose: Choose, deal_of: Deal, gone: str, thrown: str) -> None:
    game = deal_of(f"{gone} AC 9H JH 9S JS", "QH QS AS AH TC 9C", "9D", first="QC KC", then=f"{gone} 9C AC")
    assert choose(ME, game) == thrown


def test_keeps_the_nine_of_trumps_while_it_can_exchange(choose: Choose, deal_of: Deal) -> None:
    cards = ("KC JC 9H JH 9S JS", "9D QS TH AH TS AS", "AD")
    assert choose(ME, deal_of(*cards, then="KC")) == "QS"
    assert choose(ME, deal_of(*cards, rules="online,exchange_min_talon=14", then="KC")) == "9D"


def test_trumps_a_ten(choose: Choose, deal_of: Deal) -> None:
    assert choose(ME, deal_of("TC JC 9H JH 9S JS", "KC 9D JD KH AH AS", "AD", then="TC")) == "JD"


def test_keeps_trumps_when_a_trick_is_cheap(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("QC JC 9H JH 9S JS", "JD TD AD KH QS 9C", "KD", then="QC")
    assert choose(ME, game) == "9C"


@pytest.mark.parametrize(("points", "reply"), [((0, 0), "9C"), ((40, 30), "JD")])
def test_spends_trumps_late_in_the_deal(choose: Choose, deal_of: Deal, points: tuple[int, int], reply: str) -> None:
    game = deal_of("QC JC 9H JH 9S JS", "JD TD AD KH QS 9C", "KD", then="QC")
    game.state.points[:] = points
    assert choose(ME, game) == reply


@pytest.mark.parametrize(("points", "reply"), [((0, 0), "9S"), ((30, 30), "QC")])
def test_wins_cheap_tricks_late_in_the_deal(choose: Choose, deal_of: Deal, points: tuple[int, int], reply: str) -> None:
    game = deal_of("9C JC 9H JH JS TS", "QC TD 9D KH AH 9S", "KD", then="9C")
    game.state.points[:] = points
    assert choose(ME, game) == reply, "early on the king of clubs may come"


@pytest.mark.parametrize(("suit", "thrown"), [("H", "QS"), ("S", "QH")])
def test_keeps_a_card_that_has_become_the_highest(choose: Choose, deal_of: Deal, suit: str, thrown: str) -> None:
    theirs = f"KS QH QS A{suit} T{suit} TC"
    game = deal_of("KH AC 9H JH 9S JS", theirs, "9D", first="QC KC", then="KH KS AC")
    assert choose(ME, game) == thrown, "both kings are gone, and ace and ten of one suit are in its own hand"


def test_takes_a_cheap_trick_with_a_ten_of_the_suit(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("9C JC 9H JH 9S JS", "TC QC AD KH QH KS", "KD", then="9C")
    assert choose(ME, game) == "TC", "nobody can take it any more"


def test_spends_the_ace_of_trumps_on_the_trick_that_reaches_66(choose: Choose, deal_of: Deal) -> None:
    cards = ("9C JC 9H JH 9S JS", "AD QC QS KH AH AS", "KD")
    assert choose(ME, deal_of(*cards, rules="classic", then="JC")) != "AD"
    assert choose(ME, deal_of(*cards, rules="classic,target=13", then="JC")) == "AD"


def test_takes_a_trick_to_announce_its_marriage(choose: Choose, deal_of: Deal) -> None:
    lead, face_up = "QC JC 9H JH 9S JS", "KD"
    assert choose(ME, deal_of(lead, "AD TD JD KH QH 9C", face_up, then="QC")) == "JD"
    assert choose(ME, deal_of(lead, "AD TD JD KH QS 9C", face_up, then="QC")) == "9C"


def test_lets_the_last_open_trick_go_for_a_high_face_up_trump(choose: Choose, deal_of: Deal) -> None:
    mine = "9C QC KC TC AC JD QD JH QH JS QS"
    theirs = "JC 9D KD TD AD 9H KH TH AH KS "
    assert choose(ME, deal_of(mine, theirs + "9S", "AS", rules="classic,hand_size=11", then="9C")) == "9D"
    assert choose(ME, deal_of(mine, theirs + "AS", "9S", rules="classic,hand_size=11", then="9C")) == "JC"


# ------------------------------------------------------------------------------------ strict phase


def test_leads_the_highest_card_that_cannot_be_beaten_once_closed(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC TC AD 9H JH 9S", "9D JD QH KH JS QS", "9C", rules="paper", then="close")
    assert choose(ME, game) == "AC"


def test_draws_the_last_trump_before_it_cashes(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("AC TC KC AS KS", "QC QH KH TH AH", "QS", rules=SMALL, then="AC QC")
    assert game.hands == (("KC", "TC", "KS", "TS", "AS"), ("QH", "KH", "TH", "AH", "QS"))
    assert choose(ME, game) in ("KS", "TS", "AS"), "a club would be trumped"


def unchecked(game: Game) -> str:
    """What it does in a state with points that were not played for, which ``act`` would refuse."""
    views, masks = views_to_move(game._states, np.array([0]))
    return ACTION_TEXTS[choose_unchecked(views[0], masks[0], np.zeros(2, STATE))]


def test_saves_the_33_when_the_deal_is_lost(deal_of: Deal) -> None:
    game = deal_of("AC AH QC QH QS", "KC TC KH TH KS", "AS", rules=SMALL, then="AC KC")
    game.state.points[:] = 24, 62
    assert unchecked(game) == "AH"


def test_cashes_an_ace_before_it_announces_in_a_known_deal(choose: Choose, deal_of: Deal) -> None:
    game = deal_of("KC QH AH KH TS", "QC TC TH QS AC", "AS", rules=SMALL, then="QH TH")
    assert "announce:S" in game.legal_texts()
    assert choose(ME, game) == "AC", "then the 40 end the deal before the opponent has a trick"


def test_foresees_the_best_reply_in_a_known_deal(deal_of: Deal) -> None:
    game = deal_of("TC KC QC AC TH", "TS QH KH AH QS", "KS", rules=SMALL, then="QC AH")
    game.state.points[:] = 20, 20
    states = np.zeros(2, STATE)
    states[0] = game.state
    by_habit = {card: play_out(states, 0, card_id(card)) for card in game.legal_texts()}
    assert max(by_habit, key=by_habit.__getitem__) == "KC", "an opponent who answers by habit lets it go"
    assert unchecked(game) == "TH"


# ------------------------------------------------------------------------------- counting, playing out


@pytest.mark.parametrize("rules", ["paper", "classic,ranks=QKTA,hand_size=4"])
def test_chances_are_those_of_counting_all_hands(rules: str) -> None:
    for state in positions(rules, 3, RandomPolicy())[::5]:
        for seat in (0, 1):
            view = view_of(state, seat)
            known, pool = int(view.known[1 - seat]), cards_in(drawn_from(view))
            size = opponent_hand_size(view) - known.bit_count()
            hands = [known | sum(1 << card for card in hand) for hand in combinations(pool, size)]
            for cards, most in ((0b111111 << 6, 0), (0b111111 << 18, 1), (0b110000110000, 2)):
                share = np.mean([(hand & cards).bit_count() <= most for hand in hands])
                assert chance_of_at_most(view, cards, most) == pytest.approx(share)


@pytest.mark.parametrize("rules", PRESETS)
def test_a_known_deal_is_played_out_from_a_view_as_the_real_one_would_go(rules: str) -> None:
    states = positions(rules, 400, RandomPolicy())
    known = states[(states["player"] >= 0) & (states["talon"] == 0)]
    assert len(known) > 300
    worlds = np.zeros(2, STATE)
    for state in known:
        me = int(state.player)
        fill_sample(view_of(state, me), np.uint64(9), worlds[0])
        before = worlds[0].tobytes()
        value = play_out(worlds, me, habit(state))
        assert worlds[0].tobytes() == before
        while state.player >= 0:
            engine.apply(state, habit(state))
        margin = [int(values[me]) - int(values[1 - me]) for values in (state.game_points, state.points)]
        assert value == pytest.approx(margin[0] + POINT * margin[1])


@pytest.mark.parametrize("rules", PRESETS)
def test_looking_ahead_takes_the_next_move_that_is_best_for_the_one_who_makes_it(rules: str) -> None:
    states = positions(rules, 100, RandomPolicy())
    worlds, after = np.zeros(2, STATE), np.zeros(2, STATE)
    for state in states[(states["player"] >= 0) & (states["talon"] == 0)]:
        me = int(state.player)
        worlds[0] = state
        for action in legal_actions(state):
            after[0] = state
            engine.apply(after[0], action)
            mover = int(after[0].player)
            values = [play_out(after, me, move) for move in legal_actions(after[0])] or [play_out(worlds, me, action)]
            value = max(values) if mover == me else min(values)
            assert look_ahead(worlds, me, action, -ANYTHING) == value
            assert look_ahead(worlds, me, action, value - 0.001) == value
            assert value <= look_ahead(worlds, me, action, value + 0.5) <= max(value + 0.5, value)


# ---------------------------------------------------------------------------------------- in general


@pytest.mark.parametrize("rules", PRESETS)
@pytest.mark.parametrize(("opponent", "least"), [("random", 1.78), ("greedy", 0.58)])
def test_strength(rules: str, opponent: str, least: float) -> None:
    assert evaluate(ME, opponent, 8000, rules, seed=1).mean > least


@pytest.mark.parametrize("agent", ["heuristic", "greedy"])
@settings(max_examples=60)
@given(data=st.data())
def test_plays_by_any_rules(agent: str, any_rules: st.SearchStrategy[Rules], data: st.DataObject) -> None:
    rules = data.draw(any_rules)
    evaluate(agent, "random", 20, rules)  # an illegal action raises
    states = positions(rules, 10, HeuristicPolicy())
    assert not (states["reason"] == REASONS.index("false_claim")).any()


def test_an_impossible_deal_is_not_played_out() -> None:
    views, masks = views_to_move(states := positions("classic", 3, HeuristicPolicy()), np.arange(len(states)))
    rows = np.flatnonzero((views["talon"] == 0) & (masks.sum(axis=1) > 1))
    views, masks, keys = views[rows], masks[rows], rows.astype(np.uint64)
    views["taken"][2, 0] |= views["hand"][2]
    with pytest.raises(ValueError, match="row 2 is an impossible view"):
        HeuristicPolicy().act(views, masks, keys)
