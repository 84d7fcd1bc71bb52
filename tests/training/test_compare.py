"""``santase compare`` and ``santase sweep`` from their files to figures and tables, and what they refuse."""

import json
from pathlib import Path

import pytest
import yaml

from santase_training.cli import main
from santase_training.compare import read_comparison
from santase_training.config import load_config
from santase_training.curves import read_run
from santase_training.sweep import read_sweep

CONFIGS = Path(__file__).parents[2] / "configs"
BASE = {
    "rules": "classic",
    "num_envs": 16,
    "rollout": 8,
    "minibatch": 64,
    "hidden": [8],
    "total_steps": 3000,
    "final_deals": 40,
    "evaluate_deals": 20,
    "pool_share": 0.0,
}


def write(path: Path, values: object) -> str:
    path.write_text(yaml.safe_dump(values))
    return str(path)


def test_a_comparison_leaves_figure_table_and_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(
        tmp_path / "compare.yaml",
        {
            "seeds": [2],
            "minutes": 0.005,
            "base": {**BASE, "opponents": ["random"]},
            "entries": {"PPO": None, "deep Monte-Carlo": {"algorithm": "dmc"}},
        },
    )
    command = ["compare", file, "--out", str(tmp_path / "out"), "--jobs", "2"]
    assert main(command) == 0
    assert "deep Monte-Carlo" in capsys.readouterr().out
    for name in ("compare.png", "compare.svg", "compare.md"):
        assert (tmp_path / "out" / name).stat().st_size > 0
    kept = json.loads((tmp_path / "out" / "compare.json").read_text())
    final = kept["PPO"]["equal steps"]["random"]
    assert final["seeds"] == 1
    assert final["low"] <= final["mean"] <= final["high"]
    run = read_run(tmp_path / "out" / "equal-steps" / "PPO" / "seed-2")
    assert run.config["seed"] == 2
    assert run.config["threads"] == 1
    logs = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*/*/*/log.jsonl")}
    assert len(logs) == 4
    assert main(command) == 0
    assert logs == {path: path.stat().st_mtime_ns for path in logs}, "nothing is trained twice"


def test_a_sweep_keeps_its_trials_and_writes_the_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = {"learning_rate": {"low": 1e-4, "high": 1e-2, "log": True}, "hidden": {"choices": [[8], [4, 4]]}}
    values = {"seeds": [1], "panel": {"random": 0.5, "greedy": 0.5}, "base": {**BASE, "threads": 1}, "space": space}
    file = write(tmp_path / "sweep.yaml", values)
    out = tmp_path / "out"
    assert main(["sweep", file, "--out", str(out), "--trials", "2"]) == 0
    assert main(["sweep", file, "--out", str(out), "--trials", "3"]) == 0
    assert "Weighted game points per deal against" in capsys.readouterr().out
    assert sorted(path.name for path in out.glob("trial-*")) == ["trial-000", "trial-001", "trial-002"]
    best = load_config(out / "best.yaml")
    assert best.hidden in ((8,), (4, 4))
    assert 1e-4 <= best.learning_rate <= 1e-2
    assert len((out / "sweep.md").read_text().splitlines()) == 5


def test_the_files_that_come_along_can_be_read() -> None:
    assert len(read_comparison(CONFIGS / "compare.yaml").entries) >= 6
    assert len(read_sweep(CONFIGS / "sweep.yaml").space) >= 5


@pytest.mark.parametrize(
    ("command", "values", "complaint"),
    [
        ("compare", {"seeds": [1]}, "must have the keys seeds, minutes, base, entries"),
        ("compare", {"seeds": [], "minutes": 1, "base": BASE, "entries": {"a": None}}, "seeds cannot be []"),
        ("compare", {"seeds": [1], "minutes": 1, "base": BASE, "entries": {"a": {"lr": 1}}}, "unknown key 'lr'"),
        ("sweep", {"base": BASE}, "must have the keys base, space, panel, seeds"),
        ("sweep", {"base": BASE, "space": {"lr": {"low": 0, "high": 1}}, "panel": {"random": 1}, "seeds": [1]}, "'lr'"),
        ("sweep", {"base": BASE, "space": {"clip": {"low": 0}}, "panel": {"random": 1}, "seeds": [1]}, "low and high"),
    ],
)
def test_a_bad_file_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, values: object, complaint: str
) -> None:
    assert main([command, write(tmp_path / "bad.yaml", values), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert len(error.strip().splitlines()) == 1
    assert main([command, str(tmp_path / "nowhere.yaml")]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_a_card_says_what_it_is_and_how_good(tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "card"
    file = write(tmp_path / "config.yaml", {**BASE, "threads": 1, "opponents": ["random"]})
    assert main(["train", "--config", file, "--run", str(run)]) == 0
    command = ["card", str(run), "--out", str(out), "--panel", "random", "heuristic", "--deals", "40"]
    assert main([*command, "--heavy-deals", "8", "--config", "configs/mine.yaml"]) == 0
    text = (out / "README.md").read_text()
    assert "santase train --config configs/mine.yaml" in text
    assert "| pretrained | random |" in text
    assert "| search:net=pretrained | heuristic |" in text
    assert "- num_envs: 16" in text
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "checkpoint.json", "model.safetensors"]
    assert main(["evaluate", f"net:{out}", "random", "--rules", "classic", "--deals", "40", "--json"]) == 0
    assert main(["card", str(tmp_path / "nowhere"), "--out", str(out)]) == 2
