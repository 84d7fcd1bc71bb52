"""The golden deals: 90 complete deals, one per hard situation, agree with the engine at every step."""

import json
from pathlib import Path
from typing import Any

import pytest

from santase_env import Game, replay
from santase_env.record import game_of

DEALS = json.loads((Path(__file__).parent / "deals.json").read_text("utf-8"))


def test_all_ninety_are_here() -> None:
    assert len({deal["name"] for deal in DEALS}) == 90


@pytest.mark.parametrize("deal", DEALS, ids=[deal["name"] for deal in DEALS])
def test_deal(deal: dict[str, Any]) -> None:
    game = Game.from_cards(deal["hands"], deal["talon"], deal["leader"], deal["rules"])
    assert len(deal["steps"]) == len(deal["actions"])
    for number, (step, action) in enumerate(zip(deal["steps"], deal["actions"], strict=True)):
        where = f"step {number}, {action}"
        assert game.player == step["player"], where
        assert set(game.legal_texts()) == set(step["legal"]), where
        assert game.result is None, where
        game.apply(action)
    expect, result = deal["expect"], game.result
    assert result is not None
    assert result.winner == expect["winner"]
    assert result.game_points == tuple(expect["game_points"])
    assert result.points == tuple(expect["points"])
    assert result.tricks == tuple(expect["tricks"])
    assert result.reason == expect["reason"]


@pytest.mark.parametrize("deal", DEALS, ids=[deal["name"] for deal in DEALS])
def test_record_of_the_deal_round_trips(deal: dict[str, Any]) -> None:
    record = game_of(deal).record()
    assert record == {key: deal[key] for key in ("rules", "leader", "hands", "talon", "actions")}
    told = replay(json.loads(json.dumps(record)))
    assert [step["player"] for step in told["steps"]] == [step["player"] for step in deal["steps"]]
    assert {**told["result"]} == {
        key: tuple(value) if isinstance(value, list) else value for key, value in deal["expect"].items()
    }
