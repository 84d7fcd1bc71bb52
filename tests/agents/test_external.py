"""exec: the documented program plays as it should; one that misbehaves is named, not waited for, and cleared away."""

import copy
import gc
import json
import os
import pickle
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from santase_agents.external import LONGEST_LINE, ExecPolicy, request
from santase_env import Game, load_policy, sample_state, view_of
from santase_env.actions import ACTION_TEXTS, CLAIM
from santase_env.batch import deal_all, new_games, views_to_move
from santase_env.cards import NUM_CARDS, NUM_RANKS
from santase_env.compiled import Array
from santase_env.policy import AgentError, ChainPolicy
from santase_env.rng import derive
from santase_training.evaluate import evaluate

DOCUMENT = (Path(__file__).parents[2] / "docs" / "exec.md").read_text(encoding="utf-8")
EXAMPLE_SEED = 9
Start = Callable[..., ExecPolicy]


def block(language: str) -> str:
    """The code block of docs/exec.md in that language."""
    found = re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)
    assert len(found) == 1
    return str(found[0])


@pytest.fixture
def bot(tmp_path: Path) -> str:
    """The command that starts the documented program."""
    (tmp_path / "bot.py").write_text(block("python"), encoding="utf-8")
    return shlex.join([sys.executable, str(tmp_path / "bot.py")])


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """start(code, timeout=…): the policy of a Python program of that code."""
    policies: list[ExecPolicy] = []

    def start(code: str, timeout: float = 30.0) -> ExecPolicy:
        path = tmp_path / "program.py"
        path.write_text(f"import json, os, sys, time\n{code}\n", encoding="utf-8")
        policies.append(ExecPolicy(shlex.join([sys.executable, str(path)]), timeout))
        return policies[-1]

    yield start
    for policy in policies:
        policy.close()


class Plain:
    """What the documented program does, in this process."""

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        cards = masks[:, :NUM_CARDS] * (np.arange(NUM_CARDS) // NUM_RANKS != views["trump"][:, None])
        plain = np.where(cards.any(axis=1), cards.argmax(axis=1), masks.argmax(axis=1))
        return np.where(masks[:, CLAIM] != 0, CLAIM, plain)


def question(count: int = 3) -> tuple[Array, Array, Array]:
    """Views, masks and keys of the first decision of ``count`` deals."""
    states = new_games(count, "online,false_claim=illegal", seed=2)
    deal_all(states, np.zeros(count, np.int64))
    return *views_to_move(states, np.arange(count)), np.arange(count, dtype=np.uint64)


def program(policy: ExecPolicy) -> "subprocess.Popen[bytes]":
    """The process of a policy that was asked."""
    assert policy._program is not None
    return policy._program.process


# ------------------------------------------------------------------------------------- what is documented


def test_the_documented_program_has_ten_lines_and_plays_as_it_would_in_this_process(bot: str) -> None:
    assert block("python").count("\n") <= 10
    outside = evaluate(f"exec:{bot}", "greedy", deals=40, names=("plain", "greedy"))
    assert replace(outside, a_identity="") == evaluate(Plain(), "greedy", deals=40, names=("plain", "greedy"))
    assert outside.mean < 0


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_program_for_node_plays(tmp_path: Path) -> None:
    (tmp_path / "bot.js").write_text(block("js"), encoding="utf-8")
    agent = f"exec:node {tmp_path / 'bot.js'}"
    result = evaluate(agent, "greedy", deals=20)
    assert result == evaluate(agent, "greedy", deals=20)


def test_the_documented_request_is_a_real_one() -> None:
    shown = json.loads(block("json"))
    game = Game(seed=EXAMPLE_SEED)
    for entry in shown["view"]["log"]:
        assert entry["seat"] == game.player
        game.apply(entry["action"])
    assert game.player is not None
    assert shown == request(game.view(game.player), game.legal_actions(), np.uint64(1))


def test_every_key_of_a_view_is_documented() -> None:
    assert re.findall(r"^\| `(\w+)` \|", DOCUMENT, re.MULTILINE) == list(json.loads(block("json"))["view"])


# ---------------------------------------------------------------------------------------------- questions


def test_what_is_asked_and_what_may_be_answered(start: Start) -> None:
    views, masks, keys = question(4)
    policy = start(
        "for number, line in enumerate(sys.stdin):\n"
        "    question = json.loads(line)\n"
        "    print(line, file=open(sys.argv[0] + '.seen', 'a'), end='')\n"
        "    answer = question['legal'][-1]\n"
        "    print((answer, json.dumps(answer), f'  {answer}\\t\\r', answer)[number], flush=True)"
    )
    last = [int(np.flatnonzero(mask)[-1]) for mask in masks]
    np.testing.assert_array_equal(policy.act(views, masks, keys), last)
    seen = [json.loads(line) for line in Path(policy._words[-1] + ".seen").read_text().splitlines()]
    assert seen == [
        request(view, np.flatnonzero(mask).tolist(), key) for view, mask, key in zip(views, masks, keys, strict=True)
    ]
    assert [one["key"] for one in seen] == [int(derive(key, 0)) >> 11 for key in keys]
    assert all(one["legal"] == [ACTION_TEXTS[action] for action in np.flatnonzero(masks[0])] for one in seen[:1])
    policy.close()


def test_what_is_forced_is_not_asked() -> None:
    views, masks, keys = question()
    forced = np.zeros_like(masks)
    legal = [np.flatnonzero(mask)[row] for row, mask in enumerate(masks)]
    forced[np.arange(3), legal] = 1
    policy = ExecPolicy("no-such-program")
    assert policy.act(views, forced, keys).tolist() == legal
    assert policy._program is None


def test_what_no_player_can_be_asked_is_refused() -> None:
    views, masks, keys = question()
    impossible = views.copy()
    impossible["trump"][1] = 7
    policy = ExecPolicy("no-such-program")
    for wrong, sentence in (
        ((views[:2], masks, keys), "2 views need masks of shape"),
        ((views, masks, keys[:1]), "3 views need masks of shape"),
        ((views, masks * 0, keys), "row 0 of the masks is all zero"),
        ((views, np.ones_like(masks), keys), "which is not legal there"),
        ((impossible, masks, keys), "trump"),
    ):
        with pytest.raises(ValueError, match=sentence) as error:
            policy.act(*wrong)
        assert not isinstance(error.value, AgentError)
    assert policy._program is None


def test_hidden_cards_change_no_answer(bot: str) -> None:
    with ExecPolicy(bot) as policy:
        for seed in range(4):
            game = Game(seed=seed, rules="online")
            while not game.over:
                assert game.player is not None
                view = game.view(game.player)
                other = view_of(sample_state(view, seed + 100), game.player)
                masks = np.zeros((2, 31), np.int8)
                masks[:, game.legal_actions()] = 1
                actions = policy.act(np.array([view, other]), masks, np.full(2, seed, np.uint64))
                assert actions[0] == actions[1]
                game.apply(int(actions[0]) if actions[0] != CLAIM else game.legal_actions()[0])


def test_the_whole_spec_after_the_name_is_the_command() -> None:
    policy = load_policy("exec:sh -c 'a,b=c + d:e'")
    assert isinstance(policy, ExecPolicy)
    assert policy._words == ["sh", "-c", "a,b=c + d:e"]
    assert policy.timeout == 60


@pytest.mark.parametrize("spec", ["exec", "exec:", "exec:  ", "exec+greedy"])
def test_an_empty_command_is_refused(spec: str) -> None:
    with pytest.raises(ValueError, match="exec needs a command, such as "):
        load_policy(spec)


def test_what_cannot_be_a_command_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be split into words: No closing quotation"):
        load_policy("exec:sh -c 'x")
    for timeout in (0, -1, float("nan"), float("inf"), "abc", None, True, [1]):
        with pytest.raises(ValueError, match="timeout must be a positive number of seconds, not "):
            ExecPolicy("bot", timeout)  # type: ignore[arg-type]
    for command in (None, 7, b"bot", ["bot"], "\0", "bot \0 x"):
        with pytest.raises(ValueError, match="the command must be a text without NUL characters, not "):
            ExecPolicy(command)  # type: ignore[arg-type]


def test_its_identity_is_that_of_the_files_that_the_command_names(bot: str) -> None:
    policy = ExecPolicy(bot)
    assert len(policy.identity) == 16
    assert ExecPolicy(bot, timeout=5).identity == policy.identity
    path = Path(bot.split()[-1])
    path.write_text(path.read_text() + "# changed\n")
    assert ExecPolicy(bot).identity != policy.identity
    assert ExecPolicy("no-such-program --fast").identity == ""


def test_it_may_follow_an_agent_that_applies_sometimes(bot: str) -> None:
    class Never(Plain):
        def applies(self, views: Array, masks: Array) -> Array:
            return np.zeros(len(views), bool)

    with ExecPolicy(bot) as policy:
        result = evaluate(ChainPolicy(Never(), policy), "greedy", deals=8, names=("a", "b"))
    assert replace(result, a_identity="") == evaluate(Plain(), "greedy", deals=8, names=("a", "b"))


# ------------------------------------------------------------------------------------------------ faults

ANSWER_FIRST = "print(json.loads(sys.stdin.readline())['legal'][0], flush=True)\n"
CHILD = (
    "import subprocess\n"
    "child = subprocess.Popen(['sleep', '60'])\n"
    "open(sys.argv[0] + '.child', 'w').write(str(child.pid))\n"
)
"""Starts a process that shares the pipes, and says in a file which."""


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("sys.exit(3)", "ended with exit code 3"),
        ("sys.stdin.readline(); sys.exit(0)", "ended with exit code 0"),
        (ANSWER_FIRST + "sys.stdin.readline(); sys.exit(4)", "ended with exit code 4"),
        ("os.kill(os.getpid(), 9)", r"was ended by signal 9 \(Killed\)"),
        ("print('QH', end='', flush=True); os._exit(5)", "ended with exit code 5"),
        ("os.close(1); time.sleep(60)", "closed its input or output"),
        ("os.close(0); time.sleep(0.2); os._exit(6)", "ended with exit code 6"),
        ("print('claim', flush=True); time.sleep(60)", "(answered 'claim', which is not legal there; legal: |wrote a)"),
        ("sys.stdin.readline(); print('claim')", "answered 'claim', which is not legal there; legal: .*, "),
        ("sys.stdin.readline(); print('hello')", "answered 'hello', which is no action; legal: "),
        ("sys.stdin.readline(); print()", "answered '', which is no action"),
        ("sys.stdin.readline(); print('[\"QH\"]')", r"answered '\[\"QH\"\]', which is no action"),
        ("sys.stdin.readline(); print('7')", "answered '7', which is no action"),
        ("sys.stdin.readline(); print('[' * 4000)", "answered .*, which is no action"),
        ("sys.stdin.readline(); os.write(1, b'\\xff\\xfe\\n')", "answered .*, which is no action"),
        ("sys.stdin.readline(); print('x' * 10**6)", f"answered with a line of more than {LONGEST_LINE} bytes"),
        ("sys.stdin.readline(); os.write(1, b'QH\\nQD\\n')", "wrote more than one line for an answer"),
    ],
)
def test_a_program_that_misbehaves_is_named_and_ended(start: Start, code: str, sentence: str) -> None:
    policy = start(code)
    with pytest.raises(AgentError, match=f"^the command '.*program.py' {sentence}") as error:
        policy.act(*question())
    assert "\n" not in str(error.value)
    assert program(policy).returncode is not None
    with pytest.raises(AgentError, match=re.escape(str(error.value))):  # and it is not started again
        policy.act(*question())


@pytest.mark.parametrize(
    "code",
    [
        "time.sleep(60)",
        "sys.stdin.readline(); print('Q', end='', flush=True); time.sleep(60)",
        "for i in range(600):\n    print('x', end='', flush=True); time.sleep(0.1)",
        "os.system('sleep 60')",
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.close(0); time.sleep(60)",
    ],
)
def test_silence_is_not_waited_for(start: Start, code: str) -> None:
    policy = start(code, timeout=0.5)
    began = time.monotonic()
    sentence = r"gave no answer within 0\.5 s|wrote a line without being asked|closed its input or output"
    with pytest.raises(AgentError, match=sentence):
        policy.act(*question())
    assert time.monotonic() - began < 5
    assert program(policy).returncode == -signal.SIGKILL


def test_a_program_that_reads_nothing_is_not_waited_for(start: Start) -> None:
    policy = start("time.sleep(60)", timeout=0.5)
    views, masks, keys = question(1)
    running = policy._running()
    with pytest.raises(Exception, match=r"gave no answer within 0\.5 s"):
        running.ask({"view": "x" * 10**6})
    with pytest.raises(AgentError):
        policy.act(views, masks, keys)


@pytest.mark.parametrize("code", ["", "sys.stdin.readline()\n", ANSWER_FIRST])
def test_a_program_that_ends_is_not_waited_for_though_its_child_holds_the_pipe(start: Start, code: str) -> None:
    policy = start(code + CHILD + "os._exit(3)")
    began = time.monotonic()
    with pytest.raises(AgentError, match=r"ended with exit code 3$"):
        policy.act(*question())
    assert time.monotonic() - began < 10
    assert ends(child_of(policy))


def test_an_answer_written_before_the_end_counts_though_a_child_holds_the_pipe(start: Start) -> None:
    policy = start(CHILD + ANSWER_FIRST + "os._exit(3)")
    views, masks, keys = question(1)
    running = policy._running()
    assert running._ends_within(0) is False
    assert policy.act(views, masks, keys) == masks[0].argmax()
    assert running._ends_within(10)
    with pytest.raises(AgentError, match=r"ended with exit code 3$"):
        policy.act(views, masks, keys)
    assert ends(child_of(policy))


def test_a_line_that_comes_late_is_not_the_next_answer(start: Start) -> None:
    policy = start(ANSWER_FIRST + "time.sleep(0.2); print('QH', flush=True); time.sleep(60)")
    views, masks, keys = question(1)
    policy.act(views, masks, keys)
    time.sleep(0.6)
    with pytest.raises(AgentError, match="wrote a line without being asked"):
        policy.act(views, masks, keys)


@pytest.mark.parametrize(
    ("command", "reason"),
    [("no-such-program --fast", "No such file"), (str(Path(__file__).parent), "Permission denied")],
)
def test_a_program_that_cannot_be_started_is_named(command: str, reason: str) -> None:
    policy = ExecPolicy(command)
    with pytest.raises(AgentError, match=f"^the command {re.escape(repr(command))} cannot be started: .*{reason}"):
        policy.act(*question())


def test_an_interrupted_question_ends_the_program(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = start("time.sleep(60)")
    running = policy._running()
    monkeypatch.setattr(running, "_receive", lambda deadline: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        policy.act(*question())
    assert running.process.returncode is not None
    with pytest.raises(AgentError, match="was interrupted"):
        policy.act(*question())


def test_standard_error_is_shown(start: Start, capfd: pytest.CaptureFixture[str]) -> None:
    policy = start("print('thinking', file=sys.stderr, flush=True)\n" + ANSWER_FIRST)
    policy.act(*(rows[:1] for rows in question()))
    assert capfd.readouterr().err == "thinking\n"


# ---------------------------------------------------------------------------------------------- clearing up


def open_files() -> set[str]:
    return set(os.listdir("/dev/fd"))


def test_nothing_is_left_behind(bot: str) -> None:
    before = open_files()
    with ExecPolicy(bot) as policy:
        policy.act(*question())
        asked = program(policy)
    assert asked.returncode == 0, "it ended by itself, its input being closed"
    policy.close()
    with pytest.raises(AgentError, match="was closed"):
        policy.act(*question())
    lost = ExecPolicy(bot)
    lost.act(*question())
    process = program(lost)
    del lost
    gc.collect()
    assert process.returncode == 0
    ExecPolicy(bot).close()
    assert open_files() == before


@pytest.mark.parametrize("end", ["time.sleep(60)", "sys.stdin.readline()", "os._exit(0)"])
def test_what_it_started_is_ended_with_it(start: Start, end: str) -> None:
    policy = start(CHILD + ANSWER_FIRST + end)
    policy.act(*question(1))
    child = child_of(policy)
    assert alive(child)
    if end == "os._exit(0)":
        assert policy._running()._ends_within(10)
    policy.close()
    assert ends(child)
    assert program(policy).returncode == (-signal.SIGKILL if "sleep" in end else 0)


def child_of(policy: ExecPolicy) -> int:
    """The process that CHILD started."""
    return int(Path(policy._words[-1] + ".child").read_text())


def ends(process: int) -> bool:
    """Does it end within 5 seconds?"""
    deadline = time.monotonic() + 5
    while alive(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(process)


def alive(process: int) -> bool:
    """Does it run? One that has ended may wait for the system to collect it."""
    status = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return status.stdout.strip()[:1] not in ("", "Z")


def test_copies_start_programs_of_their_own(bot: str) -> None:
    with ExecPolicy(bot, timeout=7) as policy:
        policy.act(*question())
        for twin in (copy.copy(policy), copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
            assert (twin.command, twin.timeout, twin._program) == (bot, 7, None)
            with twin:
                np.testing.assert_array_equal(twin.act(*question()), policy.act(*question()))
                assert program(twin).pid != program(policy).pid


def test_a_fork_starts_a_program_of_its_own_and_leaves_its_parents_alone(bot: str) -> None:
    code = (
        "import os, sys, numpy as np\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from test_external import ExecPolicy, program, question\n"
        "policy = ExecPolicy(sys.argv[1])\n"
        "wanted = policy.act(*question())\n"
        "if not (child := os.fork()):\n"
        "    mine = program(policy).pid\n"
        "    same = (policy.act(*question()) == wanted).all() and program(policy).pid != mine\n"
        "    policy.close()\n"
        "    os._exit(0 if same else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert (policy.act(*question()) == wanted).all()\n"
    )
    subprocess.run([sys.executable, "-c", code, bot, str(Path(__file__).parent)], check=True)


def test_the_end_of_the_process_is_quiet(bot: str) -> None:
    code = (
        "import sys\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from test_external import ExecPolicy, question\n"
        "policy = ExecPolicy(sys.argv[1])\n"
        "policy.act(*question())\n"
        "print(policy._program.process.pid)\n"
    )
    command = [sys.executable, "-W", "error", "-c", code, bot, str(Path(__file__).parent)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr == ""
    assert not alive(int(result.stdout))
