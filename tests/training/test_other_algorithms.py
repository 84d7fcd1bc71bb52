"""Deep Monte-Carlo and distillation: exact resumption, and that they learn."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from santase_training.config import ConfigError, TrainConfig
from santase_training.distill import DistillTrainer
from santase_training.dmc import DMCTrainer
from santase_training.ppo import PPOTrainer
from santase_training.run import RunError

from .conftest import MINI, assert_resumes, run_updates, weights

TEACHER = "ismcts:iterations=20,threads=1"


def test_ten_and_ten_updates_of_deep_monte_carlo_equal_twenty(tiny: TrainConfig, tmp_path: Path) -> None:
    assert_resumes(DMCTrainer, replace(tiny, algorithm="dmc"), tmp_path)


def test_five_and_five_updates_of_distillation_equal_ten(tiny: TrainConfig, tmp_path: Path) -> None:
    config = replace(tiny, algorithm="distill", teacher=TEACHER, num_envs=4, rollout=4, rules=MINI)
    assert_resumes(DistillTrainer, config, tmp_path, updates=10)


def test_deep_monte_carlo_learns_on_a_mini_deck(tiny: TrainConfig, tmp_path: Path) -> None:
    config = replace(
        tiny, algorithm="dmc", rules=MINI, total_steps=150_000, num_envs=128, learning_rate=5e-3, hidden=(64,)
    )
    trainer = DMCTrainer(config, tmp_path)
    before = trainer.evaluate("greedy", 2000)[0].mean
    while trainer.step < config.total_steps:
        trainer.train_update()
    assert trainer.evaluate("greedy", 2000)[0].mean > before + 0.3


def test_the_values_of_actions_are_those_of_their_outcomes(tiny: TrainConfig, tmp_path: Path) -> None:
    """rlcard 215: targets maximised over illegal actions. Here the target is what came of the action that was taken."""
    trainer = DMCTrainer(replace(tiny, algorithm="dmc"), tmp_path)
    run_updates(trainer, 2)
    samples = trainer.waiting.take(trainer.games.play(trainer.network, np.random.default_rng(0), trainer.choose))
    rows = np.arange(60)
    gradients, terms = trainer.gradient(samples, rows, 0)
    values, value = trainer.network(samples.observation[:60])
    taken = values[torch.arange(60), torch.from_numpy(samples.action[:60])]
    outcome = torch.from_numpy(samples.outcome[:60])
    loss = (taken - outcome).square().mean() + trainer.config.value_coefficient * (value - outcome).square().mean()
    expected = torch.autograd.grad(loss, trainer.adam.parameters)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(gradients, expected, strict=True))
    assert terms[0] == pytest.approx(float((taken - outcome).square().sum().detach()), rel=1e-5)


def test_a_network_learns_to_choose_as_its_teacher_does(tiny: TrainConfig, tmp_path: Path) -> None:
    config = replace(
        tiny,
        algorithm="distill",
        teacher=TEACHER,
        rules=MINI,
        num_envs=64,
        epochs=8,
        learning_rate=1e-2,
        total_steps=40_000,
    )
    trainer = DistillTrainer(config, tmp_path)
    numbers = run_updates(trainer, 12)
    assert numbers[-1]["cross_entropy"] < numbers[0]["cross_entropy"] - 0.1
    assert numbers[-1]["agreement"] > numbers[0]["agreement"] + 0.1
    assert trainer.evaluate("random", 2000)[0].ci95[0] > 0


def test_a_teacher_that_does_not_search_is_refused(tiny: TrainConfig, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="teacher 'greedy' does not search: it has no visits to learn from"):
        DistillTrainer(replace(tiny, algorithm="distill", teacher="greedy"), tmp_path)


def test_a_run_begins_with_the_weights_of_another(tiny: TrainConfig, tmp_path: Path) -> None:
    first = DMCTrainer(tiny, tmp_path / "first")
    run_updates(first, 2)
    first.save()
    second = PPOTrainer(replace(tiny, init=str(tmp_path / "first"), seed=5), tmp_path / "second")
    assert all(map(torch.equal, weights(first), weights(second)))
    with pytest.raises(RunError, match=r"has network, hidden, recall and canonical_suits .* but this run wants"):
        PPOTrainer(replace(tiny, init=str(tmp_path / "first"), hidden=(64,)), tmp_path / "third")
