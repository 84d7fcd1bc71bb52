"""net: a trained network as an agent, ``net:PATH`` for a checkpoint or for the newest one of a run; sb3 and pretrained
are networks, too."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from santase_env.compiled import Array, jit
from santase_env.observation import encode_batch, real_actions
from santase_env.rng import mix

from .checkpoint import PRETRAINED, digest_of, find_checkpoint, load_network
from .network import Network, masked_log_softmax

BLOCK = 512
"""Rows that go through the network at once, always exactly so many: matrix products of another shape may round
differently, and a decision must not depend on how many others are taken beside it."""


class NetPolicy:
    """Plays by a network: the most likely action, or with mode="sample" one drawn from its policy.

    ``rules`` names the rules it was trained under, so that evaluation can say when it plays others; ``identity``
    stands for the contents of its checkpoint, so that kept results are not taken for those of another one.
    """

    def __init__(
        self,
        network: Network,
        *,
        canonical_suits: bool,
        rules: str = "",
        identity: str = "",
        mode: Literal["best", "sample"] = "best",
    ) -> None:
        if mode not in ("best", "sample"):
            raise ValueError(f"mode must be 'best' or 'sample', not {mode!r}")
        self.network = network
        self.canonical_suits = canonical_suits
        self.rules = rules
        self.identity = identity
        self.mode = mode

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        """views [B], masks [B, 31], keys [B] -> actions [B]."""
        if not len(views):
            return np.empty(0, np.int64)
        observations, mask = encode_batch(views, masks, self.canonical_suits, self.network.recall)
        logits, _ = in_fixed_blocks(self.network, observations)
        scores = masked_log_softmax(logits, torch.from_numpy(mask).bool()).numpy()
        if self.mode == "sample":
            scores = scores + _gumbel(keys, scores.shape[1])
        actions = scores.argmax(axis=1)
        return real_actions(views, actions) if self.canonical_suits else actions


@torch.inference_mode()
def in_fixed_blocks(network: Network, observations: Array, size: int = BLOCK) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits [B, 31] and values [B] of observations [B, D], in blocks of ``size`` rows."""
    count = len(observations)
    blocks = -(-count // size)
    padded = torch.zeros((blocks * size, observations.shape[1]))
    padded[:count] = torch.from_numpy(observations)
    device = next(network.parameters()).device
    outputs = [network(block.to(device)) for block in padded.reshape(blocks, size, -1)]
    logits, values = torch.cat([logits for logits, _ in outputs]), torch.cat([values for _, values in outputs])
    return logits[:count].cpu(), values[:count].cpu()


def _gumbel(keys: Array, columns: int) -> Array:
    """Gumbel noise [B, columns] from keys [B] alone, so that a row does not depend on its neighbours."""
    uniform = np.empty((len(keys), columns))
    _fill_uniform(keys, uniform)
    noise: Array = -np.log(-np.log(uniform))
    return noise


@jit
def _fill_uniform(keys: Array, uniform: Array) -> None:
    for i in range(len(keys)):
        for column in range(uniform.shape[1]):
            uniform[i, column] = (float(mix(keys[i], column) >> np.uint64(11)) + 0.5) / 2.0**53


def load_net(path: str, mode: Literal["best", "sample"] = "best") -> NetPolicy:
    """The agent ``net:PATH`` or ``net:PATH,mode=sample``."""
    folder = find_checkpoint(path)  # once, as a run may get a newer one at any time
    network, meta = load_network(folder)
    meta_rules: Any = meta["rules"]
    suits, identity = meta["canonical_suits"], digest_of(folder)
    return NetPolicy(network, canonical_suits=suits, rules=meta_rules, identity=identity, mode=mode)


def load_pretrained(mode: Literal["best", "sample"] = "best") -> NetPolicy:
    """The agent ``pretrained``: the released network, see pretrained/README.md."""
    return load_net(PRETRAINED, mode)


def load_sb3(path: str, mode: Literal["best", "sample"] = "best") -> NetPolicy:
    """The agent ``sb3:PATH``: a run of ``sb3_maskable_ppo``, or a model that was exported from Stable-Baselines3."""
    if path.endswith(".zip") or Path(path).with_suffix(".zip").is_file():
        raise ValueError(
            f"{path} is saved in Stable-Baselines3's own form, which can run code when it is read; write it as a "
            "checkpoint with santase_training.sb3_maskable_ppo.export_model first"
        )
    return load_net(path, mode)
