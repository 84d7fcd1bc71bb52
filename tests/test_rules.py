"""Rules as data: the presets are the table of the rules, every written form round-trips, errors name the thing."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from santase_env import Rules
from santase_env.rules import DEFAULT_RULES, PRESETS
from santase_env.state import new_states

SAME_EVERYWHERE = {
    "ranks": "9JQKTA",
    "suits": "CDHS",
    "hand_size": 6,
    "target": 66,
    "schneider": 33,
    "marriage": 20,
    "trump_marriage": 40,
    "last_trick_bonus": 10,
    "exchange_min_talon": 4,
    "match_target": 11,
}
DIFFERENT = {  # paper, online, classic
    "marriage_on_opening_lead": (False, True, False),
    "close_on_opening_lead": (True, False, False),
    "close_min_talon": (2, 2, 4),
    "claim": ("after_trick", "on_turn", "immediate"),
    "false_claim": ("penalty", "penalty", "penalty"),
    "failed_close": ("three", "two_or_three", "three"),
    "exhausted": ("draw", "last_trick", "draw"),
}


@pytest.mark.parametrize(("column", "name"), [(0, "paper"), (1, "online"), (2, "classic")])
def test_presets_are_what_the_texts_say(column: int, name: str) -> None:
    wanted = {**SAME_EVERYWHERE, **{field: values[column] for field, values in DIFFERENT.items()}}
    assert dataclasses.asdict(Rules.preset(name)) == wanted


def test_there_are_three_presets_and_environments_mask_false_claims() -> None:
    assert set(PRESETS) == {"paper", "online", "classic"}
    assert Rules.of("online,false_claim=illegal") == DEFAULT_RULES
    assert Rules() == Rules.preset("paper")


def test_rules_are_values() -> None:
    a, b = Rules.preset("online", target=50), Rules.preset("online", target=50)
    assert a == b
    assert hash(a) == hash(b)
    assert a != Rules.preset("online")
    with pytest.raises(dataclasses.FrozenInstanceError):
        a.target = 66  # type: ignore[misc]


def test_written_forms() -> None:
    rules = Rules.preset("online", false_claim="illegal", close_on_opening_lead=True, target=50, ranks="QKTA")
    assert str(Rules.preset("classic")) == "classic"
    assert Rules.preset("classic").to_json() == "classic"
    for form in (
        "online,false_claim=illegal,close_on_opening_lead=true,target=50,ranks=QKTA",
        " online , ranks=QKTA, target=50 , close_on_opening_lead=True, false_claim=illegal",
        {"preset": "online", "false_claim": "illegal", "close_on_opening_lead": True, "target": 50, "ranks": "QKTA"},
        rules,
        str(rules),
        rules.to_json(),
    ):
        assert Rules.of(form) == rules


@given(data=st.data())
def test_every_rules_round_trips(any_rules: st.SearchStrategy[Rules], data: st.DataObject) -> None:
    rules = data.draw(any_rules)
    assert Rules.of(str(rules)) == rules
    assert Rules.of(rules.to_json()) == rules
    assert Rules.of(json.loads(json.dumps(rules.to_json()))) == rules


@given(data=st.data())
def test_packed_rules_hold_every_field(any_rules: st.SearchStrategy[Rules], data: st.DataObject) -> None:
    rules = data.draw(any_rules)
    packed = rules.packed
    names = set(packed.dtype.names or ())
    assert {field.name for field in dataclasses.fields(rules)} - names == {"ranks", "suits"}
    for name in ("target", "schneider", "marriage", "trump_marriage", "last_trick_bonus", "hand_size", "match_target"):
        assert packed[name] == getattr(rules, name)
    cards = [card for card in range(24) if "9JQKTA"[card % 6] in rules.ranks and "CDHS"[card // 6] in rules.suits]
    assert rules.deck == tuple(cards)
    assert packed["deck"] == sum(1 << card for card in cards)
    assert packed["deck_size"] == rules.deck_size == len(cards)
    assert "9JQKTA"[packed["lowest_rank"]] == rules.ranks[0]


@given(data=st.data())
def test_rules_come_back_from_their_packed_form(any_rules: st.SearchStrategy[Rules], data: st.DataObject) -> None:
    rules = data.draw(any_rules)
    again = Rules.from_packed(rules.packed)
    assert again == rules
    assert again.packed == rules.packed
    for field in dataclasses.fields(rules):
        assert type(getattr(again, field.name)) is type(getattr(rules, field.name))
    assert Rules.from_packed(new_states(1, rules)[0]) == rules


def test_packed_rules_cannot_be_changed() -> None:
    with pytest.raises((ValueError, TypeError)):
        Rules.preset("paper").packed["target"] = 1
    assert Rules.preset("paper").packed["target"] == 66


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ("onlin", "unknown rules preset 'onlin' .did you mean 'online'.*paper, online, classic"),
        ("bridge", "unknown rules preset 'bridge'; there are paper"),
        ("", "unknown rules preset ''"),
        ("online,falseclaim=illegal", "unknown rule field 'falseclaim' .did you mean 'false_claim'"),
        ("online,xyz=1", "unknown rule field 'xyz'; there are marriage_on_opening_lead"),
        ("online,false_claim", "'false_claim' should read field=value"),
        ("online,false_claim=maybe", "false_claim='maybe' is impossible: it is one of penalty, illegal"),
        ("online,target=many", "target='many' is impossible: it is an integer from 1 to 1000"),
        ("online,target=0", "target=0 is impossible"),
        ("online,target=-5", "target='-5' is impossible"),
        ("online,close_on_opening_lead=1", "close_on_opening_lead='1' is impossible: it is true or false"),
        ("online,close_min_talon=1", "close_min_talon=1 is impossible: it is an integer from 2 to 24"),
        ("online,ranks=AKQ", "ranks='AKQ' is impossible: it is some of 9JQKTA, each once, in this order"),
        ("online,ranks=78", "ranks='78' is impossible"),
        ("online,suits=CC", "suits='CC' is impossible"),
        ("online,suits=", "suits='' is impossible"),
        ("online,hand_size=12", "hand_size=12 is impossible: it is an integer from 1 to 11"),
        ("online,suits=CH", "hand_size=6 does not fit a deck of 12 cards.*at least 2 cards must be left, not 0"),
        ("online,ranks=QKA,suits=CDH,hand_size=2", "hand_size=2 does not fit a deck of 9 cards.*even talon.*not 5"),
        ({"preset": "online", "false-claim": "illegal"}, "unknown rule field 'false-claim' .did you mean"),
        ({"preset": "online", "target": 66.0}, "target=66.0 is impossible"),
        ({"preset": "online", "target": True}, "target=True is impossible"),
        ({"preset": "online", "close_on_opening_lead": 1}, "close_on_opening_lead=1 is impossible"),
        ({"target": 50}, "the key 'preset' must name one of paper, online, classic"),
        ({"preset": None}, "the key 'preset' must name one of"),
        (None, "rules must be Rules, a text such as 'online' or an object with 'preset', not None"),
        (5, "rules must be Rules"),
        (["online"], "rules must be Rules"),
    ],
)
def test_errors_name_the_thing(form: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Rules.of(form)  # type: ignore[arg-type]


def test_a_rule_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="target is given twice"):
        Rules.of("online,target=50,target=60")


def test_preset_refuses_unknown_fields_and_values() -> None:
    with pytest.raises(ValueError, match=r"unknown rule field 'targets' .did you mean 'target'"):
        Rules.preset("paper", targets=5)
    with pytest.raises(ValueError, match="claim='never' is impossible"):
        Rules.preset("paper", claim="never")


def test_a_field_without_effect_is_accepted() -> None:
    assert Rules.preset("paper", false_claim="illegal").false_claim == "illegal"
