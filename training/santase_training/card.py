"""``santase card``: put a trained network where others can use it, with a card that says what it is and how good.

The folder gets the newest checkpoint of a run without what only training needs, and README.md: the command that makes
it again, its settings, and an evaluation against a panel under each of its rules.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from santase_agents.checkpoint import MODEL, CheckpointError, find_checkpoint, read_meta, read_tensors, save_checkpoint
from santase_env import __version__, load_policy
from santase_env.policy import AgentError
from santase_env.rules import Rules, mixture_of

from .config import TrainConfig, config_values
from .evaluate import Result, check_deals, evaluate

PANEL = "random greedy heuristic endgame+heuristic pimc ismcts"
HEAVY = ("pimc", "ismcts")
"""Opponents that search, and take minutes."""
PLAYERS = ("{net}", "endgame+{net}", "{search}")
"""The network alone, with exact endgames, and guiding a search."""


def write_card(
    run: Path, out: Path, config: str, panel: Sequence[str], deals: int, heavy_deals: int, note: str
) -> None:
    """Fill ``out`` from the run: the checkpoint, then the card. Raises CheckpointError or AgentError."""
    folder = find_checkpoint(run)
    meta = read_meta(folder)
    kept = {key: value for key, value in meta.items() if key not in ("format", "layout")}
    save_checkpoint(out, kept, read_tensors(folder / MODEL))
    lines = [*_head(meta, config, note), "", *_settings(meta)]
    (out / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines += ["", *_table(out, meta, panel, deals, heavy_deals)]
    (out / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _head(meta: dict[str, Any], config: str, note: str) -> list[str]:
    network = meta["network"]
    sizes = "×".join(map(str, network["hidden"]))
    return [
        "# The released network",
        "",
        f'`load_policy("pretrained")`. A network of kind `{network["kind"]}`, {sizes}, trained by self-play '
        f"(`{meta['algorithm']}`) for {meta['step']:,} steps in {meta.get('seconds', 0) / 3600:.1f} hours on "
        f"{meta.get('threads', 1)} core(s), {meta.get('precision', 'float32')}, seed {meta['config'].get('seed')}, "
        f"under rules `{meta['rules']}`. It plays the most likely action, sees what its player may see, and nothing "
        "else. This card and the checkpoint beside it are written by `santase card`.",
        "",
        "Made again by",
        "",
        f"    santase train --config {config} --run runs/release",
        *(["", note] if note else []),
    ]


def _settings(meta: dict[str, Any]) -> list[str]:
    defaults = config_values(TrainConfig())
    changed = {k: v for k, v in meta["config"].items() if k in defaults and v != defaults[k]}
    return ["## Settings", "", "What differs from the defaults:", ""] + [f"- {k}: {v}" for k, v in changed.items()]


def _table(out: Path, meta: dict[str, Any], panel: Sequence[str], deals: int, heavy_deals: int) -> list[str]:
    mixture = mixture_of(meta["rules"])
    lines = [
        "## Evaluation",
        "",
        f"Game points per deal with 95% intervals, on duplicate deals that training never saw: {deals:,} deals, "
        f"{heavy_deals:,} where somebody searches. santase {__version__}.",
        "",
        "| player | opponent | " + " | ".join(f"{rules}" for rules in mixture) + " |",
        "|---|---|" + "---:|" * len(mixture),
    ]
    for player, opponent, results in _results(out, mixture, panel, deals, heavy_deals):
        cells = [f"{r.mean:+.3f} ± {(r.ci95[1] - r.ci95[0]) / 2:.3f}" for r in results]
        lines.append(f"| {player} | {opponent} | " + " | ".join(cells) + " |")
    return lines


def _results(
    out: Path, mixture: Sequence[Rules], panel: Sequence[str], deals: int, heavy_deals: int
) -> Iterator[tuple[str, str, list[Result]]]:
    console = Console(stderr=True)
    for number, pattern in enumerate(PLAYERS):
        spec = pattern.format(net=f"net:{out}", search=f"search:net={out}")
        name = pattern.format(net="pretrained", search="search:net=pretrained")
        for opponent in panel if number == 0 else [o for o in panel if o in (*HEAVY, "heuristic")]:
            heavy = opponent.split(":")[0] in HEAVY or number == len(PLAYERS) - 1
            results = []
            for rules in mixture:
                console.print(f"{name} against {opponent}, {rules}", highlight=False)
                count = heavy_deals if heavy else deals
                results.append(evaluate(load_policy(spec), opponent, count, rules, names=(name, opponent)))
            yield name, opponent, results


def main(argv: Sequence[str]) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="santase card", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("run", type=Path, help="a finished run, or a checkpoint")
    parser.add_argument("--out", type=Path, required=True, help="folder for the checkpoint and its card")
    parser.add_argument("--config", default="configs/release.yaml", help="what it was trained with (for the card)")
    parser.add_argument("--panel", nargs="+", default=PANEL.split(), help="opponents (default: %(default)s)")
    parser.add_argument("--deals", type=int, default=20_000, help="(default: %(default)s)")
    parser.add_argument("--heavy-deals", type=int, default=4000, help="where somebody searches (default: %(default)s)")
    parser.add_argument("--note", default="", help="a sentence for the card")
    options = parser.parse_args(argv)
    try:
        check_deals(options.deals)
        check_deals(options.heavy_deals)
        write_card(
            options.run, options.out, options.config, options.panel, options.deals, options.heavy_deals, options.note
        )
    except (CheckpointError, AgentError, ValueError) as error:
        Console(stderr=True).print(f"santase card: {error}", markup=False, highlight=False, soft_wrap=True)
        return 2
    print(f"{options.out / 'README.md'}")
    return 0
