"""PPO: exact resumption, the learner's own decisions, and that it learns."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from santase_agents.network import masked_log_softmax
from santase_env.observation import OBSERVATION_SIZE
from santase_training.config import TrainConfig
from santase_training.losses import Weights
from santase_training.ppo import PPOTrainer
from santase_training.run import RunError

from .conftest import MINI, assert_resumes, run_updates, weights

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "full critic, moving magnet": {"critic": "full", "magnet": "moving"},
    "periodic magnet": {"magnet": "periodic", "magnet_every": 3, "pool_share": 0.0},
    "residual, mixture of rules": {"network": "residual", "hidden": (16, 16), "rules": "classic | online | paper"},
    "uniform magnet, separate": {"magnet": "uniform", "network": "separate", "hidden": (16,)},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_ten_and_ten_updates_equal_twenty(name: str, tiny: TrainConfig, tmp_path: Path) -> None:
    """SB3 1277, 1877: a resumed run starts its schedules again."""
    assert_resumes(PPOTrainer, replace(tiny, **VARIANTS[name]), tmp_path)


def test_the_probability_ratio_is_one_before_the_first_gradient_step(tiny: TrainConfig, tmp_path: Path) -> None:
    """AgileRL 487: masks missing when log-probabilities are recomputed."""
    trainer = PPOTrainer(tiny, tmp_path)
    run_updates(trainer, 3)
    batch = trainer.estimate(trainer.games.play(trainer.network, np.random.default_rng(0)))
    data, rows = batch.decisions, batch.rows
    logits, value = trainer.network(batch.seen[torch.from_numpy(rows)])
    mask = torch.from_numpy(data.mask[rows]).bool()
    again = masked_log_softmax(logits, mask).gather(1, torch.from_numpy(data.action[rows])[:, None])[:, 0]
    ratio = (again - torch.from_numpy(data.log_probability[rows])).exp()
    assert torch.allclose(ratio, torch.ones(len(rows)), atol=1e-5)
    expected = torch.from_numpy((data.target - batch.advantage)[rows])
    assert torch.allclose(value, expected, atol=1e-5)


def test_the_losses_of_a_gpu_give_the_gradients_of_the_compiled_ones(tiny: TrainConfig, tmp_path: Path) -> None:
    trainer = PPOTrainer(replace(tiny, magnet="moving", critic="full"), tmp_path)
    run_updates(trainer, 3)
    batch = trainer.estimate(trainer.games.play(trainer.network, np.random.default_rng(0)))
    rows, settings = batch.rows[:200], Weights(0.2, 0.5, 0.03, 0.1)
    compiled, terms = trainer.gradient(batch.seen, batch.decisions, rows, settings, 0)
    trainer.compiled_losses = False
    tensors = type(batch.decisions)(*map(torch.from_numpy, batch.decisions))
    by_torch, torch_terms = trainer.gradient(batch.seen, tensors, rows, settings, 0)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(compiled, by_torch, strict=True))
    np.testing.assert_allclose(terms, torch_terms, rtol=1e-4, atol=1e-4)


def test_it_learns_the_same_with_the_losses_of_a_gpu(tiny: TrainConfig, tmp_path: Path) -> None:
    one, two = PPOTrainer(tiny, tmp_path / "1"), PPOTrainer(tiny, tmp_path / "2")
    two.compiled_losses = False
    for trainer in (one, two):
        trainer.train_update()
    for first, second in zip(weights(one), weights(two), strict=True):
        assert torch.allclose(first, second, atol=1e-5)


def test_the_policy_never_reads_what_the_critic_sees(tiny: TrainConfig, tmp_path: Path) -> None:
    """rlcard 297: hidden cards in the observation."""
    trainer = PPOTrainer(replace(tiny, critic="full"), tmp_path)
    assert trainer.network.inputs == OBSERVATION_SIZE
    rollout = trainer.games.play(trainer.network, np.random.default_rng(0))
    assert rollout.seen.shape[2] > OBSERVATION_SIZE
    actions, logs = rollout.action.copy(), rollout.log_probability.copy()
    again = PPOTrainer(tiny, tmp_path / "own")
    plain = again.games.play(again.network, np.random.default_rng(0))
    assert np.array_equal(actions, plain.action)
    assert np.array_equal(logs, plain.log_probability)


def test_a_critic_that_sees_all_cards_explains_more(tiny: TrainConfig, tmp_path: Path) -> None:
    explained = {}
    for critic in ("own", "full"):
        config = replace(tiny, critic=critic, num_envs=256, hidden=(64,), learning_rate=5e-3, total_steps=10**6)
        numbers = run_updates(PPOTrainer(config, tmp_path / critic), 12)
        explained[critic] = np.mean([update["explained_variance"] for update in numbers[-4:]])
    assert explained["full"] > explained["own"] + 0.02


def test_a_loss_that_is_not_a_number_stops_with_a_sentence(tiny: TrainConfig, tmp_path: Path) -> None:
    trainer = PPOTrainer(tiny, tmp_path)
    with torch.no_grad():
        trainer.network.head.bias[-1] = float("nan")  # the value; the policy still plays
    with pytest.raises(RunError, match=r"update 1: .* not a number; begin anew with a lower learning_rate"):
        trainer.train_update()
    with torch.no_grad():
        trainer.network.head.bias[3] = float("nan")
    with pytest.raises(RunError, match=r"update 2: row .* has no legal action, or a logit that is not a number"):
        trainer.train_update()


@pytest.mark.parametrize("seed", [1, 2])
def test_it_learns_on_a_mini_deck(tiny: TrainConfig, tmp_path: Path, seed: int) -> None:
    config = replace(tiny, rules=MINI, seed=seed, total_steps=120_000, num_envs=128, learning_rate=5e-3, hidden=(64,))
    trainer = PPOTrainer(config, tmp_path)
    before = trainer.evaluate("greedy", 2000)[0].mean
    while trainer.step < config.total_steps:
        trainer.train_update()
    after = trainer.evaluate("greedy", 2000)[0]
    assert after.mean > before + 0.3
    assert after.ci95[0] > 0


def test_a_magnet_holds_the_policy_near(tiny: TrainConfig, tmp_path: Path) -> None:
    kl = {}
    for weight in (0.0, 2.0):
        config = replace(tiny, magnet="start", magnet_start=weight, magnet_end=weight, entropy_start=0, entropy_end=0)
        kl[weight] = run_updates(PPOTrainer(config, tmp_path / str(weight)), 30)[-1]["magnet_kl"]
    assert kl[2.0] < kl[0.0] / 4


def test_weights_that_fall_reach_their_end(tiny: TrainConfig, tmp_path: Path) -> None:
    config = replace(tiny, magnet="uniform", magnet_start=0.4, magnet_end=0.1, learning_rate_end=1e-4)
    trainer = PPOTrainer(config, tmp_path)
    first = run_updates(trainer, 1)[0]
    assert (first["magnet_weight"], first["entropy_weight"], first["learning_rate"]) == (0.4, 0.05, 2e-3)
    trainer.step = config.total_steps // 2
    half = run_updates(trainer, 1)[0]
    assert half["magnet_weight"] == pytest.approx(0.25)
    trainer.step = config.total_steps
    last = run_updates(trainer, 1)[0]
    assert [last[k] for k in ("magnet_weight", "entropy_weight", "learning_rate")] == pytest.approx([0.1, 0.005, 1e-4])
