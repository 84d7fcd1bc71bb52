"""PettingZoo's form of the game: agents ``player_0`` and ``player_1`` act one at a time.

    env = santase_v0.env()                     # or raw_env(), or pettingzoo.make("aec", "santase_v0")
    env.reset(seed=7)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        done = termination or truncation
        env.step(None if done else env.action_space(agent).sample(observation["action_mask"]))

Turns. The same agent may move several times in a row (announce, exchange, close, winning a trick), so
``agent_selection`` is set anew after every step, and nothing alternates.

Observations. A dict: "observation" [D] float32 in [0, 1], laid out as in ``observation.LAYOUT`` and seen from the
agent's seat, and "action_mask" [31] int8. ``observe(agent)`` answers for either agent at any time after the first
reset. The mask is all zeros for the agent who is not to move, and for both after the end.

Rewards. Zero until the episode ends; then the deal's game points, + for the winner and - for the loser, or ±1 at
the end of a match (episode="match": deals follow one another, the loser leads the next). They sum to zero.

Ends. Both agents terminate in the same step; nothing is ever truncated. Each then takes its dead step, player_0
first: ``last()`` gives it its reward, ``step(None)`` removes it from ``agents``.

Infos. Numeric, with the same keys from reset on. They tell how the last finished deal of the episode ended; before
one has, winner is -1 and the rest 0.
    winner       seat that won the deal, -1 for none
    game_points  game points that this agent scored in it
    points       this agent's card points in it
    tricks       tricks that this agent won in it
    reason       why it ended, an index into ``state.REASONS``
    illegal      1 when an illegal action ended the episode
    deals        deals of this episode that have ended

Illegal actions. ``raw_env`` raises IllegalAction and nothing has changed. ``env`` ends the episode: -3 to who did
it, +3 to the other, terminated, "illegal" 1, and the infos say that the other won 3 game points.

Seeds. ``reset(seed=s)`` gives deal 0 of game 0 of seed s, the cards of ``Game(seed=s)``. ``reset()`` goes on to the
next deal of the game; seat 0 leads the even ones, seat 1 the odd ones (within a match, the loser of the last). The
first reset without a seed asks the operating system for one.

State. ``state()`` [2 D + 24] float32 is for centralised critics and knows all cards: what seat 0 sees, what seat 1
sees, and 24 entries for the talon: 1 for the card to be drawn next, 1/24 less for each one after it, 0 for others.
"""

import operator
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from . import engine
from .actions import NUM_ACTIONS, IllegalAction, action_number
from .batch import new_games
from .cards import NUM_CARDS
from .compiled import Array, Record, int64, jit
from .observation import OBSERVATION_SIZE, real_action
from .render import RENDER_MODES, check_render_mode, render
from .rng import check_seed
from .rules import DEFAULT_RULES, Rules
from .state import new_states
from .vector import ILLEGAL_STAKE, check_episode, observation_space, reward_of, show, start_games
from .view import VIEW, view_of

AGENTS = ("player_0", "player_1")
_SEATS = {agent: seat for seat, agent in enumerate(AGENTS)}
STATE_SIZE = 2 * OBSERVATION_SIZE + NUM_CARDS

_REFUSED = -2


class SantaseAECEnv(AECEnv[str, dict[str, Array], int | None]):  # type: ignore[misc]  # PettingZoo ships no types
    """The game as in the docstring of this module; an illegal action raises IllegalAction.

    rules: Rules or their text. episode: "deal" or "match". canonical_suits: rename suits so that trumps come first,
    in observation, state, mask and actions. render_mode: None, "ansi" (render() returns text) or "human" (every
    step prints it): the deal as the agent to move may see it, and with open cards once it is over.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "santase_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        rules: Rules | str | Mapping[str, Any] = DEFAULT_RULES,
        *,
        episode: Literal["deal", "match"] = "deal",
        canonical_suits: bool = False,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.rules = Rules.of(rules)
        self.episode = check_episode(episode)
        self.canonical_suits = canonical_suits
        self.render_mode = check_render_mode(render_mode)
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        self.agent_selection = AGENTS[0]
        self.observation_spaces = {agent: observation_space() for agent in AGENTS}
        self.action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in AGENTS}
        self.state_space = spaces.Box(0.0, 1.0, (STATE_SIZE,), np.float32)
        self._states = new_states(1, self.rules)
        self._begun = False
        self._view = np.zeros(1, VIEW)
        self._observations = np.zeros((2, OBSERVATION_SIZE), np.float32)
        self._masks = np.zeros((2, NUM_ACTIONS), np.int8)

    def observation_space(self, agent: str) -> spaces.Dict:
        """The same object for the same agent, always."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The same object for the same agent, always."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode: deal 0 of a seed, or without one the next deal of this game. There are no options."""
        if seed is not None or not self._begun:
            self._states = new_games(1, self.rules, check_seed(seed))
        else:
            self._states["deal"] += 1
        self._begun = True
        start_games(self._states, 0)
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        blank = dict.fromkeys(("winner", "game_points", "points", "tricks", "reason", "illegal", "deals"), 0)
        self.infos = {agent: {**blank, "winner": -1} for agent in AGENTS}
        self._skip_agent_selection = None
        self._show()
        self._draw()

    def step(self, action: int | None) -> None:
        """Take an action for ``agent_selection``; the dead step of a finished agent takes None.

        Raises IllegalAction, and then nothing has changed.
        """
        if not self.agents:
            raise ValueError("there is nobody to act: call reset() to begin an episode")
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        number = action_number(action)
        player = play(self._states, number, self.canonical_suits, self._view, self._observations, self._masks)
        if player >= 0:
            self.agent_selection = AGENTS[player]
        elif player == _REFUSED:
            legal = ", ".join(map(str, np.flatnonzero(self._masks[_SEATS[agent]])))
            raise IllegalAction(f"action {action} is not legal for {agent}, whose mask allows {legal}")
        else:
            self._end_deal()
        self._draw()

    def forfeit(self) -> None:
        """End the episode because the agent to move did something illegal: it loses 3 game points to the other."""
        loser = _SEATS[self.agent_selection]
        self._note(winner=1 - loser, game_points=[ILLEGAL_STAKE * (seat != loser) for seat in range(2)], illegal=1)
        self._finish([-ILLEGAL_STAKE if seat == loser else ILLEGAL_STAKE for seat in range(2)])
        self._draw()

    def observe(self, agent: str) -> dict[str, Array]:
        """What this agent sees, whether it is to move or not, and after the end too."""
        self._check_begun()
        try:
            seat = _SEATS[agent]
        except KeyError:
            raise ValueError(f"there is no agent {agent!r}; there are {', '.join(AGENTS)}") from None
        return {"observation": self._observations[seat].copy(), "action_mask": self._masks[seat].copy()}

    def state(self) -> Array:
        """All of the game [2 D + 24] float32, hidden cards included."""
        self._check_begun()
        row = np.zeros(STATE_SIZE, np.float32)
        row[: 2 * OBSERVATION_SIZE] = self._observations.ravel()
        fill_talon(self._states[0], self.canonical_suits, row[2 * OBSERVATION_SIZE :])
        return row

    def render(self) -> str | None:
        """The deal as text ("ansi"), or printed ("human")."""
        self._check_begun()
        state = self._states[0]
        over = state.player < 0 or not self._masks.any()
        return render(state if over else view_of(state, int(state.player)), self.render_mode)

    def close(self) -> None:
        """Nothing is held open."""

    def __copy__(self) -> "SantaseAECEnv":
        # A copy that shared its records would move with the original.
        return deepcopy(self)

    def _check_begun(self) -> None:
        if not self._begun:
            raise ValueError("there is no deal yet: call reset() first")

    def _show(self) -> None:
        player = show_both(self._states, self.canonical_suits, self._view, self._observations, self._masks)
        self.agent_selection = AGENTS[player]

    def _draw(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _end_deal(self) -> None:
        state = self._states[0]
        match = self.episode == "match"
        self._note(int(state.winner), state.game_points.tolist(), reason=int(state.reason))
        if match and not engine.match_over(state):
            self._draw()
            engine.next_deal(state)
            self._show()
        else:
            self._finish([reward_of(state, seat, match) for seat in range(2)])

    def _note(self, winner: int, game_points: list[int], reason: int = 0, illegal: int = 0) -> None:
        state = self._states[0]
        for seat, agent in enumerate(AGENTS):
            self.infos[agent] = {
                "winner": winner,
                "game_points": game_points[seat],
                "points": int(state.points[seat]),
                "tricks": int(state.tricks[seat]),
                "reason": reason,
                "illegal": illegal,
                "deals": self.infos[agent]["deals"] + 1,
            }

    def _finish(self, rewards: list[int]) -> None:
        self.terminations = dict.fromkeys(AGENTS, True)
        self.rewards = dict(zip(AGENTS, rewards, strict=True))
        self._accumulate_rewards()
        self._masks[...] = 0
        self.agent_selection = AGENTS[0]


class IllegalEndsEpisode(OrderEnforcingWrapper[str, dict[str, Array], int | None]):  # type: ignore[misc]
    """What ``env()`` adds: an illegal action ends the episode, and calls in the wrong order say what is wrong."""

    def step(self, action: int | None) -> None:
        """As in the environment itself; any integer that is not legal loses the episode, other things raise."""
        try:
            super().step(action)
        except IllegalAction:
            if not _is_integer(action):
                raise
            self.env.forfeit()

    def __str__(self) -> str:
        return str(self.env)

    def __copy__(self) -> "IllegalEndsEpisode":
        return deepcopy(self)


def _is_integer(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def raw_env(**options: Any) -> SantaseAECEnv:
    """The environment itself: illegal actions raise. Options are those of SantaseAECEnv."""
    return SantaseAECEnv(**options)


def env(**options: Any) -> IllegalEndsEpisode:
    """The environment for training loops: an illegal action ends the episode. Options are those of SantaseAECEnv."""
    return IllegalEndsEpisode(SantaseAECEnv(**options))


@jit
def play(states: Array, action: int, canonical: bool, view: Array, observations: Array, masks: Array) -> int:
    """Take an action in the one game of ``states`` [1] and show both seats; returns who is to move now.

    -1: the deal is over; -2: the action is illegal and nothing has changed. view [1] VIEW, observations [2, D] and
    masks [2, 31] are written.
    """
    state = states[0]
    real = real_action(action, state.trump) if canonical else action
    if not engine.is_legal(state, real):
        return _REFUSED
    engine.advance(state, real)
    return show_both(states, canonical, view, observations, masks)


@jit
def show_both(states: Array, canonical: bool, view: Array, observations: Array, masks: Array) -> int:
    """Write what both seats see in the one game of ``states`` [1]; returns who is to move."""
    for seat in range(2):
        show(states[0], seat, canonical, view[0], observations[seat], masks[seat])
    return int64(states[0].player)


@jit
def fill_talon(state: Record, canonical: bool, row: Array) -> None:
    """row [24]: 1 for the card that is drawn next, 1/24 less for each one after it, 0 for cards not in the talon."""
    for card in range(NUM_CARDS):
        real = real_action(card, state.trump) if canonical else card
        row[card] = 0
        for place in range(state.talon):
            last = place == state.talon - 1
            drawn = state.face_up if last else state.dealt[state.deck_size - state.talon + place]
            if drawn == real:
                row[card] = 1 - np.float32(place) / NUM_CARDS
