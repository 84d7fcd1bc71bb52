"""Policies: what decides, from VIEWs alone; a registry of them, and ``load_policy(spec)``.

A policy is batched, and all its randomness comes from keys, one per row: a decision depends on its own
view, mask and key, and not on its neighbours or on what was decided before.
"""

import ast
import difflib
import inspect
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from .actions import ACTION_TEXTS, CLAIM, NUM_ACTIONS
from .compiled import Array, Record, int64, jit
from .observation import encode_batch, real_actions
from .rng import mix, random_element

ENTRY_POINTS = "santase.agents"
"""Packages add agents by entry points of this group: name = "module:factory"."""


@runtime_checkable
class Policy(Protocol):
    """Anything that picks actions from views.

    act(views, masks, keys): views [B] VIEW, masks [B, 31] int8 in real suits, keys [B] uint64; returns [B]
    integers, each legal by its mask. All randomness of row b comes from keys[b].
    """

    def act(self, views: Array, masks: Array, keys: Array) -> Array: ...


class AgentError(ValueError):
    """An agent that gave no answer, or something other than one legal action per row; the message says what.

    ``results``: what an evaluation had finished by then, a list of its Results; the last may have fewer deals.
    ``agent``: the name that the evaluation has for the agent at fault; empty elsewhere.
    """

    def __init__(self, message: str, results: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.results: list[Any] = list(results)
        self.agent = ""


def ask(policy: Policy, name: str, views: Array, masks: Array, keys: Array) -> Array:
    """The actions [B] int64 of a policy, every one checked; raises AgentError, which calls the policy ``name``."""
    actions = np.asarray(policy.act(views, masks, keys))
    if actions.shape != (len(views),) or actions.dtype.kind not in "iu":
        raise AgentError(
            f"{name} must return {len(views)} integers, one action per view, "
            f"not an array of shape {actions.shape} and type {actions.dtype}"
        )
    actions = actions.astype(np.int64)
    inside = (actions >= 0) & (actions < NUM_ACTIONS)
    legal = inside & (masks[np.arange(len(actions)), np.where(inside, actions, 0)] != 0)
    if not legal.all():
        row = int(np.flatnonzero(~legal)[0])
        chosen = ACTION_TEXTS[actions[row]] if inside[row] else f"action {actions[row]}"
        texts = ", ".join(ACTION_TEXTS[action] for action in np.flatnonzero(masks[row]))
        raise AgentError(f"{name} chose {chosen}, which is not legal there; legal: {texts}")
    return actions


def check_masks(masks: Array) -> None:
    """Raises ValueError when a row of masks [B, 31] allows nothing: that player is not to move."""
    if not masks.any(axis=1).all():
        row = int(np.flatnonzero(~masks.any(axis=1))[0])
        raise ValueError(f"row {row} of the masks is all zero: that player is not to move and cannot act")


class RandomPolicy:
    """Uniform over the legal actions; false claims apart, unless claims="any"."""

    def __init__(self, claims: Literal["true", "any"] = "true") -> None:
        if claims not in ("true", "any"):
            raise ValueError(f"claims must be 'true' or 'any', not {claims!r}")
        self.claims = claims

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        check_masks(masks)
        actions = np.empty(len(views), np.int64)
        _act_randomly(views, masks, keys, self.claims == "any", actions)
        return actions


@jit
def _act_randomly(views: Array, masks: Array, keys: Array, any_claim: bool, actions: Array) -> None:
    for row in range(len(views)):
        if any_claim:
            actions[row] = random_action(masks[row], keys[row])
        else:
            actions[row] = random_play(views[row], masks[row], keys[row])


@jit
def random_play(view: Record, mask: Array, key: np.uint64) -> int:
    """As ``random_action``, but without a false claim where something else is allowed."""
    bits = action_set(mask)
    if view.points[view.seat] < view.target and bits != 1 << CLAIM:
        bits &= ~(1 << CLAIM)
    return random_element(bits, mix(key, 0))


@jit
def random_action(mask: Array, key: np.uint64) -> int:
    """One of the actions whose entry in ``mask`` is not 0, each equally likely; all randomness is ``key`` (uint64)."""
    return random_element(action_set(mask), mix(key, 0))


@jit
def action_set(mask: Array) -> int:
    """The actions whose entry in ``mask`` is not 0, as a set."""
    bits = 0
    for action in range(len(mask)):
        bits |= int64(mask[action] != 0) << action
    return bits


class ObservationPolicy:
    """A policy from a function of (observation [B, D] float32, mask [B, 31] int8) that returns actions [B].

    With canonical_suits the function sees, and answers in, suits renamed so that trumps come first.
    """

    def __init__(self, function: Callable[[Array, Array], Any], *, canonical_suits: bool = False) -> None:
        self.function = function
        self.canonical_suits = canonical_suits

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        actions = np.asarray(self.function(*encode_batch(views, masks, self.canonical_suits)))
        if actions.shape != (len(views),):
            raise ValueError(f"the function must return {len(views)} actions, not an array of shape {actions.shape}")
        return real_actions(views, actions) if self.canonical_suits else actions


class ChainPolicy:
    """``first`` where it applies, else ``second``; ``first.applies(views, masks)`` says where, [B] bool."""

    def __init__(self, first: Any, second: Policy) -> None:
        self.first = first
        self.second = second

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        mine = np.asarray(self.first.applies(views, masks), bool)
        actions = np.empty(len(views), np.int64)
        for policy, rows in ((self.first, mine), (self.second, ~mine)):
            if rows.any():
                actions[rows] = policy.act(views[rows], masks[rows], keys[rows])
        return actions


def parts_of(policy: Policy) -> list[Policy]:
    """The policies that a chain is made of, in their order; of any other policy, itself."""
    if isinstance(policy, ChainPolicy):
        return [*parts_of(policy.first), *parts_of(policy.second)]
    return [policy]


def identity_of(policy: Policy) -> str:
    """What a policy says of the files it was made from, by an optional attribute ``identity``, such as a digest of
    their contents; of a chain, what its parts say."""
    return ",".join(filter(None, (str(getattr(part, "identity", "")) for part in parts_of(policy))))


_registered: dict[str, Callable[..., Policy]] = {}


def register(name: str, factory: Callable[..., Policy]) -> None:
    """Make ``factory`` known under ``name`` in this process; packages use the entry-point group instead."""
    _registered[name] = factory


def policy_names() -> list[str]:
    """Names that ``load_policy`` knows, sorted."""
    return sorted({*_registered, *(point.name for point in entry_points(group=ENTRY_POINTS))})


def load_policy(spec: "str | Policy") -> Policy:
    """The policy that a spec describes; a Policy is returned as it is.

    spec is NAME, NAME:key=value,... or NAME:PATH, or A+B for "A where it applies, else B". A factory with a true
    attribute ``raw_options`` takes all that follows ``NAME:`` as one text, whatever is in it. Raises ValueError
    with one sentence for an unknown name (listing what there is), a wrong option, or an A that never says where
    it applies.
    """
    if not isinstance(spec, str):
        if isinstance(spec, Policy) and not isinstance(spec, type):
            return spec
        raise ValueError(f"a policy is a spec such as 'greedy' or an object with act(views, masks, keys), not {spec!r}")
    name, _, options = spec.partition(":")
    factory = _factory(name) if "+" not in name else None
    if factory is not None and getattr(factory, "raw_options", False):
        return factory(options)
    first, plus, rest = spec.partition("+")
    if plus:
        policy = load_policy(first)
        if not hasattr(policy, "applies"):
            raise ValueError(f"{spec!r}: {first!r} always applies, so nothing can follow it with '+'")
        return ChainPolicy(policy, load_policy(rest))
    return _build(spec, _factory(name), options)


def _factory(name: str) -> Callable[..., Policy]:
    if name in _registered:
        return _registered[name]
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name:
            factory: Callable[..., Policy] = point.load()
            return factory
    names = policy_names()
    close = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(f"unknown agent {name!r}{hint}; there are {', '.join(names)}")


def _build(spec: str, factory: Callable[..., Policy], options: str) -> Policy:
    arguments: list[Any] = []
    keywords: dict[str, Any] = {}
    signature = inspect.signature(factory)
    in_order = list(signature.parameters.values())
    for part in options.split(",") if options else ():
        key, equals, value = (text.strip() for text in part.partition("="))
        if not equals or not key.isidentifier():
            option = in_order[len(arguments)] if len(arguments) < len(in_order) else None
            has_default = option is not None and option.default is not inspect.Parameter.empty
            arguments.append(_value(part.strip(), option) if has_default else part)
        elif key in keywords:
            raise ValueError(f"{spec!r}: {key} is given twice")
        else:
            keywords[key] = _value(value, signature.parameters.get(key))
    try:
        signature.bind(*arguments, **keywords)
    except TypeError as error:
        known = ", ".join(signature.parameters) or "none"
        raise ValueError(f"{spec!r}: {error}; its options are: {known}") from None
    return factory(*arguments, **keywords)


def _value(text: str, option: inspect.Parameter | None) -> Any:
    if option is not None and (isinstance(option.default, str) or option.annotation in (str, "str")):
        return text  # a path may look like a number, and random:claims=true is a text
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
