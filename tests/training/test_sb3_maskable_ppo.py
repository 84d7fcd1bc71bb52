"""The MaskablePPO recipe end to end: training, exact resumption, the export and who may load it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from torch import nn

from santase_agents.net import NetPolicy
from santase_env import load_policy
from santase_env.sb3 import SantaseSB3VecEnv
from santase_training.config import ConfigError, TrainConfig
from santase_training.loop import train
from santase_training.sb3_maskable_ppo import SB3Trainer, export_model, exported

from .conftest import MINI, assert_resumes, run_updates


@pytest.fixture
def settings(tiny: TrainConfig) -> TrainConfig:
    return replace(tiny, algorithm="sb3", network="separate", hidden=(16, 16), pool_first=0.5)


def test_five_and_five_updates_equal_ten(settings: TrainConfig, tmp_path: Path) -> None:
    assert_resumes(SB3Trainer, settings, tmp_path, updates=10)


def test_it_learns_on_a_mini_deck(settings: TrainConfig, tmp_path: Path) -> None:
    config = replace(settings, rules=MINI, total_steps=60_000, learning_rate=5e-3, hidden=(64,), num_envs=64)
    trainer = SB3Trainer(config, tmp_path)
    before = trainer.evaluate("greedy", 2000)[0].mean
    while trainer.step < config.total_steps:
        trainer.train_update()
    assert trainer.evaluate("greedy", 2000)[0].mean > before + 0.3


def test_the_export_is_the_policy(settings: TrainConfig, tmp_path: Path) -> None:
    trainer = SB3Trainer(settings, tmp_path)
    run_updates(trainer, 2)
    observation = torch.rand(50, trainer.network.inputs)
    masks = np.ones((50, 31), bool)
    policy = trainer.model.policy
    logits, value = trainer.network(observation)
    assert torch.allclose(value, policy.predict_values(observation)[:, 0], atol=1e-6)
    shares = policy.get_distribution(observation, action_masks=masks).distribution.probs
    assert torch.allclose(logits.softmax(dim=1), shares, atol=1e-6)


def test_a_run_is_played_by_its_spec(settings: TrainConfig, tmp_path: Path) -> None:
    assert train(replace(settings, total_steps=2000), tmp_path)
    policy = load_policy(f"sb3:{tmp_path}")
    assert isinstance(policy, NetPolicy)
    assert policy.rules == settings.rules


def test_a_model_of_ones_own_is_exported_and_played(tmp_path: Path) -> None:
    env = SantaseSB3VecEnv(4, "random", "classic")
    arch = {"pi": [8, 8], "vf": [8, 8]}
    model = MaskablePPO("MlpPolicy", env, policy_kwargs={"net_arch": arch, "activation_fn": nn.ReLU}, n_steps=8)
    folder = export_model(model, tmp_path / "mine", "classic", canonical_suits=False)
    policy = load_policy(f"sb3:{folder}")
    assert isinstance(policy, NetPolicy)
    assert policy.rules == "classic"


def test_a_model_that_is_not_two_relu_networks_is_refused(tmp_path: Path) -> None:
    model = MaskablePPO("MlpPolicy", SantaseSB3VecEnv(4), n_steps=8)
    with pytest.raises(ValueError, match="with equal sizes and activation_fn=ReLU is exported"):
        export_model(model, tmp_path / "mine", "classic", canonical_suits=False)
    with pytest.raises(ValueError, match=r"'strange\.weight' has no place"):
        exported({"strange.weight": torch.zeros(1)})


def test_a_zip_of_the_library_is_refused_with_the_way_out(tmp_path: Path) -> None:
    """SB3 1877: pickled weights. Only exports are loaded."""
    model = MaskablePPO("MlpPolicy", SantaseSB3VecEnv(4), n_steps=8)
    model.save(tmp_path / "model.zip")
    with pytest.raises(ValueError, match="export_model"):
        load_policy(f"sb3:{tmp_path / 'model.zip'}")


@pytest.mark.parametrize("changes", [{"network": "mlp"}, {"critic": "full"}, {"magnet": "moving"}])
def test_settings_that_the_library_does_not_have_are_refused(
    settings: TrainConfig, tmp_path: Path, changes: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match="network separate, critic own, magnet none"):
        SB3Trainer(replace(settings, **changes), tmp_path)
