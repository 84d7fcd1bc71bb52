"""A tiny run that every test of learning starts from."""

from pathlib import Path

import pytest
import torch

from santase_training.compute import Compute
from santase_training.config import TrainConfig
from santase_training.trainer import Trainer

MINI = "online,false_claim=illegal,ranks=QKTA,suits=CH,hand_size=2,target=33,schneider=16"


@pytest.fixture(autouse=True)
def one_thread() -> None:
    Compute()


@pytest.fixture
def tiny() -> TrainConfig:
    return TrainConfig(
        total_steps=40_000,
        num_envs=32,
        rollout=16,
        minibatch=128,
        hidden=(32,),
        pool_share=0.4,
        pool_size=2,
        pool_every=2,
        opponents=("random",),
        evaluate_every=10_000,
        evaluate_deals=200,
        final_deals=200,
        threads=1,
        precision="float32",
    )


def weights(trainer: Trainer) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in trainer.network.parameters()]


def run_updates(trainer: Trainer, count: int) -> list[dict[str, float]]:
    timing = ("seconds", "steps_per_second")
    return [{k: v for k, v in trainer.train_update().items() if k not in timing} for _ in range(count)]


def assert_resumes(make: type[Trainer], config: TrainConfig, folder: Path, updates: int = 20) -> None:
    """Half and half of the updates equal the whole: numbers, weights and everything saved."""
    whole = make(config, folder / "whole")
    expected = run_updates(whole, updates)
    first = make(config, folder / "parts")
    run_updates(first, updates // 2)
    saved = first.save()
    second = make(config, folder / "parts")
    second.restore(saved)
    assert run_updates(second, updates - updates // 2) == expected[updates // 2 :]
    assert all(map(torch.equal, weights(second), weights(whole)))
    assert second.step == whole.step
    left, right = second.tensors(), whole.tensors()
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)
