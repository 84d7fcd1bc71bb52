"""Learning curves: pictures are made, seeds become bands, and what cannot be drawn is named."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from santase_training.curves import evaluation_curve, group_runs, moving_average, read_run, training_curve
from santase_training.log import LogError, RunLog
from santase_training.plot import draw, plot_runs


def make_run(
    folder: Path, seed: int, *, updates: int = 12, opponents: Any = ("random", "greedy"), **config: Any
) -> Path:
    """A run whose means are seed + step / 1000, whose KL is the update and whose value loss is missing."""
    folder.mkdir(parents=True)
    with RunLog.open(folder / "log.jsonl") as log:
        log.append("start", config={"seed": seed, "threads": seed, "rate": 0.1, **config}, seed=seed)
        for update in range(1, updates + 1):
            step = 1000 * update
            log.append("train", update=update, step=step, entropy=1.0, kl=update, steps_per_second=5e4)
            if update % 3 == 0:
                for opponent in ("random", "greedy"):
                    mean = seed + step / 1000
                    log.append(
                        "eval",
                        step=step,
                        opponent=opponent,
                        mean=mean,
                        ci95=[mean - 0.1, mean + 0.1],
                        deals=2000,
                        rules="paper",
                    )
    return folder


def test_a_run_gives_a_png_and_an_svg(tmp_path: Path) -> None:
    run = make_run(tmp_path / "quick", seed=1)
    paths = plot_runs([run])
    assert paths == [run / "curve.png", run / "curve.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    picture = paths[1].read_text()
    assert "<svg" in picture
    plot_runs([run], tmp_path / "again")
    assert (tmp_path / "again" / "curve.svg").read_text() == picture


def test_seeds_of_one_config_become_a_band(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / f"quick-seed{seed}", seed) for seed in (0, 1, 2)]
    groups = group_runs([read_run(run) for run in runs])
    assert [(group.name, len(group.runs)) for group in groups] == [("quick", 3)]
    curve = evaluation_curve(groups[0], "greedy")
    assert curve is not None
    assert curve.runs == 3
    np.testing.assert_array_equal(curve.steps, [3000, 6000, 9000, 12000])
    np.testing.assert_allclose(curve.mean, [4, 7, 10, 13])
    # The mean of 0, 1, 2 has the standard error 1 / sqrt(3), and t(2 degrees) is 4.3027.
    np.testing.assert_allclose(curve.high - curve.mean, 4.302653 / np.sqrt(3), rtol=1e-6)
    np.testing.assert_allclose(curve.mean - curve.low, 4.302653 / np.sqrt(3), rtol=1e-6)
    figure = draw(groups, 1)
    texts = [axes.get_title(loc="left") for axes in figure.axes]
    assert texts[0] == "quick (3 seeds)"
    assert figure.axes[0].get_ylabel() == "game points per deal"
    assert figure.axes[0].get_xlabel() == "steps"
    assert plot_runs(runs)[0] == tmp_path / "curve.png"


def test_a_band_reaches_as_far_as_all_of_its_runs(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "a1", 0), make_run(tmp_path / "a2", 1, updates=7)]
    group = group_runs([read_run(run) for run in runs])[0]
    curve = evaluation_curve(group, "random")
    assert curve is not None
    assert curve.steps.tolist() == [3000, 6000]
    kl = training_curve(group, "kl", 1)
    assert kl is not None
    assert kl.steps.max() == 7000
    assert training_curve(group, "value_loss", 1) is None


def test_seeds_that_reach_their_updates_at_other_steps_are_interpolated(tmp_path: Path) -> None:
    means = ({0: 0.0, 1000: 1.0, 2010: 2.0}, {0: 1.0, 1010: 2.0, 2000: 3.0})
    for seed, points in enumerate(means):
        with RunLog.open(make_run(tmp_path / f"run{seed}", seed, updates=0) / "log.jsonl") as log:
            log.append("start", config={}, seed=seed)
            for step, mean in points.items():
                log.append("eval", step=step, opponent="greedy", mean=mean, ci95=[mean, mean])
    curve = evaluation_curve(group_runs([read_run(tmp_path / f"run{seed}") for seed in (0, 1)])[0], "greedy")
    assert curve is not None
    assert curve.steps.tolist() == [0, 1010, 2000]
    np.testing.assert_allclose(curve.mean, [0.5, (1 + 10 / 1010 + 2) / 2, (2 - 10 / 1010 + 3) / 2])


def test_configs_have_one_panel_per_opponent_and_say_their_seeds(tmp_path: Path) -> None:
    runs = [
        make_run(tmp_path / "fast-1", 1),
        make_run(tmp_path / "fast-2", 2),
        make_run(tmp_path / "slow", 1, rate=0.01),
    ]
    figure = draw(group_runs([read_run(run) for run in runs]), 3)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:2] == ["against random", "against greedy"]
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["fast (2 seeds)", "slow (1 seed)"]


def test_configs_of_the_same_name_are_told_apart_by_what_differs(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "x" / "run", 1), make_run(tmp_path / "y" / "run", 1, rate=0.01)]
    groups = group_runs([read_run(run) for run in runs])
    assert [group.name for group in groups] == ["run rate=0.1", "run rate=0.01"]


def test_a_later_line_of_the_same_step_counts(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", seed=0)
    with (run / "log.jsonl").open("a") as file:
        for line in (
            {"event": "eval", "step": 3000, "opponent": "greedy", "mean": -2.0, "ci95": [-2.1, -1.9]},
            {"event": "train", "update": 1, "step": 1000, "kl": 99.0},
        ):
            file.write(json.dumps(line) + "\n")
    group = group_runs([read_run(run)])[0]
    curve, kl = evaluation_curve(group, "greedy"), training_curve(group, "kl", 1)
    assert curve is not None
    assert curve.mean.tolist() == [-2, 6, 9, 12]
    assert (curve.low[0], curve.high[0]) == (-2.1, -1.9)
    assert kl is not None
    assert kl.mean.tolist() == [99, *range(2, 13)]


def test_smoothing_is_a_centred_mean() -> None:
    values = np.array([1.0, 2.0, 6.0, 0.0])
    np.testing.assert_allclose(moving_average(values, 1), values)
    np.testing.assert_allclose(moving_average(values, 3), [1.5, 3, 8 / 3, 3])
    np.testing.assert_allclose(moving_average(values, 99), values.mean())


def test_what_cannot_be_drawn_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="there is no run folder"):
        plot_runs([tmp_path / "nowhere"])
    with pytest.raises(LogError, match="is no run: it holds no log"):
        plot_runs([tmp_path])
    early = make_run(tmp_path / "early", 1, updates=2)
    with pytest.raises(LogError, match="early holds no evaluations yet"):
        plot_runs([early])
    with (early / "log.jsonl").open("a") as file:
        file.write('{"event": "eval", "step": 1, "opponent": "greedy", "mean": 1}\n')
    with pytest.raises(LogError, match="cannot make sense of"):
        plot_runs([early])
    run = make_run(tmp_path / "run", 1)
    with pytest.raises(LogError, match="cannot write to"):
        plot_runs([run], run / "log.jsonl")
    with (make_run(tmp_path / "run2", 2, updates=0) / "log.jsonl").open("a") as file:
        file.write('{"event": "eval", "step": 1, "opponent": "greedy", "mean": 1, "ci95": [0, 2]}\n')
    with pytest.raises(LogError, match="the runs of run were not measured against greedy over the same steps"):
        plot_runs([run, tmp_path / "run2"])
