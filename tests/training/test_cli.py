"""The command ``santase``: what it prints, and one sentence and exit code 2 for everything that is wrong."""

import io
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import santase_env
from santase_env import Game, policy
from santase_env.record import match_record
from santase_env.rules import DEFAULT_RULES
from santase_training import cli, evaluate
from santase_training.cli import EXTRAS, main
from santase_training.log import RunLog

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """run(arguments...) -> (exit code, stdout, stderr)."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def refused(run: Any) -> Any:
    """refused(arguments...) -> the one sentence on stderr of a command that must exit with 2."""

    def refused(*arguments: object) -> str:
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("santase: ")
        assert err.count("\n") == 1
        return err.removeprefix("santase: ").strip()

    return refused


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


# ------------------------------------------------------------------------------------------- evaluate


def test_json_is_one_line_seen_from_the_first_agent(run: Any) -> None:
    code, out, err = run("evaluate", "greedy", "random", "--deals", 400, "--seed", 3, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    result = json.loads(out)
    assert (result["a"], result["b"], result["deals"], result["seed"]) == ("greedy", "random", 400, 3)
    assert result["rules"] == "online,false_claim=illegal"
    assert result["ci95"][0] < result["mean"] < result["ci95"][1]
    assert result["mean"] > 1
    assert result["notes"] == []
    reverse = json.loads(run("evaluate", "random", "greedy", "--deals", 400, "--seed", 3, "--json")[1])
    assert reverse["mean"] == -result["mean"]


def test_a_table_for_people(run: Any) -> None:
    code, out, err = run("evaluate", "greedy", "random", "--deals", 100, "--rules", "paper")
    assert (code, err) == (0, "")
    for text in ("greedy against random", "game points per deal", " ± ", "deals won", "matches won", "rules paper"):
        assert text in out


def test_a_matrix_for_more_than_two(run: Any) -> None:
    agents = ("random", "greedy", "random:claims=any")
    code, out, _ = run("evaluate", *agents, "--deals", 100)
    assert code == 0
    assert all(agent in out for agent in agents)
    assert out.count("±") == 7  # six cells and the legend
    assert "-0.000" not in out
    result = json.loads(run("evaluate", *agents, "--deals", 100, "--json")[1])
    assert result["agents"] == list(agents)
    matrix = np.array(result["matrix"], float)
    np.testing.assert_array_equal(matrix[np.triu_indices(3, 1)], [entry["mean"] for entry in result["results"]])
    np.testing.assert_array_equal(matrix + matrix.T, np.where(np.eye(3, dtype=bool), np.nan, 0))


def test_the_defaults_are_those_of_the_library() -> None:
    options = cli._parser().parse_args(["evaluate", "random", "greedy"])
    assert (options.rules, options.deals, options.seed) == (str(DEFAULT_RULES), 4000, 0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("random",), "give at least two agents"),
        (("random", "gredy"), "unknown agent 'gredy' (did you mean 'greedy'?)"),
        (("random", "greedy", "--deals", "5"), "deals must be an even number of at least 4"),
        (("random", "greedy", "--deals", "2"), "deals must be an even number of at least 4"),
        (("random", "greedy", "--deals", "many"), "argument --deals: invalid int value: 'many'"),
        (("random", "greedy", "--rules", "onlin"), "unknown rules preset 'onlin' (did you mean 'online'?)"),
        (("random", "greedy", "--rules", "online,claim=never"), "claim='never' is impossible"),
        (("random", "greedy", "--seed", "-1"), "seed must lie between 0 and"),
        (("random", "greedy", "--worlds", "5"), "unrecognized arguments: --worlds 5"),
        (("random:luck=1", "greedy"), "its options are: claims"),
        (("greedy+random", "greedy"), "always applies"),
    ],
)
def test_what_evaluate_refuses(refused: Any, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in refused("evaluate", *arguments)


def test_an_agent_that_plays_illegally_is_named(refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Claims:
        def act(self, views: Any, masks: Any, keys: Any) -> Any:
            return np.full(len(views), 30)

    monkeypatch.setitem(policy._registered, "claims", Claims)
    assert refused("evaluate", "greedy", "claims", "--deals", 10).startswith(
        "claims chose claim, which is not legal there"
    )


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """breaks(question, error): the agent ``breaks`` is registered, which plays at random until that question."""

    class Breaks(policy.RandomPolicy):
        batch = 10

        def __init__(self, question: int, error: BaseException) -> None:
            super().__init__()
            self.left, self.error = question, error

        def act(self, views: Any, masks: Any, keys: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise self.error
            return super().act(views, masks, keys)

    def register(question: int, error: BaseException) -> None:
        monkeypatch.setitem(policy._registered, "breaks", lambda: Breaks(question, error))

    return register


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [(policy.AgentError("it broke"), 2, "it broke"), (KeyboardInterrupt(), 130, "interrupted")],
)
def test_what_was_finished_is_printed_when_an_agent_fails_or_a_person_stops_it(
    run: Any, breaks: Any, error: BaseException, code: int, sentence: str
) -> None:
    breaks(40, error)
    pair = ("evaluate", "greedy", "breaks", "--deals", 100)
    printed = run(*pair)
    assert (printed[0], printed[2]) == (code, f"santase: {sentence}\n")
    assert "greedy against breaks" in printed[1]
    ended, out, err = run(*pair, "--json")
    result = json.loads(out)
    assert (ended, err, result["error"]) == (code, f"santase: {sentence}\n", sentence)
    assert 0 < result["deals"] < 100
    assert result["deals"] % 10 == 0
    assert f" {result['deals']} deals, every one" in printed[1]

    several = ("evaluate", "random", "greedy", "breaks", "heuristic", "--deals", 20)
    ended, out, err = run(*several, "--json")
    result = json.loads(out)
    assert (ended, result["error"]) == (code, sentence)
    played = [(entry["a"], entry["b"]) for entry in result["results"]]
    assert played[0] == ("random", "greedy")
    assert len(played) < 6
    numbers = np.array(result["matrix"], float)
    assert np.isfinite(numbers).sum() == 2 * len(played)
    ended, out, err = run(*several)
    assert (ended, err) == (code, f"santase: {sentence}\n")
    assert out.count("±") == 2 * len(played) + 1


def test_an_agent_that_fails_at_once_leaves_nothing_to_print(run: Any, refused: Any, breaks: Any) -> None:
    breaks(0, policy.AgentError("it broke"))
    assert refused("evaluate", "breaks", "greedy", "random") == "it broke"
    code, out, err = run("evaluate", "breaks", "greedy", "--json")
    result = json.loads(out)
    assert (code, err, result["error"], result["mean"], result["results"]) == (
        2,
        "santase: it broke\n",
        "it broke",
        None,
        [],
    )


def test_deals_that_are_fewer_than_asked_for_are_said_in_a_matrix(run: Any, breaks: Any) -> None:
    breaks(60, policy.AgentError("it broke"))
    out = run("evaluate", "breaks", "random", "greedy", "--deals", 200)[1]
    assert "200 deals each pairing" in out
    assert " deals only" in out


def test_other_rules_than_those_of_training_are_said(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Trained(policy.RandomPolicy):
        rules = "classic"

    monkeypatch.setitem(policy._registered, "trained", Trained)
    note = "trained was trained under rules classic; here it plays under paper"
    _, out, err = run("evaluate", "trained", "greedy", "--deals", 10, "--rules", "paper", "--json")
    assert err == f"santase: {note}\n"
    assert json.loads(out)["notes"] == [note]
    assert run("evaluate", "trained", "greedy", "--deals", 10, "--rules", "classic")[2] == ""


def test_the_progress_bar_is_for_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stderr, options, shown in ((Terminal(), [], True), (Terminal(), ["--json"], False), (io.StringIO(), [], False)):
        monkeypatch.setattr(sys, "stderr", stderr)
        assert main(["evaluate", "random", "greedy", "--deals", "40", *options]) == 0
        assert ("40/40" in stderr.getvalue()) == shown


# --------------------------------------------------------------------------------------------- replay


def test_replay_of_a_deal_a_list_and_a_match(run: Any, tmp_path: Path, golden_deals: list[dict[str, Any]]) -> None:
    deal = golden_deals[0]
    code, out, err = run("replay", write(tmp_path / "deal.json", deal))
    assert (code, err) == (0, "")
    replayed = json.loads(out)
    assert replayed["result"] == deal["expect"]
    assert [set(step["legal"]) for step in replayed["steps"]] == [set(step["legal"]) for step in deal["steps"]]
    assert out.count("\n") < 2 * len(deal["steps"])  # a step is a line

    code, out, _ = run("replay", write(tmp_path / "list.json", golden_deals[:3]))
    assert code == 0
    assert [item["result"] for item in json.loads(out)] == [item["expect"] for item in golden_deals[:3]]

    code, out, _ = run("replay", write(tmp_path / "match.json", short_match()))
    assert code == 0
    assert max(json.loads(out)["match_points"]) >= 2


def short_match() -> dict[str, Any]:
    """A match to 2 in which everybody plays the first legal action."""
    games: list[Game] = []
    points, leader = [0, 0], 0
    while max(points) < 2:
        shuffled = Game(rules="paper", seed=len(games))
        record = shuffled.record()
        game = Game.from_cards(record["hands"], record["talon"], leader, "paper,match_target=2")
        while not game.over:
            game.apply(game.legal_actions()[0])
        games.append(game)
        assert game.result is not None
        points = [total + won for total, won in zip(points, game.result.game_points, strict=True)]
        leader = leader if game.result.winner is None else 1 - game.result.winner
    return match_record(games)


def test_replay_names_the_step_and_what_would_have_been_legal(
    refused: Any, tmp_path: Path, golden_deals: list[dict[str, Any]]
) -> None:
    deal = {**golden_deals[0], "actions": [*golden_deals[0]["actions"][:2], "claim"]}
    sentence = refused("replay", write(tmp_path / "deal.json", deal))
    assert "deal.json: step 2: 'claim' is not legal for player 1" in sentence
    assert all(action in sentence for action in golden_deals[0]["steps"][2]["legal"])
    sentence = refused("replay", write(tmp_path / "list.json", [golden_deals[1], deal]))
    assert "record 1, step 2: 'claim' is not legal" in sentence
    match = short_match()
    match["deals"][-1]["actions"][0] = "XX"
    assert f"deal {len(match['deals']) - 1}, step 0: 'XX' is not an action" in refused(
        "replay", write(tmp_path / "match.json", match)
    )


@pytest.mark.parametrize("content", ["{", "3", "[3]", '"deal"', '{"deals": 3}', '{"rules": "paper"}', "null"])
def test_replay_refuses_what_is_no_record(refused: Any, tmp_path: Path, content: str) -> None:
    (tmp_path / "file.json").write_text(content)
    assert "file.json" in refused("replay", tmp_path / "file.json")


def test_replay_needs_a_file(refused: Any, tmp_path: Path) -> None:
    assert "No such file or directory" in refused("replay", tmp_path / "nothing.json")


# ---------------------------------------------------------------------------------------- plot, train


def test_plot_prints_what_it_made(run: Any, refused: Any, tmp_path: Path) -> None:
    with RunLog.open(tmp_path / "log.jsonl") as log:
        log.append("start", config={}, seed=0)
        log.append("eval", step=0, opponent="greedy", mean=0.5, ci95=[0.4, 0.6], deals=100, rules="paper")
    code, out, err = run("plot", tmp_path, "--out", tmp_path / "pictures", "--smooth", 2)
    assert (code, err) == (0, "")
    assert [Path(line) for line in out.splitlines()] == [
        tmp_path / "pictures" / f"curve.{kind}" for kind in ("png", "svg")
    ]
    assert all(Path(line).exists() for line in out.splitlines())
    assert "--smooth must be at least 1, not 0" in refused("plot", tmp_path, "--smooth", 0)
    assert "there is no run folder" in refused("plot", tmp_path / "nowhere")


def test_train_gets_its_arguments_as_they_are(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    trainer = SimpleNamespace(main=lambda arguments: seen.append(arguments) or 7)
    monkeypatch.setitem(sys.modules, "santase_training.train", trainer)
    assert run("train", "--config", "a.yaml", "--help")[0] == 7
    assert seen == [["--config", "a.yaml", "--help"]]


# ------------------------------------------------------------------------------------------ the whole


def test_version_and_help(run: Any) -> None:
    assert run("--version") == (0, f"santase {santase_env.__version__}\n", "")
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    assert all(command in out for command in ("train", "evaluate", "ladder", "plot", "replay"))
    assert run("evaluate", "--help")[0] == 0


def test_a_command_must_be_given(refused: Any) -> None:
    assert refused().startswith("give a command: train, evaluate, ladder, compare, sweep, card, plot or replay")
    assert "invalid choice: 'play'" in refused("play")


def test_ctrl_c_is_one_line_and_130(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate, "evaluate_all", interrupt)
    assert run("evaluate", "random", "greedy") == (130, "", "santase: interrupted\n")


def test_a_missing_extra_is_named(refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "santase_training.plot", raising=False)
    monkeypatch.delattr("santase_training.plot", raising=False)
    for name in [name for name in sys.modules if name.startswith("matplotlib")] or ["matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert refused("plot", "run") == "this needs matplotlib: pip install 'santase[train]'"


def test_the_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for extra, modules in EXTRAS.items():
        packages = {text.split(">")[0].replace("pyyaml", "yaml").replace("-", "_") for text in extras[extra]}
        assert set(modules) == packages


def test_only_what_is_needed_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys; from santase_training.cli import main\n"
        "assert main(['evaluate', 'random', 'greedy', '--deals', '4', '--json']) == 0\n"
        "print(sorted({'torch', 'rich', 'matplotlib', 'tyro', 'tensorboard'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[1] == "[]"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, golden_deals: list[dict[str, Any]]) -> None:
    path = write(tmp_path / "deals.json", golden_deals)
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "santase_training.cli", "replay", str(path)]
    result = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (result.returncode, result.stderr) == (141, "")
