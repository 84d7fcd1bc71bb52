"""Frozen past selves as opponents in a share of the deals, each bound to its deal from start to end."""

import copy
from collections import OrderedDict
from collections.abc import Mapping

import numpy as np
import torch

from santase_agents.network import PolicyValueNet, masked_log_softmax, sample_actions
from santase_env.compiled import Array

NOBODY = -1


class Pool:
    """Past selves by number, and for every game which of them plays which seat of the deal in hand.

    opponent [N]: number of the past self in that game, or NOBODY; seat [N]: the seat it plays. A past self
    that has left the pool lives on until its last deal is over, so an opponent never changes in mid-deal.
    """

    def __init__(self, games: int, share: float, size: int) -> None:
        self.share = share
        self.size = size
        self.networks: OrderedDict[int, PolicyValueNet] = OrderedDict()
        self.members: list[int] = []
        self.opponent = np.full(games, NOBODY, np.int64)
        self.seat = np.zeros(games, np.int64)
        self.added = 0

    def add(self, network: PolicyValueNet) -> None:
        """Freeze a copy of ``network``; the oldest member leaves when there are too many."""
        if self.share == 0 or self.size < 1:
            return
        self.networks[self.added] = _frozen_copy(network)
        self.members = [*self.members, self.added][-self.size :]
        self.added += 1
        self._forget()

    def bind(self, games: Array, random: np.random.Generator) -> None:
        """Choose who plays the deals that begin now in ``games`` [B].

        All draws of one call take the same past self, so that few networks are asked at a time.
        """
        plays_past = random.random(len(games)) < self.share
        member = self.members[random.integers(len(self.members))] if self.members else NOBODY
        self.opponent[games] = np.where(plays_past, member, NOBODY)
        self.seat[games] = random.integers(2, size=len(games))

    def frozen(self, players: Array) -> Array:
        """[N] bool: is the player to move (``players`` [N]) a past self?"""
        frozen: Array = (self.opponent != NOBODY) & (self.seat == players)
        return frozen

    @torch.inference_mode()
    def act(
        self,
        frozen: Array,
        observation: torch.Tensor,
        mask: torch.Tensor,
        actions: torch.Tensor,
        generator: torch.Generator,
    ) -> None:
        """Overwrite ``actions`` [N] where ``frozen`` [N], by the past self bound to each game."""
        for number in np.unique(self.opponent[frozen]):
            rows = torch.from_numpy(np.flatnonzero(frozen & (self.opponent == number)))
            logits, _ = self.networks[int(number)](observation[rows])
            actions[rows] = sample_actions(masked_log_softmax(logits, mask[rows]), generator)

    def tensors(self) -> dict[str, torch.Tensor]:
        """Everything to be saved."""
        saved = {
            "pool.opponent": torch.from_numpy(self.opponent.copy()),
            "pool.seat": torch.from_numpy(self.seat.copy()),
            "pool.members": torch.tensor(self.members, dtype=torch.int64),
            "pool.added": torch.tensor(self.added),
        }
        for number, network in self.networks.items():
            for name, tensor in network.state_dict().items():
                saved[f"pool.{number}.{name}"] = tensor
        return saved

    def restore(self, saved: Mapping[str, torch.Tensor], like: PolicyValueNet) -> None:
        """Take over what ``tensors`` saved; ``like`` has the shape of the networks."""
        self.opponent = saved["pool.opponent"].numpy().copy()
        self.seat = saved["pool.seat"].numpy().copy()
        self.members = saved["pool.members"].tolist()
        self.added = int(saved["pool.added"])
        numbers = sorted({int(key.split(".")[1]) for key in saved if key.startswith("pool.") and key[5].isdigit()})
        for number in numbers:
            prefix = f"pool.{number}."
            network = _frozen_copy(like)
            network.load_state_dict({k.removeprefix(prefix): v for k, v in saved.items() if k.startswith(prefix)})
            self.networks[number] = network

    def _forget(self) -> None:
        bound = set(self.opponent.tolist())
        for number in list(self.networks):
            if number not in self.members and number not in bound:
                del self.networks[number]


def _frozen_copy(network: PolicyValueNet) -> PolicyValueNet:
    return copy.deepcopy(network).requires_grad_(False)
