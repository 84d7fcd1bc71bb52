"""Stable-Baselines3: many games of a learner against a policy as one of its VecEnvs, without processes or copies.

    env = SantaseSB3VecEnv(256, opponent="greedy", canonical_suits=True)
    model = MaskablePPO("MlpPolicy", env)  # of sb3-contrib

The observation is flat, [D] float32 in [0, 1]; legal actions come by ``env_method("action_masks")``, which is where
sb3-contrib looks for them. Turns, rewards and what an illegal action costs are those of ``versus``. A finished game
restarts in the same step; its last observation is in info["terminal_observation"].
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from .actions import NUM_ACTIONS
from .compiled import Array
from .duel import INFO_KEYS, Duels
from .observation import OBSERVATION_SIZE
from .policy import Policy
from .rng import check_seed
from .rules import DEFAULT_RULES, Rules
from .vector import action_array


class SantaseSB3VecEnv(VecEnv):
    """``num_envs`` games of a learner against ``opponent``, a policy or its spec.

    The options are those of VersusEnv; game points times ``reward_scale`` are the reward. ``seed(s)`` is meant for the
    next ``reset``; row i then plays game ``game + i`` of that seed, and is what VersusEnv of that number plays. Without
    a seed the games go on to their next episode.
    """

    def __init__(
        self,
        num_envs: int = 1,
        opponent: str | Policy = "random",
        rules: Rules | str | Mapping[str, Any] = DEFAULT_RULES,
        *,
        seat: Literal[0, 1] | None = None,
        episode: Literal["deal", "match"] = "deal",
        canonical_suits: bool = False,
        game: int = 0,
        reward_scale: float = 1.0,
    ) -> None:
        self.reward_scale = reward_scale
        self.duels = Duels(num_envs, game, opponent, rules, seat=seat, episode=episode, canonical_suits=canonical_suits)
        self.actions_taken = 0
        """Of both players since the beginning, in episodes of one deal: what this project counts as steps."""
        self._begun = False
        self._next_seed: int | None = None
        self._actions: Array = np.zeros(num_envs, np.int64)
        super().__init__(num_envs, spaces.Box(0.0, 1.0, (OBSERVATION_SIZE,), np.float32), spaces.Discrete(NUM_ACTIONS))

    def set_opponents(self, opponents: Sequence[str | Policy], shares: Sequence[float] | None = None) -> None:
        """From now on every episode that begins is played by one of these, drawn by ``shares``; episodes under way
        keep theirs. Raises ValueError for shares that do not fit."""
        self.duels.set_opponents(opponents, shares)

    def action_masks(self) -> Array:
        """The learners' legal actions [N, 31] bool."""
        return np.asarray(self.duels.mask, np.bool_)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Of the next reset; None draws one from the system."""
        self._next_seed = check_seed(seed)
        return [self._next_seed] * self.num_envs

    def reset(self) -> Array:
        """Begin an episode in every game: observations [N, D] float32."""
        everything = np.arange(self.num_envs)
        if self._next_seed is not None or not self._begun:
            self.duels.seed(everything, check_seed(self._next_seed))
        self._next_seed, self._begun = None, True
        self._start(everything)
        self.reset_infos = self._infos(everything)
        return self.duels.observation.copy()

    def go_on(
        self,
        states: Array,
        duels: Array,
        bound: Array,
        opponents: Mapping[int, Policy],
        called: Array,
        reach: Array,
    ) -> None:
        """Go on from games that were saved: the arrays and opponents that ``duels`` has under these names."""
        self.duels.states[:], self.duels.duels[:], self.duels.bound[:] = states, duels, bound
        self.duels.opponents, self.duels.called, self.duels.reach = dict(opponents), called, reach
        self.duels.show(np.arange(self.num_envs))
        self._begun = True

    def step_async(self, actions: Array) -> None:
        """Take note of the learners' actions [N]."""
        if not self._begun:
            raise ValueError("there are no games yet: call reset() first")
        self._actions = action_array(np.asarray(actions), self.num_envs)

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
        """Observations [N, D] and rewards [N] float32, whether an episode ended [N] bool, infos.

        Infos of games that go on are empty: thousands of dictionaries a step would cost more than the games.
        """
        duels = self.duels
        before = int(duels.states["log_length"].sum())
        duels.step(np.arange(self.num_envs), self._actions)
        self.actions_taken += int(duels.states["log_length"].sum()) - before
        rewards, dones = (duels.duels["reward"] * self.reward_scale).astype(np.float32), duels.duels["over"].copy()
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = np.flatnonzero(dones)
        for row, info in zip(ended, self._infos(ended), strict=True):
            infos[row] = {**info, "terminal_observation": duels.observation[row].copy()}
        self._start(ended)
        return duels.observation.copy(), rewards, dones, infos

    def close(self) -> None:
        """Nothing is held open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute once for every game asked for; raises AttributeError if it is not there."""
        if attr_name == "render_mode":  # VecEnv asks for it before it sets it
            return [None for _ in self._get_indices(indices)]
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute, of all games at once; raises ValueError for some of them only."""
        if indices is not None and len(list(self._get_indices(indices))) != self.num_envs:
            raise ValueError(f"{attr_name} belongs to all games together; set it for all")
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """``action_masks`` of every game asked for; raises AttributeError for another method."""
        if method_name != "action_masks":
            raise AttributeError(f"the games have no method {method_name!r}, only 'action_masks'")
        masks = self.action_masks()
        return [masks[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Never: there are no single environments inside."""
        return [False for _ in self._get_indices(indices)]

    def _start(self, rows: Array) -> None:
        if len(rows):
            self.duels.start(rows)
            self.actions_taken += int(self.duels.states["log_length"][rows].sum())

    def _infos(self, rows: Array) -> list[dict[str, Any]]:
        return [dict(zip(INFO_KEYS, self.duels.duels[row].item(), strict=False)) for row in rows]
