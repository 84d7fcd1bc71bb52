"""Self-play: whose decisions count, that opponents stay bound to their deals, and that workers change nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from santase_training.compute import Compute
from santase_training.config import TrainConfig
from santase_training.ppo import PPOTrainer
from santase_training.returns import fixed_seat_advantages

from .conftest import run_updates, weights


def test_every_row_of_a_rollout_is_a_decision_and_its_action_legal(tiny: TrainConfig, tmp_path: Path) -> None:
    trainer = PPOTrainer(tiny, tmp_path)
    rollout = trainer.games.play(trainer.network, np.random.default_rng(0))
    assert int(rollout.mask.sum(axis=2).min()) >= 2
    assert np.take_along_axis(rollout.mask, rollout.action[:, :, None], axis=2).all()
    assert rollout.steps.sum() > rollout.action.size


def test_decisions_of_frozen_opponents_enter_no_loss_and_stay_bound_to_their_deal(
    tiny: TrainConfig, tmp_path: Path
) -> None:
    """PufferLib 620, MicroRTS-Py 35: opponents swapped in the middle of a game, or their samples in the batch."""
    trainer = PPOTrainer(tiny, tmp_path)
    pool = trainer.games.pool
    run_updates(trainer, 4)
    bound = pool.opponent.copy(), pool.seat.copy()
    for _ in range(30):
        rollout = trainer.games.play(trainer.network, np.random.default_rng(trainer.step))
        rows = set(trainer.estimate(rollout).rows.tolist())
        for game in range(tiny.num_envs):
            opponent, seat = int(bound[0][game]), int(bound[1][game])
            for t in range(tiny.rollout):
                mover = 0 if rollout.sign[t, game] > 0 else 1
                frozen = opponent >= 0 and mover == seat
                assert (t * tiny.num_envs + game in rows) == (not frozen)
                if rollout.ends[t, game]:
                    break  # the next deal is bound anew
        bound = pool.opponent.copy(), pool.seat.copy()
    assert (bound[0] >= 0).any()


def test_a_past_self_that_left_the_pool_plays_its_deal_to_the_end(tiny: TrainConfig, tmp_path: Path) -> None:
    trainer = PPOTrainer(tiny, tmp_path)
    pool = trainer.games.pool
    for _ in range(40):
        trainer.train_update()
        bound = set(pool.opponent.tolist()) - {-1}
        assert bound <= set(pool.networks)
        assert pool.members[0] == 0
        assert len(pool.members) <= 1 + tiny.pool_size


@pytest.mark.parametrize("rules", ["classic", "classic | online | paper"])
def test_three_workers_play_and_learn_what_one_does(tiny: TrainConfig, tmp_path: Path, rules: str) -> None:
    tiny = replace(tiny, rules=rules, num_envs=31, critic="full", magnet="moving")
    one, three = PPOTrainer(tiny, tmp_path / "1"), PPOTrainer(replace(tiny, threads=3), tmp_path / "3")
    for trainer in (one, three):
        trainer.train_update()
    for name in ("mask", "action", "reward", "ends", "counted", "steps"):
        assert np.array_equal(getattr(one.games.rollout, name), getattr(three.games.rollout, name)), name
    for first, second in zip(weights(one), weights(three), strict=True):
        assert torch.allclose(first, second, atol=1e-5)


def test_a_run_goes_on_with_another_number_of_workers(tiny: TrainConfig, tmp_path: Path) -> None:
    one = PPOTrainer(tiny, tmp_path)
    run_updates(one, 2)
    folder = one.save()
    two = PPOTrainer(replace(tiny, threads=2), tmp_path)
    two.restore(folder)
    for trainer in (one, two):
        trainer.train_update()
    assert np.array_equal(one.games.rollout.action, two.games.rollout.action)


def test_the_returns_of_both_seats_sum_to_zero(tiny: TrainConfig, tmp_path: Path) -> None:
    """tianshou 399, 900, 1137: rewards earned on the opponent's move were dropped."""
    config = replace(tiny, pool_share=0.0, trace=1.0)
    trainer = PPOTrainer(config, tmp_path)
    rollout = trainer.games.play(trainer.network, np.random.default_rng(0))
    rollout.value[:] = 0
    batch = trainer.estimate(rollout)
    returns = batch.decisions.target.reshape(rollout.action.shape)
    for game in range(config.num_envs):
        last_end = int(rollout.ends[:, game].nonzero()[0].max(initial=-1))
        for t in range(last_end):
            if not rollout.ends[t, game]:
                same = rollout.sign[t, game] == rollout.sign[t + 1, game]
                expected = returns[t + 1, game] if same else -returns[t + 1, game]
                assert returns[t, game] == pytest.approx(expected, abs=1e-6)
    assert (returns != 0).any()


def test_fixed_seat_returns_equal_the_pending_returns_of_each_player(tiny: TrainConfig, tmp_path: Path) -> None:
    """With lambda = gamma = 1 and values 0: what each player's own decisions wait for until his deal is over."""
    trainer = PPOTrainer(replace(tiny, trace=1.0), tmp_path)
    run_updates(trainer, 3)
    rollout = trainer.games.play(trainer.network, np.random.default_rng(5))
    steps, games = rollout.action.shape
    fixed = np.zeros((steps, games), np.float32)
    zeros = np.zeros((steps, games), np.float32)
    fixed_seat_advantages(
        rollout.reward, zeros, rollout.counted, rollout.ends, np.zeros(games, np.float32), 1.0, 1.0, fixed
    )
    expected = np.zeros_like(fixed)
    for game in range(games):
        pending: dict[int, list[int]] = {0: [], 1: []}
        for t in range(steps):
            seat = 0 if rollout.sign[t, game] > 0 else 1
            if rollout.counted[t, game]:
                pending[seat].append(t)
            if rollout.ends[t, game]:
                for player, decisions in pending.items():
                    reward = rollout.reward[t, game] * (1 - 2 * player)
                    expected[decisions, game] = reward
                    decisions.clear()
    np.testing.assert_allclose(fixed * rollout.sign[:-1], expected, atol=1e-6)
    assert (expected > 0).any()
    assert (expected < 0).any()


def test_bfloat16_rows_hold_what_float32_rows_do(tiny: TrainConfig) -> None:
    trainer = PPOTrainer(replace(tiny, precision="bfloat16"), Path("unused"))
    rollout = trainer.games.play(trainer.network, np.random.default_rng(0))
    assert rollout.seen.dtype == torch.bfloat16
    shown = torch.from_numpy(trainer.games.current[0][0]["observation"])
    assert torch.allclose(rollout.observation[-1].float(), shown, atol=2**-8)


def test_rows_go_through_a_network_in_the_shares_of_the_workers(tiny: TrainConfig) -> None:
    trainer = PPOTrainer(tiny, Path("unused"))
    rows = torch.rand(5000, trainer.network.inputs)
    logits, values = Compute(threads=3).forward(trainer.network, rows)
    expected = trainer.network(rows)
    assert np.allclose(logits, expected[0].detach().numpy(), atol=1e-5)
    assert np.allclose(values, expected[1].detach().numpy(), atol=1e-5)
