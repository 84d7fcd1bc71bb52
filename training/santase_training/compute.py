"""How a run computes: threads, and precision of matrix products."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar

import torch

from santase_agents.network import PolicyValueNet
from santase_env.observation import OBSERVATION_SIZE

Result = TypeVar("Result")


class Workers:
    """Threads that each compute a share of the rows, with torch itself on one thread.

    Two workers on two cores were about a tenth faster than two torch threads inside every operation: what lies
    between the matrix products runs side by side, too.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, initializer=_one_thread) if threads > 1 else None

    def map(self, function: Callable[[int], Result]) -> list[Result]:
        """[function(0), ..., function(threads - 1)], side by side."""
        if self._pool is None:
            return [function(0)]
        return list(self._pool.map(function, range(self.threads)))

    def share(self, rows: int, worker: int) -> slice:
        """The rows, out of ``rows``, that this worker computes."""
        return slice(rows * worker // self.threads, rows * (worker + 1) // self.threads)


def start_workers(threads: int, hidden: tuple[int, ...], rows: int) -> Workers:
    """``threads`` workers, or for 0 as many as a short probe with this network and batch finds fastest."""
    _one_thread()
    if threads == 0:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        candidates = sorted({1, 2, cores // 2, cores} & set(range(1, cores + 1)))
        threads = min(candidates, key=lambda count: _probe(Workers(count), hidden, rows))
    return Workers(threads)


def _one_thread() -> None:
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # Adam's averages of rare inputs decay to denormals, which are far slower


def _probe(workers: Workers, hidden: tuple[int, ...], rows: int) -> float:
    """Seconds of the fastest of a few gradient steps."""
    with torch.random.fork_rng():
        network = PolicyValueNet(hidden)
        observation = torch.rand(rows, OBSERVATION_SIZE)

    def gradient(worker: int) -> None:
        logits, value = network(observation[workers.share(rows, worker)])
        torch.autograd.grad(logits.mean() + value.mean(), list(network.parameters()))

    best = float("inf")
    for _ in range(8):
        start = time.perf_counter()
        workers.map(gradient)
        best = min(best, time.perf_counter() - start)
    return best


def resolve_precision(precision: str) -> str:
    """``auto`` as float32 or bfloat16: the latter where the processor multiplies it natively, elsewhere it is
    emulated and about ten times slower than float32."""
    if precision != "auto":
        return precision
    capabilities = torch.cpu.get_capabilities()
    return "bfloat16" if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else "float32"


def autocast(precision: str) -> AbstractContextManager[None]:
    """The context in which the network multiplies in this precision."""
    context: AbstractContextManager[None] = torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16")
    return context
