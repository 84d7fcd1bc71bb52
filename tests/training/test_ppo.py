"""Self-play training: exact resumption, the learner's own decisions, and that it learns."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from santase_agents.network import masked_log_softmax
from santase_training.compute import start_workers
from santase_training.config import PPOConfig
from santase_training.ppo import Trainer, train
from santase_training.run import RunError

TINY = PPOConfig(
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
)
MINI = "online,false_claim=illegal,ranks=QKTA,suits=CH,hand_size=2,target=33,schneider=16"


@pytest.fixture(autouse=True)
def one_thread() -> None:
    start_workers(1, (8,), 8)


def weights(trainer: Trainer) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in trainer.network.parameters()]


def run_updates(trainer: Trainer, count: int) -> list[dict[str, float]]:
    timing = ("seconds", "steps_per_second")
    return [{k: v for k, v in trainer.train_update().items() if k not in timing} for _ in range(count)]


def test_ten_and_ten_updates_equal_twenty(tmp_path: Path) -> None:
    """SB3 1277, 1877: a resumed run starts its schedules again."""
    whole = Trainer(TINY, tmp_path / "whole")
    expected = run_updates(whole, 20)
    first = Trainer(TINY, tmp_path / "parts")
    run_updates(first, 10)
    folder = first.save()
    second = Trainer(TINY, tmp_path / "parts")
    second.restore(folder)
    assert run_updates(second, 10) == expected[10:]
    assert all(map(torch.equal, weights(second), weights(whole)))
    assert second.step == whole.step
    assert second.pool.members == whole.pool.members
    assert np.array_equal(second.pool.opponent, whole.pool.opponent)


def test_a_stopped_and_resumed_run_leaves_the_log_of_an_unbroken_one(tmp_path: Path) -> None:
    assert train(TINY, tmp_path / "whole")
    assert not train(TINY, tmp_path / "parts", max_updates=10)
    assert train(TINY, tmp_path / "parts")

    def lines(name: str) -> list[dict[str, object]]:
        text = (tmp_path / name / "log.jsonl").read_text()
        kept = [json.loads(line) for line in text.splitlines()]
        timing = ("seconds", "steps_per_second")
        return [{k: v for k, v in line.items() if k not in timing} for line in kept if line["event"] != "start"]

    assert lines("parts") == lines("whole")
    assert len(lines("whole")) > 20


def test_the_probability_ratio_is_one_before_the_first_gradient_step(tmp_path: Path) -> None:
    """AgileRL 487: masks missing when log-probabilities are recomputed."""
    trainer = Trainer(TINY, tmp_path)
    run_updates(trainer, 3)
    trainer.play(np.random.default_rng(0), torch.Generator().manual_seed(0))
    batch = trainer.estimate()
    logits, value = trainer.network(batch.observation[batch.rows])
    again = masked_log_softmax(logits, batch.mask[batch.rows]).gather(1, batch.action[batch.rows, None])[:, 0]
    assert torch.allclose((again - batch.log_probability[batch.rows]).exp(), torch.ones(len(batch.rows)), atol=1e-5)
    assert torch.allclose(value, (batch.target - batch.advantage)[batch.rows], atol=1e-5)


def test_every_row_of_a_rollout_is_a_decision_and_its_action_legal(tmp_path: Path) -> None:
    trainer = Trainer(TINY, tmp_path)
    trainer.play(np.random.default_rng(0), torch.Generator().manual_seed(0))
    mask = trainer.rollout.mask
    assert int(mask.sum(dim=2).min()) >= 2
    assert bool(mask.gather(2, trainer.rollout.action[:, :, None]).all())
    assert trainer.rollout.steps_taken > mask.shape[0] * mask.shape[1]


def test_decisions_of_frozen_opponents_enter_no_loss_and_stay_bound_to_their_deal(tmp_path: Path) -> None:
    """PufferLib 620, MicroRTS-Py 35: opponents swapped in the middle of a game, or their samples in the batch."""
    trainer = Trainer(TINY, tmp_path)
    run_updates(trainer, 4)
    bound = trainer.pool.opponent.copy(), trainer.pool.seat.copy()
    for _ in range(30):
        trainer.play(np.random.default_rng(trainer.step), torch.Generator().manual_seed(1))
        rollout = trainer.rollout
        rows = set(trainer.estimate().rows.tolist())
        for game in range(TINY.num_envs):
            opponent, seat = int(bound[0][game]), int(bound[1][game])
            for t in range(TINY.rollout):
                mover = 0 if rollout.sign[t, game] > 0 else 1
                frozen = opponent >= 0 and mover == seat
                assert (t * TINY.num_envs + game in rows) == (not frozen)
                if rollout.ends[t, game]:
                    break  # the next deal is bound anew
        bound = trainer.pool.opponent.copy(), trainer.pool.seat.copy()
    assert (bound[0] >= 0).any()


def test_a_past_self_that_left_the_pool_plays_its_deal_to_the_end(tmp_path: Path) -> None:
    trainer = Trainer(TINY, tmp_path)
    for _ in range(40):
        trainer.train_update()
        bound = set(trainer.pool.opponent.tolist()) - {-1}
        assert bound <= set(trainer.pool.networks)
        assert trainer.pool.members[0] == 0
        assert len(trainer.pool.members) <= 1 + TINY.pool_size


def test_resuming_under_other_rules_is_refused_and_both_are_named(tmp_path: Path) -> None:
    train(TINY, tmp_path, max_updates=1)
    with pytest.raises(RunError, match=r"rules was 'online,false_claim=illegal' and is now 'classic'"):
        train(replace(TINY, rules="classic"), tmp_path)


def test_a_loss_that_is_not_a_number_stops_with_a_sentence(tmp_path: Path) -> None:
    trainer = Trainer(TINY, tmp_path)
    trainer.rollout.reward.fill_(float("nan"))
    trainer.play(np.random.default_rng(0), torch.Generator().manual_seed(0))
    batch = trainer.estimate()
    batch.advantage[:] = float("nan")
    with pytest.raises(RunError, match="not a number"):
        trainer.learn(batch, 0.0, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("seed", [1, 2])
def test_it_learns_on_a_mini_deck(tmp_path: Path, seed: int) -> None:
    config = replace(TINY, rules=MINI, seed=seed, total_steps=120_000, num_envs=128, learning_rate=5e-3, hidden=(64,))
    trainer = Trainer(config, tmp_path)
    before = trainer.evaluate("greedy", 2000).mean
    while trainer.step < config.total_steps:
        trainer.train_update()
    after = trainer.evaluate("greedy", 2000)
    assert after.mean > before + 0.3
    assert after.ci95[0] > 0


def test_a_resumed_run_keeps_the_threads_that_a_probe_found(tmp_path: Path) -> None:
    config = replace(TINY, threads=0)
    train(config, tmp_path, max_updates=1)
    path = next((tmp_path / "checkpoints").glob("*/checkpoint.json"))
    meta = json.loads(path.read_text())
    path.write_text(json.dumps({**meta, "threads": 3}))
    train(config, tmp_path, max_updates=2)
    newest = max((tmp_path / "checkpoints").glob("*/checkpoint.json"))
    assert json.loads(newest.read_text())["threads"] == 3


def test_two_workers_learn_what_one_does(tmp_path: Path) -> None:
    one, two = Trainer(TINY, tmp_path / "1"), Trainer(replace(TINY, threads=2), tmp_path / "2")
    for trainer in (one, two):
        trainer.train_update()
    for first, second in zip(weights(one), weights(two), strict=True):
        assert torch.allclose(first, second, atol=1e-5)
