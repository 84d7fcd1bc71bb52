"""Results as tables for people, as Markdown, and as JSON."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .evaluate import Result
from .ladder import Ladder, is_significant

if TYPE_CHECKING:
    from rich.console import Console

Cell = Callable[[Result], str]


def results_json(agents: Sequence[str], results: Sequence[Result], deals: int, rules: str, seed: int) -> dict[str, Any]:
    """What ``evaluate_all`` gave, or the beginning of it, ready for JSON; pairings that are missing are null."""
    if len(agents) == 2 and results:
        return results[0].to_json()
    cells = _both_ways(len(agents), results)
    means = {pair: cell.mean for pair, cell in cells.items()}
    first = results[0] if results else None
    return {
        "a": agents[0],
        "b": agents[1],
        "mean": first.mean if first else None,
        "ci95": list(first.ci95) if first else None,
        "agents": list(agents),
        "matrix": [[means.get((i, j)) for j in range(len(agents))] for i in range(len(agents))],
        "results": [result.to_json() for result in results],
        "deals": deals,
        "rules": rules,
        "seed": seed,
    }


def show_results(agents: Sequence[str], results: Sequence[Result], deals: int) -> None:
    """Print what ``evaluate_all`` gave, or the beginning of it: at least one Result; missing cells are empty."""
    if len(agents) == 2:
        _show_pair(results[0])
    else:
        _show_matrix(agents, results, deals)


def _show_pair(result: Result) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    table.add_column(f"{result.a} against {result.b}")
    table.add_column()
    table.add_row("game points per deal", _mean(result))
    table.add_row("deals won", f"{result.deals_won:.1%}")
    table.add_row("deals lost", f"{result.deals_lost:.1%}")
    table.add_row("matches won (from the deals)", f"{result.matches_won:.1%}")
    console = _console()
    console.print(table)
    console.print(f" {_how_played(result, result.deals, '')}")
    console.print(" ±: 95% interval")


def _show_matrix(agents: Sequence[str], results: Sequence[Result], deals: int) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    cells = _both_ways(len(agents), results)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("row against column")
    for agent in agents:
        table.add_column(agent, justify="right")
    for i, agent in enumerate(agents):
        row = [cells.get((i, j)) for j in range(len(agents))]
        table.add_row(
            agent, *(f"{_mean(cell)}\n{cell.deals_won:.1%}, {cell.matches_won:.1%}" if cell else "" for cell in row)
        )
    console = _console()
    console.print(table)
    console.print(f" {_how_played(results[0], deals, ' each pairing')}")
    for result in results:
        if result.deals != deals:
            console.print(f" {result.a} against {result.b}: {result.deals:,} deals only")
    console.print(" in each cell: game points per deal ± 95% interval, then deals won, matches won")


def show_ladder(ladder: Ladder) -> None:
    """Print a ladder: a matrix from the weakest agent to the strongest, and a line for each step."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    header, rows = _ladder_cells(ladder)
    table = Table(box=SIMPLE_HEAD)
    for number, text in enumerate(header):
        table.add_column(text, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    console = _console()
    console.print(table)
    for line in [_ladder_caption(ladder), *_ladder_steps(ladder)]:
        console.print(f" {line}")


def ladder_markdown(ladder: Ladder) -> str:
    """A ladder as a Markdown table and a list, which ends with a line break."""
    header, rows = _ladder_cells(ladder)
    lines = [header, ["---"] * len(header), *rows]
    table = "\n".join(
        f"| {' | '.join(_code(text) if text in ladder.agents else text for text in line)} |" for line in lines
    )
    steps = "\n".join(f"- {line}" for line in _ladder_steps(ladder))
    return f"{_ladder_caption(ladder)}\n\n{table}\n\n{steps}\n"


def _code(spec: str) -> str:
    """A spec as code in a cell of a Markdown table."""
    return "`" + spec.replace("|", "\\|") + "`"


def _ladder_cells(ladder: Ladder) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a ladder's matrix."""
    differ = len({result.deals for result in ladder.results.values()}) > 1
    rows = []
    for agent in ladder.agents:
        mean = ladder.mean(agent)
        found = [ladder.results.get((agent, other)) for other in ladder.agents]
        cells = ["" if not cell else f"{_mean(cell)} ({cell.deals:,})" if differ else _mean(cell) for cell in found]
        rows.append([agent, "" if mean is None else f"{mean:+.3f}", *cells])
    return ["row against column", "mean", *ladder.agents], rows


def _ladder_caption(ladder: Ladder) -> str:
    deals = sorted({result.deals for result in ladder.results.values()})
    if not deals:
        return f"nothing played; rules {ladder.rules}; seed {ladder.seed}"
    each = f"{deals[0]:,} deals each pairing" if len(deals) == 1 else "deals of each pairing in brackets"
    how = f"{each}, every one from both seats; rules {ladder.rules}; seed {ladder.seed}"
    return f"Game points per deal ± 95% interval; {how}"


def _ladder_steps(ladder: Ladder) -> list[str]:
    return [
        f"{step.a} over {step.b}: {step.mean:+.3f}, from {step.ci95[0]:+.3f} to {step.ci95[1]:+.3f}, {_verdict(step)}"
        for step in ladder.steps()
    ]


def _verdict(step: Result) -> str:
    if not is_significant(step):
        return "not significant"
    # The order is that of the means over all opponents, and two neighbours may see it otherwise.
    return "significant" if step.mean > 0 else "significant, against the order"


def _both_ways(count: int, results: Sequence[Result]) -> dict[tuple[int, int], Result]:
    """The Result of agent i against agent j, for both orders."""
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    cells = {}
    for (i, j), result in zip(pairs, results, strict=False):  # an evaluation that has failed has fewer results
        cells[i, j], cells[j, i] = result, result.flipped()
    return cells


def _mean(result: Result) -> str:
    return f"{result.mean:+.3f} ± {result.half:.3f}"


def _how_played(result: Result, deals: int, each: str) -> str:
    return f"{deals:,} deals{each}, every one from both seats; rules {result.rules}; seed {result.seed}"


def _console() -> "Console":
    from rich.console import Console

    # A pipe has no width; a table needs what it needs.
    return Console(width=None if sys.stdout.isatty() else 1000, highlight=False, markup=False)
