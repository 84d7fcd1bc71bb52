"""The losses of policy gradients, each once as a compiled function with its gradient, and once in torch.

Per decision: PPO's clipped policy loss (Schulman and others, 2017), the squared error of the value, the entropy of the
policy, and the KL divergence of the policy from a magnet (Sokolov and others, 2023). The compiled form writes the
gradient with respect to logits and value itself, so that autograd begins at the network's outputs; on two cores that is
a quarter of an update's time. The torch form is what a GPU uses, and what the tests hold the compiled one against.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from santase_agents.network import masked_log_softmax
from santase_env.compiled import Array, jit

from .sampling import legal_softmax

TERMS = ("policy_loss", "value_loss", "entropy", "kl", "clip_fraction", "magnet_kl")
"""What is summed over the rows of a batch; ``kl`` estimates the divergence from the policy that played (Schulman,
2020)."""
POLICY, VALUE, ENTROPY, KL, CLIPPED, MAGNET = range(len(TERMS))


class Weights(NamedTuple):
    """How the terms are weighed: policy + value * squared error - entropy * entropy + magnet * divergence."""

    clip: float
    value: float
    entropy: float
    magnet: float


class Decisions(NamedTuple):
    """What the losses of B decisions need beside the outputs; numpy arrays, or tensors for ``torch_losses``."""

    mask: Any
    """[B, 31]: 0 where illegal."""
    action: Any
    """[B]."""
    log_probability: Any
    """[B]: of the action, when it was taken."""
    gain: Any
    """[B]: normalised advantages."""
    target: Any
    """[B]: what the value should have been."""
    magnet: Any
    """[B, 31]: the magnet's log-probabilities, or [0, 31] if there is none."""


@jit
def policy_gradient_losses(
    logits: Array,
    value: Array,
    decisions: Decisions,
    rows: Array,
    weights: Weights,
    scale: float,
    logits_gradient: Array,
    value_gradient: Array,
    terms: Array,
) -> None:
    """Add the terms [6] of B decisions, and write the gradient of ``scale`` times their weighted sum.

    logits [B, 31] and value [B] float32 are the outputs for the decisions ``rows`` [B]; ``logits_gradient`` [B, 31] and
    ``value_gradient`` [B] are written, ``terms`` is added to.
    """
    actions = logits.shape[1]
    legal, logs, shares = np.empty(actions, np.int64), np.empty(actions), np.empty(actions)
    magnetic = len(decisions.magnet) > 0
    low, high = 1 - weights.clip, 1 + weights.clip
    for i in range(len(rows)):
        row = rows[i]
        gain = float(decisions.gain[row])
        count, entropy = legal_softmax(logits[i], decisions.mask[row], legal, logs, shares)
        if count == 0:
            terms[:] = math.nan
            return
        chosen, divergence = 0, 0.0
        for k in range(count):
            if legal[k] == decisions.action[row]:
                chosen = k
            if magnetic:
                divergence += shares[k] * (logs[k] - decisions.magnet[row, legal[k]])
        log_ratio = logs[chosen] - decisions.log_probability[row]
        ratio = math.exp(log_ratio)
        bounded = gain * min(max(ratio, low), high)
        pull = 0.0 if bounded < gain * ratio else gain * ratio
        logits_gradient[i] = 0
        for k in range(count):
            slope = pull + weights.entropy * (logs[k] + entropy)
            if magnetic:
                slope += weights.magnet * (logs[k] - decisions.magnet[row, legal[k]] - divergence)
            logits_gradient[i, legal[k]] = scale * shares[k] * slope
        logits_gradient[i, legal[chosen]] -= scale * pull
        error = float(value[i]) - decisions.target[row]
        value_gradient[i] = scale * 2 * weights.value * error
        terms[POLICY] -= min(gain * ratio, bounded)
        terms[VALUE] += error * error
        terms[ENTROPY] += entropy
        terms[KL] += ratio - 1 - log_ratio
        terms[CLIPPED] += abs(ratio - 1) > weights.clip
        terms[MAGNET] += divergence


def torch_losses(logits: Tensor, value: Tensor, decisions: Decisions, rows: Tensor, clip: float) -> Tensor:
    """The same terms [6, B] of the decisions ``rows`` [B], differentiable; ``decisions`` holds tensors."""
    mask = decisions.mask[rows] != 0
    logs = masked_log_softmax(logits, mask)
    log_ratio = logs.gather(1, decisions.action[rows, None])[:, 0] - decisions.log_probability[rows]
    ratio = log_ratio.exp()
    gain = decisions.gain[rows]
    policy_loss = -torch.min(gain * ratio, gain * ratio.clamp(1 - clip, 1 + clip))
    value_loss = (value - decisions.target[rows]).square()
    shares = logs.softmax(dim=1)
    entropy = -(shares * logs).sum(dim=1)
    if len(decisions.magnet):
        divergence = torch.where(mask, shares * (logs - decisions.magnet[rows]), 0.0).sum(dim=1)
    else:
        divergence = torch.zeros_like(entropy)
    with torch.no_grad():
        kl = ratio - 1 - log_ratio
        outside = ((ratio - 1).abs() > clip).float()
    return torch.stack([policy_loss, value_loss, entropy, kl, outside, divergence])


def weigh(terms: Tensor, weights: Weights) -> Tensor:
    """The loss [...] of terms [6, ...]."""
    loss = terms[POLICY] + weights.value * terms[VALUE] - weights.entropy * terms[ENTROPY]
    return loss + weights.magnet * terms[MAGNET]
