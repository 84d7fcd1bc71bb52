"""The registry: what ``load_policy(spec)`` makes of a spec, and what it says of a bad one."""

import dataclasses
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import santase_agents
from santase_agents.greedy import GreedyPolicy
from santase_agents.heuristic import HeuristicPolicy
from santase_env import load_policy, policy
from santase_env.compiled import Array
from santase_env.policy import ChainPolicy, Policy, RandomPolicy, parts_of, policy_names, register


@dataclasses.dataclass
class Sometimes:
    """An agent with options that applies to every second row."""

    path: str = "nowhere"
    worlds: int = 1
    style: str = "calm"

    def applies(self, views: Array, masks: Array) -> Array:
        return np.arange(len(views)) % 2 == 0

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        return np.zeros(len(views), np.int64)


@pytest.fixture
def sometimes(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a registered agent that is forgotten after the test."""
    monkeypatch.setattr(policy, "_registered", {})
    register("sometimes", Sometimes)
    return "sometimes"


def test_the_agents_of_this_package_are_found_by_name() -> None:
    assert {"random", "greedy", "heuristic"} <= set(policy_names())
    assert type(load_policy("random")) is RandomPolicy
    assert type(load_policy("greedy")) is GreedyPolicy
    assert type(load_policy("heuristic")) is HeuristicPolicy
    assert santase_agents.load is load_policy


def test_names_are_sorted_and_hold_what_is_registered(sometimes: str) -> None:
    assert sometimes in policy_names()
    assert policy_names() == sorted(policy_names())


def test_an_unknown_name_lists_what_there_is_and_suggests_the_nearest() -> None:
    with pytest.raises(ValueError, match="unknown agent 'gredy'") as error:
        load_policy("gredy")
    assert "did you mean 'greedy'?" in str(error.value)
    assert all(name in str(error.value) for name in policy_names())


def test_options_reach_the_agent(sometimes: str) -> None:
    assert load_policy("sometimes:worlds=40,style=wild") == Sometimes(worlds=40, style="wild")
    assert load_policy("sometimes:some/path,worlds=2") == Sometimes(path="some/path", worlds=2)
    loaded = load_policy("random:claims=any")
    assert isinstance(loaded, RandomPolicy)
    assert loaded.claims == "any"


@pytest.mark.parametrize("spec", ["sometimes:world=40", "sometimes:a,1,c,d"])
def test_a_wrong_option_names_the_options_there_are(sometimes: str, spec: str) -> None:
    with pytest.raises(ValueError, match="its options are: path, worlds, style"):
        load_policy(spec)


@pytest.mark.parametrize("spec", ["greedy:depth=2", "greedy:deep"])
def test_an_agent_without_options_says_so(spec: str) -> None:
    with pytest.raises(ValueError, match="its options are: none"):
        load_policy(spec)


def test_a_wrong_value_is_refused() -> None:
    with pytest.raises(ValueError, match="claims must be 'true' or 'any'"):
        load_policy("random:claims=maybe")


def test_plus_chains_agents(sometimes: str) -> None:
    chain = load_policy("sometimes:worlds=3+sometimes:worlds=4+greedy")
    assert isinstance(chain, ChainPolicy)
    assert chain.first == Sometimes(worlds=3)
    assert isinstance(chain.second, ChainPolicy)
    assert chain.second.first == Sometimes(worlds=4)
    assert type(chain.second.second) is GreedyPolicy


@dataclasses.dataclass
class Raw:
    """An agent whose options are one text."""

    text: str
    raw_options = True

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        return np.zeros(len(views), np.int64)


@pytest.mark.parametrize("text", ["", "a,b=c", "sh -c 'x + y: z'", "+greedy", ":"])
def test_raw_options_are_one_text(sometimes: str, text: str) -> None:
    register("raw", Raw)
    assert load_policy(f"raw:{text}") == Raw(text)
    chain = load_policy(f"sometimes:worlds=3+raw:{text}")
    assert isinstance(chain, ChainPolicy)
    assert (chain.first, chain.second) == (Sometimes(worlds=3), Raw(text))


def test_the_parts_of_a_chain(sometimes: str) -> None:
    assert parts_of(load_policy("sometimes+sometimes:worlds=2+greedy"))[:2] == [Sometimes(), Sometimes(worlds=2)]
    assert parts_of(Sometimes()) == [Sometimes()]


def test_an_agent_that_always_applies_cannot_begin_a_chain() -> None:
    with pytest.raises(ValueError, match="'greedy' always applies, so nothing can follow it"):
        load_policy("greedy+random")


@pytest.mark.parametrize("spec", ["sometimes+", "sometimes+nobody"])
def test_a_chain_with_an_unknown_agent_is_refused(sometimes: str, spec: str) -> None:
    with pytest.raises(ValueError, match="unknown agent"):
        load_policy(spec)


def test_a_policy_is_returned_as_it_is() -> None:
    player = GreedyPolicy()
    assert load_policy(player) is player


@pytest.mark.parametrize("thing", [3, None, object()])
def test_neither_spec_nor_policy_is_refused(thing: object) -> None:
    with pytest.raises(ValueError, match="a policy is a spec such as 'greedy' or an object with act"):
        load_policy(thing)  # type: ignore[arg-type]


def test_other_packages_add_agents_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("theirs", "santase_env.policy:RandomPolicy", policy.ENTRY_POINTS)
    monkeypatch.setattr(policy, "entry_points", lambda group: [point] if group == "santase.agents" else [])
    assert policy_names() == ["theirs"]
    assert type(load_policy("theirs")) is RandomPolicy


def test_every_agent_is_a_policy() -> None:
    for name in ("random", "greedy", "heuristic"):
        assert isinstance(load_policy(name), Policy)
