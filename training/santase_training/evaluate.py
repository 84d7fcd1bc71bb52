"""Duplicate play: every deal is played twice with the seats exchanged, and the pair is the sample.

The unit is game points per deal, seen from the first agent. All games of a pairing run side by side; a
policy is asked only where there is a choice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from santase_env.actions import ACTION_TEXTS
from santase_env.batch import apply_all, deal_all, new_games, views_to_move
from santase_env.compiled import Array, jit
from santase_env.policy import Policy, load_policy
from santase_env.rng import check_seed, game_key, mix
from santase_env.rules import DEFAULT_RULES, Rules
from santase_env.vector import play_forced

CHUNK = 4096
"""Games that run side by side; it bounds the memory and changes no result."""


@dataclass(frozen=True)
class Result:
    """What duplicate play of ``a`` against ``b`` gave, seen from ``a``."""

    a: str
    b: str
    rules: str
    seed: int
    deals: int
    """Deals played, two per pair."""
    mean: float
    """Game points per deal."""
    ci95: tuple[float, float]
    """95% interval of the mean, by Student's t over the pairs."""
    deals_won: float
    deals_lost: float
    """Shares of the deals; what is missing to 1 was drawn."""
    matches_won: float
    """Share of matches that ``a`` would win, computed from the outcomes of the deals (see ``match_share``)."""

    def to_json(self) -> dict[str, Any]:
        """The fields, ready for JSON."""
        return {**self.__dict__, "ci95": list(self.ci95)}

    def __str__(self) -> str:
        half = (self.ci95[1] - self.ci95[0]) / 2
        return (
            f"{self.a} against {self.b}: {self.mean:+.3f} ± {half:.3f} game points per deal "
            f"({self.deals} deals, rules {self.rules}; deals won {self.deals_won:.1%}, lost {self.deals_lost:.1%}; "
            f"matches won {self.matches_won:.1%})"
        )


def evaluate(
    a: str | Policy,
    b: str | Policy,
    deals: int = 4000,
    rules: Rules | str | Mapping[str, Any] = DEFAULT_RULES,
    seed: int = 0,
    *,
    names: tuple[str, str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Duplicate play of two agents (specs or policies) over ``deals`` deals, an even number of at least 4.

    ``progress`` is called with the number of deals finished since the last call. Exchanging a and b flips
    the sign exactly. Raises ValueError for an unknown agent, an odd number of deals, or an illegal action.
    """
    rules = Rules.of(rules)
    seed = check_seed(seed)
    if isinstance(deals, bool) or not isinstance(deals, int) or deals < 4 or deals % 2:
        raise ValueError(f"deals must be an even number of at least 4 (two per pair), not {deals!r}")
    labels = names or (_label(a), _label(b))
    # The order of play is that of the labels, so that the same games are played whoever is named first.
    swapped = labels[0] > labels[1]
    policies = (load_policy(b), load_policy(a)) if swapped else (load_policy(a), load_policy(b))
    points = play_duplicate(policies, deals, rules, seed, progress=progress)
    return summarise(-points if swapped else points, swapped, labels, rules, seed)


def evaluate_all(
    agents: Sequence[str],
    deals: int = 4000,
    rules: Rules | str | Mapping[str, Any] = DEFAULT_RULES,
    seed: int = 0,
    *,
    progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """Every agent against every other, each pairing once, on the same deals."""
    return [evaluate(a, b, deals, rules, seed, progress=progress) for a, b in combinations(agents, 2)]


def play_duplicate(
    policies: tuple[Policy, Policy],
    deals: int,
    rules: Rules,
    seed: int,
    *,
    progress: Callable[[int], None] | None = None,
) -> Array:
    """Game points [pairs, 2] of the first policy: column 0 with it in seat 0, column 1 the same cards in seat 1.

    Pair j plays deal 0 of game j of the seed; seat j % 2 leads in both games.
    """
    points = np.zeros(deals, np.int64)
    for start in range(0, deals, CHUNK):
        stop = min(start + CHUNK, deals)
        points[start:stop] = _play_chunk(policies, start, stop, rules, seed)
        if progress:
            progress(stop - start)
    return points.reshape(-1, 2)


def _play_chunk(policies: tuple[Policy, Policy], start: int, stop: int, rules: Rules, seed: int) -> Array:
    pairs = new_games((stop - start) // 2, rules, seed, first=start // 2)
    states = np.repeat(pairs, 2)
    table = np.arange(start, stop)
    first_seat = table % 2  # where the first policy sits
    deal_all(states, table // 2 % 2)
    while True:
        rows, players = decisions(states)
        if not len(rows):
            break
        for index, policy in enumerate(policies):
            mine = rows[(players != first_seat[rows]) == index]
            if not len(mine):
                continue
            views, masks = views_to_move(states, mine)
            actions = policy.act(views, masks, decision_keys(states, mine, seed, start))
            bad = apply_all(states, mine, np.asarray(actions, np.int64))
            if bad >= 0:
                raise ValueError(
                    f"{type(policy).__name__} chose {_action_text(actions[bad])}, which is not legal there"
                )
    winners = states["winner"]
    won = states["game_points"].max(axis=1).astype(np.int64)
    sign = np.where(winners < 0, 0, np.where(winners == first_seat, 1, -1))
    return np.asarray(sign * won)


def summarise(points: Array, swapped: bool, names: tuple[str, str], rules: Rules, seed: int) -> Result:
    """The Result of game points [pairs, 2] of the first-named agent; ``swapped``: it sat in seat 1 in column 0."""
    samples = points.mean(axis=1)
    mean = float(samples.mean())
    error = float(samples.std(ddof=1) / np.sqrt(len(samples)))
    half = error * float(stats.t.ppf(0.975, len(samples) - 1))
    # In pair j seat j % 2 leads, so the agent leads in column 0 of the even pairs and column 1 of the odd ones.
    leads = (np.arange(points.shape[0])[:, None] % 2) == np.arange(2)[None, :]
    if swapped:
        leads = ~leads
    return Result(
        a=names[0],
        b=names[1],
        rules=str(rules),
        seed=seed,
        deals=points.size,
        mean=mean,
        ci95=(mean - half, mean + half),
        deals_won=float((points > 0).mean()),
        deals_lost=float((points < 0).mean()),
        matches_won=match_share(points[leads], points[~leads], rules.match_target),
    )


def match_share(leading: Array, following: Array, target: int) -> float:
    """Probability of winning a match, given game points of deals that the agent led and of those it did not.

    Exact for agents that do not look at the match score: the score and the leader form a Markov chain, the
    loser leads next, after a draw the same player leads again, and either begins equally often.
    """
    outcomes = np.arange(-3, 4)
    chances = [np.array([(deals == value).mean() for value in outcomes]) for deals in (leading, following)]
    share = np.zeros((target + 3, target + 3, 2))
    share[target:, :, :] = 1.0
    for total in range(2 * target - 2, -1, -1):
        for mine in range(max(0, total - target + 1), min(target, total + 1)):
            theirs = total - mine
            _match_step(share, mine, theirs, chances)
    return float(share[0, 0].mean())


def _match_step(share: Array, mine: int, theirs: int, chances: list[Array]) -> None:
    for leader in range(2):
        drawn = chances[leader][3]
        if drawn == 1.0:
            share[mine, theirs, leader] = 0.5
            continue
        # Losing makes the agent lead the next deal (index 0), winning makes the other lead (index 1).
        won = sum(chances[leader][3 + k] * share[mine + k, theirs, 1] for k in (1, 2, 3))
        lost = sum(chances[leader][3 - k] * share[mine, theirs + k, 0] for k in (1, 2, 3))
        share[mine, theirs, leader] = (won + lost) / (1 - drawn)


def decisions(states: Array) -> tuple[Array, Array]:
    """Play every forced move; returns the games [B] that wait for a decision, and the players [B] to move."""
    _play_all_forced(states)
    rows = np.flatnonzero(states["player"] >= 0)
    return rows, states["player"][rows]


@jit
def _play_all_forced(states: Array) -> None:
    for i in range(len(states)):
        play_forced(states[i])


def decision_keys(states: Array, rows: Array, seed: int, start: int) -> Array:
    """Keys [B] uint64 from (seed, deal, seat, move) for the players to move in the games ``rows``."""
    keys = np.empty(len(rows), np.uint64)
    _fill_decision_keys(states, rows, seed, start, keys)
    return keys


@jit
def _fill_decision_keys(states: Array, rows: Array, seed: int, start: int, keys: Array) -> None:
    for i in range(len(rows)):
        state = states[rows[i]]
        keys[i] = mix(mix(game_key(seed, -1 - start - rows[i]), state.player), state.log_length)


def _label(agent: str | Policy) -> str:
    return agent if isinstance(agent, str) else type(agent).__name__


def _action_text(action: int) -> str:
    return ACTION_TEXTS[action] if 0 <= action < len(ACTION_TEXTS) else f"action {action}"
