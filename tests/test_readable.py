"""A VIEW in words says what the VIEW says, and nothing else."""

import json
from typing import Any

import numpy as np
import pytest

from santase_env import Game, Rules, sample_state, view_of
from santase_env.cards import CARD_TEXTS
from santase_env.readable import readable
from santase_env.rules import RULES_FIELDS
from santase_env.view import VIEW

RULES = ["paper", "online,false_claim=illegal", "classic", "online,ranks=QKTA,suits=CH,hand_size=2,target=30"]
ELSEWHERE = {
    **{field[0]: "in rules" for field in RULES_FIELDS},
    "known": "of the other seat: opponent_known; of one's own: the hand and the log say it",
    "excluded": "follows from the log",
    "trick_winners": "follows from the log",
    "first_to_target": "follows from the log",
    "game_points": "nobody is asked once the deal is over",
    "winner": "nobody is asked once the deal is over",
    "reason": "nobody is asked once the deal is over",
    "log_length": "the length of log",
}
"""Fields of VIEW that have no key of their own, and why."""


def positions(rules: str) -> list[Game]:
    """Games at every turn, and at the end, of deals played at random."""
    found = []
    for seed in range(12):
        game, chance = Game(rules=rules, seed=seed), np.random.default_rng(seed)
        while not game.over:
            found.append(game.copy())
            game.apply(int(chance.choice(game.legal_actions())))
        found.append(game)
    return found


def plain(value: Any) -> bool:
    """Is it made of Python's own types only?"""
    if type(value) is dict:
        return all(type(key) is str and plain(item) for key, item in value.items())
    if type(value) is list:
        return all(plain(item) for item in value)
    return value is None or type(value) in (int, str, bool)


@pytest.mark.parametrize("rules", RULES)
def test_it_is_json_and_comes_back_as_it_was(rules: str) -> None:
    for game in positions(rules):
        said = readable(game.view(0))
        assert plain(said)
        assert json.loads(json.dumps(said)) == said


@pytest.mark.parametrize("rules", RULES)
def test_it_agrees_with_the_game(rules: str) -> None:
    for game in positions(rules):
        for seat in range(2):
            said, state = readable(game.view(seat)), game.state
            assert Rules.of(said["rules"]) == game.rules
            assert (said["seat"], said["player"]) == (seat, game.player)
            assert said["hand"] == list(game.hands[seat])
            assert (said["trump"], said["table"], said["opener"]) == (game.trump, game.table, game.leader)
            assert said["talon"] == len(game.talon)
            assert said["face_up"] == (game.talon[-1] if game.talon else None)
            for name in ("points", "pending", "tricks"):
                assert tuple(said[name]) == getattr(game, name)
            assert said["match_points"] == state["match_points"].tolist()
            assert [entry["action"] for entry in said["log"]] == game.actions()
            assert set(said["opponent_known"]) <= set(game.hands[1 - seat])
            assert set(said["cards"]) == dealt_and_drawn(said)
            assert said["leader"] == state["leader"]


def dealt_and_drawn(said: dict[str, Any]) -> set[str]:
    """The cards that came to the viewer; by the exchange another one went, and that turned up came."""
    mine = {*said["hand"], *said["played"][said["seat"]]}
    if said["exchanged_by"] == said["seat"]:
        return (mine - {said["turned_up"]}) | {Rules.of(said["rules"]).ranks[0] + said["trump"]}
    return mine


def test_it_agrees_with_the_log() -> None:
    for rules in RULES:
        for game in positions(rules):
            said = readable(game.view(1))
            log = [(entry["seat"], entry["action"]) for entry in said["log"]]
            by_seat = [[action for who, action in log if who == seat] for seat in range(2)]
            for seat in range(2):
                assert sorted(said["played"][seat]) == sorted(set(by_seat[seat]) & set(CARD_TEXTS))
                assert said["marriages"][seat] == sorted(text[-1] for text in by_seat[seat] if "announce" in text)
                assert len(said["taken"][seat]) == 2 * said["tricks"][seat]
            assert said["closed_by"] == next((who for who, action in log if action == "close"), None)
            assert said["exchanged_by"] == next((who for who, action in log if action == "exchange"), None)
            last = log[-1][1] if log else ""
            assert said["announced"] == (last[-1] if last.startswith("announce") and not game.over else None)


def test_what_is_hidden_changes_nothing() -> None:
    for number, game in enumerate(positions("online")):
        for seat in range(2):
            other = sample_state(game.view(seat), number)
            assert readable(view_of(other, seat)) == readable(game.view(seat))


def test_every_field_of_a_view_is_there_or_has_a_reason() -> None:
    names = set(VIEW.names or ())
    assert set(readable(Game(seed=1).view(0))) - {"rules", "opponent_known"} == names - set(ELSEWHERE)
    assert set(ELSEWHERE) <= names
