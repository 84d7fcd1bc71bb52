"""Masked PPO by self-play: one network plays both seats (Schulman and others, 2017).

An update: decide in many games at once; put values and rewards into the frame of seat 0 and compute advantages;
improve the network on every decision that it took itself; let magnet and past selves follow.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from santase_agents.network import Network, make_network
from santase_env.compiled import Array
from santase_env.hidden import HIDDEN_SIZE

from .config import TrainConfig
from .losses import TERMS, Decisions, Weights, policy_gradient_losses, torch_losses, weigh
from .magnet import Magnet
from .returns import fixed_seat_advantages
from .selfplay import Rollout, SelfPlay
from .trainer import Adam, Numbers, Trainer


@dataclass
class Batch:
    """All decisions of an update, [T * N] each, and the places of those that the learner took."""

    rows: Array
    seen: Tensor
    decisions: Decisions
    advantage: Array


class PPOTrainer(Trainer):
    """PPO, and with a magnet its relatives."""

    algorithm = "ppo"

    def __init__(
        self, config: TrainConfig, run: Path, threads: int | None = None, precision: str | None = None
    ) -> None:
        super().__init__(config, run, threads, precision)
        self.games = SelfPlay(config, self.compute, hidden=self.critic is not None)
        self.magnet = Magnet(config.magnet, self.network, config.magnet_rate, config.magnet_every)
        self.games.pool.add(self.network)
        networks = [network for network in (self.network, self.critic) if network is not None]
        self.adam = Adam(networks, config.learning_rate, config.max_gradient_norm)
        # On a CPU our own loops over the few legal actions are several times faster than torch's over all; a GPU
        # cannot run them.
        self.compiled_losses = self.compute.device.type == "cpu"

    def more_networks(self) -> None:
        self.critic: Network | None = None
        if self.config.critic == "full":
            self.critic = make_network("mlp", self.config.hidden, self.network.inputs + HIDDEN_SIZE)
            self.critic.to(self.config.device)

    def improve(self, random: np.random.Generator) -> tuple[int, Numbers]:
        rollout = self.games.play(self.network, random)
        numbers = self.learn(self.estimate(rollout), random)
        self.magnet.follow(self.network, self.update)
        if self.update % self.config.pool_every == 0:
            self.games.pool.add(self.network)
        return int(rollout.steps.sum()), numbers

    def estimate(self, rollout: Rollout) -> Batch:
        """Advantages and value targets of the learner's decisions, in the frame of who took them."""
        config, compute = self.config, self.compute
        steps, games = rollout.action.shape
        value = rollout.value
        if self.critic is not None:
            value = compute.forward(self.critic, rollout.seen.flatten(0, 1))[1].reshape(value.shape)
        fixed = value * rollout.sign
        advantage = np.zeros((steps, games), np.float32)
        fixed_seat_advantages(
            rollout.reward,
            fixed[:-1],
            rollout.counted,
            rollout.ends,
            fixed[-1],
            config.discount,
            config.trace,
            advantage,
        )
        gains = (advantage * rollout.sign[:-1]).reshape(-1)
        rows = np.flatnonzero(rollout.counted)
        seen, mask = rollout.seen[:-1].flatten(0, 1), rollout.mask.reshape(steps * games, -1)
        decisions = Decisions(
            mask=mask,
            action=rollout.action.reshape(-1),
            log_probability=rollout.log_probability.reshape(-1),
            gain=((gains - gains[rows].mean()) / (gains[rows].std() + 1e-8)).astype(np.float32),
            target=gains + value[:-1].reshape(-1),
            magnet=self.magnet.log_probabilities(seen[:, : self.network.inputs], mask, compute),
        )
        return Batch(rows, seen, decisions, gains)

    def learn(self, batch: Batch, random: np.random.Generator) -> Numbers:
        """``epochs`` passes over the batch in minibatches."""
        config = self.config
        weights = Weights(config.clip, config.value_coefficient, self.falling("entropy"), self.falling("magnet"))
        rate = self.falling("learning_rate")
        self.adam.set_rate(rate)
        data = batch.decisions
        if not self.compiled_losses:
            data = Decisions(*(torch.from_numpy(array).to(self.compute.device) for array in data))
        sums, count = np.zeros(len(TERMS) + 1), 0
        for rows in self.minibatches(batch.rows, random):
            shares = self.compute.map(partial(self.gradient, batch.seen, data, rows, weights))
            self.adam.step([gradients for gradients, _ in shares])
            sums += sum(terms for _, terms in shares) / len(rows)
            count += 1
        own, target = batch.advantage[batch.rows], data.target[batch.rows]
        return {
            **dict(zip((*TERMS, "critic_loss"), (sums / count).tolist(), strict=True)),
            "explained_variance": 1 - float(own.var() / (target.var() + 1e-8)),
            "learning_rate": rate,
            "entropy_weight": weights.entropy,
            "magnet_weight": weights.magnet,
            "decisions": len(own),
        }

    def gradient(
        self, seen: Tensor, data: Decisions, rows: Array, weights: Weights, worker: int
    ) -> tuple[tuple[Tensor, ...], Array]:
        """A worker's share of the gradient of the mean loss over ``rows`` [B], and its sums of the terms."""
        scale = 1 / len(rows)
        rows = rows[self.compute.share(len(rows), worker)]
        places = torch.from_numpy(rows).to(seen.device)
        inputs = seen.index_select(0, places)
        terms = np.zeros(len(TERMS) + 1)
        with self.compute.autocast():
            logits, value = self.network(inputs[:, : self.network.inputs])
            judged = value[:0] if self.critic is None else self.critic(inputs)[1]
        if self.compiled_losses:
            slope, value_slope = torch.empty_like(logits), torch.empty_like(value)
            policy_gradient_losses(
                logits.detach().numpy(),
                value.detach().numpy(),
                data,
                rows,
                weights,
                scale,
                slope.numpy(),
                value_slope.numpy(),
                terms,
            )
            outputs, slopes = [logits, value], [slope, value_slope]
        else:
            losses = torch_losses(logits, value, data, places, weights.clip)
            terms[:-1] = losses.detach().sum(dim=1).cpu().numpy()
            total = weigh(losses, weights).sum() * scale
            outputs, slopes = [total], [torch.ones_like(total)]
        if self.critic is not None:
            error = judged.detach() - torch.as_tensor(data.target[rows], device=seen.device)
            terms[-1] = float(error.square().sum())
            outputs, slopes = [*outputs, judged], [*slopes, error * (2 * weights.value * scale)]
        return torch.autograd.grad(outputs, self.adam.parameters, slopes), terms

    def tensors(self) -> dict[str, Tensor]:
        critic = {} if self.critic is None else {f"critic.{k}": v for k, v in self.critic.state_dict().items()}
        return {**self.games.tensors(), **self.adam.tensors(), **self.magnet.tensors(), **critic}

    def take(self, saved: dict[str, Tensor]) -> None:
        if self.critic is not None:
            prefix = "critic."
            self.critic.load_state_dict({k.removeprefix(prefix): v for k, v in saved.items() if k.startswith(prefix)})
        self.games.restore(saved, self.network)
        self.adam.restore(saved)
        self.magnet.restore(saved)
