"""How a run computes: number of torch threads, and precision of matrix products."""

import os
import time
from contextlib import AbstractContextManager

import torch

from santase_agents.network import PolicyValueNet
from santase_env.observation import OBSERVATION_SIZE


def set_threads(threads: int, hidden: tuple[int, ...], rows: int) -> int:
    """Give torch ``threads`` threads, or for 0 as many as a short probe of this network finds fastest."""
    torch.set_flush_denormal(True)  # Adam's averages of rare inputs decay to denormals, which are far slower
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads == 0:
        candidates = sorted({1, 2, cores // 2, cores} & set(range(1, cores + 1)))
        threads = min(candidates, key=lambda count: _probe(count, hidden, rows))
    torch.set_num_threads(threads)
    return threads


def _probe(threads: int, hidden: tuple[int, ...], rows: int) -> float:
    """Seconds of the fastest of a few gradient steps."""
    torch.set_num_threads(threads)
    with torch.random.fork_rng():
        network = PolicyValueNet(hidden)
        observation = torch.rand(rows, OBSERVATION_SIZE)
    best = float("inf")
    for _ in range(8):
        start = time.perf_counter()
        logits, value = network(observation)
        (logits.mean() + value.mean()).backward()
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
