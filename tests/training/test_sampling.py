"""Compiled sampling against torch, and what it refuses."""

import numpy as np
import pytest
import torch

from santase_agents.network import masked_log_softmax
from santase_training.sampling import best_legal, check_rows, legal_log_softmax, legal_softmax, sample_legal

RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.normal(size=(500, 31)).astype(np.float32) * 3
MASKS = (RANDOM.random((500, 31)) < 0.3).astype(np.int8)
MASKS[:, 7] = 1


def test_log_probabilities_are_those_of_torch() -> None:
    out = np.zeros_like(LOGITS)
    assert legal_log_softmax(LOGITS, MASKS, out) == -1
    expected = masked_log_softmax(torch.from_numpy(LOGITS), torch.from_numpy(MASKS).bool()).numpy()
    np.testing.assert_allclose(out, np.where(MASKS, expected, 0), atol=1e-5)


def test_the_entropy_is_that_of_the_probabilities() -> None:
    legal, logs, shares = np.zeros(31, np.int64), np.zeros(31), np.zeros(31)
    for row in range(20):
        count, entropy = legal_softmax(LOGITS[row], MASKS[row], legal, logs, shares)
        assert legal[:count].tolist() == np.flatnonzero(MASKS[row]).tolist()
        assert shares[:count].sum() == pytest.approx(1)
        assert entropy == pytest.approx(-(shares[:count] * np.log(shares[:count])).sum())


def test_actions_come_as_often_as_their_probabilities_say() -> None:
    logits, masks = np.repeat(LOGITS[:1], 100_000, axis=0), np.repeat(MASKS[:1], 100_000, axis=0)
    actions, logs = np.zeros(100_000, np.int64), np.zeros(100_000, np.float32)
    assert sample_legal(logits, masks, RANDOM.random(100_000, np.float32), actions, logs) == -1
    out = np.zeros((1, 31), np.float32)
    legal_log_softmax(LOGITS[:1], MASKS[:1], out)
    expected = np.where(MASKS[0], np.exp(out[0]), 0)
    np.testing.assert_allclose(np.bincount(actions, minlength=31) / 100_000, expected, atol=0.006)
    np.testing.assert_allclose(logs, out[0, actions], atol=1e-6)


def test_chance_at_its_bounds_gives_the_first_and_the_last_legal_action() -> None:
    actions, logs = np.zeros(2, np.int64), np.zeros(2, np.float32)
    mask = np.zeros((2, 31), np.int8)
    mask[:, [3, 9, 20]] = 1
    sample_legal(np.zeros((2, 31), np.float32), mask, np.array([0, 1 - 2**-24], np.float32), actions, logs)
    assert actions.tolist() == [3, 20]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_rows_without_a_distribution_are_named(bad: float) -> None:
    """SB3 1553, sb3-contrib 81: NaN that hides until a simplex check fails hours later."""
    actions, logs = np.zeros(500, np.int64), np.zeros(500, np.float32)
    uniform = RANDOM.random(500, np.float32)
    logits = LOGITS.copy()
    logits[41, 7] = bad
    assert sample_legal(logits, MASKS, uniform, actions, logs) == 41
    masks = MASKS.copy()
    masks[12] = 0
    assert sample_legal(LOGITS, masks, uniform, actions, logs) == 12
    assert legal_log_softmax(LOGITS, masks, np.zeros_like(LOGITS)) == 12
    assert best_legal(LOGITS, masks, uniform, 0.0, actions) == 12
    with pytest.raises(ValueError, match="row 12 has no legal action, or a logit that is not a number"):
        check_rows(12)


def test_the_best_action_is_legal_and_exploration_reaches_every_legal_action_equally() -> None:
    actions = np.zeros(500, np.int64)
    assert best_legal(LOGITS, MASKS, RANDOM.random(500, np.float32), 0.0, actions) == -1
    assert (actions == np.where(MASKS, LOGITS, -np.inf).argmax(axis=1)).all()
    logits, masks = np.repeat(LOGITS[:1], 50_000, axis=0), np.repeat(MASKS[:1], 50_000, axis=0)
    actions = np.zeros(50_000, np.int64)
    best_legal(logits, masks, RANDOM.random(50_000, np.float32), 0.5, actions)
    shares = np.bincount(actions, minlength=31) / 50_000
    even = 0.5 / MASKS[0].sum()
    best = np.where(MASKS[0], LOGITS[0], -np.inf).argmax()
    np.testing.assert_allclose(shares, even * MASKS[0] + 0.5 * (np.arange(31) == best), atol=0.01)
