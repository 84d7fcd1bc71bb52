"""``santase sweep``: settings by measurement, with Optuna on a shortened budget.

A trial trains one config from the space with every seed of the file and is scored by its game points per deal against
a fixed panel, weighted as the file says. Trials are kept as they end, so a sweep goes on where it was interrupted.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import yaml
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from rich.console import Console
from rich.table import Table

from .config import ConfigError, TrainConfig, config_from, config_values
from .loop import train
from .run import RunError


@dataclass(frozen=True)
class Sweep:
    """What is searched, and how it is scored."""

    base: dict[str, Any]
    space: dict[str, dict[str, Any]]
    """By setting: {low, high, log} for numbers or {choices} for anything."""
    panel: dict[str, float]
    """Weight of each opponent in the score."""
    seeds: tuple[int, ...]


def read_sweep(path: Path) -> Sweep:
    """Of a YAML file with ``base``, ``space``, ``panel`` and ``seeds``; raises ConfigError that names what is wrong."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    wanted = ("base", "space", "panel", "seeds")
    if not isinstance(values, dict) or set(values) != set(wanted):
        raise ConfigError(f"{path} must have the keys {', '.join(wanted)}")
    panel = {str(name): float(weight) for name, weight in values["panel"].items()}
    base = {**values["base"], "opponents": list(panel)}
    config_from(base, str(path))
    for name, space in values["space"].items():
        if not hasattr(TrainConfig, name) and name not in config_values(TrainConfig()):
            raise ConfigError(f"{path}: space has an unknown setting {name!r}")
        if not isinstance(space, dict) or not ({"low", "high"} <= set(space) or "choices" in space):
            raise ConfigError(f"{path}: space of {name} must have low and high, or choices")
    return Sweep(base, values["space"], panel, tuple(int(seed) for seed in values["seeds"]))


def suggest(trial: optuna.Trial, space: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A value of every setting of the space."""
    chosen: dict[str, Any] = {}
    for name, bounds in space.items():
        if "choices" in bounds:
            # Optuna wants plain values; a list, such as hidden, is chosen by its text.
            texts = [json.dumps(choice) for choice in bounds["choices"]]
            chosen[name] = json.loads(trial.suggest_categorical(name, texts))
        elif isinstance(bounds["low"], int) and isinstance(bounds["high"], int):
            chosen[name] = trial.suggest_int(name, bounds["low"], bounds["high"], log=bool(bounds.get("log", False)))
        else:
            low, high = float(bounds["low"]), float(bounds["high"])
            chosen[name] = trial.suggest_float(name, low, high, log=bool(bounds.get("log", False)))
    return chosen


def score(sweep: Sweep, settings: dict[str, Any], folder: Path) -> float:
    """Weighted game points per deal against the panel, mean over the seeds."""
    scores = []
    for seed in sweep.seeds:
        run = folder / f"seed-{seed}"
        config = config_from({**sweep.base, **settings, "seed": seed}, str(folder))
        if not train(config, run):
            raise KeyboardInterrupt
        results = json.loads((run / "result.json").read_text(encoding="utf-8"))
        weights = [next(w for name, w in sweep.panel.items() if r["b"].split(" (")[0] == name) for r in results]
        scores.append(float(np.average([result["mean"] for result in results], weights=weights)))
    return float(np.mean(scores))


def search(sweep: Sweep, out: Path, trials: int) -> optuna.Study:
    """Run trials until there are so many in all; returns the study."""
    out.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(out / "trials.log"))),
        study_name="sweep",
        direction="maximize",
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=len(sweep.space), n_startup_trials=min(8, max(1, trials // 3))),
    )
    done = sum(trial.state == optuna.trial.TrialState.COMPLETE for trial in study.trials)

    def objective(trial: optuna.Trial) -> float:
        folder = out / f"trial-{trial.number:03d}"
        try:
            return score(sweep, suggest(trial, sweep.space), folder)
        except RunError as error:  # settings under which learning broke down
            trial.set_user_attr("failed", str(error))
            raise optuna.TrialPruned from None

    study.optimize(objective, n_trials=max(0, trials - done))
    return study


def show(study: optuna.Study, sweep: Sweep, out: Path) -> None:
    """The trials, best first, on the screen and as sweep.md; the best settings as best.yaml."""
    finished = [trial for trial in study.trials if trial.value is not None]
    if not finished:
        raise RunError(f"no trial in {out} was finished")
    finished.sort(key=lambda trial: -float(trial.value or 0))
    columns = ["trial", "score", *sweep.space]
    table = Table(title="Weighted game points per deal against " + ", ".join(sweep.panel))
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for column in columns:
        table.add_column(column, justify="right")
    for trial in finished:
        values = [trial.params.get(name, "") for name in sweep.space]
        texts = [f"{value:.3g}" if isinstance(value, float) else str(value) for value in values]
        cells = [str(trial.number), f"{trial.value:+.3f}", *texts]
        table.add_row(*cells)
        lines.append("| " + " | ".join(cells) + " |")
    (out / "sweep.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    best = {
        name: json.loads(value) if "choices" in sweep.space[name] else value
        for name, value in finished[0].params.items()
    }
    (out / "best.yaml").write_text(yaml.safe_dump({**sweep.base, **best}), encoding="utf-8")
    Console(width=160).print(table)


def main(argv: Sequence[str]) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="santase sweep", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("config", type=Path, help="YAML: base, space, panel, seeds (see configs/sweep.yaml)")
    parser.add_argument("--out", type=Path, default=Path("runs/sweep"), help="folder (default: %(default)s)")
    parser.add_argument("--trials", type=int, default=24, help="trials in all (default: %(default)s)")
    options = parser.parse_args(argv)
    try:
        sweep = read_sweep(options.config)
        show(search(sweep, options.out, options.trials), sweep, options.out)
    except (ConfigError, RunError) as error:
        Console(stderr=True).print(f"santase sweep: {error}", markup=False, highlight=False, soft_wrap=True)
        return 2
    print(f"{options.out}/best.yaml and sweep.md")
    return 0
