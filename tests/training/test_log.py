"""The log of a run: lines reach the disk, a resume leaves what an unbroken run would, broken files are named."""

import json
from pathlib import Path

import numpy as np
import pytest

from santase_training.log import LogError, RunLog, read_log


def write(log: RunLog, first: int, last: int) -> None:
    for step in range(first, last + 1):
        log.append("train", update=step, step=step, kl=step / 10)
        if step % 2 == 0:
            log.append("eval", step=step, opponent="greedy", mean=0.5, ci95=[0.4, 0.6])


def test_every_line_is_on_disk_at_once(tmp_path: Path) -> None:
    with RunLog.open(tmp_path / "log.jsonl") as log:
        log.append("start", config={"out": Path("a/b")}, seed=np.int64(3), rate=np.float32(0.5), pair=np.arange(2))
        assert read_log(tmp_path) == [
            {"event": "start", "config": {"out": "a/b"}, "seed": 3, "rate": 0.5, "pair": [0, 1]}
        ]
        with pytest.raises(TypeError, match="set cannot be logged"):
            log.append("train", step={1})
    assert len(read_log(tmp_path / "log.jsonl")) == 1


def test_the_log_of_a_resumed_run_is_that_of_an_unbroken_one(tmp_path: Path) -> None:
    with RunLog.open(tmp_path / "unbroken.jsonl") as log:
        write(log, 1, 10)
    broken = tmp_path / "broken.jsonl"
    with RunLog.open(broken) as log:
        write(log, 1, 7)
    with broken.open("a") as file:
        file.write('{"event": "train", "upd')
    with RunLog.open(broken, resume_step=4) as log:
        write(log, 5, 10)
    assert broken.read_bytes() == (tmp_path / "unbroken.jsonl").read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["broken.jsonl", "unbroken.jsonl"]


def test_a_resume_keeps_the_lines_that_begin_a_run(tmp_path: Path) -> None:
    with RunLog.open(tmp_path / "log.jsonl") as log:
        log.append("start", config={}, seed=1)
        write(log, 1, 3)
    with RunLog.open(tmp_path / "log.jsonl", resume_step=1) as log:
        log.append("start", config={}, seed=1, step=1)
    assert [line["event"] for line in read_log(tmp_path)] == ["start", "train", "start"]


def test_a_new_log_replaces_an_old_one_and_a_resume_needs_none(tmp_path: Path) -> None:
    for resume_step, left in ((5, 1), (5, 2), (None, 1)):
        with RunLog.open(tmp_path / "log.jsonl", resume_step) as log:
            log.append("train", step=1)
        assert len(read_log(tmp_path)) == left


def test_a_half_written_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    whole = json.dumps({"event": "train", "step": 1})
    for last in ('{"event": "tr', "[1", '{"step": 2}'):
        path.write_text(f"{whole}\n{last}")
        assert read_log(path) == [{"event": "train", "step": 1}]
    path.write_text(f"{whole}\n{whole}")
    assert len(read_log(path)) == 2


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b'{"event": "tr\n{"event": "train"}\n', "line 1: not a JSON object with an 'event'"),
        (b'{"event": "train"}\n[]\n', "line 2: not a JSON object"),
        (b"\xff\n", "is not a text file"),
        (None, "cannot read .*: No such file or directory"),
    ],
)
def test_what_is_no_log_is_named(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / "log.jsonl").write_bytes(content)
    with pytest.raises(LogError, match=sentence):
        read_log(tmp_path)
