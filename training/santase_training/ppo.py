"""Masked PPO by self-play: one network plays both seats (Schulman et al., 2017).

The story of ``train``: decide in many games at once; put values and rewards into the frame of seat 0 and
compute advantages; improve the network on every decision that it took itself; now and then freeze a past
self, evaluate, save. Every random number is a function of (seed, update), so a resumed run equals an unbroken one.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from santase_agents.checkpoint import (
    MODEL,
    TRAINER,
    fill_network,
    find_checkpoint,
    read_meta,
    read_tensors,
    save_checkpoint,
)
from santase_agents.net import NetPolicy
from santase_agents.network import PolicyValueNet, masked_log_softmax, sample_actions
from santase_env.compiled import Array
from santase_env.observation import OBSERVATION_SIZE
from santase_env.policy import load_policy
from santase_env.state import STATE
from santase_env.vector import SantaseVectorEnv

from .compute import autocast, resolve_precision, start_workers
from .config import PPOConfig, config_values
from .evaluate import Result, evaluate
from .pool import Pool
from .report import Reporter
from .returns import fixed_seat_advantages
from .run import RunError, StopFlag, check_resumable, has_checkpoint, prune_checkpoints


class Rollout:
    """Decisions of one update: T steps in each of N games, and what became of them."""

    def __init__(self, steps: int, games: int) -> None:
        self.observation = torch.zeros(steps, games, OBSERVATION_SIZE)
        self.mask = torch.zeros(steps, games, 31, dtype=torch.bool)
        self.action = torch.zeros(steps, games, dtype=torch.int64)
        self.log_probability = torch.zeros(steps, games)
        self.value = torch.zeros(steps, games)  # of the player to move
        self.sign = torch.zeros(steps, games)  # +1 if seat 0 is to move, -1 if seat 1
        self.reward = torch.zeros(steps, games)  # of seat 0
        self.ends = torch.zeros(steps, games, dtype=torch.bool)
        self.counted = torch.zeros(steps, games, dtype=torch.bool)  # decided by the learner, not by a past self
        self.last_value = torch.zeros(games)  # in the frame of seat 0
        self.steps_taken = 0


@dataclass
class Batch:
    """All decisions of an update, [T * N] each, and the places of those that the learner took."""

    rows: Tensor
    observation: Tensor
    mask: Tensor
    action: Tensor
    log_probability: Tensor
    advantage: Tensor
    target: Tensor


class Trainer:
    """Everything that a run carries from update to update, and that a checkpoint holds."""

    def __init__(self, config: PPOConfig, run: Path, threads: int | None = None, precision: str | None = None) -> None:
        """``threads`` and ``precision`` are those of the run so far: what a probe found is kept, as sums of floats
        come out a little different otherwise."""
        self.config = config
        self.run = run
        self.workers = start_workers(config.threads or threads or 0, config.hidden, config.minibatch)
        self.precision = precision or resolve_precision(config.precision)
        self.env = SantaseVectorEnv(
            config.num_envs, config.rules, canonical_suits=config.canonical_suits, skip_forced=True, copy=False
        )
        self.current, self.info = self.env.reset(seed=config.seed)
        with torch.random.fork_rng():
            torch.manual_seed(config.seed)
            self.network = PolicyValueNet(config.hidden)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=config.learning_rate, eps=1e-5, fused=True)
        self.pool = Pool(config.num_envs, config.pool_share, config.pool_first, config.pool_size)
        self.pool.add(self.network)
        self.rollout = Rollout(config.rollout, config.num_envs)
        self.update = 0
        self.step = 0
        self.seconds = 0.0

    def train_update(self) -> dict[str, float]:
        """One update: play, estimate, learn. Returns what the log shows."""
        start = time.perf_counter()
        self.update += 1
        random = np.random.default_rng([self.config.seed, self.update])
        generator = torch.Generator().manual_seed(int(random.integers(2**63)))
        progress = min(self.step / self.config.total_steps, 1.0)
        self.play(random, generator)
        numbers = self.learn(self.estimate(), progress, generator)
        if self.update % self.config.pool_every == 0:
            self.pool.add(self.network)
        self.step += self.rollout.steps_taken
        seconds = time.perf_counter() - start
        self.seconds += seconds
        return {**numbers, "seconds": self.seconds, "steps_per_second": self.rollout.steps_taken / seconds}

    def play(self, random: np.random.Generator, generator: torch.Generator) -> None:
        """Take ``rollout`` decisions in every game."""
        rollout, pool, env = self.rollout, self.pool, self.env
        rollout.steps_taken = 0
        uniform = torch.rand(rollout.value.shape, generator=generator)
        pool.call(random)
        for t in range(self.config.rollout):
            players = self.info["player"]
            frozen = pool.frozen(players)
            self.workers.map(partial(self.decide, t, uniform[t], frozen))
            rollout.counted[t] = torch.from_numpy(~frozen)
            rollout.sign[t] = torch.from_numpy(1.0 - 2.0 * players)
            self.current, rewards, ends, _, self.info = env.step(rollout.action[t].numpy())
            rollout.reward[t] = torch.from_numpy(rewards[:, 0]) * self.config.reward_scale
            rollout.ends[t] = torch.from_numpy(ends)
            rollout.steps_taken += int(self.info["steps"].sum())
            pool.bind(np.flatnonzero(ends), random)
        self.workers.map(self.foresee)

    @torch.inference_mode()
    def decide(self, t: int, uniform: Tensor, frozen: Array, worker: int) -> None:
        """Decisions at time t in this worker's games, by past selves where ``frozen`` [N]; uniform [N] is chance."""
        rollout, rows = self.rollout, self.workers.share(self.config.num_envs, worker)
        rollout.observation[t, rows] = torch.from_numpy(self.current["observation"][rows])
        rollout.mask[t, rows] = torch.from_numpy(self.current["action_mask"][rows])
        with autocast(self.precision):
            logits, rollout.value[t, rows] = self.network(rollout.observation[t, rows])
        log_probabilities = masked_log_softmax(logits, rollout.mask[t, rows])
        actions = sample_actions(log_probabilities.softmax(dim=1), uniform[rows])
        rollout.action[t, rows] = actions
        rollout.log_probability[t, rows] = log_probabilities.gather(1, actions[:, None])[:, 0]
        places = np.arange(self.config.num_envs)[rows][frozen[rows]]
        self.pool.act(places, rollout.observation[t], rollout.mask[t], rollout.action[t], uniform)

    @torch.inference_mode()
    def foresee(self, worker: int) -> None:
        """The value, for seat 0, of where this worker's games stand after the last decision."""
        rows = self.workers.share(self.config.num_envs, worker)
        with autocast(self.precision):
            value = self.network(torch.from_numpy(self.current["observation"][rows]))[1]
        self.rollout.last_value[rows] = value * torch.from_numpy(1.0 - 2.0 * self.info["player"][rows]).float()

    def estimate(self) -> Batch:
        """Advantages and value targets of the learner's decisions, back in the frame of who took them."""
        rollout, config = self.rollout, self.config
        advantage = torch.zeros_like(rollout.value)
        fixed_seat_advantages(
            rollout.reward.numpy(),
            (rollout.value * rollout.sign).numpy(),
            rollout.counted.numpy(),
            rollout.ends.numpy(),
            rollout.last_value.numpy(),
            config.discount,
            config.trace,
            advantage.numpy(),
        )
        advantage *= rollout.sign
        return Batch(
            rollout.counted.flatten().nonzero()[:, 0],
            rollout.observation.flatten(0, 1),
            rollout.mask.flatten(0, 1),
            rollout.action.flatten(),
            rollout.log_probability.flatten(),
            advantage.flatten(),
            (advantage + rollout.value).flatten(),
        )

    def learn(self, batch: Batch, progress: float, generator: torch.Generator) -> dict[str, float]:
        """``epochs`` passes over the batch in minibatches. Raises RunError when a loss is not a number."""
        config = self.config
        rate = config.learning_rate * (1 - progress)
        entropy_weight = config.entropy_start + (config.entropy_end - config.entropy_start) * progress
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        own = batch.advantage[batch.rows]
        gains = (batch.advantage - own.mean()) / (own.std(correction=0) + 1e-8)
        parameters = list(self.network.parameters())
        sums = torch.zeros(5)
        count = 0
        for rows in self.minibatches(batch.rows, generator):

            def gradient(worker: int, rows: Tensor = rows) -> tuple[tuple[Tensor, ...], Tensor]:
                share = rows[self.workers.share(len(rows), worker)]
                terms = self.losses(batch, gains, share).sum(dim=1) / len(rows)
                loss = terms[0] + config.value_coefficient * terms[1] - entropy_weight * terms[2]
                return torch.autograd.grad(loss, parameters), terms.detach()

            gradients, terms = zip(*self.workers.map(gradient), strict=True)
            for parameter, *shares in zip(parameters, *gradients, strict=True):
                parameter.grad = torch.stack(shares).sum(dim=0) if len(shares) > 1 else shares[0]
            nn.utils.clip_grad_norm_(parameters, config.max_gradient_norm)
            self.optimizer.step()
            sums += torch.stack(terms).sum(dim=0)
            count += 1
        policy_loss, value_loss, entropy, kl, clip_fraction = (sums / count).tolist()
        if not np.isfinite([policy_loss, value_loss, entropy]).all():
            raise RunError(f"update {self.update}: the loss is not a number; begin anew with a lower learning_rate")
        unexplained = own.var(correction=0) / (batch.target[batch.rows].var(correction=0) + 1e-8)
        return {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": kl,
            "clip_fraction": clip_fraction,
            "explained_variance": 1 - float(unexplained),
            "learning_rate": rate,
            "entropy_weight": entropy_weight,
            "decisions": len(own),
        }

    def losses(self, batch: Batch, gains: Tensor, rows: Tensor) -> Tensor:
        """Terms [5, B] of the decisions ``rows`` [B]: policy loss, squared value error, entropy; and, without a
        gradient, the estimate of the KL divergence (Schulman, 2020) and whether the ratio was clipped."""
        with autocast(self.precision):
            logits, value = self.network(batch.observation.index_select(0, rows))
        log_probabilities = masked_log_softmax(logits, batch.mask.index_select(0, rows))
        log_probability = log_probabilities.gather(1, batch.action[rows, None])[:, 0]
        log_ratio = log_probability - batch.log_probability[rows]
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - self.config.clip, 1 + self.config.clip)
        policy_loss = -torch.min(gains[rows] * ratio, gains[rows] * clipped)
        value_loss = (value - batch.target[rows]).square()
        # The softmax of logarithms is their exponential, without the slow path of exp for what underflows.
        entropy = -(log_probabilities.softmax(dim=1) * log_probabilities).sum(dim=1)
        with torch.no_grad():
            kl = ratio - 1 - log_ratio
            outside = ((ratio - 1).abs() > self.config.clip).float()
        return torch.stack([policy_loss, value_loss, entropy, kl, outside])

    def minibatches(self, rows: Tensor, generator: torch.Generator) -> Iterator[Tensor]:
        """Some of ``rows`` [B] for every minibatch of every epoch; sizes within an epoch differ by one at most."""
        parts = max(1, round(len(rows) / self.config.minibatch))
        for _ in range(self.config.epochs):
            yield from rows[torch.randperm(len(rows), generator=generator)].tensor_split(parts)

    def evaluate(self, opponent: str, deals: int) -> Result:
        """Duplicate play of the most likely actions against a baseline; the deals are no training deals."""
        policy = NetPolicy(self.network, canonical_suits=self.config.canonical_suits, rules=self.config.rules)
        seed = self.config.seed + 2**40
        return evaluate(policy, load_policy(opponent), deals, self.config.rules, seed, names=("net", opponent))

    def save(self) -> Path:
        """Write a checkpoint of this update, and drop the oldest ones."""
        folder = self.run / "checkpoints" / f"update-{self.update:08d}"
        meta = {
            "algorithm": "ppo",
            "rules": self.config.rules,
            "canonical_suits": self.config.canonical_suits,
            "network": {"kind": "mlp", "hidden": list(self.config.hidden)},
            "config": config_values(self.config),
            "update": self.update,
            "step": self.step,
            "seconds": self.seconds,
            "threads": self.workers.threads,
            "precision": self.precision,
        }
        trainer = {"env.states": torch.from_numpy(self.env.states.view(np.uint8).copy()), **self.pool.tensors()}
        for index, state in self.optimizer.state_dict()["state"].items():
            trainer |= {f"adam.{index}.{key}": value for key, value in state.items()}
        save_checkpoint(folder, meta, self.network.state_dict(), trainer)
        prune_checkpoints(folder.parent, self.config.keep_checkpoints)
        return folder

    def restore(self, folder: Path) -> None:
        """Take over a checkpoint, as if the run had never stopped."""
        meta = read_meta(folder)
        self.update, self.step, self.seconds = meta["update"], meta["step"], meta["seconds"]
        fill_network(self.network, read_tensors(folder / MODEL), folder)
        saved = read_tensors(folder / TRAINER)
        states: dict[int, dict[str, Tensor]] = {}
        for key, value in saved.items():
            if key.startswith("adam."):
                _, index, name = key.split(".")
                states.setdefault(int(index), {})[name] = value
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": states})
        self.pool.restore(saved, self.network)
        self.current, self.info = self.env.load_states(saved["env.states"].numpy().view(STATE))


def train(config: PPOConfig, run: Path, max_updates: int | None = None) -> bool:
    """Train, or go on training, in the folder ``run``; returns whether the run is complete.

    Stops early after ``max_updates`` updates in all, or by Ctrl-C, with a checkpoint from which the same
    command goes on. Raises RunError or CheckpointError with one sentence when that is impossible.
    """
    run.mkdir(parents=True, exist_ok=True)
    folder = find_checkpoint(run) if has_checkpoint(run) else None
    if folder is None:
        trainer = Trainer(config, run)
    else:
        meta = read_meta(folder)
        check_resumable(config, meta, folder)
        trainer = Trainer(config, run, meta["threads"], meta["precision"])
        trainer.restore(folder)
    if trainer.step >= config.total_steps and (run / "result.json").exists():
        return True
    (run / "config.json").write_text(json.dumps(config_values(config), indent=1) + "\n", encoding="utf-8")

    with Reporter(run, config, trainer.step, trainer.workers.threads, trainer.precision) as report, StopFlag() as stop:
        if trainer.step == 0:
            evaluate_all(trainer, report, config.evaluate_deals)
        while trainer.step < config.total_steps:
            if stop.requested or (max_updates is not None and trainer.update >= max_updates):
                trainer.save()
                return False
            before = trainer.step
            numbers = trainer.train_update()
            report.train(trainer.update, numbers, trainer.step)
            if trainer.step >= config.total_steps:
                break
            if trainer.step // config.evaluate_every > before // config.evaluate_every:
                evaluate_all(trainer, report, config.evaluate_deals)
            if trainer.step // config.checkpoint_every > before // config.checkpoint_every:
                trainer.save()
        trainer.save()
        results = evaluate_all(trainer, report, config.final_deals)
    (run / "result.json").write_text(json.dumps([r.to_json() for r in results], indent=1) + "\n", encoding="utf-8")
    return True


def evaluate_all(trainer: Trainer, report: Reporter, deals: int) -> list[Result]:
    """Duplicate play against every baseline, into the log."""
    results = [trainer.evaluate(opponent, deals) for opponent in trainer.config.opponents]
    for result in results:
        report.evaluation(result, trainer.step)
    return results
