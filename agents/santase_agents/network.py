"""The policy and value network, and the masked distribution over its actions (torch)."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from santase_env.actions import NUM_ACTIONS
from santase_env.observation import OBSERVATION_SIZE

MASKED = -1e8
"""Logit of an illegal action: finite, so that 0 probability times its logarithm is 0 and not NaN."""


class PolicyValueNet(nn.Module):
    """A multi-layer perceptron with one trunk and two heads.

    forward(observation [B, D] float32) -> (logits [B, 31] float32, value [B] float32); the value is the return
    of the player whose observation it is, in units of the trainer's scaled reward.
    """

    def __init__(self, hidden: Sequence[int] = (256, 256)) -> None:
        super().__init__()
        self.hidden = tuple(hidden)
        sizes = (OBSERVATION_SIZE, *self.hidden)
        self.trunk = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.head = nn.Linear(sizes[-1], NUM_ACTIONS + 1)
        for layer in self.trunk:
            assert isinstance(layer, nn.Linear)
            nn.init.orthogonal_(layer.weight, 2**0.5)
            nn.init.zeros_(layer.bias)
        # Small first logits and values: play begins uniform, and the critic begins at a draw.
        nn.init.orthogonal_(self.head.weight, 0.01)
        nn.init.zeros_(self.head.bias)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        features = observation
        for layer in self.trunk:
            features = torch.relu_(layer(features))
        out = self.head(features).float()
        return out[:, :NUM_ACTIONS], out[:, NUM_ACTIONS]


def masked_log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities [B, 31] float32 of logits [B, 31] over the actions where mask [B, 31] (bool) is True.

    Raises ValueError when a row has no legal action.
    """
    if not bool(mask.any(dim=1).all()):
        raise ValueError("a row of the action mask is all zero: that player is not to move and cannot act")
    return torch.log_softmax(logits.float().masked_fill(~mask, MASKED), dim=1)


def sample_actions(probabilities: Tensor, uniform: Tensor) -> Tensor:
    """Actions [B] drawn from probabilities [B, 31], by uniform numbers [B] in [0, 1) and the cumulative sums."""
    sums = probabilities.cumsum(dim=1)
    # A little below the whole, so that rounding cannot reach beyond the last action that has a probability.
    reach = uniform[:, None] * (1 - 1e-6) * sums[:, -1:]
    return (sums <= reach).sum(dim=1)
