"""Duplicate play: every deal is played twice with the seats exchanged, and the pair is the sample.

The unit is game points per deal, seen from the first agent. Games run side by side, as many as the attribute
``batch`` of a policy allows; a policy is asked only where there is a choice.

The randomness of a decision is keyed by (seed, pair, seat, move), the same in both games of a pair. So it
matters to nobody who is named first: exchanging the agents flips the sign exactly, and an agent against itself
makes exactly 0, whether it plays at random or not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from math import isfinite
from typing import Any

import numpy as np
from scipy.special import stdtrit

from santase_env import __version__
from santase_env.batch import apply_all, deal_all, new_games, views_to_move
from santase_env.compiled import Array, jit
from santase_env.policy import AgentError, Policy, ask, identity_of, load_policy, parts_of
from santase_env.rng import check_seed, derive, game_key
from santase_env.rules import DEFAULT_RULES, Rules, mixture_of
from santase_env.vector import play_forced

CHUNK = 4096
"""Games that run side by side, an even number; it bounds the memory and changes no result. A policy that wants fewer
has an attribute ``batch``."""

LATER_FIELDS = {"version": "", "a_identity": "", "b_identity": ""}
"""Fields of a Result that older ones lack, and what they are read as."""
ROUNDING = 1e-9
"""How far a computed share may lie outside 0 to 1."""

RulesLike = Rules | str | Mapping[str, Any]


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
    version: str = __version__
    """Of this package, when they played; empty in results older than this field."""
    a_identity: str = ""
    """What ``identity_of`` said of ``a``."""
    b_identity: str = ""

    def to_json(self) -> dict[str, Any]:
        """The fields, ready for JSON."""
        return {**self.__dict__, "ci95": list(self.ci95)}

    @classmethod
    def from_json(cls, values: Any) -> "Result":
        """The inverse of ``to_json``; raises ValueError for what no evaluation gives."""
        names = [field.name for field in fields(cls)]
        values = {**LATER_FIELDS, **values} if isinstance(values, dict) else {}
        if sorted(values) != sorted(names):
            raise ValueError(f"a result is an object with {', '.join(names)}")
        texts = [values[name] for name in ("a", "b", "rules", *LATER_FIELDS)]
        shares = [values[name] for name in ("deals_won", "deals_lost", "matches_won")]
        mean, interval, seed = values["mean"], values["ci95"], values["seed"]
        if not all(isinstance(text, str) for text in texts) or type(seed) is not int or not isinstance(interval, list):
            raise ValueError("a result has a field of the wrong kind")
        if not all(_is_number(number) for number in [mean, *interval, *shares]):
            raise ValueError("a result has something that is no number")
        if len(interval) != 2 or not interval[0] <= mean <= interval[1]:
            raise ValueError("a result has an interval around its mean")
        if not all(-ROUNDING <= share <= 1 + ROUNDING for share in shares):
            raise ValueError("a result has shares from 0 to 1")
        check_seed(seed)
        check_deals(values["deals"])
        return cls(**{**values, "ci95": tuple(values["ci95"])})

    def flipped(self) -> "Result":
        """The same result seen from ``b``."""
        return replace(
            self,
            a=self.b,
            b=self.a,
            a_identity=self.b_identity,
            b_identity=self.a_identity,
            mean=0.0 - self.mean,
            ci95=(0.0 - self.ci95[1], 0.0 - self.ci95[0]),
            deals_won=self.deals_lost,
            deals_lost=self.deals_won,
            matches_won=1 - self.matches_won,
        )

    @property
    def half(self) -> float:
        """Half the length of the interval."""
        return (self.ci95[1] - self.ci95[0]) / 2

    def __str__(self) -> str:
        return (
            f"{self.a} against {self.b}: {self.mean:+.3f} ± {self.half:.3f} game points per deal "
            f"({self.deals} deals, rules {self.rules}; deals won {self.deals_won:.1%}, lost {self.deals_lost:.1%}; "
            f"matches won {self.matches_won:.1%})"
        )


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during an evaluation; ``results`` is what it had finished, as that of AgentError."""

    def __init__(self, results: Sequence[Result]) -> None:
        super().__init__()
        self.results = list(results)


def evaluate(
    a: str | Policy,
    b: str | Policy,
    deals: int = 4000,
    rules: RulesLike = DEFAULT_RULES,
    seed: int = 0,
    *,
    names: tuple[str, str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Duplicate play of two agents (specs or policies) over ``deals`` deals, an even number of at least 4.

    ``names`` stand for the agents in the result; ``progress`` is called with the number of deals finished since
    its last call. Raises ValueError for an unknown agent, unknown rules or an impossible number of deals, and
    AgentError when an agent plays illegally or not at all, Interrupted upon Ctrl-C: their ``results`` hold the
    Result of the deals that were finished, if there are any.
    """
    rules = Rules.of(rules)
    seed = check_seed(seed)
    check_deals(deals)
    labels = names or (_label(a), _label(b))
    policies = load_policy(a), load_policy(b)
    identities = identity_of(policies[0]), identity_of(policies[1])
    chunks: list[Array] = []

    def finished() -> list[Result]:
        enough = sum(map(len, chunks)) >= 2  # pairs: of one there is no interval
        return [summarise(np.concatenate(chunks), labels, rules, seed, identities)] if enough else []

    try:
        for points in play_chunks(policies, deals, rules, seed, names=labels, progress=progress):
            chunks.append(points)
    except AgentError as error:
        error.results = finished()
        raise
    except KeyboardInterrupt:
        raise Interrupted(finished()) from None
    return finished()[0]


def evaluate_all(
    agents: Sequence[str | Policy],
    deals: int = 4000,
    rules: RulesLike = DEFAULT_RULES,
    seed: int = 0,
    *,
    names: Sequence[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """Every agent against every other, each pairing once, on the same deals: (0, 1), (0, 2), ..., (1, 2), ...

    Raises as ``evaluate`` does; ``results`` then begins with the pairings that were finished.
    """
    labels = names or [_label(agent) for agent in agents]
    loaded = zip(labels, [load_policy(agent) for agent in agents], strict=True)
    results: list[Result] = []
    try:
        for (name_a, a), (name_b, b) in combinations(loaded, 2):
            results.append(evaluate(a, b, deals, rules, seed, names=(name_a, name_b), progress=progress))
    except (AgentError, Interrupted) as error:
        error.results[:0] = results
        raise
    except KeyboardInterrupt:
        raise Interrupted(results) from None
    return results


def check_deals(deals: int) -> int:
    """A number of deals that duplicate play can use; raises ValueError otherwise."""
    if isinstance(deals, bool) or not isinstance(deals, int) or deals < 4 or deals % 2:
        raise ValueError(f"deals must be an even number of at least 4 (two per pair), not {deals!r}")
    return deals


def rules_notes(agents: Sequence[tuple[str, Policy]], rules: Rules) -> list[str]:
    """A sentence for every agent, given as (name, policy), that says it was trained on other rules.

    A policy says so by an attribute ``rules``, the rules it was trained on; those without it know no rules.
    """
    notes = []
    for name, policy in agents:
        stated = [getattr(part, "rules", None) for part in parts_of(policy)]
        for mixture in {mixture_of(other) for other in stated if other is not None}:
            if rules not in mixture:
                trained = " | ".join(map(str, mixture))
                notes.append(f"{name} was trained under rules {trained}; here it plays under {rules}")
    return notes


def play_duplicate(
    policies: tuple[Policy, Policy],
    deals: int,
    rules: Rules,
    seed: int,
    *,
    names: tuple[str, str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Array:
    """Game points [pairs, 2] of the first policy: column 0 with it in seat 0, column 1 the same cards in seat 1.

    Pair j plays deal 0 of game j of the seed; seat j % 2 leads in both games.
    """
    return np.concatenate(list(play_chunks(policies, deals, rules, seed, names=names, progress=progress)))


def play_chunks(
    policies: tuple[Policy, Policy],
    deals: int,
    rules: Rules,
    seed: int,
    *,
    names: tuple[str, str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Array]:
    """What ``play_duplicate`` gives, piece by piece [pairs of a chunk, 2], each once all of its games have ended.

    The games that end first are short ones, so a part of a chunk would be no fair sample.
    """
    labels = names or (_label(policies[0]), _label(policies[1]))
    size = games_at_once(policies)
    for start in range(0, deals, size):
        stop = min(start + size, deals)
        yield _play_chunk(policies, labels, start, stop, rules, seed, progress).reshape(-1, 2)


def games_at_once(policies: Sequence[Policy]) -> int:
    """An even number of games: the smallest ``batch`` of the policies and of what they are made of, or CHUNK."""
    wanted = [int(getattr(part, "batch", CHUNK)) for policy in policies for part in (policy, *parts_of(policy))]
    smallest = min(CHUNK, *wanted)
    return max(2, smallest - smallest % 2)


def _play_chunk(
    policies: tuple[Policy, Policy],
    labels: tuple[str, str],
    start: int,
    stop: int,
    rules: Rules,
    seed: int,
    progress: Callable[[int], None] | None,
) -> Array:
    pairs = np.arange(start // 2, stop // 2)
    states = np.repeat(new_games(len(pairs), rules, seed, first=start // 2), 2)
    pairs = np.repeat(pairs, 2)
    first_seat = np.arange(stop - start) % 2  # where the first policy sits
    deal_all(states, pairs % 2)
    unfinished = len(states)
    while unfinished:
        rows, players = decisions(states)
        if progress and len(rows) < unfinished:
            progress(unfinished - len(rows))
        unfinished = len(rows)
        for index, policy in enumerate(policies):
            mine = rows[(players != first_seat[rows]) == index]
            if len(mine):
                _let_act(policy, labels[index], states, mine, pairs, seed)
    winners = states["winner"]
    won = states["game_points"].max(axis=1).astype(np.int64)
    sign = np.where(winners < 0, 0, np.where(winners == first_seat, 1, -1))
    return np.asarray(sign * won)


def _let_act(policy: Policy, label: str, states: Array, rows: Array, pairs: Array, seed: int) -> None:
    views, masks = views_to_move(states, rows)
    try:
        actions = ask(policy, label, views, masks, decision_keys(states, rows, pairs, seed))
    except AgentError as error:
        error.agent = label
        raise
    apply_all(states, rows, actions)


def summarise(
    points: Array, names: tuple[str, str], rules: Rules, seed: int, identities: tuple[str, str] = ("", "")
) -> Result:
    """The Result of game points [pairs, 2] of the first-named agent, as ``play_duplicate`` gives them."""
    samples = points.mean(axis=1)
    mean = float(samples.mean())
    error = float(samples.std(ddof=1) / np.sqrt(len(samples)))
    half = error * float(stdtrit(len(samples) - 1, 0.975))
    # In pair j seat j % 2 leads, so the agent leads in column 0 of the even pairs and column 1 of the odd ones.
    leads = np.arange(len(points))[:, None] % 2 == np.arange(2)
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
        a_identity=identities[0],
        b_identity=identities[1],
    )


def match_share(leading: Array, following: Array, target: int) -> float:
    """Probability of winning a match, given game points of deals that the agent led and of those it did not.

    Exact for agents that do not look at the match score: the score and the leader form a Markov chain, the
    loser leads next, after a draw the same player leads again, and either begins equally often.
    """
    outcomes = np.arange(-3, 4)
    chances = np.array([[(deals == value).mean() for value in outcomes] for deals in (leading, following)])
    return float(_match_shares(chances, target)[0, 0].mean())


@jit
def _match_shares(chances: Array, target: int) -> Array:
    """Chances [mine, theirs, leader] of winning from every score; leader 0 is the agent, 1 the other.

    ``chances`` [leader, 7]: of each outcome of a deal, -3 to 3.
    """
    share = np.zeros((target + 3, target + 3, 2))
    share[target:] = 1.0
    for total in range(2 * target - 2, -1, -1):
        for mine in range(max(0, total - target + 1), min(target, total + 1)):
            theirs = total - mine
            for leader in range(2):
                drawn = chances[leader, 3]
                won = 0.0
                for k in range(1, 4):
                    won += chances[leader, 3 + k] * share[mine + k, theirs, 1] + (
                        chances[leader, 3 - k] * share[mine, theirs + k, 0]
                    )
                # Draws change nothing; if there is nothing else, nobody ever wins.
                share[mine, theirs, leader] = won / (1 - drawn) if drawn < 1 else 0.5
    return share


def decisions(states: Array) -> tuple[Array, Array]:
    """Play every forced move; returns the games [B] that wait for a decision, and the players [B] to move."""
    _play_all_forced(states)
    rows = np.flatnonzero(states["player"] >= 0)
    return rows, states["player"][rows]


@jit
def _play_all_forced(states: Array) -> None:
    for i in range(len(states)):
        play_forced(states[i])


def decision_keys(states: Array, rows: Array, pairs: Array, seed: int) -> Array:
    """Keys [B] uint64 from (seed, pair, seat, move) for the players to move in the games ``rows`` [B].

    ``pairs`` [N] holds the number of the pair that each of all N games belongs to.
    """
    keys = np.empty(len(rows), np.uint64)
    _fill_decision_keys(states, rows, pairs, seed, keys)
    return keys


@jit
def _fill_decision_keys(states: Array, rows: Array, pairs: Array, seed: int, keys: Array) -> None:
    for i in range(len(rows)):
        state = states[rows[i]]
        # Negative numbers, so that no decision shares a key with a deal.
        keys[i] = derive(derive(game_key(seed, -1 - pairs[rows[i]]), state.player), state.log_length)


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def _label(agent: str | Policy) -> str:
    return agent if isinstance(agent, str) else type(agent).__name__
