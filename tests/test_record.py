"""Records: what is read replays to the same end, and every fault is one clear sentence that says where."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from santase_env import Game, RecordError, Rules, engine, replay
from santase_env.record import deal_of, game_of, match_record, read_records

RECORD: dict[str, Any] = {
    "rules": "paper",
    "leader": 0,
    "hands": ["9H AH AC QS KD 9D", "TH QH KH JC QC JS"],
    "talon": "TS AS JD 9C 9S TD JH TC KS QD AD KC",
    "actions": ["9H", "TH", "announce:H", "QH", "AH", "JD", "JC", "exchange", "close", "announce:C", "QC", "AC"],
}


def changed(**changes: Any) -> dict[str, Any]:
    return {**RECORD, **changes}


def random_end(game: Game, rng: np.random.Generator) -> Game:
    while not game.over:
        game.apply(int(rng.choice(game.legal_actions())))
    return game


def random_match(rules: Rules, seed: int) -> list[Game]:
    """The finished deals of a whole match."""
    rng = np.random.default_rng(seed)
    games, points, leader = [], [0, 0], seed % 2
    while max(points) < rules.match_target:
        dealt = Game(rules, seed * 1000 + len(games)).record()
        game = random_end(Game.from_cards(dealt["hands"], dealt["talon"], leader, rules), rng)
        games.append(game)
        assert game.result is not None
        points = [points[seat] + game.result.game_points[seat] for seat in range(2)]
        leader = game.leader if game.result.winner is None else 1 - game.result.winner
    return games


# ---------------------------------------------------------------------------------------------- deals


def test_steps_and_result() -> None:
    told = replay(RECORD)
    assert [step["action"] for step in told["steps"]] == RECORD["actions"]
    assert told["steps"][3] == {"player": 1, "action": "QH", "legal": ["QH", "KH"]}
    assert told["result"] == {
        "winner": 1, "game_points": (0, 2), "points": (28, 74), "tricks": (2, 2), "reason": "reached_66"
    }  # fmt: skip
    assert json.loads(json.dumps(told)) is not None


def test_a_record_may_stop_before_the_end() -> None:
    assert replay(changed(actions=[])) == {"steps": [], "result": None}
    assert replay(changed(actions=["9H"]))["result"] is None


def test_annotations_are_let_through_and_the_name_kept() -> None:
    notes = {"why": 1, "steps": [], "expect": {}, "info": None}
    assert replay(changed(name="a deal", **notes))["name"] == "a deal"
    assert "name" not in replay(changed(**notes))


@pytest.mark.parametrize("rules", ["paper", "classic", "online", "online,ranks=QKTA,suits=CDH,hand_size=3"])
def test_random_deals_round_trip(rules: str) -> None:
    rng = np.random.default_rng(1)
    for seed in range(20):
        game = random_end(Game(rules, seed), rng)
        record = json.loads(json.dumps(game.record()))
        again = game_of(record)
        assert again.record() == game.record()
        assert again.result == game.result
        assert again.rules == game.rules
        assert engine.outcome(again.state) == engine.outcome(game.state)


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (None, "a record is a JSON object with rules, leader, hands, talon, actions, not NoneType"),
        ("text", "a record is a JSON object .* not str"),
        ({}, "the key 'rules' is missing"),
        ({key: RECORD[key] for key in RECORD if key != "talon"}, "^the key 'talon' is missing$"),
        (changed(moves=[]), "^unknown key 'moves'; a record has rules, .* and may have name, why,"),
        (changed(rules="papers"), "^unknown rules preset 'papers' .did you mean 'paper'"),
        (changed(rules={"preset": "paper", "tarjet": 5}), "unknown rule field 'tarjet' .did you mean 'target'"),
        (changed(rules=7), "^rules must be"),
        (changed(rules=None), "^rules must be"),
        (changed(leader=2), "^leader must be 0 or 1, not 2$"),
        (changed(leader="0"), "^leader must be 0 or 1, not '0'$"),
        (changed(leader=[0]), "^leader must be 0 or 1"),
        (changed(leader=1.0), "^leader must be 0 or 1, not 1.0$"),
        (changed(hands="9H AH"), "^'hands' must be a list of two texts$"),
        (changed(hands=[["9H"], "AH"]), "^hands must be two texts"),
        (changed(hands=[RECORD["hands"][0]]), "^there must be two hands, not 1$"),
        (changed(talon=None), "the talon one text$"),
        (changed(talon=RECORD["talon"][3:]), "^TS missing from the deal$"),
        (changed(talon=RECORD["talon"].replace("TS", "9H")), "^9H is there twice, the second time in the talon$"),
        (changed(talon=RECORD["talon"].replace("TS", "7S")), "^'7S' is not a card"),
        (changed(actions="9H"), "^'actions' must be a list of texts$"),
        (changed(actions=["9H", 5]), "^step 1: an action is written as text, such as 'QH' or 'close', not 5$"),
        (changed(actions=["9H", "XX"]), "^step 1: 'XX' is not an action: .*; legal: JC, QC, QH, KH, TH, JS$"),
        (
            changed(actions=["9H", "close"]),
            "^step 1: 'close' is not legal for player 1, who may choose JC, QC, QH, KH, TH, JS$",
        ),
        (changed(actions=[*RECORD["actions"], "9D"]), "^step 12: the deal is over, so '9D' cannot follow$"),
        ([RECORD, changed(leader=3)], "^record 1: leader must be 0 or 1, not 3$"),
        ([RECORD, changed(actions=["AC", "AC"])], "^record 1, step 1: 'AC' is not legal for player 1"),
    ],
)
def test_every_fault_is_one_sentence_that_says_where(record: Any, says: str) -> None:
    with pytest.raises(RecordError, match=says) as caught:
        replay(record)
    assert "\n" not in str(caught.value)


def test_deal_of_is_the_start() -> None:
    assert deal_of(RECORD).actions() == []
    assert game_of(RECORD).actions() == RECORD["actions"]


# -------------------------------------------------------------------------------------- lists, matches


def test_a_list_gives_a_list() -> None:
    assert replay([]) == []
    told = replay([RECORD, {"rules": "paper", "deals": [RECORD]}])
    assert told[0] == replay(RECORD)
    assert told[1] == {"deals": [replay(RECORD)], "match_points": [0, 2], "winner": None}


@pytest.mark.parametrize("rules", [Rules.preset("paper"), Rules.preset("online", match_target=5)], ids=str)
def test_a_match_round_trips(rules: Rules) -> None:
    for seed in range(4):
        games = random_match(rules, seed)
        record = json.loads(json.dumps(match_record(games)))
        assert set(record) == {"rules", "deals"}
        told = replay(record)
        ends = [game.result for game in games]
        assert [deal["result"]["reason"] for deal in told["deals"]] == [end.reason for end in ends if end]
        assert told["match_points"] == [sum(end.game_points[seat] for end in ends if end) for seat in range(2)]
        assert told["match_points"][told["winner"]] >= rules.match_target
        for deal in record["deals"]:
            del deal["rules"]  # those of the match
        assert replay(record) == told


def test_after_a_draw_the_same_player_leads() -> None:
    rules = Rules(ranks="9J", suits="CD", hand_size=1, last_trick_bonus=0)
    drawn = Game.from_cards(("JC", "9C"), "9D JD", 1, rules)
    for action in ("9C", "JC", "9D", "JD"):
        drawn.apply(action)
    assert match_record([drawn, drawn])["deals"][1]["leader"] == 1
    other = Game.from_cards(("JC", "9C"), "9D JD", 0, rules)
    for action in ("JC", "9C", "9D", "JD"):
        other.apply(action)
    with pytest.raises(RecordError, match=r"^deal 1: leader must be 1"):
        match_record([drawn, other])


@pytest.mark.parametrize(
    ("match", "says"),
    [
        ({"deals": []}, "^the key 'rules' is missing$"),
        ({"rules": "paper", "deals": RECORD}, "^'deals' must be a list of deal records$"),
        ({"rules": "paper", "deals": [], "leader": 0}, "^unknown key 'leader'; a record has rules, deals"),
        ({"rules": "nope", "deals": []}, "^unknown rules preset 'nope'"),
        ({"rules": "paper", "deals": [changed(rules="classic")]}, "^deal 0: its rules classic are not those .* paper$"),
        ({"rules": "paper", "deals": [RECORD, RECORD, changed(actions=["QQ"])]}, "^deal 2, step 0: 'QQ' is not an"),
        ({"rules": "paper", "deals": [RECORD, changed(leader=1)]}, "^deal 1: leader must be 0, the loser of the last"),
        ({"rules": "paper", "deals": [changed(actions=["9H"]), RECORD]}, "^deal 1: the deal before it has not ended$"),
        ({"rules": "paper", "deals": [RECORD] * 7}, "^deal 6: the match was over before it, at 0 to 12$"),
        ({"rules": "paper", "deals": [{"rules": "paper", "deals": []}]}, "^deal 0: unknown key 'deals'"),
        ([{"rules": "paper", "deals": [5]}], "^record 0: deal 0: a record is a JSON object"),
    ],
)
def test_a_wrong_match_says_which_deal(match: Any, says: str) -> None:
    with pytest.raises(RecordError, match=says):
        replay(match)


def test_a_match_needs_deals() -> None:
    with pytest.raises(ValueError, match="at least one deal"):
        match_record([])
    assert replay({"rules": "paper", "deals": []}) == {"deals": [], "match_points": [0, 0], "winner": None}


# ------------------------------------------------------------------------------------------------ files


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "deal.json"
    path.write_text(json.dumps(RECORD), "utf-8")
    assert read_records(path) == read_records(str(path)) == RECORD
    path.write_text("{", "utf-8")
    with pytest.raises(RecordError, match="is not JSON"):
        read_records(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecordError, match="is not JSON"):
        read_records(path)
    with pytest.raises(RecordError, match=r"cannot read .*none\.json: No such file"):
        read_records(tmp_path / "none.json")
    with pytest.raises(RecordError, match="cannot read"):
        read_records(tmp_path)


@pytest.mark.parametrize(
    ("rules", "message"),
    [({"preset": "paper", "name": 1}, "unknown rule field 'name'"), ({"preset": "paper", "cls": 1}, "field 'cls'")],
)
def test_rule_fields_named_like_parameters_are_refused_too(rules: dict[str, object], message: str) -> None:
    record = {**Game(rules="paper", seed=1).record(), "rules": rules}
    with pytest.raises(RecordError, match=message):
        replay(record)


def test_a_list_inside_a_list_is_no_record() -> None:
    with pytest.raises(RecordError, match=r"record 0: a record is a JSON object"):
        replay([[Game(seed=1).record()]])


def test_json_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "deep.json"
    file.write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(RecordError, match="nested too deeply"):
        read_records(file)
