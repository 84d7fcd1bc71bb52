"""Self-play: many games at once, each worker with its share of them, and what learners need of every decision.

A worker plays all steps of an update in its own games without waiting for the others, and all chance is drawn
beforehand, one number per game and step. So what is played does not depend on the number of workers.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from santase_agents.network import Network
from santase_env.actions import NUM_ACTIONS
from santase_env.compiled import Array
from santase_env.hidden import HIDDEN_SIZE
from santase_env.observation import observation_size
from santase_env.state import STATE
from santase_env.vector import SantaseVectorEnv

from .compute import Compute
from .config import TrainConfig
from .pool import Pool
from .sampling import check_rows, sample_legal

Choose = Callable[[int, int, Array, Array], None]
"""Called as choose(worker, t, logits [B, 31], uniform [B]) for the games of a worker, whose masks at time t are in the
rollout; writes actions [B], and log-probabilities if they matter, into the rollout."""


class Rollout:
    """Decisions of one update: T steps in each of N games, and what became of them."""

    def __init__(self, steps: int, games: int, size: int, hidden: int, compute: Compute) -> None:
        self.size = size
        self.seen = torch.zeros(steps + 1, games, size + hidden, dtype=compute.dtype, device=compute.device)
        """Observations, with what is hidden behind them if a critic wants it; the last row is where the games stand
        after the last decision, here and in value and sign."""
        self.mask = np.zeros((steps, games, NUM_ACTIONS), np.int8)
        self.action = np.zeros((steps, games), np.int64)
        self.log_probability = np.zeros((steps, games), np.float32)
        self.value = np.zeros((steps + 1, games), np.float32)  # of the player to move
        self.sign = np.zeros((steps + 1, games), np.float32)  # +1 if seat 0 is to move, -1 if seat 1
        self.reward = np.zeros((steps, games), np.float32)  # of seat 0
        self.ends = np.zeros((steps, games), np.bool_)
        self.counted = np.zeros((steps, games), np.bool_)  # decided by the learner, not by a past self
        self.steps = np.zeros((steps, games), np.int64)  # actions, forced ones included

    @property
    def observation(self) -> Tensor:
        """[T + 1, N, D]."""
        return self.seen[:, :, : self.size]


class SelfPlay:
    """N games under way, who plays them, and the last rollout. ``hidden``: see the other cards, too, for a critic."""

    def __init__(self, config: TrainConfig, compute: Compute, *, hidden: bool = False) -> None:
        self.config = config
        self.compute = compute
        self.hidden = hidden
        self.pool = Pool(config.num_envs, config.pool_share, config.pool_first, config.pool_size)
        self.shares = [compute.share(config.num_envs, worker) for worker in range(compute.threads)]
        self.envs = [
            SantaseVectorEnv(
                rows.stop - rows.start,
                config.rules,
                canonical_suits=config.canonical_suits,
                skip_forced=True,
                copy=False,
                first_game=rows.start,
                recall=config.recall,
            )
            for rows in self.shares
        ]
        self.current = [env.reset(seed=config.seed) for env in self.envs]
        self.logits = [np.zeros(0, np.float32)] * compute.threads
        size = observation_size(config.recall)
        self.rollout = Rollout(config.rollout, config.num_envs, size, HIDDEN_SIZE if hidden else 0, compute)

    def play(self, network: Network, random: np.random.Generator, choose: Choose | None = None) -> Rollout:
        """``rollout`` decisions in every game, drawn from the network's policy if ``choose`` does not say otherwise.
        Raises ValueError when the network's outputs are not numbers."""
        self.pool.call(random)
        uniform = random.random((self.config.rollout, self.config.num_envs), np.float32)
        chance = random.random((self.config.rollout, self.config.num_envs), np.float32)
        choose = choose or self.sample
        self.compute.map(lambda worker: self._play_share(worker, network, choose, uniform, chance))
        return self.rollout

    def sample(self, worker: int, t: int, logits: Array, uniform: Array) -> None:
        """A Choose: draw from the policy."""
        rollout, games = self.rollout, self.shares[worker]
        actions, log_probabilities = rollout.action[t, games], rollout.log_probability[t, games]
        check_rows(sample_legal(logits, rollout.mask[t, games], uniform, actions, log_probabilities))

    @torch.inference_mode()
    def _play_share(self, worker: int, network: Network, choose: Choose, uniform: Array, chance: Array) -> None:
        rollout, pool, env, games = self.rollout, self.pool, self.envs[worker], self.shares[worker]
        numbers = np.arange(games.start, games.stop)
        for t in range(self.config.rollout):
            self._see(worker, t, network)
            players = self.current[worker][1]["player"]
            frozen = pool.frozen(games, players)
            rollout.mask[t, games] = self.current[worker][0]["action_mask"]
            choose(worker, t, self.logits[worker], uniform[t, games])
            for past in np.unique(pool.opponent[numbers[frozen]]):
                self._let_past_self_act(t, numbers[frozen & (pool.opponent[games] == past)], int(past), uniform[t])
            rollout.counted[t, games] = ~frozen
            observations, rewards, ends, _, info = env.step(rollout.action[t, games])
            self.current[worker] = observations, info
            rollout.reward[t, games] = rewards[:, 0] * self.config.reward_scale
            rollout.ends[t, games] = ends
            rollout.steps[t, games] = info["steps"]
            pool.bind(numbers[ends], chance[t])
        self._see(worker, self.config.rollout, network)

    def _see(self, worker: int, t: int, network: Network) -> None:
        """Note what the players to move see at time t, and what the network says to it."""
        rollout, games = self.rollout, self.shares[worker]
        observations, info = self.current[worker]
        rollout.observation[t, games] = torch.from_numpy(observations["observation"])
        if self.hidden:
            rollout.seen[t, games, rollout.size :] = torch.from_numpy(self.envs[worker].hidden())
        rollout.sign[t, games] = 1.0 - 2.0 * info["player"]
        with self.compute.autocast():
            logits, value = network(rollout.observation[t, games])
        rollout.value[t, games] = value.cpu().numpy()
        self.logits[worker] = logits.cpu().numpy()

    def _let_past_self_act(self, t: int, games: Array, past: int, uniform: Array) -> None:
        """Overwrite the actions at time t in ``games`` [B] by those of a past self."""
        rollout = self.rollout
        with self.compute.autocast():
            logits, _ = self.pool.networks[past](rollout.observation[t, games])
        actions, unused = np.empty(len(games), np.int64), np.empty(len(games), np.float32)
        check_rows(sample_legal(logits.cpu().numpy(), rollout.mask[t, games], uniform[games], actions, unused))
        rollout.action[t, games] = actions

    def tensors(self) -> dict[str, Tensor]:
        """Everything to be saved: the games, and the pool."""
        states = np.concatenate([env.states for env in self.envs])
        return {"env.states": torch.from_numpy(states.view(np.uint8).copy()), **self.pool.tensors()}

    def restore(self, saved: dict[str, Tensor], like: Network) -> None:
        """Take over what ``tensors`` saved, however many workers there were; ``like`` has the shape of the networks."""
        states = saved["env.states"].numpy().view(STATE)
        self.current = [env.load_states(states[rows]) for env, rows in zip(self.envs, self.shares, strict=True)]
        self.pool.restore(saved, like)
