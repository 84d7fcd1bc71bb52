"""``santase train``: from arguments and a YAML file to a finished run, its curve, and what to expect of it."""

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from santase_agents.checkpoint import CheckpointError, find_checkpoint

from .config import ConfigError, TrainConfig, load_config
from .loop import train
from .plot import plot_runs
from .run import RunError, set_aside


@dataclass(frozen=True)
class Command:
    """Train an agent by self-play. A run that was interrupted goes on when the same command is given again."""

    settings: Annotated[TrainConfig, tyro.conf.arg(name="")]
    config: Path | None = None
    """YAML file with what differs from the defaults; flags given beside it win."""
    run: Path = Path("runs/ppo")
    """Folder for the log, the checkpoints and the curve."""
    fresh: bool = False
    """Begin anew; an earlier run in the folder is renamed, not deleted."""
    max_updates: int | None = None
    """Stop after so many updates in all, with a checkpoint."""


def main(argv: list[str]) -> int:
    """Run the command; returns the exit code: 0 complete, 2 bad input, 130 interrupted with a checkpoint."""
    console = Console(stderr=True)
    try:
        command = parse(argv)
        aside = set_aside(command.run) if command.fresh else None
        if aside:
            console.print(f"The earlier run is now {aside}", highlight=False)
        complete = train(command.settings, command.run, command.max_updates)
    except (ConfigError, RunError, CheckpointError) as error:
        console.print(f"santase train: {error}", markup=False, highlight=False, soft_wrap=True)
        return 2
    if not complete:
        folder = find_checkpoint(command.run)
        console.print(f"Stopped; the same command goes on from {folder}", highlight=False, soft_wrap=True)
        return 0 if command.max_updates is not None else 130
    plot_runs([command.run], command.run)
    show_result(command.settings, command.run)
    return 0


def parse(argv: list[str]) -> Command:
    """The command that these arguments give; raises ConfigError for a bad file. Bad flags exit with 2."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--config", type=Path)
    path = first.parse_known_args(argv)[0].config
    settings = load_config(path) if path else TrainConfig()
    default = Command(settings=settings, config=path)
    try:
        command = tyro.cli(
            Command, default=default, args=argv, prog="santase train", config=(tyro.conf.OmitArgPrefixes,)
        )
    except ValueError as error:
        raise ConfigError(str(error)) from None
    # What a config reached says nothing about a run with other settings.
    if command.settings != replace(settings, seed=command.settings.seed, threads=command.settings.threads):
        command = replace(command, settings=replace(command.settings, expected={}))
    return command


def show_result(config: TrainConfig, run: Path) -> None:
    """Print what a finished run reached, what was to be expected, and where everything is."""
    results: list[dict[str, Any]] = json.loads((run / "result.json").read_text(encoding="utf-8"))
    console = Console()
    table = Table(title=f"Game points per deal, rules {config.rules}")
    for column in ("against", "mean", "95% interval", "deals won", "expected"):
        table.add_column(column, justify="left" if column == "against" else "right")
    for result in results:
        expected = config.expected.get(result["b"])
        low, high = result["ci95"]
        table.add_row(
            result["b"],
            f"{result['mean']:+.2f}",
            f"{low:+.2f} to {high:+.2f}",
            f"{result['deals_won']:.1%}",
            "" if expected is None else f"about {expected:+.2f}",
        )
    console.print(table)
    rows = {
        "learning curve": f"{run / 'curve.png'} and curve.svg",
        "agent": f"net:{run}  (for example: santase evaluate net:{run} heuristic)",
        "log": f"{run / 'log.jsonl'}; tensorboard --logdir {run / 'tensorboard'}",
        "checkpoints": str(run / "checkpoints"),
    }
    for name, text in rows.items():
        console.print(f"{name + ':':<16}{text}", highlight=False, soft_wrap=True)
