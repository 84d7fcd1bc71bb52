"""What a run tells while it trains: a JSONL log, TensorBoard, and a progress bar with speed and time left."""

from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch.utils.tensorboard import SummaryWriter

from .config import TrainConfig, config_values
from .evaluate import Result
from .log import LOG_NAME, RunLog

PLAIN_EVERY = 1_000_000
"""Steps between lines where there is no terminal to draw a bar on."""


class Reporter:
    """Takes the numbers of updates and evaluations to all places; a context manager.

    ``step`` is where the run goes on (0 for a new one); what was logged beyond it is dropped.
    """

    def __init__(self, run: Path, config: TrainConfig, step: int, threads: int, precision: str) -> None:
        self.config = config
        self.console = Console(stderr=True)
        self.log = RunLog.open(run / LOG_NAME, resume_step=step if step else None)
        self.log.append(
            "start", config=config_values(config), seed=config.seed, step=step, threads=threads, precision=precision
        )
        self.board = SummaryWriter(str(run / "tensorboard"), purge_step=step or None)
        self.last: dict[str, Result] = {}
        self.printed = step // PLAIN_EVERY
        self.bar = Progress(
            TextColumn("{task.fields[steps]}"),
            BarColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[score]}"),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("train", total=config.total_steps, completed=step, steps="", speed="", score="")
        rules = f"rules {config.rules}, seed {config.seed}, {threads} thread(s), {precision}"
        self.console.print(f"Training in {run}: {config.total_steps:,} steps, {rules}", highlight=False, soft_wrap=True)

    def __enter__(self) -> "Reporter":
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()
        self.board.close()
        self.log.close()

    def train(self, update: int, numbers: dict[str, float], step: int) -> None:
        """The numbers of one update that ended at ``step``."""
        self.log.append("train", update=update, step=step, **numbers)
        for key, value in numbers.items():
            self.board.add_scalar(f"train/{key}", value, step)
        speed = f"{numbers['steps_per_second'] / 1000:.0f}k steps/s"
        self.bar.update(self.task, completed=step, steps=f"{step / 1e6:.1f}M steps", speed=speed, score=self._score())
        if not self.console.is_terminal and step // PLAIN_EVERY > self.printed:
            self.printed = step // PLAIN_EVERY
            self.console.print(f"{step / 1e6:.1f}M steps, {speed}  {self._score()}", highlight=False, soft_wrap=True)

    def evaluation(self, result: Result, step: int) -> None:
        """Game points per deal against a baseline, measured at ``step``."""
        self.last[result.b] = result
        self.log.append(
            "eval",
            step=step,
            opponent=result.b,
            mean=result.mean,
            ci95=list(result.ci95),
            deals=result.deals,
            rules=result.rules,
        )
        self.board.add_scalar(f"game_points_per_deal/{result.b}", result.mean, step)
        self.bar.update(self.task, score=self._score())

    def _score(self) -> str:
        return "  ".join(f"{name} {result.mean:+.2f}" for name, result in self.last.items())
