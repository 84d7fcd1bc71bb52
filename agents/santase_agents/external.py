"""exec: an opponent that is a program of its own, in any language, asked by lines of JSON.

A request is a line on the program's standard input, ``{"view": ..., "legal": [...], "key": ...}``; the answer is a
line on its standard output, the text of one of the legal actions. docs/exec.md describes both.
"""

import contextlib
import hashlib
import json
import os
import select
import shlex
import signal
import subprocess
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from santase_env.actions import ACTION_IDS, ACTION_TEXTS
from santase_env.compiled import Array, Record
from santase_env.policy import AgentError
from santase_env.readable import readable
from santase_env.rng import derive

from .decide import check_decisions, forced_actions

LONGEST_LINE = 4096
"""Bytes that an answer may have; far more than any action's text."""
LONGEST_TIMEOUT = 1e6
"""Seconds; the system counts milliseconds in 32 bits."""
GRACE = 1.0
"""Seconds that a program gets to end by itself once its input is closed."""
GLANCE = 0.1
"""Seconds from one look at whether a program has ended to the next, while its answer is awaited."""


class ExecPolicy:
    """The program that ``command`` starts, at the first question; it is split as a shell would, but no shell runs it.

    A program that cannot be started, ends, is silent for longer than ``timeout`` seconds, or answers with anything
    but a legal action raises AgentError, and so does every later question: it is not started again. Where there is
    one legal action it is not asked. ``close`` ends the program; so do a ``with`` block, the end of the process,
    and the loss of the last reference. A copy (pickled, copied or forked) starts a program of its own.

    ``identity`` stands for the contents of the files that the command names, such as ``bot.py``.
    """

    raw_options = True
    batch = 32
    heavy = True
    _program: "_Program | None"
    _stop: "weakref.finalize[[], ExecPolicy] | None"
    _failure: str

    def __init__(self, command: str, timeout: float = 60.0) -> None:
        if not isinstance(command, str) or "\0" in command:
            raise ValueError(f"the command must be a text without NUL characters, not {command!r}")
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < LONGEST_TIMEOUT:
            raise ValueError(f"timeout must be a positive number of seconds, not {timeout!r}")
        self.command = command
        self.timeout = timeout
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise ValueError(f"the command {command!r} cannot be split into words: {error}") from None
        if not self._words:
            raise ValueError("exec needs a command, such as 'exec:python3 bot.py'")
        self.identity = _digest_of_files(self._words)
        self._forget()

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        """views [B], masks [B, 31], keys [B] uint64 -> actions [B]; raises AgentError that names the command, and
        ValueError as ``check_decisions`` does."""
        views, masks, keys = check_decisions(views, masks, keys)
        actions, rows = forced_actions(masks)
        for row in rows:
            actions[row] = self._choose(views[row], np.flatnonzero(masks[row]).tolist(), keys[row])
        return actions

    def close(self) -> None:
        """End the program; it cannot be asked again."""
        self._failure = self._failure or f"the command {self.command!r} was closed"
        if self._stop is not None:
            self._stop()

    def _choose(self, view: Record, legal: Sequence[int], key: np.uint64) -> int:
        if self._owner != os.getpid():
            self._leave_to_parent()
        if self._failure:
            raise AgentError(self._failure)
        try:
            return legal_action(self._running().ask(request(view, legal, key)), legal)
        except _Fault as fault:
            self._give_up(str(fault))
            raise AgentError(self._failure) from None
        except BaseException:
            # The answer to a question that was interrupted would be taken for that to the next one.
            self._give_up("was interrupted")
            raise

    def _running(self) -> "_Program":
        if self._program is None:
            self._program = _Program(self._words, self.timeout)
            self._stop = weakref.finalize(self, self._program.stop)
        return self._program

    def _give_up(self, how: str) -> None:
        self._failure = f"the command {self.command!r} {how}"
        if self._program is not None:
            self._program.kill()
        self.close()

    def _leave_to_parent(self) -> None:
        if self._stop is not None:
            self._stop()
        self._forget()

    def _forget(self) -> None:
        self._owner = os.getpid()
        self._program = None
        self._stop = None
        self._failure = ""

    def __enter__(self) -> "ExecPolicy":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[type["ExecPolicy"], tuple[str, float]]:
        return type(self), (self.command, self.timeout)


def _digest_of_files(words: Sequence[str]) -> str:
    """16 hexadecimal digits that change with the files among ``words``; empty if there are none."""
    contents = []
    for word in words:
        with contextlib.suppress(OSError):
            if os.path.isfile(word):
                contents.append(hashlib.sha256(Path(word).read_bytes()).digest())
    return hashlib.sha256(b"".join(contents)).hexdigest()[:16] if contents else ""


def request(view: Record, legal: Sequence[int], key: np.uint64) -> dict[str, Any]:
    """The question for one VIEW, its legal actions (ids ascending) and its key (uint64)."""
    # 53 bits are what a number of JavaScript holds exactly.
    number = int(derive(np.uint64(key), 0)) >> 11
    return {"view": readable(view), "legal": [ACTION_TEXTS[action] for action in legal], "key": number}


def legal_action(answer: bytes, legal: Sequence[int]) -> int:
    """The id of the action that a line names, as bare text or as a JSON string; raises _Fault if it is not legal."""
    text = answer.decode("utf-8", errors="replace").strip()
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(text)
        text = value if isinstance(value, str) else text
    action = ACTION_IDS.get(text, -1)
    if action in legal:
        return action
    texts = ", ".join(ACTION_TEXTS[other] for other in legal)
    fault = "is no action" if action < 0 else "is not legal there"
    raise _Fault(f"answered {text[:60]!r}, which {fault}; legal: {texts}")


class _Fault(Exception):
    """What the program did wrong, as the rest of a sentence that begins with the command."""


class _Program:
    """A running program and its two pipes; no question takes longer than ``timeout`` seconds."""

    def __init__(self, words: Sequence[str], timeout: float) -> None:
        self.timeout = timeout
        try:
            # In a session of its own it does not get our Ctrl-C, and can be killed with all that it started.
            self.process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise _Fault(f"cannot be started: {reason}") from None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.owner = os.getpid()
        self.killed = False
        os.set_blocking(self.stdin.fileno(), False)

    def ask(self, question: dict[str, Any]) -> bytes:
        """The line that answers; raises _Fault."""
        deadline = time.monotonic() + self.timeout
        if self._ready(self.stdout.fileno(), select.POLLIN, 0):
            self._read()
            raise _Fault("wrote a line without being asked")
        self._send(json.dumps(question).encode() + b"\n", deadline)
        line, rest = self._receive(deadline)
        if rest:
            raise _Fault("wrote more than one line for an answer")
        return line

    def _send(self, data: bytes, deadline: float) -> None:
        while data:
            self._wait_for(self.stdin.fileno(), select.POLLOUT, deadline)
            try:
                data = data[os.write(self.stdin.fileno(), data) :]
            except BlockingIOError:
                continue
            except OSError:
                raise self._ended() from None

    def _receive(self, deadline: float) -> tuple[bytes, bytes]:
        """The first line, without its end, and what came after it."""
        data = b""
        while b"\n" not in data:
            if len(data) > LONGEST_LINE:
                raise _Fault(f"answered with a line of more than {LONGEST_LINE} bytes")
            self._wait_for(self.stdout.fileno(), select.POLLIN, deadline)
            data += self._read()
        line, _, rest = data.partition(b"\n")
        return line, rest

    def _read(self) -> bytes:
        data = os.read(self.stdout.fileno(), LONGEST_LINE)
        if not data:
            raise self._ended()
        return data

    def _wait_for(self, file: int, event: int, deadline: float) -> None:
        while not self._ready(file, event, max(0.0, min(GLANCE, deadline - time.monotonic()))):
            # What it started may hold the pipe open when it has ended; what it wrote before then still counts.
            if self._has_ended() and not self._ready(file, event, 0):
                raise self._ended()
            if time.monotonic() >= deadline:
                raise _Fault(f"gave no answer within {self.timeout:g} s")

    @staticmethod
    def _ready(file: int, event: int, seconds: float) -> bool:
        poll = select.poll()
        poll.register(file, event)
        return bool(poll.poll(seconds * 1000))

    def _ended(self) -> _Fault:
        if not self._ends_within(GRACE):
            return _Fault("closed its input or output")
        self.kill()
        code = self.process.wait()
        if code < 0:
            return _Fault(f"was ended by signal {-code} ({signal.strsignal(-code)})")
        return _Fault(f"ended with exit code {code}")

    def _ends_within(self, seconds: float) -> bool:
        deadline, pause = time.monotonic() + seconds, 0.001
        while not self._has_ended():
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, GLANCE / 2)
        return True

    def _has_ended(self) -> bool:
        if self.killed or not hasattr(os, "waitid"):  # macOS has it since Python 3.13
            return self.process.poll() is not None
        try:
            # It is not collected, so that no other program can get its number, by which ``kill`` finds its group.
            return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # where the system collects by itself
            return True

    def kill(self) -> None:
        """End the program at once, if it has not ended, and all that it started and left behind."""
        if self.owner == os.getpid() and not self.killed:
            self.killed = True
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def stop(self) -> None:
        """Close both pipes, upon which the program should end, and end it if it does not; may be called again."""
        self.stdin.close()
        self.stdout.close()
        if self.owner == os.getpid():  # a fork has copies of the pipes, but the program is its parent's
            self._ends_within(GRACE)
            self.kill()
