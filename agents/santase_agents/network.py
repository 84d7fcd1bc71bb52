"""Policy and value networks, and the masked distribution over their actions (torch).

Every network is called as forward(observation [B, D] float) -> (logits [B, 31] float32, value [B] float32); the value
is the return of the player whose observation it is, in units of the trainer's scaled reward. Which one, and how large,
is said by ``kind`` and ``hidden``, and ``make_network`` builds it.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from santase_env.actions import NUM_ACTIONS
from santase_env.cards import NUM_CARDS
from santase_env.observation import LAYOUT, OBSERVATION_SIZE, RECALL_LAYOUT, observation_size

MASKED = -1e8
"""Logit of an illegal action: finite, so that 0 probability times its logarithm is 0 and not NaN."""

HEAD = 16
"""Width of an attention head."""


class Network(nn.Module):
    """What all networks have: their kind, their sizes, and how many numbers of an observation they read."""

    kind = ""
    outputs = NUM_ACTIONS

    def __init__(self, hidden: Sequence[int], inputs: int) -> None:
        super().__init__()
        self.hidden = tuple(hidden)
        self.inputs = inputs

    @property
    def recall(self) -> bool:
        """Does it read the log behind the observation?"""
        return self.inputs == observation_size(recall=True)

    def describe(self) -> dict[str, Any]:
        """What ``make_network`` needs to build it again."""
        return {"kind": self.kind, "hidden": list(self.hidden), "recall": self.recall}


class PolicyValueNet(Network):
    """mlp: one ReLU trunk with layers of the widths ``hidden``, and policy and value side by side on top."""

    kind = "mlp"

    def __init__(self, hidden: Sequence[int] = (256, 256), inputs: int = OBSERVATION_SIZE) -> None:
        super().__init__(hidden, inputs)
        self.trunk = _layers(inputs, self.hidden)
        self.head = _head((inputs, *self.hidden)[-1], NUM_ACTIONS + 1)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        out = self.head(_relu_all(self.trunk, observation)).float()
        return out[:, :NUM_ACTIONS], out[:, NUM_ACTIONS]


class SeparateNet(Network):
    """separate: two trunks of the same widths, one for the policy and one for the value, as other libraries have."""

    kind = "separate"

    def __init__(self, hidden: Sequence[int] = (256, 256), inputs: int = OBSERVATION_SIZE) -> None:
        super().__init__(hidden, inputs)
        self.policy_trunk, self.value_trunk = _layers(inputs, self.hidden), _layers(inputs, self.hidden)
        self.policy_head, self.value_head = _head(self.hidden[-1], NUM_ACTIONS), _head(self.hidden[-1], 1)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.policy_head(_relu_all(self.policy_trunk, observation))
        value = self.value_head(_relu_all(self.value_trunk, observation))
        return logits.float(), value[:, 0].float()


class ResidualNet(Network):
    """residual: a layer to the width ``hidden[0]``, then for every further entry a block that adds to it what two
    layers make of it, inner width ``hidden[i]``, normalised before (He and others, 2016, in the order of pre-norm)."""

    kind = "residual"

    def __init__(self, hidden: Sequence[int] = (256, 256, 256), inputs: int = OBSERVATION_SIZE) -> None:
        super().__init__(hidden, inputs)
        width = self.hidden[0]
        self.first = nn.Linear(inputs, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in self.hidden)
        self.inner = nn.ModuleList(nn.Linear(width, inner) for inner in self.hidden[1:])
        self.outer = nn.ModuleList(nn.Linear(inner, width) for inner in self.hidden[1:])
        self.head = _head(width, NUM_ACTIONS + 1)
        for inner, outer in zip(self.inner, self.outer, strict=True):
            _orthogonal(inner, 2**0.5)
            _orthogonal(outer, 0.1)  # a block begins near the identity
        _orthogonal(self.first, 2**0.5)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        features = torch.relu(self.first(observation))
        *norms, last = self.norms
        for norm, inner, outer in zip(norms, self.inner, self.outer, strict=True):
            features = features + outer(torch.relu_(inner(norm(features))))
        out = self.head(last(features)).float()
        return out[:, :NUM_ACTIONS], out[:, NUM_ACTIONS]


class CardsNet(Network):
    """cards: attention between 24 tokens, one for each card, and one for the rest (Vaswani and others, 2017, pre-norm).

    ``hidden[0]`` is the width of a token, a multiple of 16; every further entry is a block: attention with heads of 16,
    then two layers of that inner width. A card's token says where the card is, and with recall when it was played and
    when it came; its output is the logit of playing it. All other outputs are those of the token for the rest.
    """

    kind = "cards"
    places: Tensor
    rest: Tensor

    def __init__(self, hidden: Sequence[int] = (64, 128, 128), inputs: int = OBSERVATION_SIZE) -> None:
        super().__init__(hidden, inputs)
        width = self.hidden[0]
        if width % HEAD:
            raise ValueError(f"the first entry of hidden must be a multiple of {HEAD}, not {width}")
        places, rest = _card_places(self.recall)
        self.register_buffer("places", torch.tensor(places), persistent=False)
        self.register_buffer("rest", torch.tensor(rest), persistent=False)
        self.card_in, self.rest_in = nn.Linear(len(places), width), nn.Linear(len(rest), width)
        self.names = nn.Parameter(torch.randn(NUM_CARDS + 1, width) * 0.5)
        self.first_norms = nn.ModuleList(nn.LayerNorm(width) for _ in self.hidden[1:])
        self.attention_in = nn.ModuleList(nn.Linear(width, 3 * width) for _ in self.hidden[1:])
        self.attention_out = nn.ModuleList(nn.Linear(width, width) for _ in self.hidden[1:])
        self.second_norms = nn.ModuleList(nn.LayerNorm(width) for _ in self.hidden[1:])
        self.inner = nn.ModuleList(nn.Linear(width, inner) for inner in self.hidden[1:])
        self.outer = nn.ModuleList(nn.Linear(inner, width) for inner in self.hidden[1:])
        self.last_norm = nn.LayerNorm(width)
        self.card_head, self.rest_head = _head(width, 1), _head(width, NUM_ACTIONS - NUM_CARDS + 1)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        cards = observation[:, self.places].transpose(1, 2)  # [B, 24, what is said of each card]
        tokens = torch.cat([self.card_in(cards), self.rest_in(observation[:, self.rest])[:, None]], dim=1) + self.names
        blocks = zip(
            self.first_norms,
            self.attention_in,
            self.attention_out,
            self.second_norms,
            self.inner,
            self.outer,
            strict=True,
        )
        for first_norm, attention_in, attention_out, second_norm, inner, outer in blocks:
            tokens = tokens + attention_out(self._attend(attention_in(first_norm(tokens))))
            tokens = tokens + outer(torch.relu_(inner(second_norm(tokens))))
        tokens = self.last_norm(tokens)
        out = torch.cat([self.card_head(tokens[:, :-1])[:, :, 0], self.rest_head(tokens[:, -1])], dim=1).float()
        return out[:, :NUM_ACTIONS], out[:, NUM_ACTIONS]

    @staticmethod
    def _attend(queries_keys_values: Tensor) -> Tensor:
        """[B, 25, 3 * width] -> [B, 25, width]."""
        batch, count, size = queries_keys_values.shape
        heads = queries_keys_values.view(batch, count, 3, size // (3 * HEAD), HEAD).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(heads[0], heads[1], heads[2])
        return mixed.transpose(1, 2).reshape(batch, count, size // 3)


def _card_places(recall: bool) -> tuple[list[list[int]], list[int]]:
    """Entries of an observation that speak of cards, [pieces, 24], and all the others."""
    layout = (*LAYOUT, *(RECALL_LAYOUT if recall else ()))
    starts = [piece.start for piece in layout if piece.size in (NUM_CARDS, NUM_ACTIONS)]  # actions begin with cards
    places = [list(range(start, start + NUM_CARDS)) for start in starts]
    return places, sorted(set(range(observation_size(recall))) - {entry for row in places for entry in row})


NETWORKS: dict[str, type[Network]] = {net.kind: net for net in (PolicyValueNet, SeparateNet, ResidualNet, CardsNet)}


def make_network(kind: str, hidden: Sequence[int], inputs: int = OBSERVATION_SIZE) -> Network:
    """A new network with random weights from torch's generator; raises ValueError for a kind that is not there."""
    if kind not in NETWORKS:
        raise ValueError(f"network must be one of {', '.join(NETWORKS)}, not {kind!r}")
    return NETWORKS[kind](hidden, inputs)


def _layers(inputs: int, hidden: Sequence[int]) -> nn.ModuleList:
    layers = [nn.Linear(a, b) for a, b in pairwise((inputs, *hidden))]
    for layer in layers:
        _orthogonal(layer, 2**0.5)
    return nn.ModuleList(layers)


def _head(width: int, outputs: int) -> nn.Linear:
    head = nn.Linear(width, outputs)
    _orthogonal(head, 0.01)  # small first logits and values: play begins uniform, and the critic begins at a draw
    return head


def _orthogonal(layer: nn.Module, gain: float) -> None:
    assert isinstance(layer, nn.Linear)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)


def _relu_all(layers: nn.ModuleList, features: Tensor) -> Tensor:
    for layer in layers:
        features = torch.relu_(layer(features))
    return features


def masked_log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities [B, 31] float32 of logits [B, 31] over the actions where mask [B, 31] (bool) is True.

    Raises ValueError when a row has no legal action.
    """
    if not bool(mask.any(dim=1).all()):
        raise ValueError("a row of the action mask is all zero: that player is not to move and cannot act")
    return torch.log_softmax(logits.float().masked_fill(~mask, MASKED), dim=1)
