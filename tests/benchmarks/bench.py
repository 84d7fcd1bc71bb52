"""Speed, printed as a table: ``make bench``. Beside it, in the same run, what a bare game in C does (ceiling.c).

Each figure is the median of five runs. Steps are actions of one player, forced ones included; random play takes a
uniformly random legal action.
"""

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

import santase_training  # noqa: F401 - before torch: it sets how threads wait
from santase_env import SantaseVectorEnv, santase_v0
from santase_env.observation import OBSERVATION_SIZE
from santase_env.policy import random_action
from santase_training.config import PPOConfig
from santase_training.ppo import Trainer

RULES = ("online,false_claim=illegal", "classic", "paper")
REPEATS = 5


class Row(NamedTuple):
    """One line of the table: million or thousand steps per second, and what was measured."""

    name: str
    rules: str
    steps_per_deal: float
    steps_per_second: float
    ceiling: float | None


def median(measure: Callable[[], float]) -> float:
    """Steps per second: median of the repeats, after one that warms up."""
    measure()
    return statistics.median(measure() for _ in range(REPEATS))


def ceiling(games: int) -> dict[str, tuple[float, float]]:
    """(steps per second, steps per deal) of ceiling.c by kind of run; empty without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return {}
    source = Path(__file__).with_name("ceiling.c")
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "ceiling")
        subprocess.run([compiler, "-O3", "-march=native", str(source), "-o", program], check=True)
        runs = []
        for _ in range(REPEATS):
            command = [program, str(games), "10000000", str(OBSERVATION_SIZE)]
            runs.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    lines = [line.split() for run in runs for line in run.splitlines()]
    names = dict.fromkeys(line[0] for line in lines)
    return {
        name: (
            1e6 * statistics.median(float(line[1]) for line in lines if line[0] == name),
            statistics.median(float(line[2]) for line in lines if line[0] == name),
        )
        for name in names
    }


def vector_env(rules: str, games: int, steps: int = 3_000_000) -> tuple[float, float]:
    """(steps per second, steps per deal) of random play in the vector environment, one thread."""
    env = SantaseVectorEnv(games, rules, copy=False)
    env.reset(seed=1)
    deals = rounds = 0

    def measure() -> float:
        nonlocal deals, rounds
        start = time.perf_counter()
        for _ in range(steps // games):
            _, _, ends, _, _ = env.step(env.sample_actions(rounds))
            deals += int(ends.sum())
            rounds += 1
        return steps // games * games / (time.perf_counter() - start)

    return median(measure), rounds * games / deals


def aec(rules: str, *, wrapped: bool, steps: int = 30_000) -> tuple[float, float]:
    """(steps per second, steps per deal) of random play in the usual AEC loop: last(), then step()."""
    env = (santase_v0.env if wrapped else santase_v0.raw_env)(rules=rules)
    taken = deals = 0

    def measure() -> float:
        nonlocal taken, deals
        start = time.perf_counter()
        done = 0
        while done < steps:
            env.reset(seed=deals)
            deals += 1
            for _agent in env.agent_iter():
                observation, _, termination, truncation, _ = env.last()
                if termination or truncation:
                    env.step(None)
                    continue
                env.step(int(random_action(observation["action_mask"], taken + done)))
                done += 1
        taken += done
        return done / (time.perf_counter() - start)

    return median(measure), taken / deals


def training(rules: str) -> tuple[float, float, int, str]:
    """(steps per second, steps per deal, threads, precision) of PPO with a 2x256 network and two epochs."""
    config = PPOConfig(rules=rules, pool_every=1)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(config, Path(folder))
        speed = median(lambda: trainer.train_update()["steps_per_second"])
    steps = trainer.step / max(1, int(trainer.env.states["deal"].sum()))
    return speed, steps, trainer.workers.threads, trainer.precision


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=1024, help="games side by side in the vector environment")
    parser.add_argument("--skip-training", action="store_true")
    games = parser.parse_args().games
    limit = ceiling(games)
    rows = [Row(f"C, {name}", "see ceiling.c", steps, speed, None) for name, (speed, steps) in limit.items()]
    written = limit.get("observation", (None,))[0]
    for rules in RULES:
        speed, steps = vector_env(rules, games)
        rows.append(Row(f"vector environment, {games} games, 1 thread", rules, steps, speed, written))
    for name, wrapped in (("raw_env()", False), ("env()", True)):
        speed, steps = aec(RULES[0], wrapped=wrapped)
        rows.append(Row(f"AEC {name}", RULES[0], steps, speed, written))
    if not parser.parse_args().skip_training:
        speed, steps, threads, precision = training(RULES[0])
        rows.append(Row(f"PPO, 2x256, 2 epochs, {threads} thread(s), {precision}", RULES[0], steps, speed, None))
    show(rows)


def show(rows: list[Row]) -> None:
    """Print the table."""
    title = f"Random play and training, observation of {OBSERVATION_SIZE} float32; {machine()}"
    table = Table(title=title)
    for column in ("what", "rules", "steps per deal", "steps per second", "of C, observation"):
        table.add_column(column, justify="left" if column in ("what", "rules") else "right")
    for row in rows:
        speed = row.steps_per_second
        text = f"{speed / 1e6:.2f}M" if speed >= 1e6 else f"{speed / 1e3:.1f}k"
        share = "" if row.ceiling is None else f"{speed / row.ceiling:.3f}"
        table.add_row(row.name, row.rules, f"{row.steps_per_deal:.1f}" if row.steps_per_deal else "", text, share)
    Console(width=160).print(table)


def machine() -> str:
    """Processor and number of cores."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    main()
