"""What Gymnasium checks, with its own tests and wrappers."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

import santase_env  # registers Santase-v0

OPTIONS: list[dict[str, Any]] = [
    {},
    {"opponent": "greedy", "seat": 1, "rules": "paper"},
    {"opponent": "greedy", "episode": "match", "canonical_suits": True},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_check_env(options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    check_env(gymnasium.make("Santase-v0", **options).unwrapped)
    assert "trump" in capsys.readouterr().out


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_make_vec_gives_the_native_environment(mode: AutoresetMode) -> None:
    envs = gymnasium.make_vec(
        "Santase-v0", num_envs=4, vectorization_mode="vector_entry_point", opponent="greedy", autoreset_mode=mode
    )
    assert isinstance(envs, santase_env.VersusVectorEnv)
    assert isinstance(envs, VectorEnv)
    assert envs.metadata["autoreset_mode"] is mode
    observation, _ = envs.reset(seed=1)
    assert observation in envs.observation_space
    observation, rewards, terminations, truncations, _ = envs.step(observation["action_mask"].argmax(axis=1))
    assert observation in envs.observation_space
    assert (rewards.shape, rewards.dtype) == ((4,), np.float64)
    assert terminations.dtype == truncations.dtype == np.bool_
    envs.close()
    with pytest.raises(ValueError, match="not a valid AutoresetMode"):
        gymnasium.make_vec("Santase-v0", num_envs=4, autoreset_mode="sometimes")


def test_make_vec_has_the_spaces_of_gymnasiums_own_loop() -> None:
    native = gymnasium.make_vec("Santase-v0", num_envs=3)
    loop = gymnasium.make_vec("Santase-v0", num_envs=3, vectorization_mode="sync")
    assert isinstance(loop, SyncVectorEnv)
    assert native.observation_space == loop.observation_space
    assert native.action_space == loop.action_space
    assert native.single_observation_space == loop.single_observation_space
    assert native.single_action_space == loop.single_action_space


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_vector_wrappers_find_what_they_need(mode: AutoresetMode) -> None:
    envs: Any = DictInfoToList(
        RecordEpisodeStatistics(gymnasium.make_vec("Santase-v0", num_envs=6, autoreset_mode=mode))
    )
    observation, _ = envs.reset(seed=1)
    returns: list[float] = []
    for _ in range(60):
        observation, rewards, terminations, _, infos = envs.step(observation["action_mask"].argmax(axis=1))
        for i in np.flatnonzero(terminations):
            assert infos[i]["episode"]["r"] == rewards[i]
            returns.append(rewards[i])
    assert len(returns) > 10
    assert set(np.abs(returns)) <= {0, 1, 2, 3}


def test_a_policy_object_may_be_the_opponent() -> None:
    opponent = santase_env.RandomPolicy()
    env = gymnasium.make("Santase-v0", opponent=opponent)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="unknown agent 'nobody'"):
        gymnasium.make("Santase-v0", opponent="nobody")
