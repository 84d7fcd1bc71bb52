"""The folder of a run: may it be resumed, what is kept in it, and how a run is asked to stop."""

import shutil
import signal
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from .config import TrainConfig, config_values

FREE_TO_CHANGE = (
    "opponents",
    "evaluate_every",
    "evaluate_deals",
    "final_deals",
    "checkpoint_every",
    "keep_checkpoints",
    "threads",
    "expected",
)
"""Settings that a resumed run may change: they do not touch what is learned, threads but for rounding."""


class RunError(ValueError):
    """A run that cannot start or go on; the message says why."""


def has_checkpoint(run: Path) -> bool:
    """Is there a run in this folder to go on with?"""
    return any((run / "checkpoints").glob("update-*/checkpoint.json"))


def check_resumable(config: TrainConfig, meta: dict[str, Any], folder: Path) -> None:
    """Raises RunError that names what differs, when ``config`` is not the one that a checkpoint was made under."""
    old, new = meta["config"], config_values(config)
    changed = [key for key in new if key not in FREE_TO_CHANGE and old.get(key) != new[key]]
    if changed:
        text = "; ".join(f"{key} was {old.get(key)!r} and is now {new[key]!r}" for key in changed)
        raise RunError(f"{folder} cannot be resumed: {text}; take another --run, or --fresh to set this one aside")


def set_aside(run: Path) -> Path | None:
    """Rename an existing run folder, so that a new one can begin; returns where it went."""
    if not run.exists():
        return None
    number = 1
    while (aside := run.with_name(f"{run.name}.old-{number}")).exists():
        number += 1
    return run.rename(aside)


def prune_checkpoints(folder: Path, keep: int) -> None:
    """Delete all but the newest ``keep`` checkpoints, and what a crash left half-written."""
    for old in (*sorted(folder.glob("update-*"))[:-keep], *folder.glob(".update-*")):
        shutil.rmtree(old, ignore_errors=True)


class StopFlag:
    """Within it, Ctrl-C (and SIGTERM) only asks to stop after the update in hand; a second one stops at once."""

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopFlag":
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                self._before[number] = signal.signal(number, self._handle)
            except ValueError:  # not in the main thread, where signals do not arrive anyway
                break
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
