"""A second opinion: the rules once more, slowly, from the rule texts alone, and the engine compared with it.

The referee knows card texts and sets only, counts every total afresh, and shares nothing with the engine but the names
of the fields of Rules.
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from santase_env import Game, Rules
from santase_env.rng import mix
from santase_env.rules import DEFAULT_RULES

ORDER = "9JQKTA"
WORTH = dict(zip(ORDER, (0, 2, 3, 4, 10, 11), strict=True))


class Referee:
    """One deal by the book."""

    def __init__(self, rules: Rules, hands: list[str], talon: str, leader: int) -> None:
        self.rules = rules
        self.hands = [set(hand.split()) for hand in hands]
        self.talon = talon.split()
        self.trump = self.talon[-1][1]
        self.lead = self.turn = leader
        self.table: str | None = None
        self.marriage_to_lead: str | None = None
        self.tricks: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
        self.marriages: tuple[list[str], list[str]] = ([], [])
        self.last_ten: int | None = None
        self.closer: int | None = None
        self.first_at_target: int | None = None
        self.result: dict[str, Any] | None = None

    def points(self, seat: int) -> int:
        """Everything counts, but nothing before the first trick."""
        if not self.tricks[seat]:
            return 0
        cards = sum(WORTH[card[0]] for trick in self.tricks[seat] for card in trick)
        marriages = sum(
            self.rules.trump_marriage if suit == self.trump else self.rules.marriage for suit in self.marriages[seat]
        )
        return cards + marriages + (self.rules.last_trick_bonus if self.last_ten == seat else 0)

    def at_target(self, seat: int) -> bool:
        return self.points(seat) >= self.rules.target

    def legal(self) -> set[str]:
        if self.result:
            return set()
        rules, hand = self.rules, self.hands[self.turn]
        actions = set()
        if rules.claim == "on_turn" and (self.at_target(self.turn) or rules.false_claim == "penalty"):
            actions.add("claim")
        if self.table:
            return actions | self.replies(hand, self.table)
        if self.marriage_to_lead:
            return actions | {"K" + self.marriage_to_lead, "Q" + self.marriage_to_lead}
        first_lead = not (self.tricks[0] or self.tricks[1])
        open_cards = 0 if self.closer is not None else len(self.talon)
        if rules.marriage_on_opening_lead or not first_lead:
            actions |= {f"announce:{suit}" for suit in rules.suits if {"K" + suit, "Q" + suit} <= hand}
        if self.lowest_trump() in hand and self.tricks[self.turn] and open_cards >= rules.exchange_min_talon:
            actions.add("exchange")
        if open_cards >= rules.close_min_talon and (rules.close_on_opening_lead or not first_lead):
            actions.add("close")
        return actions | hand

    def lowest_trump(self) -> str:
        return self.rules.ranks[0] + self.trump

    def replies(self, hand: set[str], led: str) -> set[str]:
        if self.talon and self.closer is None:
            return hand
        suit = {card for card in hand if card[1] == led[1]}
        higher = {card for card in suit if ORDER.index(card[0]) > ORDER.index(led[0])}
        trumps = {card for card in hand if card[1] == self.trump}
        return higher or suit or trumps or hand

    def apply(self, action: str) -> None:
        me = self.turn
        if action.startswith("announce"):
            self.marriage_to_lead = action[-1]
            self.marriages[me].append(action[-1])
            self.note_target(me)
            if self.rules.claim == "immediate":
                self.end_if_target()
        elif action == "exchange":
            self.hands[me].remove(self.lowest_trump())
            self.hands[me].add(self.talon[-1])
            self.talon[-1] = self.lowest_trump()
        elif action == "close":
            self.closer = me
        elif action == "claim":
            if self.at_target(me):
                self.win_with_target(me, "claim")
            else:
                self.end(1 - me, 2 if self.tricks[me] else 3, "false_claim")
        else:
            self.play(me, action)

    def play(self, me: int, card: str) -> None:
        self.hands[me].remove(card)
        self.turn = 1 - me
        self.marriage_to_lead = None
        if self.table is None:
            self.table = card
            return
        led, self.table = self.table, None
        higher = ORDER.index(card[0]) > ORDER.index(led[0])
        winner = me if (higher if card[1] == led[1] else card[1] == self.trump) else 1 - me
        self.tricks[winner].append((led, card))
        if self.talon and self.closer is None:
            for seat in (winner, 1 - winner):
                self.hands[seat].add(self.talon.pop(0))
        if not self.hands[0] and not self.hands[1] and self.closer is None:
            self.last_ten = winner
        self.lead = self.turn = winner
        self.note_target(winner)
        if self.rules.claim != "on_turn":
            self.end_if_target()
        if not self.result and not self.hands[0] and not self.hands[1]:
            self.run_out(winner)

    def note_target(self, seat: int) -> None:
        if self.first_at_target is None and self.at_target(seat):
            self.first_at_target = seat

    def end_if_target(self) -> None:
        if self.first_at_target is not None:
            self.win_with_target(self.first_at_target, "reached_66")

    def win_with_target(self, winner: int, reason: str) -> None:
        if self.closer == 1 - winner:
            self.fail_close()
        else:
            self.end(winner, self.table_of_game_points(1 - winner), reason)

    def run_out(self, last: int) -> None:
        a, b = self.points(0), self.points(1)
        if self.closer is not None:
            if self.first_at_target == self.closer:
                self.end(self.closer, self.table_of_game_points(1 - self.closer), "exhausted")
            else:
                self.fail_close()
        elif self.rules.exhausted == "last_trick" and max(a, b) < self.rules.target:
            self.end(last, 1, "last_trick")
        elif a == b and self.rules.exhausted == "draw":
            self.end(None, 0, "draw")
        else:
            winner = last if a == b else (0 if a > b else 1)
            self.end(winner, self.table_of_game_points(1 - winner), "exhausted")

    def fail_close(self) -> None:
        assert self.closer is not None
        mild = self.rules.failed_close == "two_or_three" and self.tricks[self.closer]
        self.end(1 - self.closer, 2 if mild else 3, "failed_close")

    def table_of_game_points(self, loser: int) -> int:
        if not self.tricks[loser]:
            return 3
        return 2 if self.points(loser) < self.rules.schneider else 1

    def end(self, winner: int | None, game_points: int, reason: str) -> None:
        self.result = {
            "winner": winner,
            "game_points": [game_points if seat == winner else 0 for seat in range(2)],
            "points": [self.points(0), self.points(1)],
            "tricks": [len(self.tricks[0]), len(self.tricks[1])],
            "reason": reason,
        }


def test_the_referee_agrees_with_the_golden_deals(golden_deals: list[dict[str, Any]]) -> None:
    for deal in golden_deals:
        referee = Referee(Rules.of(deal["rules"]), deal["hands"], deal["talon"], deal["leader"])
        for step, action in zip(deal["steps"], deal["actions"], strict=True):
            assert (referee.turn, referee.legal()) == (step["player"], set(step["legal"])), deal["name"]
            referee.apply(action)
        assert referee.result == deal["expect"], deal["name"]


def play_both(rules: Rules, seed: int, leader: int, keep_open: bool, false_claims: int) -> str:
    """One random deal by the engine and by the referee; asserts at every step, and returns the reason it ended.

    A close is avoided with ``keep_open``, and a false claim is made about once in ``false_claims`` chances.
    """
    dealt = Game(rules, seed).record()
    game = Game.from_cards(dealt["hands"], dealt["talon"], leader, rules)
    referee = Referee(rules, dealt["hands"], dealt["talon"], leader)
    for step in range(40):
        legal = game.legal_texts()
        assert set(legal) == referee.legal(), (str(rules), game.record())
        if game.over:
            break
        assert game.player == referee.turn
        for seat in range(2):
            assert set(game.hands[seat]) == referee.hands[seat], (str(rules), game.record())
            assert game.points[seat] == referee.points(seat), (str(rules), game.record())
        assert game.talon == tuple(referee.talon)
        bits = int(mix(seed, step))
        is_false = "claim" in legal and not referee.at_target(referee.turn)
        if is_false and bits % false_claims:
            legal.remove("claim")
        if keep_open and "close" in legal:
            legal.remove("close")
        action = legal[(bits >> 20) % len(legal)]
        game.apply(action)
        referee.apply(action)
    assert game.result is not None
    found = {key: list(value) if isinstance(value, tuple) else value for key, value in vars(game.result).items()}
    assert found == referee.result, (str(rules), game.record())
    return game.result.reason


ENDS = {
    "paper": {"reached_66", "failed_close"},
    "classic": {"reached_66", "failed_close"},
    str(DEFAULT_RULES): {"claim", "failed_close", "exhausted", "last_trick"},
    "online": {"claim", "failed_close", "exhausted", "last_trick", "false_claim"},
}


@pytest.mark.parametrize("rules", list(ENDS))
def test_engine_and_referee_agree_on_random_deals(rules: str) -> None:
    ends = {play_both(Rules.of(rules), seed, seed % 2, seed % 3 > 0, 40) for seed in range(150)}
    assert ends >= ENDS[rules]


@settings(max_examples=250)
@given(data=st.data())
def test_engine_and_referee_agree_under_any_rules(any_rules: st.SearchStrategy[Rules], data: st.DataObject) -> None:
    rules = data.draw(any_rules)
    seed = data.draw(st.integers(0, 2**32))
    for offset in range(3):
        play_both(rules, seed + offset, data.draw(st.integers(0, 1)), data.draw(st.booleans()), 6)


def test_draws_are_drawn() -> None:
    rules = Rules(ranks="9J", suits="CDHS", hand_size=2, last_trick_bonus=0)
    assert "draw" in {play_both(rules, seed, 0, True, 1) for seed in range(30)}
