"""Decisions wait for the end of their deal, and get its outcome."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from santase_training.config import TrainConfig
from santase_training.outcomes import Waiting, final_outcomes
from santase_training.ppo import PPOTrainer


def test_the_outcome_is_the_reward_at_the_next_end() -> None:
    rewards = np.array([[0, 1, 0, -2, 0], [0, 0, 3, 0, 0]], np.float32).T
    ends = np.array([[0, 1, 0, 1, 0], [0, 0, 1, 0, 0]], bool).T
    outcomes, first = np.zeros((5, 2), np.float32), np.zeros(2, np.float32)
    final_outcomes(rewards, ends, outcomes, first)
    nan = np.nan
    np.testing.assert_array_equal(outcomes.T, [[1, 1, -2, -2, nan], [3, 3, 3, nan, nan]])
    np.testing.assert_array_equal(first, [1, 3])
    final_outcomes(rewards[4:], ends[4:], outcomes[4:], first)
    assert np.isnan(first).all()


def test_every_decision_comes_once_with_the_outcome_of_its_deal(tiny: TrainConfig, tmp_path: Path) -> None:
    config = replace(tiny, rollout=5)
    trainer = PPOTrainer(config, tmp_path)
    waiting = Waiting()
    pending: list[list[tuple[bytes, float]]] = [[] for _ in range(config.num_envs)]
    expected: list[tuple[bytes, float]] = []
    given: list[tuple[bytes, float]] = []
    for update in range(12):
        rollout = trainer.games.play(trainer.network, np.random.default_rng(update))
        for game in range(config.num_envs):
            for t in range(config.rollout):
                if rollout.counted[t, game]:
                    pending[game].append((rollout.seen[t, game].numpy().tobytes(), float(rollout.sign[t, game])))
                if rollout.ends[t, game]:
                    reward = float(rollout.reward[t, game])
                    expected += [(seen, sign * reward) for seen, sign in pending[game]]
                    pending[game].clear()
        samples = waiting.take(rollout)
        rows = samples.observation.numpy()
        given += [(row.tobytes(), float(outcome)) for row, outcome in zip(rows, samples.outcome, strict=True)]
    assert sorted(given) == sorted(expected)
    assert len(waiting.rows["game"]) == sum(map(len, pending)) > 0
    again = Waiting()
    again.restore(waiting.tensors())
    assert again.rows.keys() == waiting.rows.keys()
