"""Compiled losses and their gradients against torch's."""

import numpy as np
import pytest
import torch

from santase_training.losses import TERMS, Decisions, Weights, policy_gradient_losses, torch_losses, weigh
from santase_training.sampling import legal_log_softmax, sample_legal


def decisions(random: np.random.Generator, count: int, magnetic: bool, drift: float) -> tuple[np.ndarray, Decisions]:
    mask = (random.random((count, 31)) < 0.2).astype(np.int8)
    mask[:, 3] = 1
    logits = random.normal(size=(count, 31)).astype(np.float32)
    actions, logs = np.zeros(count, np.int64), np.zeros(count, np.float32)
    sample_legal(logits, mask, random.random(count, np.float32), actions, logs)
    magnet = np.zeros((count if magnetic else 0, 31), np.float32)
    legal_log_softmax(random.normal(size=(len(magnet), 31)).astype(np.float32), mask, magnet)
    normal = random.normal(size=(3, count)).astype(np.float32)
    return logits, Decisions(mask, actions, logs + drift * normal[0], normal[1], normal[2], magnet)


@pytest.mark.parametrize("magnetic", [False, True])
def test_terms_and_gradients_are_those_of_torch(magnetic: bool) -> None:
    random = np.random.default_rng(1)
    logits, data = decisions(random, 600, magnetic, drift=0.3)
    value = random.normal(size=600).astype(np.float32)
    weights = Weights(clip=0.2, value=0.5, entropy=0.03, magnet=0.1)
    rows = random.permutation(600)[:400]
    slope, value_slope = np.ones((400, 31), np.float32), np.ones(400, np.float32)
    terms = np.zeros(len(TERMS))
    policy_gradient_losses(logits[rows], value[rows], data, rows, weights, 1 / 400, slope, value_slope, terms)

    outputs = torch.from_numpy(logits[rows]).requires_grad_(), torch.from_numpy(value[rows]).requires_grad_()
    tensors = Decisions(*map(torch.from_numpy, data))
    expected = torch_losses(*outputs, tensors, torch.from_numpy(rows), weights.clip)
    gradients = torch.autograd.grad(weigh(expected, weights).mean(), outputs)
    np.testing.assert_allclose(slope, gradients[0].numpy(), atol=2e-8)
    np.testing.assert_allclose(value_slope, gradients[1].numpy(), atol=2e-8)
    np.testing.assert_allclose(terms, expected.sum(dim=1).detach().numpy(), rtol=1e-4)
    assert (terms[5] != 0) == magnetic
    assert 0 < terms[4] < 400, "some ratios are clipped, and some are not"


def test_without_drift_the_ratio_is_one() -> None:
    random = np.random.default_rng(2)
    logits, data = decisions(random, 300, False, drift=0.0)
    slope, value_slope, terms = np.zeros((300, 31), np.float32), np.zeros(300, np.float32), np.zeros(len(TERMS))
    policy_gradient_losses(
        logits, data.target, data, np.arange(300), Weights(0.2, 0.5, 0, 0), 1.0, slope, value_slope, terms
    )
    assert terms[0] == pytest.approx(-data.gain.sum(), abs=1e-3)
    assert terms[1] == 0
    assert terms[3:] == pytest.approx([0, 0, 0], abs=1e-6)


def test_a_logit_that_is_not_a_number_makes_the_terms_so() -> None:
    logits, data = decisions(np.random.default_rng(3), 10, False, drift=0.0)
    logits[4, 3] = np.nan
    terms = np.zeros(len(TERMS))
    policy_gradient_losses(
        logits,
        data.target,
        data,
        np.arange(10),
        Weights(0.2, 0.5, 0, 0),
        1.0,
        np.zeros((10, 31), np.float32),
        np.zeros(10, np.float32),
        terms,
    )
    assert np.isnan(terms).all()
