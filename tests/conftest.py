"""Shared by all tests: the golden deals, and random rules for hypothesis."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from santase_env.cards import RANKS, SUITS
from santase_env.rules import CHOICES, Rules

# Compiled code is slow on its first call, and a failure must be the same for everybody.
settings.register_profile(
    "santase", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("santase")


@pytest.fixture(scope="session")
def golden_deals() -> list[dict[str, Any]]:
    """The 90 deal records of golden/deals.json."""
    deals: list[dict[str, Any]] = json.loads((Path(__file__).parent / "golden" / "deals.json").read_text("utf-8"))
    return deals


@st.composite
def _rules(draw: st.DrawFn) -> Rules:
    ranks = "".join(sorted(draw(st.sets(st.sampled_from(RANKS), min_size=1)), key=RANKS.index))
    suits = "".join(sorted(draw(st.sets(st.sampled_from(SUITS), min_size=1)), key=SUITS.index))
    if len(ranks) * len(suits) % 2 or len(ranks) * len(suits) < 4:
        ranks, suits = "QKTA", suits if len(suits) > 1 else "CH"
    most = min(11, len(ranks) * len(suits) // 2 - 1)
    numbers = {
        "hand_size": (1, most),
        "target": (1, 150),
        "schneider": (0, 90),
        "marriage": (0, 70),
        "trump_marriage": (0, 120),
        "last_trick_bonus": (0, 40),
        "exchange_min_talon": (2, 10),
        "close_min_talon": (2, 10),
        "match_target": (1, 20),
    }
    return Rules(
        ranks=ranks,
        suits=suits,
        marriage_on_opening_lead=draw(st.booleans()),
        close_on_opening_lead=draw(st.booleans()),
        **{field: draw(st.sampled_from(words)) for field, words in CHOICES.items()},
        **{field: draw(st.integers(low, high)) for field, (low, high) in numbers.items()},
    )


@pytest.fixture(scope="session")
def any_rules() -> st.SearchStrategy[Rules]:
    """Rules of any kind: mini decks, and every field changed."""
    return _rules()
