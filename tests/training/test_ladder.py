"""The ladder: its order, what it keeps and does not play again, and what it prints."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from santase_env import __version__, load_policy, policy
from santase_env.policy import AgentError, ChainPolicy, RandomPolicy
from santase_env.rules import DEFAULT_RULES, Rules
from santase_training import cli
from santase_training import ladder as module
from santase_training.cli import main
from santase_training.evaluate import LATER_FIELDS, Result, evaluate
from santase_training.ladder import Failure, Ladder, Pairing, ladders, plan, play
from santase_training.results import ResultsError, ResultsFile

CLASSIC = Rules.preset("classic")
THREE = ("greedy", "random", "heuristic")


def result(a: str, b: str, mean: float, half: float = 0.1, deals: int = 100, rules: str = "classic") -> Result:
    return Result(a, b, rules, 0, deals, mean, (mean - half, mean + half), 0.5, 0.4, 0.6)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """run(arguments...) -> (exit code, stdout, stderr) of ``santase ladder``, whose results are in one file."""

    def run(*arguments: object) -> tuple[int, str, str]:
        given = [str(argument) for argument in arguments]
        code = main(["ladder", *given, "--out", str(tmp_path / "runs" / "ladder.jsonl")])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int]]:
    """The pairings that are really played, with their deals."""
    found: list[tuple[str, str, int]] = []

    def counted(a: Any, b: Any, deals: int, *others: Any, names: tuple[str, str], **options: Any) -> Result:
        found.append((*names, deals))
        return evaluate(a, b, deals, *others, names=names, **options)

    monkeypatch.setattr(module, "evaluate", counted)
    return found


@pytest.fixture
def kept_lines(tmp_path: Path) -> Any:
    """The lines of the file of results."""
    return lambda: (tmp_path / "runs" / "ladder.jsonl").read_text(encoding="utf-8").splitlines()


# ---------------------------------------------------------------------------------------- the file


def test_results_are_on_disk_at_once_and_found_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    one = result("a", "b", 0.5)
    with ResultsFile(path) as kept:
        assert kept.find("a", "b", "classic", 0, 4) is None
        kept.add(one)
        with ResultsFile(path) as again:
            assert again.results == [one]
            assert again.note == ""
    with ResultsFile(path) as kept:
        assert kept.find("a", "b", "classic", 0, 100) == one
        assert kept.find("b", "a", "classic", 0, 50) == one.flipped()
        for other in (("a", "b", "paper", 0, 4), ("a", "b", "classic", 1, 4), ("a", "c", "classic", 0, 4)):
            assert kept.find(*other) is None
        assert kept.find("a", "b", "classic", 0, 102) is None
        kept.add(result("b", "a", -0.25, deals=400))
        found = kept.find("a", "b", "classic", 0, 100)
        assert found is not None
        assert (found.mean, found.deals) == (0.25, 400)
        kept.add(result("a", "a", 0, deals=10))
        assert kept.find("a", "b", "classic", 0, 4) == found


def test_a_half_written_last_line_is_dropped_and_said(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    line = json.dumps(result("a", "b", 0.5).to_json())
    for cut in (1, 20, len(line) - 1):
        path.write_text(line + "\n" + line[:cut])
        with ResultsFile(path) as kept:
            assert kept.note == f"the last line of {path} was half-written and is dropped"
            assert len(kept.results) == 1
            kept.add(result("a", "c", 0.5))
        with ResultsFile(path) as kept:
            assert (kept.note, len(kept.results)) == ("", 2)
    path.write_text(line)  # whole, but for its end
    with ResultsFile(path) as kept:
        assert (kept.note, len(kept.results)) == ("", 1)
        kept.add(result("a", "c", 0.5))
    with ResultsFile(path) as kept:
        assert len(kept.results) == 2


WRONG = ["{", "[]", '{"a": "b"}', "", "\xff", "NaN", "[" * 100_000, '{"a":' * 100_000]


@pytest.mark.parametrize("wrong", WRONG)
def test_another_line_that_is_no_result_is_refused(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "results.jsonl"
    line = json.dumps(result("a", "b", 0.5).to_json())
    path.write_bytes(f"{line}\n{wrong}\n{line}\n".encode("latin-1"))
    with pytest.raises(ResultsError, match=r"results\.jsonl, line 2: not a result of an evaluation"):
        ResultsFile(path)
    assert path.read_bytes().count(b"\n") == 3


@pytest.mark.parametrize(
    "change",
    [
        '"mean": NaN',
        '"mean": Infinity',
        '"mean": 1e999',
        '"mean": true',
        '"mean": 2',
        f'"mean": {"9" * 5000}',
        '"ci95": [0.6, 0.4]',
        '"deals": 0',
        '"deals": -100',
        '"deals": true',
        '"seed": false',
        '"deals_won": -Infinity',
    ],
)
def test_a_line_that_no_evaluation_gives_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "results.jsonl"
    line = json.dumps(result("a", "b", 0.5).to_json())
    path.write_text(f"{line[:-1]}, {change}}}\n")  # of a name given twice the last one counts
    with pytest.raises(ResultsError) as error:
        ResultsFile(path)
    assert str(error.value) == f"{path}, line 1: not a result of an evaluation"


@pytest.mark.parametrize("text", ["notes of mine", '{"lr": 0.1}', "7", "\xff", "[" * 100_000])
def test_a_file_of_something_else_without_an_end_of_line_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ResultsError, match=r"results\.jsonl, line 1: not a result of an evaluation"):
        ResultsFile(path)
    assert path.read_bytes() == text.encode("latin-1")


def test_results_of_other_versions_and_other_checkpoints_are_not_found(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    one = replace(result("a", "b", 0.5), a_identity="old")
    old_line = {name: value for name, value in one.to_json().items() if name not in LATER_FIELDS}
    path.write_text(json.dumps(old_line) + "\n")
    now = Pairing("a", "b", CLASSIC, 0, 100, ("new", ""))
    with ResultsFile(path) as kept:
        kept.add(one)
        kept.add(replace(one.flipped(), version="0.0.1", b_identity="new"))
        kept.add(replace(one, a_identity="new", deals=50))
        kept.add(replace(one, a_identity="new", seed=1))
        assert kept.find("a", "b", "classic", 0, 100, ("old", "")) == one
        assert (now.find(kept), now.passed_over(kept)) == (None, 3)
        kept.add(replace(one.flipped(), b_identity="new"))
        assert (now.find(kept), now.passed_over(kept)) == (replace(one, a_identity="new"), 0)


class Small:
    """A file that takes five bytes at a time, and so many in all."""

    def __init__(self, room: int) -> None:
        self.room, self.held = room, b""

    def write(self, data: bytes) -> int:
        if len(self.held) == self.room:
            raise OSError(28, "No space left on device")
        taken = data[: min(5, self.room - len(self.held))]
        self.held += taken
        return len(taken)


def test_a_result_is_kept_whole_or_the_disk_is_blamed(tmp_path: Path) -> None:
    with ResultsFile(tmp_path / "r.jsonl") as kept:
        kept.add(result("a", "b", 0.5))
        real, large, small = kept._file, Small(10_000), Small(100)
        kept._file = large  # type: ignore[assignment]
        kept.add(result("a", "c", 0.5))
        kept._file = small  # type: ignore[assignment]
        with pytest.raises(ResultsError, match=r"cannot write .*r\.jsonl: No space left on device"):
            kept.add(result("a", "d", 0.5))
        kept._file = real
    assert large.held.endswith(b"}\n")
    assert [one.b for one in kept.results] == ["b", "c"]


def test_a_full_disk_ends_the_ladder_with_a_sentence(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: ResultsFile, result: Result) -> None:
        raise ResultsError("cannot write it: No space left on device")

    monkeypatch.setattr(ResultsFile, "add", full)
    code, out, err = run("random", "greedy", "--rules", "classic", "--deals", 20)
    assert (code, err) == (2, "santase: cannot write it: No space left on device\n")
    assert "nothing played" in out


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"cannot write .*: Is a directory"):
        ResultsFile(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ResultsError, match="cannot write "):
        ResultsFile(tmp_path / "file" / "results.jsonl")


# -------------------------------------------------------------------------------------- plan and play


class Heavy(RandomPolicy):
    heavy = True

    def applies(self, views: Any, masks: Any) -> Any:
        return np.zeros(len(views), bool)


def test_every_pairing_is_planned_once_and_heavy_ones_are_shorter() -> None:
    light, heavy = RandomPolicy(), Heavy()
    policies = {"a": light, "b": light, "c": heavy, "d": ChainPolicy(heavy, light), "e": ChainPolicy(light, heavy)}
    planned = plan(policies, [CLASSIC, DEFAULT_RULES], 400, 100, 7)
    assert len(planned) == 20
    assert len(set(planned)) == 20
    assert {(one.a, one.b) for one in planned if one.deals == 400} == {("a", "b")}
    assert {one.seed for one in planned} == {7}


def test_results_are_those_of_evaluate_and_are_not_played_again(
    tmp_path: Path, played: list[tuple[str, str, int]]
) -> None:
    policies = {name: load_policy(name) for name in THREE}
    failures: list[Failure] = []
    done: list[int] = []
    with ResultsFile(tmp_path / "results.jsonl") as kept:
        kept.add(evaluate("random", "greedy", 44, "classic", 3))
        pairings = plan(policies, [CLASSIC], 40, 20, 3)
        play(pairings, policies, kept, failures.append, done.append)
        play(pairings, policies, kept, failures.append, done.append)
        assert played == [("greedy", "heuristic", 40), ("random", "heuristic", 40)]
        assert sum(done) == 80
        assert failures == []
        (ladder,) = ladders(pairings, kept)
    assert ladder.agents[0] == "random"
    assert ladder.results["greedy", "random"].deals == 44
    assert ladder.results["heuristic", "random"] == evaluate("random", "heuristic", 40, "classic", 3).flipped()


def test_an_agent_that_fails_costs_its_pairings_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Once(RandomPolicy):
        """Fails at its first question, whenever it is made anew."""

        def act(self, views: Any, masks: Any, keys: Any) -> Any:
            raise AgentError(f"number {number} broke")

    number = 0

    def make() -> Once:
        nonlocal number
        number += 1
        return Once()

    monkeypatch.setitem(policy._registered, "once", make)
    policies = {name: load_policy(name) for name in ("once", "random", "greedy")}
    failures: list[Failure] = []
    with ResultsFile(tmp_path / "results.jsonl") as kept:
        pairings = plan(policies, [CLASSIC], 20, 20, 0)
        play(pairings, policies, kept, failures.append, specs=policies)
        (ladder,) = ladders(pairings, kept)
    assert [str(failure) for failure in failures] == [
        "once against random, rules classic: number 1 broke",
        "once against greedy, rules classic: number 2 broke",
    ]
    assert ladder.agents == ("once", "random", "greedy")
    assert (ladder.mean("once"), len(ladder.results)) == (None, 2)
    assert [(step.a, step.b) for step in ladder.steps()] == [("greedy", "random")]


def test_only_the_agent_that_failed_is_loaded_anew_and_only_by_its_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(RandomPolicy):
        def act(self, views: Any, masks: Any, keys: Any) -> Any:
            raise AgentError("broke")

    loaded: list[str] = []
    monkeypatch.setattr(module, "load_policy", lambda spec: loaded.append(spec) or Broken())
    # "random" is a name here of what is no random player, and "mine" is no spec at all.
    policies = {"greedy": load_policy("greedy"), "random": Broken(), "mine": Broken(), "broken": Broken()}
    failures: list[Failure] = []
    with ResultsFile(tmp_path / "results.jsonl") as kept:
        pairings = plan(policies, [CLASSIC], 20, 20, 0)
        play(pairings, policies, kept, failures.append, specs=("greedy", "broken"))
        assert kept.results == []
    assert len(failures) == 6
    assert loaded == ["broken"] * loaded.count("broken")
    assert loaded


def test_a_program_that_failed_is_started_anew_for_its_next_pairing(run: Any, tmp_path: Path, kept_lines: Any) -> None:
    (tmp_path / "bot.py").write_text(
        "import json, os, sys\n"
        "if not os.path.exists(sys.argv[0] + '.failed'):\n"
        "    open(sys.argv[0] + '.failed', 'w').close()\n"
        "    sys.exit(3)\n"
        "for line in sys.stdin:\n"
        "    print(json.loads(line)['legal'][0], flush=True)\n"
    )
    bot = f"exec:{sys.executable} {tmp_path / 'bot.py'}"
    code, _, err = run(bot, "random", "greedy", "--rules", "classic", "--heavy-deals", 4, "--deals", 4)
    assert (code, err.count("\n")) == (2, 1)
    assert "against random, rules classic: the command " in err
    assert "ended with exit code 3" in err
    played = [json.loads(line) for line in kept_lines()]
    assert [(one["a"], one["b"]) for one in played] == [(bot, "greedy"), ("random", "greedy")]


def test_agents_are_ordered_by_their_mean_over_all_opponents(tmp_path: Path) -> None:
    pairings = [Pairing(a, b, CLASSIC, 0, 100) for a, b in (("a", "b"), ("a", "c"), ("b", "c"))]
    with ResultsFile(tmp_path / "results.jsonl") as kept:
        for one in (result("a", "b", -0.2), result("a", "c", 1.0), result("c", "b", -0.05)):
            kept.add(one)
        (ladder,) = ladders(pairings, kept)
    assert ladder.agents == ("c", "b", "a")
    assert [ladder.mean(agent) for agent in "abc"] == pytest.approx([0.4, 0.125, -0.525])
    assert [(step.a, step.b, step.mean) for step in ladder.steps()] == [("b", "c", 0.05), ("a", "b", -0.2)]
    values = ladder.to_json()
    assert [step["significant"] for step in values["steps"]] == [False, True]
    matrix = np.array(values["matrix"], float)
    np.testing.assert_array_equal(matrix + matrix.T, np.where(np.eye(3, dtype=bool), np.nan, 0))
    assert json.loads(json.dumps(values)) == values
    assert len(values["results"]) == 3


def test_without_results_there_is_an_empty_ladder(tmp_path: Path) -> None:
    with ResultsFile(tmp_path / "results.jsonl") as kept:
        found = ladders([Pairing("a", "b", CLASSIC, 0, 100)], kept)
    assert found == [Ladder("classic", 0, ("a", "b"), {})]


# -------------------------------------------------------------------------------------- the command


def test_the_command_keeps_and_extends_a_ladder(run: Any, played: list[tuple[str, str, int]], kept_lines: Any) -> None:
    code, out, err = run("greedy", "random", "--rules", "classic", "paper", "--deals", 40)
    assert (code, err) == (0, "")
    assert out.index("rules classic") < out.index("rules paper")
    assert "40 deals each pairing" in out
    assert "greedy over random: +" in out
    assert ", significant" in out
    assert len(kept_lines()) == len(played) == 2
    code, again, _ = run("random", "greedy", "--rules", "classic", "paper", "--deals", 40)
    assert (again, len(played)) == (out, 2)
    run("random", "greedy", "heuristic", "--rules", "classic", "--deals", 40)
    assert [names[:2] for names in played[2:]] == [("random", "heuristic"), ("greedy", "heuristic")]
    run("random", "greedy", "--rules", "classic", "--deals", 60)
    assert played[4:] == [("random", "greedy", 60)]
    out = run(*THREE, "--rules", "classic", "--deals", 40)[1]
    assert len(played) == 5
    assert "deals of each pairing in brackets" in out
    assert "(60)" in out
    assert "(40)" in out


def test_json_and_markdown(run: Any) -> None:
    code, out, err = run(*THREE, "--rules", "classic", "--deals", 40, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    values = json.loads(out)
    assert values["failures"] == []
    (ladder,) = values["ladders"]
    assert ladder["agents"][0] == "random"
    assert ladder["means"] == sorted(ladder["means"])
    code, out, err = run(*THREE, "--rules", "classic", "online,false_claim=illegal", "--deals", 40, "--markdown")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    tables = [line for line in lines if line.startswith("|")]
    assert len(tables) == 2 * 5
    assert {line.count("|") for line in tables} == {6}
    assert tables[0].startswith("| row against column | mean | `random` |")
    assert tables[2].startswith("| `random` | -")
    assert len([line for line in lines if line.startswith("- ")]) == 4
    assert lines[0].startswith("Game points per deal ± 95% interval; 40 deals each pairing")
    assert "-0.000" not in out


def test_a_pipe_in_a_spec_does_not_break_the_markdown(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(policy._registered, "a|b", RandomPolicy)
    _, out, _ = run("a|b", "random", "--rules", "classic", "--deals", 20, "--markdown")
    tables = [line.replace("\\|", "") for line in out.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in tables} == {5}


def test_what_was_finished_before_a_fault_is_said_and_kept(
    run: Any, monkeypatch: pytest.MonkeyPatch, kept_lines: Any
) -> None:
    class Breaks(RandomPolicy):
        batch = 10

        def __init__(self) -> None:
            super().__init__()
            self.asked = 0

        def act(self, views: Any, masks: Any, keys: Any) -> Any:
            self.asked += 1
            if self.asked > 40:
                raise self.error("it broke")
            return super().act(views, masks, keys)

        error: type[BaseException] = policy.AgentError

    monkeypatch.setitem(policy._registered, "breaks", Breaks)
    arguments = ("breaks", "random", "--rules", "classic", "--deals", 100)
    code, out, err = run(*arguments)
    (line,) = map(json.loads, kept_lines())
    assert 10 <= line["deals"] < 100
    assert f"it broke (after {line['deals']} deals, {line['mean']:+.3f}" in err
    assert (code, "nothing played" in out) == (2, True)
    monkeypatch.setattr(Breaks, "error", KeyboardInterrupt)
    assert run(*arguments)[0] == 130
    assert list(map(json.loads, kept_lines())) == [line, line]


def test_a_pairing_that_fails_is_said_and_the_others_go_on(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Claims(RandomPolicy):
        def act(self, views: Any, masks: Any, keys: Any) -> Any:
            return np.full(len(views), 30)

    monkeypatch.setitem(policy._registered, "claims", Claims)
    arguments = ("claims", "random", "greedy", "--rules", "classic", "--deals", 20)
    code, out, err = run(*arguments)
    assert code == 2
    assert [line.split(":")[1] for line in err.splitlines()] == [
        f" claims against {other}, rules classic" for other in ("random", "greedy")
    ]
    assert "greedy over random" in out
    code, out, _ = run(*arguments, "--json")
    assert code == 2
    assert [failure["b"] for failure in json.loads(out)["failures"]] == ["random", "greedy"]
    assert len(json.loads(out)["ladders"][0]["results"]) == 1
    code, out, _ = run("claims", "greedy", "--rules", "classic", "--deals", 20)
    assert (code, "nothing played" in out) == (2, True)


def test_an_interrupted_ladder_goes_on(
    run: Any, played: list[tuple[str, str, int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Interrupts(RandomPolicy):
        def act(self, views: Any, masks: Any, keys: Any) -> Any:
            raise KeyboardInterrupt

    monkeypatch.setitem(policy._registered, "slow", Interrupts)
    arguments = ("random", "greedy", "slow", "--rules", "classic", "--deals", 20)
    code, out, err = run(*arguments)
    path = tmp_path / "runs" / "ladder.jsonl"
    assert (code, err) == (130, f"santase: interrupted; the same command goes on from {path}\n")
    assert "greedy over random" in out
    with path.open("a") as file:
        file.write('{"a": "ran')
    monkeypatch.setitem(policy._registered, "slow", RandomPolicy)
    code, out, err = run(*arguments)
    assert (code, err) == (0, f"santase: the last line of {path} was half-written and is dropped\n")
    assert [names[:2] for names in played] == [
        ("random", "greedy"),
        ("random", "slow"),
        ("random", "slow"),
        ("greedy", "slow"),
    ]


def test_what_another_version_or_another_checkpoint_played_is_played_again_and_said(
    run: Any, played: list[tuple[str, str, int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Trained(RandomPolicy):
        identity = "before"

    monkeypatch.setitem(policy._registered, "trained", Trained)
    arguments = ("random", "greedy", "trained", "--rules", "classic", "--deals", 20)
    assert run(*arguments)[::2] == (0, "")
    monkeypatch.setattr(Trained, "identity", "after")
    file, others = tmp_path / "runs" / "ladder.jsonl", "of another version, or of other checkpoints or programs"
    note = f"results in {file} passed over, being {others}"
    assert run(*arguments)[::2] == (0, f"santase: {note}: 2\n")
    assert [names[:2] for names in played[3:]] == [("random", "trained"), ("greedy", "trained")]
    assert run(*arguments)[::2] == (0, "")
    assert len(played) == 5
    path = tmp_path / "runs" / "ladder.jsonl"
    path.write_text(path.read_text().replace(f'"version": "{__version__}"', '"version": "0.0.9"'))
    code, out, err = run(*arguments, "--json")
    assert (code, err) == (0, f"santase: {note}: 5\n")
    assert len(played) == 8
    (ladder,) = json.loads(out)["ladders"]
    assert {one["version"] for one in ladder["results"]} == {__version__}


def test_the_defaults(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.LADDER_AGENTS.split() == ["random", "greedy", "heuristic", "endgame+heuristic", "pimc", "ismcts"]
    monkeypatch.setattr(cli, "LADDER_AGENTS", "random greedy")
    options = cli._parser().parse_args(["ladder"])
    assert (options.out, options.deals, options.heavy_deals, options.seed) == ("runs/ladder.jsonl", 4000, 1000, 0)
    found = json.loads(run("--deals", 20, "--json")[1])["ladders"]
    assert [ladder["rules"] for ladder in found] == ["classic", str(DEFAULT_RULES)]
    assert {entry["deals"] for ladder in found for entry in ladder["results"]} == {20}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("random",), "give at least two agents for a ladder, not only random"),
        (("random", "greedy", "random"), "random is given twice"),
        (("random", "gredy"), "unknown agent 'gredy'"),
        (("random", "greedy", "--deals", 5), "deals must be an even number of at least 4"),
        (("random", "greedy", "--heavy-deals", 2), "deals must be an even number of at least 4"),
        (("random", "greedy", "--rules", "classic", "clasic"), "unknown rules preset 'clasic'"),
        (("random", "greedy", "--seed", -1), "seed must lie between 0 and"),
    ],
)
def test_what_the_command_refuses(run: Any, arguments: tuple[object, ...], sentence: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert sentence in err


def test_a_file_that_holds_something_else_is_refused(run: Any, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "ladder.jsonl").write_text("[]\n")
    code, out, err = run("random", "greedy")
    assert (code, out) == (2, "")
    assert "line 1: not a result of an evaluation" in err
