"""Decisions whose deals have ended, each with the outcome of its deal; those of unfinished deals wait for theirs.

What is learned from final outcomes needs whole deals, but an update ends in the middle of many.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from santase_env.compiled import Array, jit

from .selfplay import Rollout

PREFIX = "waiting."


@jit
def final_outcomes(rewards: Array, ends: Array, outcomes: Array, first: Array) -> None:
    """What each of T decisions in N games led to, in the frame of seat 0: the reward at the end of its deal.

    rewards, ends [T, N] are read; outcomes [T, N] and first [N], of the first deal that ended, are written; NaN where
    no end came.
    """
    for game in range(rewards.shape[1]):
        outcome = np.nan
        for step in range(len(rewards) - 1, -1, -1):
            if ends[step, game]:
                outcome = rewards[step, game]
                first[game] = outcome
            outcomes[step, game] = outcome
        if np.isnan(outcome):
            first[game] = np.nan


@dataclass
class Samples:
    """B decisions of deals that have ended."""

    observation: Tensor
    """[B, D]."""
    mask: Array
    """[B, 31]: 0 where illegal."""
    action: Array
    """[B]."""
    outcome: Array
    """[B] float32: the scaled reward of the deal for who decided."""
    target: Array
    """[B, 31] float32: the policy to be fitted, where there is one; else [B, 0]."""


class Waiting:
    """The decisions of deals under way, from rollout to rollout."""

    def __init__(self) -> None:
        self.rows: dict[str, Tensor] = {}

    def take(self, rollout: Rollout, target: Array | None = None) -> Samples:
        """The learner's decisions whose deals ended in this rollout; ``target`` [T, N, 31] belongs to it."""
        steps, games = rollout.action.shape
        outcomes, first = np.zeros((steps, games), np.float32), np.zeros(games, np.float32)
        final_outcomes(rollout.reward, rollout.ends, outcomes, first)
        own = torch.from_numpy(np.flatnonzero(rollout.counted))
        target = np.zeros((steps, games, 0), np.float32) if target is None else target
        fresh = {
            "observation": rollout.observation[:-1].flatten(0, 1)[own],
            "mask": torch.from_numpy(rollout.mask).flatten(0, 1)[own],
            "action": torch.from_numpy(rollout.action).flatten()[own],
            "sign": torch.from_numpy(rollout.sign[:-1]).flatten()[own],
            "game": torch.arange(games).repeat(steps)[own],
            "target": torch.from_numpy(target).flatten(0, 1)[own],
        }
        outcome = torch.from_numpy(outcomes).flatten()[own]
        if self.rows:
            outcome = torch.cat([torch.from_numpy(first)[self.rows["game"]], outcome])
            fresh = {name: torch.cat([self.rows[name].to(rows.device), rows]) for name, rows in fresh.items()}
        over = ~outcome.isnan()
        self.rows = {name: rows[~over] for name, rows in fresh.items()}
        ended = {name: rows[over] for name, rows in fresh.items()}
        return Samples(
            ended["observation"],
            ended["mask"].numpy(),
            ended["action"].numpy(),
            (outcome[over] * ended["sign"]).numpy(),
            ended["target"].numpy(),
        )

    def tensors(self) -> dict[str, Tensor]:
        """Everything to be saved."""
        return {PREFIX + name: rows for name, rows in self.rows.items()}

    def restore(self, saved: Mapping[str, Tensor]) -> None:
        """Take over what ``tensors`` saved."""
        self.rows = {k.removeprefix(PREFIX): v for k, v in saved.items() if k.startswith(PREFIX)}
