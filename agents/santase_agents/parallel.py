"""Threads that share the rows of a batch. A row's result depends on the row alone: their number changes nothing."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TypeVar

import numpy as np

from santase_env.compiled import Array
from santase_env.policy import check_masks
from santase_env.view import check_views

Scratch = TypeVar("Scratch")

BLOCK = 4
"""Rows that a thread takes at a time."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_count(name: str, value: object, least: int = 1) -> int:
    """``value`` if it is an integer from ``least`` on; raises ValueError that names it otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}")
    return value


def in_blocks(
    rows: int, block: int, threads: int, scratch: Callable[[], Scratch], work: Callable[[slice, Scratch], None]
) -> None:
    """Call ``work(rows of a block, scratch)`` for every block of ``rows`` rows, on up to ``threads`` threads (0: a
    thread per core), each with a scratch of its own. Threads take the next block when they are done with one."""
    blocks = -(-rows // block)
    threads = min(threads or cores(), blocks)
    next_block = count()

    def run() -> None:
        mine = scratch()
        while (number := next(next_block)) < blocks:
            work(slice(number * block, min(rows, (number + 1) * block)), mine)

    if threads <= 1:
        run()
        return
    with ThreadPoolExecutor(threads) as pool:
        for worker in [pool.submit(run) for _ in range(threads)]:
            worker.result()


def decide_rows(
    views: Array,
    masks: Array,
    keys: Array,
    threads: int,
    scratch: Callable[[], Scratch],
    decide: Callable[[Array, Array, Array, Scratch, Array], None],
) -> Array:
    """The actions [B] of a search: ``decide(views, masks, keys, scratch, actions)`` for blocks of the rows that leave
    a choice; where one action is legal it is taken without asking. Raises ValueError for an impossible view."""
    check_masks(masks)
    check_views(views)
    actions: Array = (masks != 0).argmax(axis=1).astype(np.int64)
    rows = np.flatnonzero((masks != 0).sum(axis=1) > 1)
    views, masks, keys = views[rows], masks[rows], keys[rows]
    chosen = np.empty(len(rows), np.int64)

    def work(block: slice, mine: Scratch) -> None:
        decide(views[block], masks[block], keys[block], mine, chosen[block])

    in_blocks(len(rows), BLOCK, threads, scratch, work)
    actions[rows] = chosen
    return actions
