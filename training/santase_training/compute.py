"""How a run computes: threads, device, and precision of matrix products."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from santase_agents.network import Network
from santase_env.compiled import Array

Result = TypeVar("Result")
BLOCK = 2048
"""Rows that go through a network at once where nothing else decides."""


class Compute:
    """Threads that each compute a share of the rows, with torch itself on one thread; a device and a precision.

    Two workers on two cores were about a tenth faster than two torch threads inside every operation: what lies
    between the matrix products runs side by side, too.
    """

    def __init__(self, threads: int = 1, device: str = "cpu", precision: str = "float32") -> None:
        _one_thread()
        self.threads = threads
        self.device = torch.device(device)
        self.precision = precision
        self.dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        self._pool = ThreadPoolExecutor(threads, initializer=_one_thread) if threads > 1 else None

    def map(self, function: Callable[[int], Result]) -> list[Result]:
        """[function(0), ..., function(threads - 1)], side by side."""
        if self._pool is None:
            return [function(0)]
        return list(self._pool.map(function, range(self.threads)))

    def share(self, rows: int, worker: int) -> slice:
        """The rows, out of ``rows``, that this worker computes."""
        return slice(rows * worker // self.threads, rows * (worker + 1) // self.threads)

    def autocast(self) -> AbstractContextManager[None]:
        """The context in which networks multiply in this precision."""
        enabled = self.precision == "bfloat16"
        context: AbstractContextManager[None] = torch.autocast(self.device.type, torch.bfloat16, enabled=enabled)
        return context

    def forward(self, network: Network, rows: Tensor) -> tuple[Array, Array]:
        """Logits [B, 31] and values [B] float32 of rows [B, D], by all workers."""
        logits, values = np.empty((len(rows), network.outputs), np.float32), np.empty(len(rows), np.float32)

        @torch.inference_mode()
        def part(worker: int) -> None:
            share = self.share(len(rows), worker)
            for start in range(share.start, share.stop, BLOCK):
                block = slice(start, min(start + BLOCK, share.stop))
                with self.autocast():
                    out, value = network(rows[block])
                logits[block], values[block] = out.cpu().numpy(), value.cpu().numpy()

        self.map(part)
        return logits, values


def start_compute(threads: int, device: str, precision: str, network: Network, rows: int) -> Compute:
    """``threads`` workers, or for 0 as many as a short probe with this network and ``rows`` per batch finds fastest.

    The network is moved to the device. precision: float32, bfloat16 or auto. Raises ValueError when the device is not
    there.
    """
    if device != "cpu" and not torch.cuda.is_available():
        raise ValueError(f"device {device!r} is not there: this machine, or this build of torch, has no CUDA")
    precision = resolve_precision(precision, device)
    network.to(device)
    if threads == 0:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        candidates = sorted({1, 2, cores // 2, cores} & set(range(1, cores + 1)))
        threads = min(candidates, key=lambda count: _probe(Compute(count, device, precision), network, rows))
    return Compute(threads, device, precision)


def _one_thread() -> None:
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # Adam's averages of rare inputs decay to denormals, which are far slower


def _probe(compute: Compute, network: Network, rows: int) -> float:
    """Seconds of the fastest of a few gradient steps."""
    generator = torch.Generator().manual_seed(0)
    observation = torch.rand(rows, network.inputs, generator=generator).to(compute.device, compute.dtype)

    def gradient(worker: int) -> None:
        with compute.autocast():
            logits, value = network(observation[compute.share(rows, worker)])
        torch.autograd.grad(logits.mean() + value.mean(), list(network.parameters()))

    best = float("inf")
    for _ in range(8):
        start = time.perf_counter()
        compute.map(gradient)
        best = min(best, time.perf_counter() - start)
    return best


def resolve_precision(precision: str, device: str = "cpu") -> str:
    """``auto`` as float32 or bfloat16: the latter where the processor multiplies it natively, elsewhere it is
    emulated and about ten times slower than float32."""
    if precision != "auto":
        return precision
    if device != "cpu":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    capabilities = torch.cpu.get_capabilities()
    return "bfloat16" if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else "float32"
