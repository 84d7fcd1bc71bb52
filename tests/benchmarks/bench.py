"""Speed, printed as a table: ``make bench``. Beside it, in the same run, what a bare game in C does (ceiling.c).

Each figure is the median of five rounds, and every round measures everything once, since the speed of a shared
machine drifts. Steps are actions of one player, forced ones included; random play takes a
uniformly random legal action.
"""

import argparse
import contextlib
import os
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import santase_training  # noqa: F401 - before torch: it sets how threads wait
from santase_agents.checkpoint import save_checkpoint
from santase_agents.endgame import solve_all
from santase_agents.network import PolicyValueNet
from santase_env import SantaseVectorEnv, load_policy, santase_v0
from santase_env.batch import apply_all, deal_all, new_games, views_to_move
from santase_env.compiled import Array
from santase_env.observation import OBSERVATION_SIZE
from santase_env.policy import random_action
from santase_training.config import TrainConfig
from santase_training.loop import make_trainer
from santase_training.run import RunError

RULES = ("online,false_claim=illegal", "classic", "paper")
ROUNDS = 5
CEILING = "C, observation"
MASKABLE = "MaskablePPO of Stable-Baselines3"


@dataclass
class Benchmark:
    """Something whose speed is measured: ``measure()`` gives (steps, deals, seconds) of one run."""

    name: str
    rules: str
    measure: Callable[[], tuple[int, int, float]]
    speeds: list[float] = field(default_factory=list)
    steps: int = 0
    deals: int = 0

    def run(self) -> None:
        steps, deals, seconds = self.measure()
        self.speeds.append(steps / seconds)
        self.steps += steps
        self.deals += deals


def ceilings(games: int, folder: str) -> list[Benchmark]:
    """The runs of ceiling.c; none without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return []
    program = str(Path(folder) / "ceiling")
    source = str(Path(__file__).with_name("ceiling.c"))
    subprocess.run([compiler, "-O3", "-march=native", source, "-o", program], check=True)
    steps = 10_000_000

    def measure(kind: str) -> tuple[int, int, float]:
        command = [program, str(games), str(steps), str(OBSERVATION_SIZE)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        speed, per_deal = next(map(float, line.split()[1:]) for line in output.splitlines() if line.startswith(kind))
        return steps, round(steps / per_deal) if per_deal else 0, steps / (1e6 * speed)

    kinds = ("step", "observation", "memory")
    return [Benchmark(f"C, {kind}", "see ceiling.c", partial(measure, kind)) for kind in kinds]


def vector_env(rules: str, games: int) -> Benchmark:
    """Random play in the vector environment, on one thread."""
    env = SantaseVectorEnv(games, rules, copy=False)
    env.reset(seed=1)
    rounds = max(1, 2_000_000 // games)
    keys = count()

    def measure() -> tuple[int, int, float]:
        deals = 0
        start = time.perf_counter()
        for _ in range(rounds):
            _, _, ends, _, _ = env.step(env.sample_actions(next(keys)))
            deals += int(ends.sum())
        return rounds * games, deals, time.perf_counter() - start

    return Benchmark(f"vector environment, {games} games, 1 thread", rules, measure)


def aec(rules: str, name: str) -> Benchmark:
    """Random play in the usual AEC loop: last(), then step()."""
    env = getattr(santase_v0, name)(rules=rules)
    keys = count()

    def measure() -> tuple[int, int, float]:
        steps = deals = 0
        start = time.perf_counter()
        while steps < 20_000:
            env.reset(seed=next(keys))
            deals += 1
            for _agent in env.agent_iter():
                observation, _, termination, truncation, _ = env.last()
                if termination or truncation:
                    env.step(None)
                    continue
                env.step(int(random_action(observation["action_mask"], next(keys))))
                steps += 1
        return steps, deals, time.perf_counter() - start

    return Benchmark(f"AEC {name}()", rules, measure)


def training(rules: str, folder: str, **settings: Any) -> Benchmark:
    """Training with 256-256 networks and two epochs, on as many threads as are fastest, evaluations apart."""
    trainer = make_trainer(TrainConfig(rules=rules, minibatch=1024, **settings), Path(folder))

    def measure() -> tuple[int, int, float]:
        steps, seconds = trainer.step, trainer.seconds
        while trainer.seconds - seconds < 2:
            trainer.train_update()
        return trainer.step - steps, 0, trainer.seconds - seconds

    name = MASKABLE if trainer.algorithm == "sb3" else "PPO"
    shown = ", ".join(f"{key} {value}" for key, value in settings.items() if key in ("critic", "pool_share"))
    name += f" ({shown})" if shown else ""
    return Benchmark(
        f"{name}, 2x256, 2 epochs, {trainer.compute.threads} thread(s), {trainer.compute.precision}", rules, measure
    )


def trainings(rules: str, folder: str) -> list[Benchmark]:
    """Our PPO in some forms, and MaskablePPO on the same games; its policy and value are networks apart."""
    found = [
        training(rules, folder, pool_share=0.0),
        training(rules, folder, pool_share=0.2),
        training(rules, folder, pool_share=0.0, critic="full"),
        training(rules, folder, pool_share=0.0, network="separate"),
    ]
    with contextlib.suppress(RunError):
        found.append(training(rules, folder, algorithm="sb3", network="separate"))
    return found


def opening_positions(rules: str, games: int) -> tuple[Array, Array]:
    """Views and masks [B] of the first leads of so many deals."""
    states = new_games(games, rules, seed=1)
    deal_all(states, np.arange(games) % 2)
    return views_to_move(states, np.arange(games))


def used_up_positions(rules: str, games: int) -> Array:
    """Views [B] of the moments at which the talon has just been used up, in play of ``heuristic`` with itself."""
    policy = load_policy("heuristic")
    states = new_games(games, rules, seed=1)
    deal_all(states, np.arange(games) % 2)
    found = []
    while (rows := np.flatnonzero((states["player"] >= 0) & (states["talon"] > 0))).size:
        views, masks = views_to_move(states, rows)
        apply_all(states, rows, policy.act(views, masks, np.arange(len(rows), dtype=np.uint64)))
        done = rows[(states["player"][rows] >= 0) & (states["talon"][rows] == 0)]
        found.append(views_to_move(states, done)[0])
    return np.concatenate(found)


def endgames(rules: str) -> Benchmark:
    """Exact solving of every action of positions with six cards each."""
    views = used_up_positions(rules, 4000)

    def measure() -> tuple[int, int, float]:
        start = time.perf_counter()
        solve_all(views)
        return len(views), 0, time.perf_counter() - start

    return Benchmark("endgame, positions with all their actions", rules, measure)


def searching(rules: str, name: str, unit: str, budget: int, games: int, **options: object) -> Benchmark:
    """A search agent at the first leads of deals, on one thread; its unit is what its budget counts."""
    settings = {unit: budget, "threads": 1, **options}
    policy = load_policy(f"{name}:" + ",".join(f"{key}={value}" for key, value in settings.items()))
    views, masks = opening_positions(rules, games)
    keys = np.arange(games, dtype=np.uint64)

    def measure() -> tuple[int, int, float]:
        start = time.perf_counter()
        policy.act(views, masks, keys)
        return budget * games, 0, time.perf_counter() - start

    options.pop("net", None)
    of = ", ".join(f"{key}={value}" for key, value in options.items())
    return Benchmark(f"{name}, {unit}" + (f" ({of})" if of else ""), rules, measure)


def untrained(rules: str, folder: str) -> str:
    """A checkpoint of a network of the usual size."""
    network = PolicyValueNet()
    meta = {"rules": rules, "canonical_suits": True, "network": {"kind": "mlp", "hidden": list(network.hidden)}}
    save_checkpoint(Path(folder) / "net", {**meta, "config": {}, "update": 0, "step": 0}, network.state_dict())
    return str(Path(folder) / "net")


def searches(rules: str, folder: str) -> list[Benchmark]:
    """The search agents, on one core."""
    network = untrained(rules, folder)
    return [
        endgames(rules),
        searching(rules, "pimc", "worlds", 40, 100),
        searching(rules, "pimc", "worlds", 40, 100, rollout="random"),
        searching(rules, "ismcts", "iterations", 1000, 24),
        searching(rules, "ismcts", "iterations", 1000, 24, rollout="random"),
        searching(rules, "ismcts", "iterations", 1000, 100, rollout="random", exact=False),
        searching(rules, "search", "iterations", 200, 512, net=network),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=2048, help="games side by side in the vector environment")
    parser.add_argument("--skip-training", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        benchmarks = ceilings(options.games, folder)
        benchmarks += [vector_env(rules, options.games) for rules in RULES]
        benchmarks += [aec(RULES[0], "raw_env"), aec(RULES[0], "env")]
        if not options.skip_training:
            benchmarks += trainings(RULES[0], folder)
        search = searches(RULES[1], folder)
        for benchmark in benchmarks + search:
            benchmark.measure()
        for _ in range(ROUNDS):
            for benchmark in benchmarks + search:
                benchmark.run()
    show(benchmarks)
    show_searches(search)


def show(benchmarks: list[Benchmark]) -> None:
    """Print the table; the ratio to C is the median of the rounds' ratios."""
    table = Table(title=f"Observation of {OBSERVATION_SIZE} float32 and mask written at every step; {machine()}")
    for column in ("what", "rules", "steps per deal", "steps per second", "slowest–fastest", "of C, observation"):
        table.add_column(column, justify="left" if column in ("what", "rules") else "right")
    limit = next((benchmark.speeds for benchmark in benchmarks if benchmark.name == CEILING), None)
    for one in benchmarks:
        ratio = ""
        if limit and not one.name.startswith(("C,", "PPO", MASKABLE)):
            ratio = f"{statistics.median(a / b for a, b in zip(one.speeds, limit, strict=True)):.3f}"
        table.add_row(
            one.name,
            one.rules,
            f"{one.steps / one.deals:.1f}" if one.deals else "",
            amount(statistics.median(one.speeds)),
            f"{amount(min(one.speeds))}–{amount(max(one.speeds))}",
            ratio,
        )
    Console(width=160).print(table)
    slow = next((benchmark.speeds for benchmark in benchmarks if benchmark.name.startswith(MASKABLE)), None)
    for one in benchmarks if slow else ():
        if one.name.startswith("PPO"):
            ratio = statistics.median(a / b for a, b in zip(one.speeds, slow or (), strict=True))
            print(f"{one.name}: {ratio:.1f} times {MASKABLE}")


def show_searches(benchmarks: list[Benchmark]) -> None:
    """Print the table of the search agents."""
    table = Table(title=f"Search on one core, from the first lead (endgames: six cards each); {machine()}")
    for column in ("what", "rules", "per second", "slowest–fastest"):
        table.add_column(column, justify="left" if column in ("what", "rules") else "right")
    for one in benchmarks:
        speeds = f"{amount(min(one.speeds))}–{amount(max(one.speeds))}"
        table.add_row(one.name, one.rules, amount(statistics.median(one.speeds)), speeds)
    Console(width=160).print(table)


def amount(speed: float) -> str:
    """A speed for people."""
    return f"{speed / 1e6:.2f}M" if speed >= 1e6 else f"{speed / 1e3:.1f}k"


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
