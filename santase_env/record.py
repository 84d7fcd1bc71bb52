"""Deal and match records: JSON that says which cards lay where and what was done.

A deal record has ``rules``, ``leader``, ``hands`` (two texts, by seat), ``talon`` (top first, the face-up card
last) and ``actions`` (texts; they may stop before the end). A match record is ``{"rules": ..., "deals":
[records]}``. ``name``, ``why``, ``steps``, ``expect`` and ``info`` are annotations; any other key is an error.
"""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .actions import IllegalAction
from .game import Game
from .rules import Rules

ANNOTATIONS = ("name", "why", "steps", "expect", "info")
DEAL_KEYS = ("rules", "leader", "hands", "talon", "actions")
MATCH_KEYS = ("rules", "deals")

Json = dict[str, Any]


class RecordError(ValueError):
    """A record that cannot be read or replayed; the message says where and why."""


def read_records(path: str | Path) -> Any:
    """The JSON value in a file; raises RecordError when there is none to be read."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"{path} is not JSON: {error}") from None
    except RecursionError:
        raise RecordError(f"{path} is nested too deeply to be a record") from None


def replay(value: Any) -> Any:
    """Replay one record, a list of them, or a match.

    Returns JSON of the same form: for a deal ``steps`` (player, action, legal) and ``result`` (None while
    unfinished), for a match its ``deals``, ``match_points`` and ``winner``. Raises RecordError that names the
    deal, the step, and what would have been legal.
    """
    if isinstance(value, list):
        return [_named(f"record {i}", _replay_one, item) for i, item in enumerate(value)]
    return _replay_one(value)


def _replay_one(value: Any) -> Json:
    if isinstance(value, dict) and "deals" in value:
        return _replay_match(value)
    return replay_deal(value)


def replay_deal(record: Any, rules: Rules | None = None) -> Json:
    """Steps and result of one deal record; ``rules`` are those of its match, if it belongs to one."""
    game = deal_of(record, rules)
    steps = []
    for number, action in enumerate(record["actions"]):
        steps.append({"player": game.player, "action": action, "legal": game.legal_texts()})
        _apply(game, number, action)
    result = dataclasses.asdict(game.result) if game.result else None
    return {**({"name": record["name"]} if "name" in record else {}), "steps": steps, "result": result}


def game_of(record: Any) -> Game:
    """The game at the end of a deal record's actions."""
    game = deal_of(record)
    for number, action in enumerate(record["actions"]):
        _apply(game, number, action)
    return game


def deal_of(record: Any, rules: Rules | None = None) -> Game:
    """The game at the start of a deal record; raises RecordError for wrong keys, rules or cards."""
    _check_keys(record, DEAL_KEYS, optional=() if rules is None else ("rules",))
    try:
        own = Rules.of(record["rules"]) if "rules" in record else rules
        if rules is not None and own != rules:
            raise ValueError(f"its rules {own} are not those of the match, {rules}")
        if not isinstance(record["actions"], list):
            raise ValueError("'actions' must be a list of texts")
        if not isinstance(record["hands"], list):
            raise ValueError("'hands' must be a list of two texts")
        assert own is not None
        return Game.from_cards(record["hands"], record["talon"], record["leader"], own)
    except ValueError as error:
        raise RecordError(str(error)) from None


def match_record(games: Sequence[Game]) -> Json:
    """The match record of finished deals in their order; raises ValueError when they make no match."""
    if not games:
        raise ValueError("a match record needs at least one deal")
    record = {"rules": games[0].rules.to_json(), "deals": [game.record() for game in games]}
    _replay_match(record)
    return record


def _replay_match(record: Json) -> Json:
    _check_keys(record, MATCH_KEYS)
    try:
        rules = Rules.of(record["rules"])
    except ValueError as error:
        raise RecordError(str(error)) from None
    if not isinstance(record["deals"], list):
        raise RecordError("'deals' must be a list of deal records")
    points, deals, leader, unfinished = [0, 0], [], None, False
    for number, item in enumerate(record["deals"]):
        where = f"deal {number}"
        if unfinished:
            raise RecordError(f"{where}: the deal before it has not ended")
        if max(points) >= rules.match_target:
            raise RecordError(f"{where}: the match was over before it, at {points[0]} to {points[1]}")
        if leader is not None and isinstance(item, dict) and item.get("leader", leader) != leader:
            raise RecordError(f"{where}: leader must be {leader}, the loser of the last deal (or, drawn, its leader)")
        deal = _named(where, replay_deal, item, rules)
        deals.append(deal)
        result = deal["result"]
        unfinished = result is None
        if result is not None:
            leader = item["leader"] if result["winner"] is None else 1 - result["winner"]
            points = [points[seat] + result["game_points"][seat] for seat in range(2)]
    winner = points.index(max(points)) if max(points) >= rules.match_target else None
    return {"deals": deals, "match_points": points, "winner": winner}


def _apply(game: Game, number: int, action: Any) -> None:
    if not isinstance(action, str):
        raise RecordError(f"step {number}: an action is written as text, such as 'QH' or 'close', not {action!r}")
    try:
        game.apply(action)
    except IllegalAction as error:
        legal = f"; legal: {', '.join(game.legal_texts())}" if "may choose" not in str(error) and not game.over else ""
        raise RecordError(f"step {number}: {error}{legal}") from None


def _check_keys(record: Any, keys: Sequence[str], optional: Sequence[str] = ()) -> None:
    if not isinstance(record, dict):
        raise RecordError(f"a record is a JSON object with {', '.join(keys)}, not {type(record).__name__}")
    for key in record:
        if key not in keys and key not in ANNOTATIONS:
            known = f"a record has {', '.join(keys)} and may have {', '.join(ANNOTATIONS)}"
            raise RecordError(f"unknown key {key!r}; {known}")
    for key in keys:
        if key not in record and key not in optional:
            raise RecordError(f"the key {key!r} is missing")


def _named(where: str, function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except RecordError as error:
        raise RecordError(f"{where}, {error}" if str(error).startswith("step") else f"{where}: {error}") from None
