"""MaskablePPO of Stable-Baselines3, the recipe that its users ask for, on this project's games and evaluator.

The learner plays one seat, past selves of it (and the untrained one) the other; seats and openers change from deal to
deal. What it learned is exported into this project's checkpoint form after every update, and only that is ever
loaded: ``sb3:PATH``. Here stand the settings of TrainConfig that mean the same there; the others are not used.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger
from torch import Tensor, nn

from santase_agents.checkpoint import save_checkpoint
from santase_agents.net import NetPolicy
from santase_agents.network import SeparateNet
from santase_env.duel import DUEL
from santase_env.policy import Policy
from santase_env.rules import Rules
from santase_env.sb3 import SantaseSB3VecEnv
from santase_env.state import STATE

from .config import ConfigError, TrainConfig
from .pool import frozen_copy
from .trainer import Numbers, Trainer, adam_states


class SB3Trainer(Trainer):
    """MaskablePPO against a pool of past selves."""

    algorithm = "sb3"

    def __init__(
        self, config: TrainConfig, run: Path, threads: int | None = None, precision: str | None = None
    ) -> None:
        if config.network != "separate" or config.critic != "own" or config.magnet != "none" or config.recall:
            raise ConfigError("algorithm sb3 wants network separate, critic own, magnet none and no recall")
        super().__init__(config, run, threads, "float32")
        torch.set_num_threads(self.compute.threads)
        self.env = SantaseSB3VecEnv(
            config.num_envs,
            "random",
            config.rules,
            canonical_suits=config.canonical_suits,
            reward_scale=config.reward_scale,
        )
        self.env.seed(config.seed)
        with _seeded(config.seed):
            self.model = MaskablePPO(
                "MlpPolicy",
                self.env,
                n_steps=config.rollout,
                batch_size=config.minibatch,
                n_epochs=config.epochs,
                gamma=config.discount,
                gae_lambda=config.trace,
                clip_range=config.clip,
                vf_coef=config.value_coefficient,
                max_grad_norm=config.max_gradient_norm,
                policy_kwargs={
                    "net_arch": {"pi": list(config.hidden), "vf": list(config.hidden)},
                    "activation_fn": nn.ReLU,
                },
                device=config.device,
            )
        self.model.set_logger(Logger(None, []))
        self.export()
        self.remember()

    def improve(self, random: np.random.Generator) -> tuple[int, Numbers]:
        before = self.env.actions_taken
        model, rate = self.model, self.falling("learning_rate")
        model.lr_schedule = lambda _: rate
        model.ent_coef = self.falling("entropy")
        with _seeded(int(random.integers(2**31))):
            model.learn(self.config.rollout * self.config.num_envs, reset_num_timesteps=False)
        self.export()
        if self.update % self.config.pool_every == 0:
            self.remember()
        values = model.logger.name_to_value
        return self.env.actions_taken - before, {
            "policy_loss": float(values["train/policy_gradient_loss"]),
            "value_loss": float(values["train/value_loss"]),
            "entropy": -float(values["train/entropy_loss"]),
            "kl": float(values["train/approx_kl"]),
            "clip_fraction": float(values["train/clip_fraction"]),
            "explained_variance": float(values["train/explained_variance"]),
            "learning_rate": rate,
            "entropy_weight": float(model.ent_coef),
            "decisions": self.config.rollout * self.config.num_envs,
        }

    def export(self) -> None:
        """The policy's weights into ``network``."""
        self.network.load_state_dict(exported(self.model.policy.state_dict()))

    def remember(self) -> None:
        """Let past selves play the deals to come: the first one in its share of them, the newest in the rest."""
        new = NetPolicy(frozen_copy(self.network), canonical_suits=self.config.canonical_suits, mode="sample")
        past = [*self.past(), new]
        if len(past) > 1 + self.config.pool_size:
            del past[1]
        newest = len(past) - 1
        first = self.config.pool_first if newest else 1.0
        self.env.set_opponents(past, [first, *[(1 - first) / max(newest, 1)] * newest])

    def past(self) -> list[NetPolicy]:
        """The past selves that play the deals which begin from now on."""
        called = [self.env.duels.opponents[int(number)] for number in self.env.duels.called]
        return [player for player in called if isinstance(player, NetPolicy)]

    def tensors(self) -> dict[str, Tensor]:
        duels = self.env.duels
        saved = {
            "env.states": torch.from_numpy(duels.states.view(np.uint8).copy()),
            "env.duels": torch.from_numpy(duels.duels.view(np.uint8).copy()),
            "env.bound": torch.from_numpy(duels.bound.copy()),
            "env.called": torch.from_numpy(duels.called.copy()),
            "env.reach": torch.from_numpy(duels.reach.copy()),
            "env.actions_taken": torch.tensor(self.env.actions_taken),
            **{f"policy.{name}": value for name, value in self.model.policy.state_dict().items()},
        }
        for number, player in duels.opponents.items():
            if isinstance(player, NetPolicy):
                saved |= {f"past.{number}.{name}": value for name, value in player.network.state_dict().items()}
        for index, state in self.model.policy.optimizer.state_dict()["state"].items():
            saved |= {f"adam.{index}.{name}": value for name, value in state.items()}
        return saved

    def take(self, saved: dict[str, Tensor]) -> None:
        opponents: dict[int, Policy] = {}
        for number in sorted({int(key.split(".")[1]) for key in saved if key.startswith("past.")}):
            network = frozen_copy(self.network)
            network.load_state_dict(_under(saved, f"past.{number}."))
            opponents[number] = NetPolicy(network, canonical_suits=self.config.canonical_suits, mode="sample")
        self.env.go_on(
            saved["env.states"].numpy().view(STATE),
            saved["env.duels"].numpy().view(DUEL),
            saved["env.bound"].numpy(),
            opponents,
            saved["env.called"].numpy(),
            saved["env.reach"].numpy(),
        )
        self.env.actions_taken = int(saved["env.actions_taken"])
        self.model.policy.load_state_dict(_under(saved, "policy."))
        optimizer = self.model.policy.optimizer
        optimizer.load_state_dict({**optimizer.state_dict(), "state": adam_states(saved)})
        # What ``learn`` goes on from: it would reset the games otherwise.
        self.model._last_obs = self.env.duels.observation.copy()
        self.model._last_episode_starts = np.zeros(self.config.num_envs, bool)


def exported(policy: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a MaskableActorCriticPolicy of two equal ReLU networks, named as SeparateNet names them."""
    names = {"action_net": "policy_head", "value_net": "value_head"}
    weights = {}
    for key, value in policy.items():
        part, *rest = key.split(".")
        if part == "mlp_extractor":  # mlp_extractor.policy_net.2.weight: a ReLU stands between two layers
            side, place, kind = rest
            weights[f"{side.removesuffix('_net')}_trunk.{int(place) // 2}.{kind}"] = value
        elif part in names:
            weights[".".join([names[part], *rest])] = value
        else:
            raise ValueError(f"{key!r} has no place in a network of two ReLU trunks")
    return weights


def export_model(model: MaskablePPO, folder: str | Path, rules: Rules | str, canonical_suits: bool) -> Path:
    """Write a MaskablePPO model, trained on SantaseSB3VecEnv with net_arch {"pi": sizes, "vf": sizes} and ReLU, as a
    checkpoint that ``sb3:FOLDER`` plays. Raises ValueError for another architecture, CheckpointError for the disk."""
    arch = model.policy.net_arch
    if not isinstance(arch, dict) or arch.get("pi") != arch.get("vf") or model.policy.activation_fn is not nn.ReLU:
        raise ValueError('only net_arch={"pi": sizes, "vf": sizes} with equal sizes and activation_fn=ReLU is exported')
    network = SeparateNet(arch["pi"])
    network.load_state_dict(exported(model.policy.state_dict()))
    meta: dict[str, Any] = {
        "algorithm": "sb3",
        "rules": str(Rules.of(rules)),
        "canonical_suits": canonical_suits,
        "network": network.describe(),
        "config": {"reward_scale": 1.0},
        "update": model._n_updates,
        "step": model.num_timesteps,
    }
    place = Path(folder)
    save_checkpoint(place, meta, network.state_dict())
    return place


def _under(saved: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): value for key, value in saved.items() if key.startswith(prefix)}


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Within it the global generators, which that library draws from, start from ``seed``; then they are as before."""
    before = np.random.get_state()  # noqa: NPY002  # the library permutes with the global generator
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(before)  # noqa: NPY002
