"""The command ``santase``: train, evaluate, ladder, compare, sweep, card, plot, replay.

Every command loads only what it needs. What a person did wrong is one sentence on stderr and exit code 2; a
traceback is a fault of ours.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from santase_env.policy import Policy

    from .ladder import Pairing
    from .results import ResultsFile

EXTRAS = {
    "train": ("torch", "tensorboard", "tyro", "rich", "matplotlib", "safetensors", "scipy", "yaml"),
    "sb3": ("stable_baselines3", "sb3_contrib"),
    "sweep": ("optuna",),
}
"""Modules that only an extra of the package installs."""

APART = {
    "train": "train an agent by self-play",
    "compare": "train several ways on equal steps and equal minutes",
    "sweep": "search for good settings",
    "card": "put a trained network where others can use it, with its evaluation",
}
"""Commands with a module of their own, which reads their arguments."""

WRONG_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
LADDER_AGENTS = "random greedy heuristic endgame+heuristic pimc ismcts"
LADDER_RULES = "classic online,false_claim=illegal"


class UsageError(Exception):
    """Something that the person at the keyboard can put right; the message is one sentence."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``santase`` with these arguments (by default the process's) and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except UsageError as error:
        return _complain(str(error), WRONG_INPUT)
    except ModuleNotFoundError as error:
        module = (error.name or "").split(".")[0]
        extra = next((extra for extra, modules in EXTRAS.items() if module in modules), None)
        if extra is None:
            raise
        return _complain(f"this needs {module}: pip install 'santase[{extra}]'", WRONG_INPUT)
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone; nothing more may be written, not even when the interpreter ends.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except SystemExit as end:  # of argparse after --help, and of the trainer's parser
        if isinstance(end.code, str):
            return _complain(end.code, WRONG_INPUT)
        return end.code or 0
    return code


def _run(arguments: list[str]) -> int:
    if arguments[:1] and arguments[0] in APART:
        command: Callable[[Sequence[str]], int] = import_module(f".{arguments[0]}", __package__).main
        return command(arguments[1:])
    options = _parser().parse_args(arguments)
    if options.version:
        from santase_env import __version__

        print(f"santase {__version__}")
        return 0
    if options.command is None:
        raise UsageError(
            "give a command: train, evaluate, ladder, compare, sweep, card, plot or replay (santase --help)"
        )
    run: Callable[[argparse.Namespace], int] = options.run
    return run(options)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="santase", description="Santase (Sixty-six) for reinforcement-learning research.")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, text in APART.items():
        commands.add_parser(name, help=text).set_defaults(run=lambda _, name=name: _run([name]))

    evaluate = commands.add_parser(
        "evaluate",
        help="measure agents against each other",
        description="Duplicate play: every deal is played twice with the seats exchanged, and the pair is the sample.",
    )
    evaluate.add_argument("agents", nargs="+", metavar="AGENT", help="such as random, greedy, heuristic or net:PATH")
    evaluate.add_argument("--deals", type=int, default=4000, help="deals played, two per pair (default: %(default)s)")
    evaluate.add_argument(
        "--rules", default="online,false_claim=illegal", help="a preset, then field=value (default: %(default)s)"
    )
    evaluate.add_argument("--seed", type=int, default=0, help="of the deals and of the agents (default: %(default)s)")
    evaluate.add_argument("--json", action="store_true", help="print one line of JSON instead of a table")
    evaluate.set_defaults(run=_evaluate)
    _add_ladder(commands)

    plot = commands.add_parser(
        "plot",
        help="draw learning curves",
        description="Learning curves to PNG and SVG. Runs whose configs differ in the seed only become a band, as far "
        "as all of them reach.",
    )
    plot.add_argument("runs", nargs="+", metavar="RUN", help="folder of a training run")
    plot.add_argument("--out", metavar="DIR", help="folder for the pictures (default: the run; of several, around it)")
    plot.add_argument(
        "--smooth",
        type=int,
        metavar="N",
        help="show training quantities as means of N updates (default: a fiftieth of them; 1: as they are)",
    )
    plot.set_defaults(run=_plot)

    replay = commands.add_parser(
        "replay",
        help="check deal records and print what happened",
        description="Replay one deal record, a list of them or a match; prints steps and results as JSON.",
    )
    replay.add_argument("file", metavar="FILE.json", help="the record or records")
    replay.set_defaults(run=_replay)
    return parser


def _add_ladder(commands: "argparse._SubParsersAction[_Parser]") -> None:
    ladder = commands.add_parser(
        "ladder",
        help="all agents against each other, ordered by strength",
        description="Every agent against every other in duplicate play. Results are kept in a file, and what it holds "
        "(the same agents, checkpoints, rules, seed and version, and at least as many deals) is not played again.",
    )
    ladder.add_argument("agents", nargs="*", metavar="AGENT", help=f"(default: {LADDER_AGENTS})")
    ladder.add_argument(
        "--rules",
        nargs="+",
        default=LADDER_RULES.split(),
        metavar="RULES",
        help=f"one or several (default: {LADDER_RULES})",
    )
    ladder.add_argument("--deals", type=int, default=4000, help="deals of a pairing (default: %(default)s)")
    ladder.add_argument(
        "--heavy-deals", type=int, default=1000, help="where one of the two thinks long (default: %(default)s)"
    )
    ladder.add_argument("--seed", type=int, default=0, help="of the deals and of the agents (default: %(default)s)")
    ladder.add_argument(
        "--out",
        default="runs/ladder.jsonl",
        metavar="FILE",
        help="the results, one line of JSON each; delete it to start anew (default: %(default)s)",
    )
    ladder.add_argument("--markdown", action="store_true", help="print Markdown instead of tables")
    ladder.add_argument("--json", action="store_true", help="print one line of JSON instead of tables")
    ladder.set_defaults(run=_ladder)


# ----------------------------------------------------------------------------------- evaluate, ladder


def _evaluate(options: argparse.Namespace) -> int:
    from santase_env.policy import AgentError, load_policy
    from santase_env.rng import check_seed
    from santase_env.rules import Rules

    from .evaluate import Interrupted, check_deals, evaluate_all, rules_notes
    from .tables import results_json, show_results

    if len(options.agents) < 2:
        raise UsageError(f"give at least two agents to evaluate, not only {options.agents[0]}")
    try:
        rules = Rules.of(options.rules)
        seed = check_seed(options.seed)
        deals = check_deals(options.deals)
        agents = [load_policy(spec) for spec in options.agents]
    except (ValueError, OSError) as error:
        raise UsageError(_sentence(error)) from None
    notes = rules_notes(list(zip(options.agents, agents, strict=True)), rules)
    pairings = len(agents) * (len(agents) - 1) // 2
    fault, code = "", 0
    with _progress(deals * pairings, shown=not options.json) as advance:
        try:
            results = evaluate_all(agents, deals, rules, seed, names=options.agents, progress=advance)
        except AgentError as error:
            results, fault, code = error.results, str(error), WRONG_INPUT
        except Interrupted as stop:
            results, fault, code = stop.results, "interrupted", INTERRUPTED
    for note in notes:
        print(f"santase: {note}", file=sys.stderr)
    if options.json:
        values = results_json(options.agents, results, deals, str(rules), seed)
        print(json.dumps({**values, "notes": notes, **({"error": fault} if fault else {})}))
    elif results:
        show_results(options.agents, results, deals)
    return _complain(fault, code) if fault else 0


def _ladder(options: argparse.Namespace) -> int:
    from santase_env.policy import load_policy
    from santase_env.rng import check_seed
    from santase_env.rules import Rules

    from .evaluate import check_deals, rules_notes
    from .ladder import plan
    from .results import ResultsError, ResultsFile

    names = options.agents or LADDER_AGENTS.split()
    if len(names) < 2:
        raise UsageError(f"give at least two agents for a ladder, not only {names[0]}")
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name} is given twice")
    try:
        rules = list(dict.fromkeys(Rules.of(text) for text in options.rules))
        seed = check_seed(options.seed)
        deals, heavy_deals = check_deals(options.deals), check_deals(options.heavy_deals)
        agents = {name: load_policy(name) for name in names}
        kept = ResultsFile(options.out)
    except ResultsError as error:
        raise UsageError(str(error)) from None
    except (ValueError, OSError) as error:
        raise UsageError(_sentence(error)) from None
    pairings = plan(agents, rules, deals, heavy_deals, seed)
    notes = [kept.note, *(note for one in rules for note in rules_notes(list(agents.items()), one))]
    if passed_over := sum(pairing.passed_over(kept) for pairing in pairings):
        others = "being of another version, or of other checkpoints or programs"
        notes.append(f"results in {kept.path} passed over, {others}: {passed_over}")
    for note in filter(None, notes):
        print(f"santase: {note}", file=sys.stderr)
    with kept:
        return _climb(options, pairings, agents, kept)


def _climb(
    options: argparse.Namespace, pairings: "list[Pairing]", agents: "dict[str, Policy]", kept: "ResultsFile"
) -> int:
    from .ladder import Failure, ladders, play
    from .results import ResultsError
    from .tables import ladder_markdown, show_ladder

    failures: list[Failure] = []
    stop, code = "", 0
    missing = sum(pairing.deals for pairing in pairings if pairing.find(kept) is None)
    with _progress(missing, shown=not options.json) as advance:
        try:
            play(pairings, agents, kept, failures.append, advance, specs=agents)
        except KeyboardInterrupt:
            stop, code = f"interrupted; the same command goes on from {kept.path}", INTERRUPTED
        except ResultsError as error:
            stop, code = str(error), WRONG_INPUT
    found = ladders(pairings, kept)
    if options.json:
        values = [ladder.to_json() for ladder in found]
        print(json.dumps({"ladders": values, "failures": [failure.to_json() for failure in failures]}))
    elif options.markdown:
        print("\n".join(ladder_markdown(ladder) for ladder in found), end="")
    else:
        for ladder in found:
            show_ladder(ladder)
    for failure in failures:
        _complain(str(failure), WRONG_INPUT)
    if stop:
        return _complain(stop, code)
    return WRONG_INPUT if failures else 0


def _progress(total: int, shown: bool) -> AbstractContextManager[Callable[[int], None] | None]:
    """A progress bar on stderr where a person looks at it; gives what to call with the number of deals done."""
    return _progress_bar(total) if shown and sys.stderr.isatty() else nullcontext(None)


@contextmanager
def _progress_bar(total: int) -> "Iterator[Callable[[int], None]]":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("deals"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("deals", total=total)
        yield lambda done: bar.advance(task, done)


# ---------------------------------------------------------------------------------------- plot, replay


def _plot(options: argparse.Namespace) -> int:
    from .log import LogError
    from .plot import plot_runs

    if options.smooth is not None and options.smooth < 1:
        raise UsageError(f"--smooth must be at least 1, not {options.smooth}")
    try:
        paths = plot_runs(options.runs, options.out, options.smooth)
    except LogError as error:
        raise UsageError(str(error)) from None
    for path in paths:
        print(path)
    return 0


def _replay(options: argparse.Namespace) -> int:
    from santase_env.record import RecordError, read_records, replay

    try:
        result = replay(read_records(options.file))
    except RecordError as error:
        message = str(error)
        raise UsageError(message if options.file in message else f"{options.file}: {message}") from None
    print(_json_text(result))
    return 0


def _json_text(value: Any, indent: int = 0, width: int = 120) -> str:
    """JSON with whatever fits on a line on one line."""
    text = json.dumps(value)
    if indent + len(text) <= width or not isinstance(value, dict | list):
        return text
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_json_text(item, indent + 2, width)}" for key, item in value.items()]
    else:
        parts = [_json_text(item, indent + 2, width) for item in value]
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{' ' * indent}{closing}"


def _sentence(error: ValueError | OSError) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot read {error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def _complain(message: str, code: int) -> int:
    print(f"santase: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
