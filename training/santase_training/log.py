"""The log of a training run: one JSON object per line, in ``log.jsonl`` of the run folder.

``{"event": "start", "config": {...}, "seed": 0}`` begins every start or resume; ``{"event": "train", "update": 1,
"step": 32768, ...}`` and ``{"event": "eval", "step": 0, "opponent": "greedy", "mean": 0.1, "ci95": [0.0, 0.2],
...}`` follow. ``step`` counts steps of the environment.
"""

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

LOG_NAME = "log.jsonl"

Line = dict[str, Any]


class LogError(ValueError):
    """A log that cannot be read; the message says where and why."""


class RunLog:
    """Writes a log, each line on disk as soon as it is appended; also a context manager."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    @classmethod
    def open(cls, path: str | Path, resume_step: int | None = None) -> "RunLog":
        """A new log in place of any old one; or, with ``resume_step``, the log at ``path`` continued.

        Continuing drops what was logged beyond that step and a half-written last line, so that the log of a
        resumed run ends up as that of an unbroken one, its ``start`` lines apart.
        """
        path = Path(path)
        kept = "" if resume_step is None or not path.exists() else _text_until(path, resume_step)
        draft = path.with_name(path.name + ".new")
        draft.write_text(kept, encoding="utf-8")
        os.replace(draft, path)  # a crash in between leaves the old log whole
        return cls(path.open("a", encoding="utf-8"))

    def append(self, event: str, **fields: Any) -> None:
        """Write one line; numpy and torch values become plain ones, and paths text."""
        self._file.write(json.dumps({"event": event, **fields}, default=_plain) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> "RunLog":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_log(path: str | Path) -> list[Line]:
    """The lines of a log, or of the log in a run folder; a half-written last line is left out.

    Raises LogError with one sentence when there is no log or a line is not a JSON object with an ``event``.
    """
    path = Path(path)
    if path.is_dir():
        path /= LOG_NAME
    try:
        texts = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise LogError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise LogError(f"{path} is not a text file: {error}") from None
    lines = []
    for number, text in enumerate(texts, 1):
        if not text:
            continue
        line = _parse(text)
        if line is not None:
            lines.append(line)
        elif number < len(texts):
            raise LogError(f"{path}, line {number}: not a JSON object with an 'event'")
    return lines


def _text_until(path: Path, step: int) -> str:
    return "".join(json.dumps(line) + "\n" for line in read_log(path) if line.get("step", step) <= step)


def _parse(text: str) -> Line | None:
    try:
        line = json.loads(text)
    except json.JSONDecodeError:
        return None
    return line if isinstance(line, dict) and isinstance(line.get("event"), str) else None


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be logged")
