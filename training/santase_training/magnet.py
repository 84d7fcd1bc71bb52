"""The magnet: a policy that the learner is held near by its KL divergence from it.

Uniform, its weight falling: magnetic mirror descent (Sokolov and others, 2023). A copy of the learner that is renewed
now and then: Nash policy gradients (Yu and others, 2025). With a weight of its own it damps the cycling of self-play.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from santase_agents.network import Network
from santase_env.compiled import Array

from .compute import Compute
from .pool import frozen_copy
from .sampling import check_rows, legal_log_softmax


class Magnet:
    """The policy in question, by its kind in TrainConfig; ``network`` is what the learner begins with."""

    def __init__(self, kind: str, network: Network, rate: float, every: int) -> None:
        self.kind = kind
        self.rate = rate
        self.every = every
        self.network = None if kind in ("none", "uniform") else frozen_copy(network)

    @torch.no_grad()
    def follow(self, network: Network, update: int) -> None:
        """Move after update number ``update`` (from 1) of ``network``."""
        if self.network is None or self.kind == "start":
            return
        copied = 1.0 if update % self.every == 0 else 0.0
        weight = self.rate if self.kind == "moving" else copied
        for mine, learned in zip(self.network.parameters(), network.parameters(), strict=True):
            mine.lerp_(learned, weight)

    def log_probabilities(self, observation: Tensor, mask: Array, compute: Compute) -> Array:
        """[B, 31] of observations [B, D] with masks [B, 31], 0 where illegal; [0, 31] if there is no magnet."""
        if self.kind == "none":
            return np.zeros((0, mask.shape[1]), np.float32)
        out = np.zeros(mask.shape, np.float32)
        logits = np.zeros_like(out) if self.network is None else compute.forward(self.network, observation)[0]
        check_rows(legal_log_softmax(logits, mask, out))
        return out

    def tensors(self) -> dict[str, Tensor]:
        """Everything to be saved."""
        return {} if self.network is None else {f"magnet.{k}": v for k, v in self.network.state_dict().items()}

    def restore(self, saved: Mapping[str, Tensor]) -> None:
        """Take over what ``tensors`` saved."""
        if self.network is not None:
            prefix = "magnet."
            self.network.load_state_dict({k.removeprefix(prefix): v for k, v in saved.items() if k.startswith(prefix)})
