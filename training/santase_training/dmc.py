"""Deep Monte-Carlo: the value of each action by regression on how the deals ended (Zha and others, 2021: DouZero).

The network's 31 outputs are not logits but the scaled reward that each action leads to; play takes the best of them,
or now and then any legal action. Its value head learns the outcome under that play, for search. No bootstrapping, no
advantages, no importance weights: the other end from PPO, for contrast.
"""

from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from santase_env.compiled import Array

from .config import TrainConfig
from .outcomes import Samples, Waiting
from .sampling import best_legal, check_rows
from .selfplay import SelfPlay
from .trainer import Adam, Numbers, Trainer


class DMCTrainer(Trainer):
    """Deep Monte-Carlo by self-play."""

    algorithm = "dmc"

    def __init__(
        self, config: TrainConfig, run: Path, threads: int | None = None, precision: str | None = None
    ) -> None:
        super().__init__(config, run, threads, precision)
        self.games = SelfPlay(config, self.compute)
        self.games.pool.add(self.network)
        self.waiting = Waiting()
        self.adam = Adam([self.network], config.learning_rate, config.max_gradient_norm)

    def improve(self, random: np.random.Generator) -> tuple[int, Numbers]:
        rollout = self.games.play(self.network, random, self.choose)
        numbers = self.learn(self.waiting.take(rollout), random)
        if self.update % self.config.pool_every == 0:
            self.games.pool.add(self.network)
        return int(rollout.steps.sum()), numbers

    def choose(self, worker: int, t: int, values: Array, uniform: Array) -> None:
        """The best action, or by chance any legal one."""
        rollout, games = self.games.rollout, self.games.shares[worker]
        explore, actions = self.falling("explore"), rollout.action[t, games]
        check_rows(best_legal(values, rollout.mask[t, games], uniform, explore, actions))

    def learn(self, samples: Samples, random: np.random.Generator) -> Numbers:
        """``epochs`` passes over the decisions of deals that have ended."""
        rate = self.falling("learning_rate")
        self.adam.set_rate(rate)
        sums, count = np.zeros(2), 0
        everything = np.arange(len(samples.action))
        for rows in self.minibatches(everything, random) if len(everything) else ():
            shares = self.compute.map(partial(self.gradient, samples, rows))
            self.adam.step([gradients for gradients, _ in shares])
            sums += sum(terms for _, terms in shares) / len(rows)
            count += 1
        action_loss, value_loss = (sums / max(count, 1)).tolist()
        return {
            "action_loss": action_loss,
            "value_loss": value_loss,
            "explained_variance": 1 - action_loss / (float(samples.outcome.var()) + 1e-8) if count else 0.0,
            "explore": self.falling("explore"),
            "learning_rate": rate,
            "decisions": len(samples.action),
        }

    def gradient(self, samples: Samples, rows: Array, worker: int) -> tuple[tuple[Tensor, ...], Array]:
        """A worker's share of the gradient of the mean loss over ``rows`` [B], and its sums of both squared errors."""
        mean = 1 / len(rows)
        rows = rows[self.compute.share(len(rows), worker)]
        with self.compute.autocast():
            values, value = self.network(samples.observation[torch.from_numpy(rows)])
        places = torch.arange(len(rows), device=value.device)
        actions = torch.from_numpy(samples.action[rows]).to(value.device)
        outcome = torch.from_numpy(samples.outcome[rows]).to(value.device)
        slope = torch.zeros_like(values)
        error, value_error = values.detach()[places, actions] - outcome, value.detach() - outcome
        slope[places, actions] = error * (2 * mean)
        value_slope = value_error * (2 * mean * self.config.value_coefficient)
        gradients = torch.autograd.grad([values, value], self.adam.parameters, [slope, value_slope])
        return gradients, np.array([float(error.square().sum()), float(value_error.square().sum())])

    def tensors(self) -> dict[str, Tensor]:
        return {**self.games.tensors(), **self.adam.tensors(), **self.waiting.tensors()}

    def take(self, saved: dict[str, Tensor]) -> None:
        self.games.restore(saved, self.network)
        self.adam.restore(saved)
        self.waiting.restore(saved)
