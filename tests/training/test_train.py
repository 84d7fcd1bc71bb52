"""``santase train`` from its arguments to a finished run."""

import json
from pathlib import Path

import pytest

from santase_training.cli import main

SMALL = (
    "num_envs: 32\nrollout: 16\nminibatch: 128\nhidden: [16]\ntotal_steps: 6000\nthreads: 1\n"
    "opponents: [random]\nevaluate_every: 2000\nevaluate_deals: 100\nfinal_deals: 100\nexpected: {random: 0.5}\n"
)


def config(folder: Path, text: str = SMALL) -> str:
    path = folder / "small.yaml"
    path.write_text(text)
    return str(path)


def test_a_run_leaves_its_log_curve_result_and_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert main(["train", "--config", config(tmp_path), "--run", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "about +0.50" in shown
    assert f"net:{run}" in shown
    assert [result["b"] for result in json.loads((run / "result.json").read_text())] == ["random"]
    for name in ("log.jsonl", "config.json", "curve.png", "curve.svg"):
        assert (run / name).stat().st_size > 0
    assert list((run / "tensorboard").iterdir())
    assert main(["evaluate", f"net:{run}", "greedy", "--deals", "40", "--json"]) == 0


def test_the_same_command_goes_on_with_an_interrupted_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "--config", config(tmp_path), "--run", str(tmp_path / "run")]
    assert main([*command, "--max-updates", "3"]) == 0
    assert "the same command goes on from" in capsys.readouterr().err
    assert main(command) == 0
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    updates = [line["update"] for line in lines if line["event"] == "train"]
    assert updates == list(range(1, len(updates) + 1))
    # Once more: the run is complete, so only its result is shown again.
    assert main(command) == 0


def test_fresh_sets_an_earlier_run_aside(tmp_path: Path) -> None:
    command = ["train", "--config", config(tmp_path), "--run", str(tmp_path / "run"), "--max-updates", "2"]
    assert main(command) == 0
    assert main([*command, "--fresh"]) == 0
    assert (tmp_path / "run.old-1" / "log.jsonl").exists()


def test_flags_win_over_the_file_and_drop_what_was_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert main(["train", "--config", config(tmp_path), "--run", str(run), "--total-steps", "2000"]) == 0
    assert "about" not in capsys.readouterr().out
    assert json.loads((run / "config.json").read_text())["total_steps"] == 2000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "nowhere.yaml"], "cannot read nowhere.yaml"),
        (["--rules", "onlin"], "did you mean 'online'"),
        (["--rollout", "0"], "rollout must be above 0"),
    ],
)
def test_bad_settings_give_one_sentence_and_exit_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["train", "--run", str(tmp_path / "run"), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_an_unknown_flag_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["train", "--run", str(tmp_path / "run"), "--learning-rat", "1"]) == 2
    assert "--learning-rat" in capsys.readouterr().err


def test_other_settings_do_not_resume_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "--config", config(tmp_path), "--run", str(tmp_path / "run"), "--max-updates", "2"]
    assert main(command) == 0
    capsys.readouterr()
    assert main([*command, "--learning-rate", "0.5"]) == 2
    assert "learning_rate was 0.002 and is now 0.5" in capsys.readouterr().err
