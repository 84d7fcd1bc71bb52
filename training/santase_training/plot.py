"""Learning curves of training runs, drawn to PNG and SVG."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from .curves import Curve, Group, evaluation_curve, group_runs, opponents_of, read_run, training_curve
from .log import LogError

FILE_NAME = "curve"

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Of Okabe and Ito, told apart by colour-blind eyes as well."""
DASHES = ("-", "--", ":", "-.")
"""Change when the colours begin again."""

PANELS = (
    ("entropy", "entropy (nats)"),
    ("kl", "KL divergence of an update"),
    ("value_loss", "value loss"),
    ("steps_per_second", "steps per second"),
)
"""Quantities of the training lines, and their titles."""

CAPTION: dict[str, Any] = {"x": 0.012, "ha": "left", "fontsize": 8.5, "color": "#666666"}
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "legend.frameon": False,
}


def plot_runs(runs: Sequence[str | Path], out: str | Path | None = None, smooth: int | None = None) -> list[Path]:
    """Draw the learning curves of these run folders; returns the PNG and the SVG.

    They go to the folder ``out``, else into the run, or for several runs into the folder around the first. Training
    quantities are smoothed over ``smooth`` updates, by default a fiftieth of them. Raises LogError with one
    sentence for a run that cannot be drawn.
    """
    groups = group_runs([read_run(run) for run in dict.fromkeys(Path(run) for run in runs)])
    first = groups[0].runs[0]
    several = sum(len(group.runs) for group in groups) > 1
    folder = Path(out) if out is not None else first.path.parent if several else first.path
    paths = [folder / f"{FILE_NAME}.{kind}" for kind in ("png", "svg")]
    figure = draw(groups, smooth or max(1, len(first.train) // 50))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(paths[0], dpi=160)
        with rc_context({"svg.hashsalt": "santase"}):  # with no date, the same run gives the same file
            figure.savefig(paths[1], metadata={"Date": None})
    except OSError as error:
        raise LogError(f"cannot write to {folder}: {error.strerror}") from None
    return paths


@rc_context(STYLE)
def draw(groups: Sequence[Group], smooth: int) -> Figure:
    """Strength above, training below. One config has its opponents in one panel, several configs one panel each."""
    figure = Figure(figsize=(10, 7.2), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.75, 1])
    upper, lower = parts
    opponents = opponents_of(groups)
    if len(groups) == 1:
        _draw_one_config(upper.subplots(), groups[0], opponents)
    else:
        panels = upper.subplots(1, len(opponents), sharex=True, squeeze=False)[0]
        _draw_configs(panels, groups, opponents)
    upper.suptitle(_caption(groups), **CAPTION)
    for axes, (key, title) in zip(lower.subplots(1, len(PANELS)), PANELS, strict=True):
        for index, group in enumerate(groups):
            _line(axes, training_curve(group, key, smooth), index, width=1.2)
        axes.set_title(title)
        _dress(axes, ticks=4)
        if key == "steps_per_second":
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    several = any(len(group.runs) > 1 for group in groups)
    smoothed = f", mean of {smooth} updates around each point" if smooth > 1 else ""
    lower.suptitle(f"training{smoothed}{'; shaded: lowest to highest seed' if several else ''}", **CAPTION)
    return figure


def _draw_one_config(axes: Axes, group: Group, opponents: Sequence[str]) -> None:
    ends = []
    for index, opponent in enumerate(opponents):
        curve = evaluation_curve(group, opponent)
        _line(axes, curve, index, marker=True)
        if curve is not None:
            ends.append(
                (float(curve.mean[-1]), int(curve.steps[-1]), f"against {opponent} {curve.mean[-1]:+.2f}", index)
            )
    axes.set_ylabel("game points per deal")
    axes.set_title(_group_label(group) if len(group.runs) > 1 else group.name, fontsize=11)
    _dress(axes)
    _draw_zero(axes)
    _label_ends(axes, ends)


def _draw_configs(panels: Sequence[Axes], groups: Sequence[Group], opponents: Sequence[str]) -> None:
    for axes, opponent in zip(panels, opponents, strict=True):
        for index, group in enumerate(groups):
            _line(axes, evaluation_curve(group, opponent), index, marker=True, label=_group_label(group))
        axes.set_title(f"against {opponent}", fontsize=11)
        _dress(axes, ticks=5)
        _draw_zero(axes)
    panels[0].set_ylabel("game points per deal")
    panels[0].legend(loc="lower right")


def _line(
    axes: Axes, curve: Curve | None, index: int, *, width: float = 1.8, marker: bool = False, label: str | None = None
) -> None:
    if curve is None:
        return
    colour = COLOURS[index % len(COLOURS)]
    dashes = DASHES[index // len(COLOURS) % len(DASHES)]
    axes.fill_between(curve.steps, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
    points = "o" if marker and len(curve.steps) <= 30 else ""
    axes.plot(curve.steps, curve.mean, dashes, color=colour, linewidth=width, marker=points, markersize=3, label=label)


def _label_ends(axes: Axes, ends: list[tuple[float, int, str, int]]) -> None:
    """Write each line's name beside its end, moved apart where they would touch."""
    gap = 0.055 * (axes.get_ylim()[1] - axes.get_ylim()[0])
    place = float("-inf")
    for value, step, text, index in sorted(ends):
        place = max(value, place + gap)
        axes.annotate(
            text,
            (step, place),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            color=COLOURS[index % len(COLOURS)],
            fontweight="bold",
            annotation_clip=False,
        )


def _dress(axes: Axes, ticks: int = 8) -> None:
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 5, 10]))
    axes.set_xlabel("steps")
    axes.margins(x=0.02)


def _draw_zero(axes: Axes) -> None:
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, -0.05), max(high, 0.05))
    axes.axhline(0, color="#888888", linewidth=0.8, zorder=1)


def _group_label(group: Group) -> str:
    return f"{group.name} ({len(group.runs)} seed{'s' * (len(group.runs) > 1)})"


def _caption(groups: Sequence[Group]) -> str:
    """Under which rules, over how many deals, and what the shade is."""
    runs = [run for group in groups for run in group.runs]
    lines = [line for run in runs for lines in run.evaluations.values() for line in lines.values()]
    rules = dict.fromkeys(str(line["rules"]) for line in lines if "rules" in line)
    deals = [int(line["deals"]) for line in lines if "deals" in line]
    parts = [f"rules {' / '.join(rules)}"] if rules else []
    if deals:
        span = f"{min(deals):,}" if min(deals) == max(deals) else f"{min(deals):,} to {max(deals):,}"
        parts.append(f"{span} deals per point")
    seeds = {len(group.runs) > 1 for group in groups}
    over = {True: "of the mean over seeds", False: "over the deals"}
    both = "of the mean over seeds, for a single seed over its deals"
    parts.append(f"shaded: 95% interval {both if len(seeds) == 2 else over[seeds.pop()]}")
    return "; ".join(parts)
