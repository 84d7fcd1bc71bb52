"""The course of a run, whatever the algorithm: updates, evaluations and checkpoints, from wherever it stands."""

import json
from pathlib import Path

from santase_agents.checkpoint import find_checkpoint, read_meta

from .config import TrainConfig, config_values
from .distill import DistillTrainer
from .dmc import DMCTrainer
from .evaluate import Result
from .ppo import PPOTrainer
from .report import Reporter
from .run import RunError, StopFlag, check_resumable, has_checkpoint
from .trainer import Trainer

TRAINERS: tuple[type[Trainer], ...] = (PPOTrainer, DMCTrainer, DistillTrainer)


def make_trainer(config: TrainConfig, run: Path, threads: int | None = None, precision: str | None = None) -> Trainer:
    """The trainer of the config's algorithm, at the beginning of a run. Raises RunError when a library is missing."""
    kinds = {trainer.algorithm: trainer for trainer in TRAINERS}
    if config.algorithm == "sb3":
        try:
            from .sb3_maskable_ppo import SB3Trainer  # its library is an extra of its own
        except ImportError as error:
            raise RunError(f"algorithm sb3 needs Stable-Baselines3: pip install 'santase[sb3]' ({error})") from None
        kinds["sb3"] = SB3Trainer
    return kinds[config.algorithm](config, run, threads, precision)


def train(config: TrainConfig, run: Path, max_updates: int | None = None) -> bool:
    """Train, or go on training, in the folder ``run``; returns whether the run is complete.

    Stops early after ``max_updates`` updates in all, or by Ctrl-C, with a checkpoint from which the same
    command goes on. Raises RunError or CheckpointError with one sentence when that is impossible.
    """
    run.mkdir(parents=True, exist_ok=True)
    folder = find_checkpoint(run) if has_checkpoint(run) else None
    if folder is None:
        trainer = make_trainer(config, run)
    else:
        meta = read_meta(folder)
        check_resumable(config, meta, folder)
        trainer = make_trainer(config, run, meta["threads"], meta["precision"])
        trainer.restore(folder)
    if trainer.step >= config.total_steps and (run / "result.json").exists():
        return True
    (run / "config.json").write_text(json.dumps(config_values(config), indent=1) + "\n", encoding="utf-8")

    with (
        Reporter(run, config, trainer.step, trainer.compute.threads, trainer.compute.precision) as report,
        StopFlag() as stop,
    ):
        if trainer.step == 0:
            evaluate_all(trainer, report, config.evaluate_deals)
        while trainer.step < config.total_steps:
            if stop.requested or (max_updates is not None and trainer.update >= max_updates):
                trainer.save()
                return False
            before = trainer.step
            numbers = trainer.train_update()
            report.train(trainer.update, numbers, trainer.step)
            if trainer.step >= config.total_steps:
                break
            if trainer.step // config.evaluate_every > before // config.evaluate_every:
                evaluate_all(trainer, report, config.evaluate_deals)
            if trainer.step // config.checkpoint_every > before // config.checkpoint_every:
                trainer.save()
        trainer.save()
        results = evaluate_all(trainer, report, config.final_deals)
    (run / "result.json").write_text(json.dumps([r.to_json() for r in results], indent=1) + "\n", encoding="utf-8")
    return True


def evaluate_all(trainer: Trainer, report: Reporter, deals: int) -> list[Result]:
    """Duplicate play against every baseline, into the log."""
    results = [result for opponent in trainer.config.opponents for result in trainer.evaluate(opponent, deals)]
    for result in results:
        report.evaluation(result, trainer.step)
    return results
