"""A file of evaluation results, one JSON object per line, which can be added to."""

import json
from pathlib import Path
from types import TracebackType

from santase_env import __version__

from .evaluate import Result


class ResultsError(ValueError):
    """A file of results that cannot be used; the message says where and why."""


class ResultsFile:
    """The results in a file, and a place for more; also a context manager. The file is made if it is not there.

    ``note`` is a sentence about a half-written last line, which is dropped, or empty. Raises ResultsError for a file
    that cannot be opened, and for a line that is no Result.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.note = ""
        self.results: list[Result] = []
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a+b", buffering=0)
        except OSError as error:
            raise ResultsError(f"cannot write {path}: {error.strerror}") from None
        try:
            self._read()
        except OSError as error:
            self.close()
            raise ResultsError(f"cannot read {path}: {error.strerror}") from None
        except ResultsError:
            self.close()
            raise

    def _read(self) -> None:
        self._file.seek(0)
        *lines, last = (self._file.read() or b"").split(b"\n")
        for number, line in enumerate(lines, 1):
            result = _parse(line)
            if result is None:
                raise ResultsError(f"{self.path}, line {number}: not a result of an evaluation")
            self.results.append(result)
        whole = _parse(last)
        if whole is not None:
            self._file.write(b"\n")
            self.results.append(whole)
        elif last.startswith(b"{") and not last.endswith(b"}"):
            self._file.truncate(sum(len(line) + 1 for line in lines))
            self.note = f"the last line of {self.path} was half-written and is dropped"
        elif last:  # no write of ours was cut there: this is somebody's file, and stays as it is
            raise ResultsError(f"{self.path}, line {len(lines) + 1}: not a result of an evaluation")

    def find(
        self, a: str, b: str, rules: str, seed: int, deals: int, identities: tuple[str, str] = ("", "")
    ) -> Result | None:
        """The result of ``a`` against ``b`` with most deals, seen from ``a``, by agents of these ``identities`` and
        this version of the package; None if none has ``deals`` deals."""
        found = [
            result
            for result in self.of_any_origin(a, b, rules, seed, deals)
            if (result.version, result.a_identity, result.b_identity) == (__version__, *identities)
        ]
        return max(found, key=lambda result: result.deals, default=None)

    def of_any_origin(self, a: str, b: str, rules: str, seed: int, deals: int) -> list[Result]:
        """All results over at least ``deals`` deals, seen from ``a``, of any version and any identity."""
        return [
            result if result.a == a else result.flipped()
            for result in self.results
            if (result.a, result.b) in ((a, b), (b, a))
            and (result.rules, result.seed) == (rules, seed)
            and result.deals >= deals
        ]

    def add(self, result: Result) -> None:
        """Keep a result, on disk at once; raises ResultsError when the disk refuses."""
        line = json.dumps(result.to_json()).encode() + b"\n"
        try:
            # In one write, so that a kill can leave no more than a part of the last line; a full disk may take less.
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            raise ResultsError(f"cannot write {self.path}: {error.strerror}") from None
        self.results.append(result)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> "ResultsFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _parse(line: bytes) -> Result | None:
    try:
        return Result.from_json(json.loads(line.decode()))
    except (ValueError, RecursionError):
        return None
