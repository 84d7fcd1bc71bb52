"""Frozen past selves as opponents in a share of the deals, each bound to its deal from start to end."""

import copy
from collections import OrderedDict
from collections.abc import Mapping

import numpy as np
import torch

from santase_agents.network import Network
from santase_env.compiled import Array

NOBODY = -1


class Pool:
    """Past selves by number, and for every game which of them plays which seat of the deal in hand.

    opponent [N]: number of the past self in that game, or NOBODY; seat [N]: the seat it plays. A past self
    that has left the pool lives on until its last deal is over, so an opponent never changes in mid-deal.
    The first self never leaves, and plays ``first_share`` of the pool's deals.
    """

    def __init__(self, games: int, share: float, first_share: float, size: int) -> None:
        self.share = share
        self.first_share = first_share
        self.size = size
        self.networks: OrderedDict[int, Network] = OrderedDict()
        self.members: list[int] = []
        self.opponent = np.full(games, NOBODY, np.int64)
        self.seat = np.zeros(games, np.int64)
        self.added = 0
        self.called = NOBODY

    def add(self, network: Network) -> None:
        """Freeze a copy of ``network``; the oldest member but the first leaves when there are too many."""
        if self.share == 0 or self.size < 1:
            return
        self.networks[self.added] = frozen_copy(network)
        self.members.append(self.added)
        if len(self.members) > 1 + self.size:
            del self.members[1]
        self.added += 1
        self._forget()

    def call(self, random: np.random.Generator) -> None:
        """Choose the past self that plays the deals which begin from now on: one at a time, so few are asked."""
        first = random.random() < self.first_share
        choice = 0 if first or len(self.members) < 2 else 1 + random.integers(len(self.members) - 1)
        self.called = self.members[choice] if self.members else NOBODY

    def bind(self, games: Array, chance: Array) -> None:
        """Choose whether the past self plays, and where, in the deals that begin now in ``games`` [B].

        chance: [N] in [0, 1), one number for every game, so that a game's fate is its own whoever computes it.
        """
        if self.share == 0:
            return
        drawn = chance[games]
        plays = drawn < self.share
        self.opponent[games] = np.where(plays, self.called, NOBODY)
        self.seat[games] = np.where(plays, drawn * 2 >= self.share, 0)

    def frozen(self, games: slice, players: Array) -> Array:
        """[B] bool: is the player to move in these games (``players`` [B]) a past self?"""
        frozen: Array = (self.opponent[games] != NOBODY) & (self.seat[games] == players)
        return frozen

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

    def restore(self, saved: Mapping[str, torch.Tensor], like: Network) -> None:
        """Take over what ``tensors`` saved; ``like`` has the shape of the networks."""
        self.opponent = saved["pool.opponent"].numpy().copy()
        self.seat = saved["pool.seat"].numpy().copy()
        self.members = saved["pool.members"].tolist()
        self.added = int(saved["pool.added"])
        self.networks.clear()
        numbers = sorted({int(key.split(".")[1]) for key in saved if key.startswith("pool.") and key[5].isdigit()})
        for number in numbers:
            prefix = f"pool.{number}."
            network = frozen_copy(like)
            network.load_state_dict({k.removeprefix(prefix): v for k, v in saved.items() if k.startswith(prefix)})
            self.networks[number] = network

    def _forget(self) -> None:
        bound = set(self.opponent.tolist())
        for number in list(self.networks):
            if number not in self.members and number not in bound:
                del self.networks[number]


def frozen_copy(network: Network) -> Network:
    """A copy that no gradient reaches."""
    return copy.deepcopy(network).requires_grad_(False)
