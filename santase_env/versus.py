"""One learner against a policy: Gymnasium's form of the game, single and vector.

    env = gymnasium.make("Santase-v0", opponent="greedy")
    envs = gymnasium.make_vec("Santase-v0", num_envs=64, opponent="greedy")

It is always the learner's turn: the opponent's moves happen inside ``reset`` and ``step``. The observation is a
dict: "observation" [D] float32 in [0, 1], seen from the learner's seat and laid out as in ``observation.LAYOUT``,
and "action_mask" [31] int8, which ``action_masks()`` gives as well. The reward is 0 until the episode ends; then the
deal's game points, + if the learner won and - if the opponent did, or ±1 at the end of a match. An illegal action
ends the episode: reward -3, terminated, info["illegal"] 1. Nothing is ever truncated.

Infos are numeric, with the same keys from reset on (``duel.INFO``). They tell how the last finished deal of the
episode ended, seen by the learner: before one has, winner is -1 and the rest 0.

A deal can be over before the learner's first move, when the opponent claims wrongly at once. No decision of the
learner's is in it, so ``reset`` goes on to the next episode, and info["skipped"] and info["skipped_reward"] count what
was passed over: adding the latter to the returns makes the score complete.

``reset(seed=s)`` begins deal 0 of the environment's game of seed s (``game``, 0 unless told otherwise); ``reset()``
goes on to the next one. Row i of a vector environment is game ``game + i`` of its seed, and plays exactly as the
single environment of that number.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from .actions import NUM_ACTIONS, action_number
from .compiled import Array
from .duel import INFO_KEYS, Duels
from .policy import Policy
from .render import RENDER_MODES, ansi, check_render_mode, render
from .rng import check_seed
from .rules import DEFAULT_RULES, Rules
from .vector import Info, action_array, observation_space
from .view import view_of

Observation = dict[str, Array]


class VersusEnv(gymnasium.Env[Any, Any]):
    """One game of a learner against ``opponent``, a policy or its spec; ``gymnasium.make("Santase-v0", ...)``.

    rules: Rules or their text. seat: the learner's, or None: seat and opener change so that four episodes show all
    four combinations. episode: "deal" or "match". canonical_suits: rename suits so that trumps come first, in
    observation, mask and actions. render_mode: None, "ansi" or "human": the deal as the learner sees it, and with
    open cards once it is over. game: which game of the seed this is.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # noqa: RUF012  # Gymnasium's form

    def __init__(
        self,
        opponent: str | Policy = "random",
        rules: Rules | str | Mapping[str, Any] = DEFAULT_RULES,
        *,
        seat: Literal[0, 1] | None = None,
        episode: Literal["deal", "match"] = "deal",
        canonical_suits: bool = False,
        render_mode: str | None = None,
        game: int = 0,
    ) -> None:
        self.render_mode = check_render_mode(render_mode)
        self.observation_space = observation_space()
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        self._duels = Duels(1, game, opponent, rules, seat=seat, episode=episode, canonical_suits=canonical_suits)
        self._begun = False

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Observation, Info]:
        """Begin an episode: the first one of a seed, or without one the next. There are no options."""
        super().reset(seed=seed)
        if seed is not None or not self._begun:
            self._duels.seed(_ONLY, check_seed(seed))
        self._duels.start(_ONLY)
        self._begun = True
        self._draw()
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, Info]:
        """Take the learner's action; returns observation, reward, terminated, truncated, info."""
        if not self._begun or self._duels.duels["over"][0]:
            raise ResetNeeded("the episode is over or has not begun: call reset() first")
        self._duels.step(_ONLY, np.array([action_number(action)]))
        self._draw()
        duel = self._duels.duels[0]
        return self._observation(), float(duel["reward"]), bool(duel["over"]), False, self._info()

    def action_masks(self) -> Array:
        """The learner's legal actions [31] bool."""
        return np.asarray(self._duels.mask[0], np.bool_)

    def render(self) -> str | None:
        """The deal as text ("ansi"), or printed ("human")."""
        if not self._begun:
            raise ResetNeeded("there is no deal yet: call reset() first")
        return render(_seen(self._duels, 0), self.render_mode)

    def _observation(self) -> Observation:
        return {"observation": self._duels.observation[0].copy(), "action_mask": self._duels.mask[0].copy()}

    def _info(self) -> Info:
        return dict(zip(INFO_KEYS, self._duels.duels[0].item(), strict=False))

    def _draw(self) -> None:
        if self.render_mode == "human":
            self.render()

    def __copy__(self) -> "VersusEnv":
        # A copy that shared its records would move with the original.
        return deepcopy(self)


class VersusVectorEnv(VectorEnv[Observation, Array, Array]):
    """``num_envs`` games of a learner against ``opponent``; ``gymnasium.make_vec("Santase-v0", ...)``.

    Options are those of VersusEnv (render_mode "ansi" only), and autoreset_mode:
    NEXT_STEP (default): the step after an end resets that game instead of acting, with reward 0.
    SAME_STEP: a finished game restarts at once; info["final_obs"] and info["final_info"] hold what it ended with.
    DISABLED: the caller resets finished games, ``reset(options={"reset_mask": [N] bool})``.
    As in Gymnasium, every info comes with a ``_key`` that says for which games it is given.
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
        render_mode: Literal["ansi"] | None = None,
        game: int = 0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode of many games must be None or 'ansi', not {render_mode!r}")
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": ["ansi"], "render_fps": 1, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_space()
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self._duels = Duels(
            num_envs, game, opponent, rules, seat=seat, episode=episode, canonical_suits=canonical_suits
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._begun = False

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Observation, Info]:
        """Begin an episode in every game, or in those of ``options["reset_mask"]``: the seed's first, or the next."""
        super().reset(seed=seed)
        chosen = self._reset_mask(options)
        rows = np.flatnonzero(chosen)
        if seed is not None or not self._begun:
            self._duels.seed(rows, check_seed(seed))
        self._duels.start(rows)
        self._begun = True
        return self._observation(), self._infos(chosen)

    def step(self, actions: Any) -> tuple[Observation, Array, Array, Array, Info]:
        """Take the learners' actions [N].

        Returns observations, rewards [N] float64, terminations and truncations [N] bool, infos.
        """
        if not self._begun:
            raise ResetNeeded("there are no games yet: call reset() first")
        actions = action_array(actions, self.num_envs)
        over = self._duels.duels["over"].copy()
        if self.autoreset_mode is AutoresetMode.DISABLED and over.any():
            raise ResetNeeded(
                f"game {np.flatnonzero(over)[0]} is over: reset(options={{'reset_mask': terminations}}) must come first"
            )
        going = np.flatnonzero(~over)
        self._duels.step(going, actions[going])
        if over.any():
            self._duels.start(np.flatnonzero(over))
        rewards, terminations = self._duels.duels["reward"].copy(), self._duels.duels["over"].copy()
        final = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP and terminations.any():
            final = self._final(terminations)
            self._duels.start(np.flatnonzero(terminations))
        infos = self._infos(np.ones(self.num_envs, np.bool_))
        return self._observation(), rewards, terminations, np.zeros(self.num_envs, np.bool_), {**infos, **final}

    def action_masks(self) -> Array:
        """The learners' legal actions [N, 31] bool."""
        return np.asarray(self._duels.mask, np.bool_)

    def render(self) -> tuple[str, ...] | None:
        """The deals as texts."""
        if self.render_mode is None:
            return None
        return tuple(ansi(_seen(self._duels, row)) for row in range(self.num_envs))

    def _reset_mask(self, options: Info | None) -> Array:
        everything = np.ones(self.num_envs, np.bool_)
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return everything
        if not isinstance(mask, np.ndarray) or mask.shape != everything.shape or mask.dtype != np.bool_:
            raise ValueError(f"options['reset_mask'] must be an array of {self.num_envs} bools")
        if not mask.any() or not (self._begun or mask.all()):
            raise ValueError("options['reset_mask'] must choose a game, and the first reset all of them")
        return mask

    def _observation(self) -> Observation:
        return {"observation": self._duels.observation.copy(), "action_mask": self._duels.mask.copy()}

    def _infos(self, given: Array) -> Info:
        infos: Info = {}
        for key in INFO_KEYS:
            values = self._duels.duels[key]
            infos[key], infos[f"_{key}"] = np.where(given, values, np.zeros_like(values)), given.copy()
        return infos

    def _final(self, ended: Array) -> Info:
        observations = np.full(self.num_envs, None, object)
        for row in np.flatnonzero(ended):
            observations[row] = {
                "observation": self._duels.observation[row].copy(),
                "action_mask": self._duels.mask[row].copy(),
            }
        return {
            "final_obs": observations,
            "_final_obs": ended.copy(),
            "final_info": self._infos(ended),
            "_final_info": ended.copy(),
        }

    def __copy__(self) -> "VersusVectorEnv":
        return deepcopy(self)


_ONLY = np.zeros(1, np.int64)


def _seen(duels: Duels, row: int) -> Any:
    state, duel = duels.states[row], duels.duels[row]
    return state if duel["over"] else view_of(state, int(duel["seat"]))
