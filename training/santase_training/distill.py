"""Distillation: a network fitted to how a search spreads its visits at the root, as a start for self-play.

The teacher plays both seats, by its visits in proportion. Policy: the cross-entropy from visits to network; value: the
squared error from the outcome of the deal (Anthony and others, 2017: expert iteration).
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from santase_agents.network import masked_log_softmax
from santase_env.compiled import Array
from santase_env.observation import canonical_masks
from santase_env.policy import load_policy
from santase_env.rng import mix

from .config import ConfigError, TrainConfig
from .outcomes import Samples, Waiting
from .selfplay import SelfPlay
from .trainer import Adam, Numbers, Trainer


class DistillTrainer(Trainer):
    """Supervised by a search agent: ``teacher`` is any that has ``visits(views, masks, keys)``."""

    algorithm = "distill"

    def __init__(
        self, config: TrainConfig, run: Path, threads: int | None = None, precision: str | None = None
    ) -> None:
        super().__init__(config, run, threads, precision)
        self.games = SelfPlay(config, self.compute)
        self.teachers: list[Any] = [load_policy(config.teacher) for _ in range(self.compute.threads)]
        if not hasattr(self.teachers[0], "visits"):
            raise ConfigError(f"teacher {config.teacher!r} does not search: it has no visits to learn from")
        self.targets = np.zeros((*self.games.rollout.mask.shape,), np.float32)
        self.waiting = Waiting()
        self.adam = Adam([self.network], config.learning_rate, config.max_gradient_norm)

    def improve(self, random: np.random.Generator) -> tuple[int, Numbers]:
        rollout = self.games.play(self.network, random, self.choose)
        numbers = self.learn(self.waiting.take(rollout, self.targets), random)
        return int(rollout.steps.sum()), numbers

    def choose(self, worker: int, t: int, logits: Array, uniform: Array) -> None:
        """An action by the teacher's visits, which are noted."""
        rollout, games, env = self.games.rollout, self.games.shares[worker], self.games.envs[worker]
        views, masks = env.views(), env.masks()
        keys = (uniform.astype(np.float64) * 2**53).astype(np.uint64)
        keys = np.array([mix(key, number) for number, key in enumerate(keys, games.start)], np.uint64)
        visits = self.teachers[worker].visits(views, masks, keys)
        if self.config.canonical_suits:
            visits = canonical_masks(views, visits)
        shares = visits / visits.sum(axis=1, keepdims=True)
        self.targets[t, games] = shares
        reached = shares.cumsum(axis=1) > (uniform * (1 - 1e-6))[:, None]
        rollout.action[t, games] = reached.argmax(axis=1)

    def learn(self, samples: Samples, random: np.random.Generator) -> Numbers:
        """``epochs`` passes over the decisions of deals that have ended."""
        rate = self.falling("learning_rate")
        self.adam.set_rate(rate)
        sums, count = np.zeros(3), 0
        everything = np.arange(len(samples.action))
        for rows in self.minibatches(everything, random) if len(everything) else ():
            shares = self.compute.map(partial(self.gradient, samples, rows))
            self.adam.step([gradients for gradients, _ in shares])
            sums += sum(terms for _, terms in shares) / len(rows)
            count += 1
        cross_entropy, value_loss, agreement = (sums / max(count, 1)).tolist()
        return {
            "cross_entropy": cross_entropy,
            "value_loss": value_loss,
            "agreement": agreement,
            "learning_rate": rate,
            "decisions": len(samples.action),
        }

    def gradient(self, samples: Samples, rows: Array, worker: int) -> tuple[tuple[Tensor, ...], Array]:
        """A worker's share of the gradient of the mean loss over ``rows`` [B], and its sums of cross-entropy, squared
        value error, and cases where teacher and network like the same action best."""
        mean = 1 / len(rows)
        rows = rows[self.compute.share(len(rows), worker)]
        with self.compute.autocast():
            logits, value = self.network(samples.observation[torch.from_numpy(rows)])
        device = value.device
        target = torch.from_numpy(samples.target[rows]).to(device)
        logs = masked_log_softmax(logits, torch.from_numpy(samples.mask[rows]).to(device).bool())
        cross_entropy = -(target * logs).sum()
        squared_error = (value - torch.from_numpy(samples.outcome[rows]).to(device)).square().sum()
        loss = (cross_entropy + self.config.value_coefficient * squared_error) * mean
        agreement = (logs.argmax(dim=1) == target.argmax(dim=1)).sum()
        terms = np.array([float(cross_entropy.detach()), float(squared_error.detach()), float(agreement)])
        return torch.autograd.grad(loss, self.adam.parameters), terms

    def tensors(self) -> dict[str, Tensor]:
        return {**self.games.tensors(), **self.adam.tensors(), **self.waiting.tensors()}

    def take(self, saved: dict[str, Tensor]) -> None:
        self.games.restore(saved, self.network)
        self.adam.restore(saved)
        self.waiting.restore(saved)
