"""Threads that share the rows of a batch. A row's result depends on the row alone: their number changes nothing."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event
from typing import TypeVar

Scratch = TypeVar("Scratch")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_blocks(
    rows: int, block: int, threads: int, scratch: Callable[[], Scratch], work: Callable[[slice, Scratch], None]
) -> None:
    """Call ``work(rows of a block, scratch)`` for every block of ``rows`` rows, on up to ``threads`` threads (0: a
    thread per core), each with a scratch of its own. Threads take the next block when they are done with one; after
    an exception or Ctrl-C none begins another."""
    blocks = -(-rows // block)
    threads = min(threads or cores(), blocks)
    next_block = count()
    stopped = Event()

    def run() -> None:
        try:
            mine = scratch()
            while (number := next(next_block)) < blocks and not stopped.is_set():
                work(slice(number * block, min(rows, (number + 1) * block)), mine)
        except BaseException:
            stopped.set()
            raise

    if threads <= 1:
        run()
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            for worker in [pool.submit(run) for _ in range(threads)]:
                worker.result()
        except BaseException:
            stopped.set()
            raise
