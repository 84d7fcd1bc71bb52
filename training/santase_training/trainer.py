"""What the training of every algorithm has in common: a network, its optimizer, progress, evaluation, checkpoints.

Every random number is a function of (seed, update), so a resumed run equals an unbroken one.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

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
from santase_agents.network import Network, make_network
from santase_env.compiled import Array
from santase_env.observation import observation_size
from santase_env.policy import load_policy
from santase_env.rules import mixture_of

from .compute import start_compute
from .config import TrainConfig, config_values
from .evaluate import Result, evaluate
from .run import RunError, prune_checkpoints

Numbers = dict[str, float]
"""What the log shows of an update."""


class Trainer:
    """Everything that a run carries from update to update, and that a checkpoint holds.

    An algorithm adds ``improve``, what it keeps beside the network, and that in ``tensors`` and ``take``.
    """

    algorithm: ClassVar[str]

    def __init__(
        self, config: TrainConfig, run: Path, threads: int | None = None, precision: str | None = None
    ) -> None:
        """``threads`` and ``precision`` are those of the run so far: what a probe found is kept, as sums of floats
        come out a little different otherwise."""
        self.config = config
        self.run = run
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network: Network = make_network(config.network, config.hidden, observation_size(config.recall))
            self.more_networks()
        if config.init:
            folder = find_checkpoint(config.init)
            check_network(config, read_meta(folder), folder)
            fill_network(self.network, read_tensors(folder / MODEL), folder)
        wanted = config.threads or threads or 0
        try:
            self.compute = start_compute(
                wanted, config.device, precision or config.precision, self.network, config.minibatch
            )
        except ValueError as error:
            raise RunError(str(error)) from None
        self.update = 0
        self.step = 0
        self.seconds = 0.0

    def more_networks(self) -> None:
        """Make the networks that an algorithm has beside the one that plays, with weights by the seed."""

    def improve(self, random: np.random.Generator) -> tuple[int, Numbers]:
        """One update by the algorithm, all chance from ``random``: steps taken, and what the log shows."""
        raise NotImplementedError

    def tensors(self) -> dict[str, Tensor]:
        """What a resumed run needs beside the network."""
        raise NotImplementedError

    def take(self, saved: dict[str, Tensor]) -> None:
        """Take over what ``tensors`` gave."""
        raise NotImplementedError

    @property
    def progress(self) -> float:
        """Share of the run that lies behind, in steps."""
        return min(self.step / self.config.total_steps, 1.0)

    def falling(self, name: str) -> float:
        """The present value of a setting that goes from NAME_start (or NAME) to NAME_end."""
        start = getattr(self.config, f"{name}_start", None)
        start = getattr(self.config, name) if start is None else start
        return float(start + (getattr(self.config, f"{name}_end") - start) * self.progress)

    def train_update(self) -> Numbers:
        """One update. Raises RunError when a loss is not a number."""
        start = time.perf_counter()
        self.update += 1
        try:
            steps, numbers = self.improve(np.random.default_rng([self.config.seed, self.update]))
        except ValueError as error:
            raise RunError(f"update {self.update}: {error}") from None
        if not np.isfinite(list(numbers.values())).all():
            bad = next(name for name, number in numbers.items() if not np.isfinite(number))
            raise RunError(f"update {self.update}: {bad} is not a number; begin anew with a lower learning_rate")
        self.step += steps
        seconds = time.perf_counter() - start
        self.seconds += seconds
        return {**numbers, "seconds": self.seconds, "steps_per_second": steps / seconds}

    def minibatches(self, rows: Array, random: np.random.Generator) -> Iterator[Array]:
        """Some of ``rows`` [B] for every minibatch of every epoch; sizes within an epoch differ by one at most."""
        parts = max(1, round(len(rows) / self.config.minibatch))
        for _ in range(self.config.epochs):
            yield from np.array_split(rows[random.permutation(len(rows))], parts)

    def policy(self) -> NetPolicy:
        """The network as an agent that plays the most likely actions."""
        return NetPolicy(self.network, canonical_suits=self.config.canonical_suits, rules=self.config.rules)

    def evaluate(self, opponent: str, deals: int) -> list[Result]:
        """Duplicate play against a baseline under each of the rules; the deals are no training deals."""
        mixture = mixture_of(self.config.rules)
        results = []
        for rules in mixture:
            name = opponent if len(mixture) == 1 else f"{opponent} ({rules})"
            seed = self.config.seed + 2**40
            results.append(evaluate(self.policy(), load_policy(opponent), deals, rules, seed, names=("net", name)))
        return results

    def meta(self) -> dict[str, Any]:
        """What a checkpoint says about itself."""
        return {
            "algorithm": self.algorithm,
            "rules": self.config.rules,
            "canonical_suits": self.config.canonical_suits,
            "network": self.network.describe(),
            "config": config_values(self.config),
            "update": self.update,
            "step": self.step,
            "seconds": self.seconds,
            "threads": self.compute.threads,
            "precision": self.compute.precision,
        }

    def save(self) -> Path:
        """Write a checkpoint of this update, and drop the oldest ones."""
        folder = self.run / "checkpoints" / f"update-{self.update:08d}"
        save_checkpoint(folder, self.meta(), self.network.state_dict(), self.tensors())
        prune_checkpoints(folder.parent, self.config.keep_checkpoints)
        return folder

    def restore(self, folder: Path) -> None:
        """Take over a checkpoint, as if the run had never stopped. Raises CheckpointError when it is not whole."""
        meta = read_meta(folder)
        fill_network(self.network, read_tensors(folder / MODEL), folder)
        saved = read_tensors(folder / TRAINER)
        try:
            self.take(saved)
        except (KeyError, RuntimeError, ValueError) as error:
            raise RunError(f"{folder} does not fit this run: {str(error).splitlines()[-1]}") from None
        self.update, self.step, self.seconds = meta["update"], meta["step"], meta["seconds"]


def check_network(config: TrainConfig, meta: Mapping[str, Any], folder: Path) -> None:
    """Raises RunError when a checkpoint's network is another one than the config wants."""
    network = meta["network"]
    wanted = (config.network, list(config.hidden), config.recall, config.canonical_suits)
    there = (network["kind"], network["hidden"], network.get("recall", False), meta["canonical_suits"])
    if wanted != there:
        raise RunError(f"{folder} has network, hidden, recall and canonical_suits {there}, but this run wants {wanted}")


class Adam:
    """Adam on several networks at once, its gradients given and scaled down to a norm."""

    def __init__(self, networks: Sequence[nn.Module], learning_rate: float, max_norm: float) -> None:
        self.parameters = [parameter for network in networks for parameter in network.parameters()]
        self.max_norm = max_norm
        self.optimizer = torch.optim.Adam(self.parameters, lr=learning_rate, eps=1e-5, fused=True)

    def set_rate(self, learning_rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate

    def step(self, gradients: list[tuple[Tensor, ...]]) -> None:
        """One step along the sum of the workers' ``gradients``."""
        for parameter, *shares in zip(self.parameters, *gradients, strict=True):
            for share in shares[1:]:
                shares[0].add_(share)
            parameter.grad = shares[0]
        nn.utils.clip_grad_norm_(self.parameters, self.max_norm)
        self.optimizer.step()

    def tensors(self) -> dict[str, Tensor]:
        """Everything to be saved."""
        states = self.optimizer.state_dict()["state"]
        return {f"adam.{index}.{key}": value for index, state in states.items() for key, value in state.items()}

    def restore(self, saved: Mapping[str, Tensor]) -> None:
        """Take over what ``tensors`` saved."""
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": adam_states(saved)})


def adam_states(saved: Mapping[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    """The tensors ``adam.INDEX.NAME`` as an optimizer holds them."""
    states: dict[int, dict[str, Tensor]] = {}
    for key, value in saved.items():
        if key.startswith("adam."):
            _, index, name = key.split(".")
            states.setdefault(int(index), {})[name] = value
    return states
