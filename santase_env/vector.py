"""N games at once, two agents: a compiled loop over STATE records, and nothing else.

Each row speaks for the player to move in that game. Rewards have one column per seat, so this is not a
gymnasium VectorEnv. A finished game restarts in the same step.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from . import engine
from .actions import NUM_ACTIONS
from .batch import new_games, opener_of
from .compiled import Array, Record, int64, jit, lowest_bit
from .hidden import HIDDEN_SIZE, encode_hidden
from .observation import canonical_actions, encode_row, observation_size, real_action, write_mask
from .rng import check_seed, mix, random_element
from .rules import DEFAULT_RULES, Mixture, Rules, mixture_of
from .state import STATE, FieldList
from .view import VIEW, fill_view

Info = dict[str, Any]

FINAL = ("winner", "game_points", "points", "tricks", "reason")
"""What ``info["final"]`` tells of a deal that is over: [N], or [N, 2] by seat; reason is an index into REASONS."""

STEP_FIELDS: FieldList = [
    ("legal", np.int64),  # the set of real actions that the player to move may take
    ("player", np.int64),  # seat to move
    ("steps", np.int64),  # actions taken by the last call, forced ones included
    ("winner", np.int64),
    ("game_points", np.int64, (2,)),
    ("points", np.int64, (2,)),
    ("tricks", np.int64, (2,)),
    ("reason", np.int64),
    ("rewards", np.float32, (2,)),
    ("terminated", np.bool_),
    ("deal_over", np.bool_),
]
STEP = np.dtype((np.record, np.dtype(STEP_FIELDS, align=True)))
"""What the last call did in one game, and what it waits for; the arrays handed out are its fields."""

BLOCK = 32
"""Games that move before they are shown."""

ILLEGAL_STAKE = 3
"""Where an illegal action ends an episode: what it costs who does it, and brings the other."""


class SantaseVectorEnv:
    """``num_envs`` games of two agents.

    rules: Rules or their text; several of them, in a list or in a text with "|" between, are a mixture: game g plays
    the one at place g modulo their number (``self.rules`` is the first, ``self.mixture`` has all). episode: "deal"
    (reward: the deal's game points, + winner, - loser) or "match" (±1 at its end). canonical_suits: rename suits so
    that trumps come first, in observation, mask and actions. skip_forced: play moves without a choice inside
    ``step``, so that every row is a decision (but the first row of a deal may be forced in mini decks). copy=False
    hands out the buffers, which the next step overwrites. first_game: number of the first game, so that several
    environments can share the games of one seed. recall: put the public log behind the observation (RECALL_LAYOUT).

    Observations are a dict: "observation" [N, D] float32 in [0, 1], "action_mask" [N, 31] int8. Infos hold
    "player" [N] (seat to move), "final" (see FINAL), "deal_over" [N] bool and "steps" [N] (actions taken by
    this call, forced ones included).
    """

    def __init__(
        self,
        num_envs: int,
        rules: Rules | str | Mapping[str, Any] | Mixture = DEFAULT_RULES,
        *,
        episode: Literal["deal", "match"] = "deal",
        canonical_suits: bool = False,
        skip_forced: bool = False,
        copy: bool = True,
        first_game: int = 0,
        recall: bool = False,
    ) -> None:
        if not isinstance(num_envs, int | np.integer) or num_envs < 1:
            raise ValueError(f"num_envs must be an integer of at least 1, not {num_envs!r}")
        if not isinstance(first_game, int | np.integer) or first_game < 0:
            raise ValueError(f"first_game must be an integer of at least 0, not {first_game!r}")
        self.num_envs = num_envs
        self.first_game = int(first_game)
        self.mixture = mixture_of(rules)
        self.rules = self.mixture[0]
        self.episode = check_episode(episode)
        self.canonical_suits = canonical_suits
        self.skip_forced = skip_forced
        self.copy = copy
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.single_observation_space = observation_space(recall)
        self._states: Array | None = None
        self._steps = np.zeros(num_envs, STEP)
        self._view = np.zeros(1, VIEW)
        self._observation = np.zeros((num_envs, observation_size(recall)), np.float32)
        self._mask = np.zeros((num_envs, NUM_ACTIONS), np.int8)
        self._truncations = np.zeros(num_envs, np.bool_)

    @property
    def states(self) -> Array:
        """The games themselves, STATE [N]: hidden cards and all, for critics and tools, to be read only."""
        if self._states is None:
            raise ValueError("the environment has no games yet: call reset() first")
        return self._states

    def reset(self, seed: int | None = None, options: Info | None = None) -> tuple[dict[str, Array], Info]:
        """Begin a fresh deal in every game: deal 0 under a seed, else the next deal of each game."""
        if seed is not None or self._states is None:
            self._states = new_games(self.num_envs, self.mixture, check_seed(seed), self.first_game)
        else:
            self._states["deal"] += 1
        start_games(self._states, self.first_game)
        return self._show()

    def load_states(self, states: Array) -> tuple[dict[str, Array], Info]:
        """Go on from these games, STATE [N] as ``states`` once gave them, each in the middle of a deal."""
        if states.dtype != STATE or states.shape != (self.num_envs,):
            raise ValueError(
                f"states must be {self.num_envs} records of dtype STATE, not {states.shape} {states.dtype}"
            )
        names = self.rules.packed.dtype.names or ()
        expected = new_games(self.num_envs, self.mixture, 0, self.first_game)
        if (states["player"] < 0).any() or any((states[name] != expected[name]).any() for name in names):
            rules = " | ".join(map(str, self.mixture))
            raise ValueError(f"every state must be in the middle of a deal under rules {rules}")
        self._states = states.copy()
        return self._show()

    def step(self, actions: Any) -> tuple[dict[str, Array], Array, Array, Array, Info]:
        """Take one action in every game: actions [N] integers.

        Returns observations, rewards [N, 2] float32 by seat, terminations [N] and truncations [N] bool, infos.
        Raises ValueError naming the game when an action is illegal there; then no game has moved.
        """
        actions = action_array(actions, self.num_envs)
        bad = step_games(
            self.states,
            actions,
            self.first_game,
            self.canonical_suits,
            self.episode == "match",
            self.skip_forced,
            self._view,
            self._steps,
            self._observation,
            self._mask,
        )
        if bad >= 0:
            player = self._steps[bad].player
            raise ValueError(f"game {bad}: action {actions[bad]} is not legal for player {player}; no game has moved")
        rewards, terminations = self._steps["rewards"], self._steps["terminated"]
        truncations = self._truncations
        if self.copy:
            rewards, terminations, truncations = rewards.copy(), terminations.copy(), truncations.copy()
        return self._observations(), rewards, terminations, truncations, self._infos()

    def sample_actions(self, key: int) -> Array:
        """A uniformly random legal action in every game, [N] int64, as ``step`` takes them; ``key`` (an integer of
        at least 0) is all the randomness, so give every step one of its own."""
        actions = np.empty(self.num_envs, np.int64)
        _sample_all(self.states, self._steps, self.canonical_suits, np.uint64(key), actions)
        return actions

    def views(self) -> Array:
        """VIEWs [N] of the players to move, for policies."""
        views = np.zeros(self.num_envs, VIEW)
        _fill_all(self.states, views)
        return views

    def masks(self) -> Array:
        """Legal actions [N, 31] int8 of the players to move in real suits, as policies want them."""
        masks = np.zeros((len(self.states), NUM_ACTIONS), np.int8)
        _write_masks(self._steps, masks)
        return masks

    def hidden(self, out: Array | None = None) -> Array:
        """What the players to move cannot see, [N, HIDDEN_SIZE] float32 (see hidden.py), for critics in training;
        written into ``out`` if it is given."""
        rows = np.empty((self.num_envs, HIDDEN_SIZE), np.float32) if out is None else out
        _encode_all_hidden(self.states, self.canonical_suits, rows)
        return rows

    def close(self) -> None:
        """Nothing is held open."""

    def _show(self) -> tuple[dict[str, Array], Info]:
        self._steps[:] = np.zeros(1, STEP)
        show_games(self.states, self.canonical_suits, self._view, self._steps, self._observation, self._mask)
        return self._observations(), self._infos()

    def _observations(self) -> dict[str, Array]:
        observation, mask = self._observation, self._mask
        if self.copy:
            observation, mask = observation.copy(), mask.copy()
        return {"observation": observation, "action_mask": mask}

    def _infos(self) -> Info:
        info: Info = {key: self._steps[key] for key in ("player", "deal_over", "steps")}
        final = {key: self._steps[key] for key in FINAL}
        if self.copy:
            info = {key: value.copy() for key, value in info.items()}
            final = {key: value.copy() for key, value in final.items()}
        return {**info, "final": final}


def action_array(actions: Any, count: int) -> Array:
    """Actions [count] int64, legal or not; raises ValueError when they are not ``count`` integers."""
    array = np.asarray(actions)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise ValueError(f"actions must be {count} integers, one per game, not shape {array.shape} of {array.dtype}")
    return array.astype(np.int64, copy=False)


def check_episode(episode: str) -> str:
    """The episode itself; raises ValueError when it is neither "deal" nor "match"."""
    if episode not in ("deal", "match"):
        raise ValueError(f"episode must be 'deal' or 'match', not {episode!r}")
    return episode


def observation_space(recall: bool = False) -> spaces.Dict:
    """Of one player: a flat observation and the mask of legal actions."""
    return spaces.Dict(
        {
            "observation": spaces.Box(0.0, 1.0, (observation_size(recall),), np.float32),
            "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8),
        }
    )


@jit
def start_games(states: Array, first: int) -> None:
    """Deal in every game; ``first`` is the number of the first one."""
    for i in range(len(states)):
        engine.new_match(states[i], opener_of(first + i, states[i].deal))


@jit
def show_games(states: Array, canonical: bool, scratch: Array, steps: Array, observation: Array, mask: Array) -> None:
    """Write what the player to move sees in every game; the arrays are those of ``step_games``."""
    for i in range(len(states)):
        steps[i].player = states[i].player
        steps[i].legal = show(states[i], states[i].player, canonical, scratch[0], observation[i], mask[i])


@jit
def step_games(
    states: Array,
    actions: Array,
    first: int,
    canonical: bool,
    match: bool,
    skip_forced: bool,
    scratch: Array,
    steps: Array,
    observation: Array,
    mask: Array,
) -> int:
    """One legal action in each of N games; returns -1, or the first game whose action is illegal: then none moves.

    states [N] STATE, of the games from number ``first`` on, and actions [N] are read, scratch [1] VIEW is for working
    in; steps [N] STEP, observation [N, D] and mask [N, 31] are written.
    """
    bad = first_illegal(states, steps, actions, canonical)
    if bad >= 0:
        return bad
    # A state that was just changed in small pieces is slow to copy whole, so a few games move, then they are shown.
    for start in range(0, len(states), BLOCK):
        stop = min(start + BLOCK, len(states))
        for i in range(start, stop):
            action = real_action(actions[i], states[i].trump) if canonical else actions[i]
            step_game(states[i], action, opener_of(first + i, states[i].deal + 1), match, skip_forced, steps[i])
        for i in range(start, stop):
            steps[i].legal = show(states[i], states[i].player, canonical, scratch[0], observation[i], mask[i])
    return -1


@jit
def step_game(state: Record, action: int, opener: int, match: bool, skip_forced: bool, step: Record) -> None:
    """A legal action, what follows from it, and a new deal, led by ``opener`` unless the match says otherwise."""
    engine.advance(state, action)
    step.steps = 1
    if skip_forced:
        step.steps += play_forced(state)
    step.rewards[0] = 0
    step.rewards[1] = 0
    step.terminated = False
    step.deal_over = state.player < 0
    if step.deal_over:
        note_outcome(state, step)
        if match and not engine.match_over(state):
            engine.next_deal(state)
        else:
            step.terminated = True
            for seat in range(2):
                step.rewards[seat] = reward_of(state, seat, match)
            state.deal += 1
            engine.new_match(state, opener)
    step.player = state.player


@jit
def note_outcome(state: Record, step: Record) -> None:
    """Write how a deal ended into the fields of FINAL."""
    step.winner = state.winner
    step.reason = state.reason
    for seat in range(2):
        step.game_points[seat] = state.game_points[seat]
        step.points[seat] = state.points[seat]
        step.tricks[seat] = state.tricks[seat]


@jit
def reward_of(state: Record, seat: int, match: bool) -> int:
    """What the episode that ended here brings ``seat``: the deal's game points, or 1 for a match; negative if lost."""
    if state.winner < 0:
        return 0
    stake = 1 if match else int64(state.game_points[state.winner])
    return stake if state.winner == seat else -stake


@jit
def play_forced(state: Record) -> int:
    """Play on while the player to move has a single legal action; returns the number of actions taken."""
    count = 0
    while state.player >= 0:
        bits = engine.legal_bits(state)
        if bits & (bits - 1):
            break
        engine.advance(state, lowest_bit(bits))
        count += 1
    return count


@jit
def show(state: Record, seat: int, canonical: bool, view: Record, observation: Array, mask: Array) -> int:
    """Write what ``seat`` sees, and return the set of its real legal actions, empty when it is not to move."""
    legal = engine.legal_bits(state) if seat == state.player else 0
    fill_view(state, seat, view)
    encode_row(view, canonical, observation)
    write_mask(canonical_actions(legal, state.trump) if canonical else legal, mask)
    return legal


@jit
def first_illegal(states: Array, steps: Array, actions: Array, canonical: bool) -> int:
    """The first game whose action is not in its legal set, or -1."""
    for i in range(len(actions)):
        action = actions[i]
        if not 0 <= action < NUM_ACTIONS:
            return i
        if canonical:
            action = real_action(action, states[i].trump)
        if steps[i].legal >> action & 1 == 0:
            return i
    return -1


@jit
def _sample_all(states: Array, steps: Array, canonical: bool, key: np.uint64, actions: Array) -> None:
    for i in range(len(states)):
        legal = steps[i].legal
        if canonical:
            legal = canonical_actions(legal, states[i].trump)
        actions[i] = random_element(legal, mix(key, i))


@jit
def _fill_all(states: Array, views: Array) -> None:
    for i in range(len(states)):
        fill_view(states[i], states[i].player, views[i])


@jit
def _encode_all_hidden(states: Array, canonical: bool, rows: Array) -> None:
    for i in range(len(states)):
        encode_hidden(states[i], states[i].player, canonical, rows[i])


@jit
def _write_masks(steps: Array, masks: Array) -> None:
    for i in range(len(steps)):
        write_mask(steps[i].legal, masks[i])
