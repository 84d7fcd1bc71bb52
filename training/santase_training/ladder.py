"""The ladder: all agents against each other, ordered by strength.

Every result is kept in a file as soon as it is there, and what the file holds is not played again: so an interrupted
ladder goes on where it was, and a new agent costs its own pairings only. Agents are known by their specs and by the
contents of their files, as far as a policy names those (``identity_of``); results of another version of the package are
passed over.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from santase_env.policy import AgentError, Policy, identity_of, load_policy, parts_of
from santase_env.rules import Rules

from .evaluate import Interrupted, Result, evaluate
from .results import ResultsFile


@dataclass(frozen=True)
class Pairing:
    """Two agents that are to play ``deals`` deals; ``identities``: what ``identity_of`` says of them."""

    a: str
    b: str
    rules: Rules
    seed: int
    deals: int
    identities: tuple[str, str] = ("", "")

    def find(self, kept: ResultsFile) -> Result | None:
        """Its result, if one over enough deals is kept."""
        return kept.find(self.a, self.b, str(self.rules), self.seed, self.deals, self.identities)

    def passed_over(self, kept: ResultsFile) -> int:
        """How many results of another version or of other checkpoints are kept in place of its own; 0 once that is
        there."""
        return 0 if self.find(kept) else len(kept.of_any_origin(self.a, self.b, str(self.rules), self.seed, self.deals))


@dataclass(frozen=True)
class Failure:
    """A pairing that an agent's fault has ended, the sentence that says so, and what was finished: a Result or none."""

    pairing: Pairing
    sentence: str
    results: tuple[Result, ...] = ()

    def __str__(self) -> str:
        after = "".join(f" (after {one.deals:,} deals, {one.mean:+.3f} ± {one.half:.3f})" for one in self.results)
        return f"{self.pairing.a} against {self.pairing.b}, rules {self.pairing.rules}: {self.sentence}{after}"

    def to_json(self) -> dict[str, Any]:
        """Who, where and why, and what was finished, ready for JSON."""
        names = {"a": self.pairing.a, "b": self.pairing.b, "rules": str(self.pairing.rules)}
        return {**names, "error": self.sentence, "results": [one.to_json() for one in self.results]}


@dataclass(frozen=True)
class Ladder:
    """The agents from the weakest to the strongest, and their results both ways."""

    rules: str
    seed: int
    agents: tuple[str, ...]
    results: Mapping[tuple[str, str], Result]

    def mean(self, agent: str) -> float | None:
        """Mean game points per deal over all opponents; None when nothing was played."""
        return mean_of(self.results, agent)

    def steps(self) -> list[Result]:
        """Each agent against the one below it, as far as they have played."""
        pairs = [(upper, lower) for lower, upper in pairwise(self.agents)]
        return [self.results[pair] for pair in pairs if pair in self.results]

    def to_json(self) -> dict[str, Any]:
        """Agents, means, the matrix of means (row against column), steps and results, ready for JSON."""
        means = {pair: result.mean for pair, result in self.results.items()}
        once = [pair for pair in combinations(self.agents, 2) if pair in self.results]
        return {
            "rules": self.rules,
            "seed": self.seed,
            "agents": list(self.agents),
            "means": [self.mean(agent) for agent in self.agents],
            "matrix": [[means.get((a, b)) for b in self.agents] for a in self.agents],
            "steps": [{**step.to_json(), "significant": is_significant(step)} for step in self.steps()],
            "results": [self.results[pair].to_json() for pair in once],
        }


def is_significant(result: Result) -> bool:
    """Does the interval exclude 0?"""
    return result.ci95[0] > 0 or result.ci95[1] < 0


def mean_of(results: Mapping[tuple[str, str], Result], agent: str) -> float | None:
    """Mean game points per deal of an agent over all opponents that it has played; None without any."""
    means = [result.mean for (a, _), result in results.items() if a == agent]
    return sum(means) / len(means) if means else None


def plan(
    policies: Mapping[str, Policy], rules: Iterable[Rules], deals: int, heavy_deals: int, seed: int
) -> list[Pairing]:
    """Every agent against every other under each of the rules, a heavy one over ``heavy_deals`` deals.

    A policy is heavy that has a true attribute ``heavy``, or is a chain with such a part.
    """
    heavy = {
        name for name, policy in policies.items() if any(getattr(part, "heavy", False) for part in parts_of(policy))
    }
    identities = {name: identity_of(policy) for name, policy in policies.items()}
    return [
        Pairing(a, b, one, seed, heavy_deals if {a, b} & heavy else deals, (identities[a], identities[b]))
        for one in rules
        for a, b in combinations(policies, 2)
    ]


def play(
    pairings: Sequence[Pairing],
    policies: Mapping[str, Policy],
    kept: ResultsFile,
    failed: Callable[[Failure], None],
    progress: Callable[[int], None] | None = None,
    *,
    specs: Collection[str] = (),
) -> None:
    """Play what ``kept`` does not hold yet, and keep it there.

    ``failed`` is called with each pairing that an agent's fault has ended; the others go on. ``progress`` is called as
    by ``evaluate``. A policy that failed is loaded anew for its next pairing where its name is one of ``specs``; other
    names mean nothing to ``load_policy``, and their policies stay.
    """
    policies = dict(policies)
    for pairing in pairings:
        if pairing.find(kept):
            continue
        a, b, names = policies[pairing.a], policies[pairing.b], (pairing.a, pairing.b)
        try:
            kept.add(evaluate(a, b, pairing.deals, pairing.rules, pairing.seed, names=names, progress=progress))
        except Interrupted as stop:
            _keep(stop.results, kept)
            raise
        except AgentError as error:
            _keep(error.results, kept)
            failed(Failure(pairing, str(error), tuple(error.results)))
            if error.agent in specs:
                # A program that failed is not started again, but a new policy starts one for the next pairing.
                policies[error.agent] = load_policy(error.agent)


def _keep(results: Iterable[Result], kept: ResultsFile) -> None:
    """Results over fewer deals than were asked for: they stand in the file, and the pairing is played again."""
    for result in results:
        kept.add(result)


def ladders(pairings: Sequence[Pairing], kept: ResultsFile) -> list[Ladder]:
    """A ladder for each of the rules, from the results that are there."""
    return [
        _ladder([one for one in pairings if one.rules == rules], kept) for rules in _once(p.rules for p in pairings)
    ]


def _ladder(pairings: Sequence[Pairing], kept: ResultsFile) -> Ladder:
    results: dict[tuple[str, str], Result] = {}
    for pairing in pairings:
        if found := pairing.find(kept):
            results[pairing.a, pairing.b], results[pairing.b, pairing.a] = found, found.flipped()
    agents = _once(name for pairing in pairings for name in (pairing.a, pairing.b))
    means = {agent: mean for agent in agents if (mean := mean_of(results, agent)) is not None}
    agents.sort(key=lambda agent: means.get(agent, -math.inf))
    return Ladder(str(pairings[0].rules), pairings[0].seed, tuple(agents), results)


def _once(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))
