"""Compiled loops over many deals at once: what environments, evaluation and search share."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import engine
from .compiled import Array, jit
from .observation import write_mask
from .rng import fill_keys
from .rules import Mixture, Rules, mixture_of
from .state import new_states
from .view import VIEW, fill_view


def new_games(count: int, rules: Rules | str | Mapping[str, Any] | Mixture, seed: int, first: int = 0) -> Array:
    """STATEs [count] of games first, first + 1, ... of this seed, in the middle of no deal yet; of several rules, game
    g plays those at place g modulo their number."""
    mixture = mixture_of(rules)
    kinds = np.concatenate([new_states(1, one) for one in mixture])
    states = kinds[(first + np.arange(count)) % len(mixture)]
    keys = np.empty(count, np.uint64)
    fill_keys(seed, first, keys)
    states["key"] = keys
    return states


def views_to_move(states: Array, rows: Array) -> tuple[Array, Array]:
    """VIEWs [B] of the players to move in the games ``rows`` [B] of ``states``, and masks [B, 31] in real suits."""
    views = np.zeros(len(rows), VIEW)
    masks = np.zeros((len(rows), 31), np.int8)
    fill_views(states, np.asarray(rows, np.int64), views, masks)
    return views, masks


@jit
def opener_of(game: int, deal: int) -> int:
    """The seat that leads deal ``deal`` of game ``game`` when no match says otherwise: they take turns."""
    return (game + deal) & 1


@jit
def deal_all(states: Array, openers: Array) -> None:
    """states: [N] STATE, openers: [N] integers; begin every deal with the match score at 0."""
    for i in range(len(states)):
        engine.new_match(states[i], openers[i])


@jit
def fill_views(states: Array, rows: Array, views: Array, masks: Array) -> None:
    """views [B] and masks [B, 31] of the players to move in the games ``rows`` [B]."""
    for i in range(len(rows)):
        state = states[rows[i]]
        fill_view(state, state.player, views[i])
        write_mask(engine.legal_bits(state), masks[i])


@jit
def apply_all(states: Array, rows: Array, actions: Array) -> int:
    """Take actions [B] (real suits) in the games ``rows`` [B]; stops before the first illegal one and returns its
    place in ``rows``, or returns -1."""
    for i in range(len(rows)):
        state = states[rows[i]]
        if not engine.is_legal(state, actions[i]):
            return i
        engine.advance(state, actions[i])
    return -1
