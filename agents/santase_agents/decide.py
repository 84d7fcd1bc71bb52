"""What every agent that searches does with a batch: check it, take what is forced, and share the rest among cores."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from santase_env import engine
from santase_env.actions import ACTION_TEXTS, NUM_ACTIONS
from santase_env.compiled import Array, jit
from santase_env.policy import check_masks
from santase_env.state import STATE
from santase_env.view import check_views, fill_sample

from .parallel import in_blocks

Scratch = TypeVar("Scratch")

BLOCK = 4
"""Rows that a thread takes at a time."""


def decide_rows(
    views: Array,
    masks: Array,
    keys: Array,
    threads: int,
    scratch: Callable[[], Scratch],
    decide: Callable[[Array, Array, Array, Scratch, Array], None],
) -> Array:
    """The actions [B] of a search: ``decide(views, masks, keys, scratch, actions)`` for blocks of the rows that leave
    a choice; where one action is legal it is taken without asking. Raises ValueError as ``check_decisions`` does."""
    views, masks, keys = check_decisions(views, masks, keys)
    actions, rows = forced_actions(masks)
    views, masks, keys = views[rows], masks[rows], keys[rows]
    chosen = np.empty(len(rows), np.int64)

    def work(block: slice, mine: Scratch) -> None:
        decide(views[block], masks[block], keys[block], mine, chosen[block])

    in_blocks(len(rows), BLOCK, threads, scratch, work)
    actions[rows] = chosen
    return actions


def forced_actions(masks: Array) -> tuple[Array, Array]:
    """Actions [B], right where masks [B, 31] allow one only, and the rows that leave a choice."""
    allowed = masks != 0
    return allowed.argmax(axis=1).astype(np.int64), np.flatnonzero(allowed.sum(axis=1) > 1)


def check_decisions(views: Array, masks: Array, keys: Array) -> tuple[Array, Array, Array]:
    """The three as arrays, keys as uint64. Raises ValueError unless they belong together: as many of each, every view
    possible and of the player to move, and every mask some of what is legal there."""
    views, masks, keys = np.asarray(views), np.asarray(masks), np.asarray(keys).astype(np.uint64)
    if views.ndim != 1:
        raise ValueError(f"views must be a row of views, not an array of shape {views.shape}")
    if masks.shape != (len(views), NUM_ACTIONS) or keys.shape != (len(views),):
        raise ValueError(
            f"{len(views)} views need masks of shape {(len(views), NUM_ACTIONS)} and as many keys, "
            f"not masks of shape {masks.shape} and keys of shape {keys.shape}"
        )
    check_masks(masks)
    check_views(views)
    row, action = first_misfit(np.ascontiguousarray(views), masks != 0)
    if row >= 0 and action < 0:
        raise ValueError(f"row {row} is a view of seat {views[row]['seat']}, who is not to move")
    if row >= 0:
        raise ValueError(f"the mask of row {row} allows {ACTION_TEXTS[action]}, which is not legal there")
    return views, masks, keys


@jit
def first_misfit(views: Array, allowed: Array) -> tuple[int, int]:
    """(row, action) of the first mask [31] of ``allowed`` that has more than what is legal; (row, -1) for a view of a
    player who is not to move; else (-1, -1)."""
    worlds = np.zeros(1, STATE)
    for row in range(len(views)):
        if views[row].player != views[row].seat:
            return row, -1
        fill_sample(views[row], np.uint64(0), worlds[0])  # what is legal is the same in every world
        legal = engine.legal_bits(worlds[0])
        for action in range(NUM_ACTIONS):
            if allowed[row, action] and legal >> action & 1 == 0:
                return row, action
    return -1, -1
