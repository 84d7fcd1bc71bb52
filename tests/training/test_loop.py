"""The course of a run: its log, stopping and going on, killing, a full disk, and what is refused."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from santase_agents.checkpoint import CheckpointError, find_checkpoint, read_tensors
from santase_training.config import TrainConfig, config_values
from santase_training.loop import train
from santase_training.run import RunError


def test_a_stopped_and_resumed_run_leaves_the_log_of_an_unbroken_one(tiny: TrainConfig, tmp_path: Path) -> None:
    assert train(tiny, tmp_path / "whole")
    assert not train(tiny, tmp_path / "parts", max_updates=10)
    assert train(tiny, tmp_path / "parts")

    def lines(name: str) -> list[dict[str, object]]:
        text = (tmp_path / name / "log.jsonl").read_text()
        kept = [json.loads(line) for line in text.splitlines()]
        timing = ("seconds", "steps_per_second")
        return [{k: v for k, v in line.items() if k not in timing} for line in kept if line["event"] != "start"]

    assert lines("parts") == lines("whole")
    assert len(lines("whole")) > 20


def test_a_mixture_of_rules_is_evaluated_under_each(tiny: TrainConfig, tmp_path: Path) -> None:
    assert train(replace(tiny, rules="classic | online,false_claim=illegal", total_steps=5000), tmp_path)
    results = json.loads((tmp_path / "result.json").read_text())
    assert [(result["b"], result["rules"]) for result in results] == [
        ("random (classic)", "classic"),
        ("random (online,false_claim=illegal)", "online,false_claim=illegal"),
    ]


def test_resuming_under_other_rules_is_refused_and_both_are_named(tiny: TrainConfig, tmp_path: Path) -> None:
    train(tiny, tmp_path, max_updates=1)
    with pytest.raises(RunError, match=r"rules was 'online,false_claim=illegal' and is now 'classic'"):
        train(replace(tiny, rules="classic"), tmp_path)


def test_a_resumed_run_keeps_the_threads_that_a_probe_found(tiny: TrainConfig, tmp_path: Path) -> None:
    config = replace(tiny, threads=0)
    train(config, tmp_path, max_updates=1)
    path = next((tmp_path / "checkpoints").glob("*/checkpoint.json"))
    meta = json.loads(path.read_text())
    path.write_text(json.dumps({**meta, "threads": 3}))
    train(config, tmp_path, max_updates=2)
    newest = max((tmp_path / "checkpoints").glob("*/checkpoint.json"))
    assert json.loads(newest.read_text())["threads"] == 3


def test_a_run_that_is_killed_at_any_moment_goes_on_from_a_whole_checkpoint(tiny: TrainConfig, tmp_path: Path) -> None:
    """kill -9 in the middle of writing included: the run writes a checkpoint after every update."""
    run, config = tmp_path / "run", tmp_path / "config.yaml"
    values = {**config_values(replace(tiny, checkpoint_every=1, evaluate_every=10**9, total_steps=10**7))}
    config.write_text(json.dumps({key: value for key, value in values.items() if key != "expected"}))
    command = [sys.executable, "-m", "santase_training.cli", "train", "--config", str(config), "--run", str(run)]
    reached = -1
    for attempt in range(3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 120
        while newest_update(run) <= reached + 2:
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(0.013 * attempt)  # not always at the same place of the loop
        process.send_signal(signal.SIGKILL)
        process.communicate()
        folder = find_checkpoint(run)
        assert read_tensors(folder / "model.safetensors")
        assert read_tensors(folder / "trainer.safetensors")
        reached = newest_update(run)
    assert train(replace(tiny, checkpoint_every=1, evaluate_every=10**9, total_steps=10**7), run, reached + 2) is False
    logged = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    updates = [line["update"] for line in logged if line["event"] == "train"]
    assert updates == list(range(1, reached + 3))


def newest_update(run: Path) -> int:
    names = [path.parent.name for path in (run / "checkpoints").glob("update-*/checkpoint.json")]
    return max((int(name.removeprefix("update-")) for name in names), default=-1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_said_and_earlier_checkpoints_stay(
    tiny: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(tiny, tmp_path, max_updates=1)
    before = find_checkpoint(tmp_path)

    def full(*_: object) -> None:
        with open("/dev/full", "w") as file:
            file.write("x")

    monkeypatch.setattr("santase_agents.checkpoint.save_file", full)
    with pytest.raises(CheckpointError, match=r"cannot write the checkpoint .*No space left.*ones are untouched"):
        train(tiny, tmp_path, max_updates=2)
    monkeypatch.undo()
    assert find_checkpoint(tmp_path) == before
    assert train(tiny, tmp_path, max_updates=3) is False


def test_a_checkpoint_without_its_training_state_is_refused(tiny: TrainConfig, tmp_path: Path) -> None:
    train(tiny, tmp_path, max_updates=1)
    os.remove(find_checkpoint(tmp_path) / "trainer.safetensors")
    with pytest.raises(CheckpointError, match=r"cannot read .*trainer.safetensors"):
        train(tiny, tmp_path)


def test_a_checkpoint_of_another_algorithm_is_refused(tiny: TrainConfig, tmp_path: Path) -> None:
    train(tiny, tmp_path, max_updates=1)
    with pytest.raises(RunError, match="algorithm was 'ppo' and is now 'dmc'"):
        train(replace(tiny, algorithm="dmc"), tmp_path)


def test_a_foreign_training_state_is_refused_with_a_sentence(tiny: TrainConfig, tmp_path: Path) -> None:
    train(tiny, tmp_path / "a", max_updates=1)
    train(replace(tiny, num_envs=16), tmp_path / "b", max_updates=1)
    name = "trainer.safetensors"
    shutil.copy(find_checkpoint(tmp_path / "b") / name, find_checkpoint(tmp_path / "a") / name)
    with pytest.raises(RunError, match=r"does not fit this run: .*32 records"):
        train(tiny, tmp_path / "a")


def test_a_missing_start_is_said(tiny: TrainConfig, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"there is no checkpoint at .*nowhere"):
        train(replace(tiny, init=str(tmp_path / "nowhere")), tmp_path / "run")


def test_a_device_that_is_not_there_is_said(tiny: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(RunError, match="device 'cuda' is not there"):
        train(replace(tiny, device="cuda"), tmp_path)
