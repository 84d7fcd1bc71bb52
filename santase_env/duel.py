"""Games of one learner against a policy: what the Gymnasium environments, single and vector, are made of.

Between calls every game either waits for its learner or is over. The opponent is asked for all games at once, and
only where it has a choice; its keys come from (seed, game, deal, seat, move), so a game does not depend on its
neighbours. There may be several opponents, each bound to an episode from start to end.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from . import engine
from .actions import NUM_ACTIONS
from .batch import apply_all, new_games, opener_of, views_to_move
from .cards import NUM_CARDS
from .compiled import Array, Record, jit, lowest_bit
from .observation import OBSERVATION_SIZE, real_action
from .policy import Policy, ask, load_policy
from .rng import derive
from .rules import Rules
from .state import LOG_SIZE, new_states
from .vector import ILLEGAL_STAKE, check_episode, reward_of, show
from .view import VIEW

INFO: list[tuple[str, type]] = [
    ("winner", np.int64),  # seat that won the last finished deal of the episode, -1 for none
    ("game_points", np.int64),  # game points that the learner scored in it
    ("points", np.int64),  # the learner's card points in it
    ("tricks", np.int64),  # tricks that the learner won in it
    ("reason", np.int64),  # why it ended, an index into state.REASONS
    ("illegal", np.int64),  # 1 when an illegal action of the learner ended the episode
    ("deals", np.int64),  # deals of this episode that have ended
    ("seat", np.int64),  # the learner's seat
    ("skipped", np.int64),  # episodes that were over before the learner's first move, since the one before this
    ("skipped_reward", np.float64),  # the learner's reward in them
]
"""What infos tell."""

INFO_KEYS = tuple(name for name, _ in INFO)
DUEL = np.dtype((np.record, np.dtype([*INFO, ("episode", np.int64), ("reward", np.float64), ("over", np.bool_)])))
"""Beside its STATE, what there is to know of a game: its info, number of the episode, reward of this step, end."""


class Duels:
    """``count`` games, the numbers ``first``, ``first + 1``, ... of a seed, each a learner against ``opponent``.

    seat: the learner's, or None: seats and openers change so that four episodes show all four combinations.
    states [count] STATE and duels [count] DUEL hold the games; observation [count, D] float32 and mask
    [count, 31] int8 what the learners see.
    """

    def __init__(
        self,
        count: int,
        first: int,
        opponent: str | Policy,
        rules: Rules | str | Mapping[str, Any],
        *,
        seat: Literal[0, 1] | None,
        episode: Literal["deal", "match"],
        canonical_suits: bool,
    ) -> None:
        if count < 1:
            raise ValueError(f"num_envs must be at least 1, not {count}")
        if first < 0:
            raise ValueError(f"game must be at least 0, not {first}")
        if seat not in (None, 0, 1):
            raise ValueError(f"seat must be 0, 1 or None, not {seat!r}")
        self.first = first
        self.rules = Rules.of(rules)
        self.seat = -1 if seat is None else int(seat)
        self.match = check_episode(episode) == "match"
        self.canonical_suits = canonical_suits
        self.states = new_states(count, self.rules)
        self.duels = np.zeros(count, DUEL)
        self.observation = np.zeros((count, OBSERVATION_SIZE), np.float32)
        self.mask = np.zeros((count, NUM_ACTIONS), np.int8)
        self.bound = np.zeros(count, np.int64)
        """Number of the opponent in each game."""
        self.opponents: dict[int, Policy] = {}
        self._view = np.zeros(1, VIEW)
        self.set_opponents([opponent])

    def set_opponents(self, opponents: Sequence[str | Policy], shares: Sequence[float] | None = None) -> None:
        """From now on every episode that begins is played by one of these, drawn by ``shares`` (equal ones if None);
        episodes under way keep theirs. Raises ValueError unless there is a share of at least 0 for each, not all 0."""
        weights = np.asarray([1.0] * len(opponents) if shares is None else shares, np.float64)
        if not len(opponents) or weights.shape != (len(opponents),) or weights.min() < 0 or not weights.sum() > 0:
            raise ValueError(f"there must be a share of at least 0 for every opponent, not all 0, not {shares!r}")
        numbers = []
        for policy in map(load_policy, opponents):
            known = [number for number, other in self.opponents.items() if other is policy]
            numbers.append(known[0] if known else 1 + max(self.opponents, default=-1))
            self.opponents[numbers[-1]] = policy
        kept = {*self.bound.tolist(), *numbers}
        self.opponents = {number: policy for number, policy in self.opponents.items() if number in kept}
        self.called, self.reach = np.array(numbers), weights.cumsum() / weights.sum()

    def seed(self, rows: Array, seed: int) -> None:
        """Put the games ``rows`` [B] before their first episode under this seed."""
        fresh = new_games(len(self.states), self.rules, seed, self.first)
        self.states[rows] = fresh[rows]
        self.states["deal"][rows] = -1
        self.duels["episode"][rows] = -1

    def start(self, rows: Array) -> None:
        """Begin the next episode in the games ``rows`` [B], up to the learner's first turn."""
        for field in ("skipped", "skipped_reward"):
            self.duels[field][rows] = 0
        late = rows
        while len(late):
            deal_next(self.states, self.duels, late, self.first, self.seat)
            bind_all(self.states, late, self.called, self.reach, self.bound)
            self._play_on(late)
            late = late[self.duels["over"][late]]
            self.duels["skipped"][late] += 1
            self.duels["skipped_reward"][late] += self.duels["reward"][late]
        self.show(rows)

    def step(self, rows: Array, actions: Array) -> None:
        """The learners' actions [B] in the games ``rows`` [B], and all that follows up to their next turn."""
        take(self.states, self.duels, rows, actions, self.canonical_suits)
        self._play_on(rows)
        self.show(rows)

    def _play_on(self, rows: Array) -> None:
        while len(rows):
            rows = rows[wait_for_choice(self.states, self.duels, rows, self.match)]
            if not len(rows):
                return
            views, masks = views_to_move(self.states, rows)
            keys = np.empty(len(rows), np.uint64)
            fill_opponent_keys(self.states, rows, keys)
            actions = np.empty(len(rows), np.int64)
            for number in np.unique(self.bound[rows]):
                opponent, his = self.opponents[int(number)], self.bound[rows] == number
                name = f"the opponent {type(opponent).__name__}"
                actions[his] = ask(opponent, name, views[his], masks[his], keys[his])
            apply_all(self.states, rows, actions)

    def show(self, rows: Array) -> None:
        """Write what the learners of the games ``rows`` [B] see."""
        show_learners(self.states, self.duels, rows, self.canonical_suits, self._view, self.observation, self.mask)


@jit
def deal_next(states: Array, duels: Array, rows: Array, first: int, seat: int) -> None:
    """Deal the next episode in the games ``rows``; seat -1 lets the learners' seats change."""
    for i in rows:
        duel, state = duels[i], states[i]
        duel.episode += 1
        state.deal += 1
        turn = first + i + duel.episode
        duel.seat = seat if seat >= 0 else turn >> 1 & 1
        engine.new_match(state, opener_of(first + i, duel.episode))
        duel.winner = -1
        duel.game_points = 0
        duel.points = 0
        duel.tricks = 0
        duel.reason = 0
        duel.illegal = 0
        duel.deals = 0
        duel.reward = 0
        duel.over = False


@jit
def bind_all(states: Array, rows: Array, called: Array, reach: Array, bound: Array) -> None:
    """Draw an opponent for the episodes that begin in ``rows``: the numbers ``called`` [K] by cumulative ``reach``."""
    for i in rows:
        if len(called) == 1:
            bound[i] = called[0]
            continue
        # Beyond the counters of the players' decisions, which begin from the same key.
        chance = derive(derive(states[i].key, states[i].deal), (NUM_CARDS + 2) * LOG_SIZE)
        drawn = float(chance >> np.uint64(11)) / 2.0**53
        k = 0
        while k < len(called) - 1 and drawn >= reach[k]:
            k += 1
        bound[i] = called[k]


@jit
def take(states: Array, duels: Array, rows: Array, actions: Array, canonical: bool) -> None:
    """The learners' actions [B]; an illegal one ends its episode, lost by 3 game points."""
    for k in range(len(rows)):
        duel, state = duels[rows[k]], states[rows[k]]
        duel.reward = 0
        action = real_action(actions[k], state.trump) if canonical else actions[k]
        if engine.is_legal(state, action):
            engine.advance(state, action)
        else:
            note(state, duel)
            duel.winner = 1 - duel.seat
            duel.illegal = 1
            duel.reward = -ILLEGAL_STAKE
            duel.over = True


@jit
def wait_for_choice(states: Array, duels: Array, rows: Array, match: bool) -> Array:
    """Play the opponent's forced moves and go on to the next deal of a match; returns [B] bool: it must choose."""
    waiting = np.zeros(len(rows), np.bool_)
    for k in range(len(rows)):
        duel, state = duels[rows[k]], states[rows[k]]
        while not duel.over and state.player != duel.seat:
            if state.player < 0:
                end_deal(state, duel, match)
                continue
            bits = engine.legal_bits(state)
            if bits & (bits - 1):
                waiting[k] = True
                break
            engine.advance(state, lowest_bit(bits))
    return waiting


@jit
def end_deal(state: Record, duel: Record, match: bool) -> None:
    """Note how the deal ended; then the next one of the match, or the end of the episode."""
    note(state, duel)
    if match and not engine.match_over(state):
        engine.next_deal(state)
    else:
        duel.reward = reward_of(state, duel.seat, match)
        duel.over = True


@jit
def note(state: Record, duel: Record) -> None:
    """Into the info: how a deal ended, as the learner saw it."""
    duel.winner = state.winner
    duel.game_points = state.game_points[duel.seat]
    duel.points = state.points[duel.seat]
    duel.tricks = state.tricks[duel.seat]
    duel.reason = state.reason
    duel.deals += 1


@jit
def fill_opponent_keys(states: Array, rows: Array, keys: Array) -> None:
    """keys [B] uint64 of the players to move in the games ``rows``."""
    for k in range(len(rows)):
        state = states[rows[k]]
        # Counters beyond those of the shuffle, which is made from the same key.
        keys[k] = derive(derive(state.key, state.deal), (NUM_CARDS + state.player) * LOG_SIZE + state.log_length)


@jit
def show_learners(
    states: Array, duels: Array, rows: Array, canonical: bool, view: Array, observation: Array, mask: Array
) -> None:
    """Write what the learners of the games ``rows`` see; the mask is all zeros once an episode is over."""
    for i in rows:
        show(states[i], duels[i].seat, canonical, view[0], observation[i], mask[i])
        if duels[i].over:
            mask[i, :] = 0
