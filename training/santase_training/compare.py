"""``santase compare``: several ways to learn, on equal steps and on equal minutes, as a figure and a table.

Every entry of the file is trained with every seed for the same number of steps, on one thread each; then again for as
many steps as the first time says it takes in the same number of minutes, with all schedules stretched to that. All of
it goes on where it was interrupted.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from .config import ConfigError, TrainConfig, config_from, config_values
from .curves import Run, read_run
from .log import LogError
from .plot import COLOURS, DASHES, STYLE
from .run import RunError
from .seeds import Estimate, estimate

STEPS, MINUTES = "equal steps", "equal minutes"
DONE = "result.json"


@dataclass(frozen=True)
class Comparison:
    """What is compared: configs by name, the seeds of each, and the time of the second round."""

    entries: dict[str, TrainConfig]
    seeds: tuple[int, ...]
    minutes: float


def read_comparison(path: Path) -> Comparison:
    """Of a YAML file with ``seeds``, ``minutes``, ``base`` (settings of all) and ``entries`` (name: settings).

    Raises ConfigError that names what is wrong.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    wanted: dict[str, Any] = {"seeds": list, "minutes": (int, float), "base": dict, "entries": dict}
    if not isinstance(values, dict) or set(values) != set(wanted):
        raise ConfigError(f"{path} must have the keys {', '.join(wanted)}")
    for key, kind in wanted.items():
        if not isinstance(values[key], kind) or not values[key]:
            raise ConfigError(f"{path}: {key} cannot be {values[key]!r}")
    entries = {}
    for name, changes in values["entries"].items():
        settings = {**values["base"], **(changes or {}), "threads": 1}
        entries[str(name)] = config_from(settings, f"{path}, {name}")
    return Comparison(entries, tuple(int(seed) for seed in values["seeds"]), float(values["minutes"]))


def compare(comparison: Comparison, out: Path, jobs: int) -> None:
    """Train everything that is not trained yet, ``jobs`` runs side by side; then figure and table into ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    rounds = {STEPS: {name: config.total_steps for name, config in comparison.entries.items()}}
    for name in (STEPS, MINUTES):
        if name == MINUTES:
            rounds[MINUTES] = {
                entry: steps_in(comparison, out, entry, config) for entry, config in comparison.entries.items()
            }
        _train_all(list(_runs(comparison, out, name, rounds[name])), jobs)
    results = {name: collect(comparison, out, name) for name in rounds}
    draw(results, comparison, out)
    show(results, comparison, out)


def steps_in(comparison: Comparison, out: Path, name: str, config: TrainConfig) -> int:
    """Steps that an entry takes in the minutes of the comparison, by the speed of its first round."""
    seconds = [_seconds(read_run(folder_of(out, STEPS, name, seed))) for seed in comparison.seeds]
    return max(1, int(config.total_steps * 60 * comparison.minutes / float(np.mean(seconds))))


def folder_of(out: Path, round_: str, name: str, seed: int) -> Path:
    """Where a run is kept."""
    plain = "".join(letter if letter.isalnum() else "-" for letter in name).strip("-")
    return out / round_.replace(" ", "-") / plain / f"seed-{seed}"


def _runs(comparison: Comparison, out: Path, round_: str, steps: dict[str, int]) -> Iterator[tuple[Path, TrainConfig]]:
    for seed in comparison.seeds:
        for name, config in comparison.entries.items():
            changed = {"seed": seed, "total_steps": steps[name], "evaluate_every": max(1, steps[name] // 10)}
            values = {**config_values(config), **changed, "checkpoint_every": max(1, steps[name] // 4)}
            yield folder_of(out, round_, name, seed), config_from(values, name)


def _train_all(runs: Sequence[tuple[Path, TrainConfig]], jobs: int) -> None:
    waiting = [(folder, config) for folder, config in runs if not (folder / DONE).exists()]
    with Progress(console=Console(stderr=True)) as bar, ThreadPoolExecutor(jobs) as pool:
        task = bar.add_task("training", total=len(runs), completed=len(runs) - len(waiting))

        def one(item: tuple[Path, TrainConfig]) -> None:
            _train_apart(*item)
            bar.advance(task)

        list(pool.map(one, waiting))


def _train_apart(folder: Path, config: TrainConfig) -> None:
    """Train in a process of its own, so that runs side by side share nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "wanted.yaml"
    file.write_text(yaml.safe_dump(config_values(config)), encoding="utf-8")
    command = [sys.executable, "-m", "santase_training.cli", "train", "--config", str(file), "--run", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or not (folder / DONE).exists():
        lines = done.stderr.strip().splitlines() or ["it was stopped"]
        raise RunError(f"{folder}: {lines[-1]}")


Curve = tuple[list[int], list[float], list[Estimate]]
"""Steps, minutes, and game points per deal at them."""


def collect(comparison: Comparison, out: Path, round_: str) -> dict[str, dict[str, Curve]]:
    """By opponent and entry: how its seeds did over steps and minutes. The last point is that of the final deals."""
    found: dict[str, dict[str, Curve]] = {}
    for name in comparison.entries:
        runs = [read_run(folder_of(out, round_, name, seed)) for seed in comparison.seeds]
        for opponent in runs[0].evaluations:
            lines = [sorted(run.evaluations[opponent].items()) for run in runs]
            points = list(zip(*lines, strict=False))  # seeds evaluate after the same number of updates
            steps = [int(np.mean([step for step, _ in point])) for point in points]
            minutes = [
                float(np.mean([_seconds(r, p[0]) for r, p in zip(runs, point, strict=True)])) / 60 for point in points
            ]
            scores = [estimate([float(line["mean"]) for _, line in point]) for point in points]
            found.setdefault(opponent, {})[name] = (steps, minutes, scores)
    return found


def _seconds(run: Run, step: int | None = None) -> float:
    """Seconds of training up to a step, or all."""
    lines = [line for at, line in run.train.items() if step is None or at <= step]
    return float(lines[-1]["seconds"]) if lines else 0.0


def draw(results: dict[str, dict[str, dict[str, Curve]]], comparison: Comparison, out: Path) -> list[Path]:
    """compare.png and compare.svg: one row per opponent, equal steps on the left and equal minutes on the right."""
    opponents = list(results[STEPS])
    with rc_context(STYLE):
        figure = Figure(figsize=(10, 0.9 + 3.3 * len(opponents)), layout="constrained", dpi=150)
        grid = figure.subplots(len(opponents), 2, squeeze=False, sharey="row")
        for row, opponent in zip(grid, opponents, strict=True):
            for axes, round_ in zip(row, (STEPS, MINUTES), strict=True):
                _draw_panel(axes, results[round_][opponent], round_)
                axes.set_title(f"{round_}, against {opponent}")
        grid[0][0].set_ylabel("game points per deal")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        rules = next(iter(comparison.entries.values())).rules
        figure.suptitle(
            f"Interquartile mean of {len(comparison.seeds)} seeds, bootstrap interval; rules {rules}; one core each",
            fontsize=9,
            x=0.01,
            ha="left",
        )
        paths = [out / f"compare.{kind}" for kind in ("png", "svg")]
        for path in paths:
            figure.savefig(path)
    return paths


def _draw_panel(axes: Axes, curves: dict[str, Curve], round_: str) -> None:
    for number, (name, (steps, minutes, scores)) in enumerate(curves.items()):
        x = np.array(steps) / 1e6 if round_ == STEPS else np.array(minutes)
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
        axes.plot(x, [score.mean for score in scores], dash, color=colour, label=name, linewidth=1.4)
        axes.fill_between(
            x, [score.low for score in scores], [score.high for score in scores], color=colour, alpha=0.15, linewidth=0
        )
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set_xlabel("million steps" if round_ == STEPS else "minutes of training")


def show(results: dict[str, dict[str, dict[str, Curve]]], comparison: Comparison, out: Path) -> None:
    """The table, on the screen and as compare.md and compare.json."""
    table = Table(title=f"Game points per deal, {len(comparison.seeds)} seeds: interquartile mean and 95% interval")
    columns = ["algorithm", *(f"{o}, {r}" for r in results for o in results[r]), "steps per second"]
    for column in columns:
        table.add_column(column, justify="left" if column == "algorithm" else "right")
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    kept: dict[str, Any] = {}
    for name in comparison.entries:
        cells = [name]
        for round_, by_opponent in results.items():
            for opponent, curves in by_opponent.items():
                steps, minutes, scores = curves[name]
                last = scores[-1]
                cells.append(f"{last.mean:+.2f} ({last.low:+.2f} to {last.high:+.2f})")
                speed = steps[-1] / (60 * minutes[-1])
                kept.setdefault(name, {}).setdefault(round_, {})[opponent] = {
                    **last._asdict(),
                    "steps": steps[-1],
                    "minutes": minutes[-1],
                }
        cells.append(f"{speed / 1000:.1f}k")
        table.add_row(*cells)
        lines.append("| " + " | ".join(cells) + " |")
    (out / "compare.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (out / "compare.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    Console(width=160).print(table)


def main(argv: Sequence[str]) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="santase compare", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("config", type=Path, help="YAML: seeds, minutes, base, entries (see configs/compare.yaml)")
    parser.add_argument("--out", type=Path, default=Path("runs/compare"), help="folder (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side, a core each (default: %(default)s)")
    options = parser.parse_args(argv)
    try:
        if options.jobs < 1:
            raise ConfigError(f"--jobs must be at least 1, not {options.jobs}")
        compare(read_comparison(options.config), options.out, options.jobs)
    except (ConfigError, RunError, LogError) as error:
        Console(stderr=True).print(f"santase compare: {error}", markup=False, highlight=False, soft_wrap=True)
        return 2
    print(f"{options.out}/compare.png, compare.svg, compare.md and compare.json")
    return 0
