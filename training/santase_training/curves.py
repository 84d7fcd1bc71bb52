"""Learning curves as numbers: what the logs of some runs say, with seeds of one config taken together."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from santase_env.compiled import Array

from .log import LOG_NAME, Line, LogError, read_log

NOT_COMPARED = ("seed", "threads", "run", "expected")
"""Settings in which seeds of one config may differ."""


@dataclass(frozen=True)
class Run:
    """One training run as its log tells it; of two lines for the same step the later one counts."""

    path: Path
    config: dict[str, Any]
    train: dict[int, Line]
    """Training lines by step."""
    evaluations: dict[str, dict[int, Line]]
    """Evaluation lines by opponent and step."""


@dataclass(frozen=True)
class Group:
    """Runs that are seeds of one config."""

    name: str
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Curve:
    """A mean and its 95% interval over steps, all [K]; without an interval low and high are the mean."""

    steps: Array
    mean: Array
    low: Array
    high: Array
    runs: int
    """Runs it is the mean of."""


def read_run(path: str | Path) -> Run:
    """The run in a folder; raises LogError with one sentence if it cannot be drawn."""
    path = Path(path)
    if not path.is_dir():
        raise LogError(f"there is no run folder {path}")
    if not (path / LOG_NAME).exists():
        raise LogError(f"{path} is no run: it holds no {LOG_NAME}")
    config: dict[str, Any] = {}
    train: dict[int, Line] = {}
    evaluations: dict[str, dict[int, Line]] = {}
    for line in read_log(path):
        try:
            if line["event"] == "start":
                config = dict(line["config"])
            elif line["event"] == "train":
                train[int(line["step"])] = line
            elif line["event"] == "eval":
                low, high = line["ci95"]
                numbers: Line = {
                    "step": int(line["step"]),
                    "mean": float(line["mean"]),
                    "ci95": [float(low), float(high)],
                }
                evaluations.setdefault(str(line["opponent"]), {})[numbers["step"]] = {**line, **numbers}
        except (KeyError, TypeError, ValueError):
            raise LogError(f"{path / LOG_NAME}: cannot make sense of {json.dumps(line)[:100]}") from None
    if not evaluations:
        raise LogError(f"{path} holds no evaluations yet")
    return Run(path, config, train, evaluations)


def group_runs(runs: Sequence[Run]) -> list[Group]:
    """The runs with those of equal config together, in the order of their first.

    A group is named after its folders, and where that is not enough, by the settings in which groups differ.
    """
    together: dict[str, list[Run]] = {}
    for run in runs:
        together.setdefault(json.dumps(_compared(run), sort_keys=True), []).append(run)
    names = [_shared_name(members) for members in together.values()]
    if len(set(names)) < len(names):
        names = [f"{name} {difference}" for name, difference in zip(names, _differences(together), strict=True)]
    return [Group(name, tuple(members)) for name, members in zip(names, together.values(), strict=True)]


def opponents_of(groups: Sequence[Group]) -> list[str]:
    """Every opponent that some run was measured against, in the order of the logs."""
    return list(dict.fromkeys(name for group in groups for run in group.runs for name in run.evaluations))


def evaluation_curve(group: Group, opponent: str) -> Curve | None:
    """Game points per deal against ``opponent``; None if no run was measured against it.

    The interval of a single run is that of its evaluations; of several, that of the mean over seeds. A mean over
    seeds reaches as far as all of them do.
    """
    lines = [run.evaluations[opponent] for run in group.runs if opponent in run.evaluations]
    if not lines:
        return None
    if len(lines) == 1:
        ordered = [lines[0][step] for step in sorted(lines[0])]
        low, high = np.array([line["ci95"] for line in ordered]).T
        mean = np.array([line["mean"] for line in ordered])
        return Curve(np.array(sorted(lines[0])), mean, low, high, 1)
    steps, table = _common([{step: line["mean"] for step, line in run.items()} for run in lines])
    if not len(steps):
        raise LogError(f"the runs of {group.name} were not measured against {opponent} over the same steps")
    mean = table.mean(axis=0)
    half = table.std(axis=0, ddof=1) / math.sqrt(len(table)) * float(stdtrit(len(table) - 1, 0.975))
    return Curve(steps, mean, mean - half, mean + half, len(table))


def training_curve(group: Group, key: str, smooth: int) -> Curve | None:
    """A quantity of the training lines, each run smoothed over ``smooth`` updates; None if no run logged it.

    Low and high are the lowest and the highest seed.
    """
    series = []
    for run in group.runs:
        steps = [step for step in sorted(run.train) if _is_number(run.train[step].get(key))]
        if steps:
            values = moving_average(np.array([float(run.train[step][key]) for step in steps]), smooth)
            series.append(dict(zip(steps, values.tolist(), strict=True)))
    if not series:
        return None
    common, table = _common(series)
    if not len(common):
        return None
    return Curve(common, table.mean(axis=0), table.min(axis=0), table.max(axis=0), len(series))


def moving_average(values: Array, width: int) -> Array:
    """Mean of the ``width`` values around each one, [K] -> [K]; fewer at the ends."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    places = np.arange(len(values))
    first = np.maximum(places - (width - 1) // 2, 0)
    last = np.minimum(places + width // 2 + 1, len(values))
    return np.asarray((sums[last] - sums[first]) / (last - first))


def _common(series: list[dict[int, float]]) -> tuple[Array, Array]:
    """Steps [K] of the shortest of R series, as far as all cover them, and the values [R, K] there.

    Seeds reach an update at slightly different steps, so values between two steps are interpolated.
    """
    first = max(min(one) for one in series)
    steps = [step for step in sorted(min(series, key=max)) if step >= first]
    values = [np.interp(steps, sorted(one), [one[step] for step in sorted(one)]) for one in series]
    return np.array(steps), np.array(values)


def _compared(run: Run) -> dict[str, Any]:
    return {key: value for key, value in run.config.items() if key not in NOT_COMPARED}


def _shared_name(runs: Sequence[Run]) -> str:
    names = [run.path.resolve().name for run in runs]
    if len(names) == 1:
        return names[0]
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    prefix = "".join(letters[0] for letters in same)
    return re.sub(r"([-_ .]+(seed|s))?[-_ .=]*\d*$", "", prefix) or names[0]


def _differences(together: Mapping[str, Sequence[Run]]) -> list[str]:
    configs = [_compared(runs[0]) for runs in together.values()]
    keys = dict.fromkeys(key for config in configs for key in config)
    differing = [key for key in keys if any(config.get(key) != configs[0].get(key) for config in configs)]
    return [", ".join(f"{key}={config.get(key)}" for key in differing) for config in configs]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
