"""search: information-set tree search that a network guides, ``search:net=PATH,iterations=200``.

As in ``ismcts``, every iteration draws a fresh world that fits the view and goes down one tree of actions. Here the
network's policy says where to look first, and its value stands in for the roll-out (Silver and others, 2017, for the
formula of the choice). Many games search side by side: each goes down to its leaf, then the network judges all the
leaves at once, always in blocks of the same size, so that a decision does not depend on its neighbours.

A node keeps the policy that the network gave when the node was first reached, in the world of that moment. An
action that was not legal then, but is in a later world, counts as one of equally likely ones.
"""

from typing import NamedTuple

import numpy as np
import torch

from santase_env import engine
from santase_env.actions import NUM_ACTIONS
from santase_env.compiled import Array, Record, bit_count, int64, jit, lowest_bit
from santase_env.observation import OBSERVATION_SIZE, canonical_actions, encode_into, real_action, write_mask
from santase_env.policy import check_masks
from santase_env.rng import mix
from santase_env.state import LOG_SIZE, STATE
from santase_env.view import VIEW, check_views, fill_sample, fill_view

from .checkpoint import load_network
from .endgame import Solver, exact_action, is_known, new_solver, value_of
from .net import in_fixed_blocks
from .network import masked_log_softmax
from .parallel import check_count, in_blocks

GROUP = 512
"""Games that search side by side."""
BLOCK = 32
"""Rows that a thread takes at a time."""
UNKNOWN = -1.0


class Forest(NamedTuple):
    """A tree for each of G games, with room for N nodes; node 0 is the root, and child 0 means none."""

    children: Array
    """[G, N, 31] int32."""
    priors: Array
    """[G, N, 31] float32; -1 for an action that was not legal when the node was judged."""
    judged: Array
    """[G, N] bool: has the network seen it?"""
    visits: Array
    """[G, N] int32."""
    available: Array
    """[G, N] int32: how often the action that leads to it could be taken."""
    total: Array
    """[G, N] float64: values to seat 0, in thirds of a game point."""
    size: Array
    """[G] int64: nodes in use."""
    path: Array
    """[G, 34] int32: the nodes of this iteration."""
    depth: Array
    """[G] int64: how many there are below the root."""
    states: Array
    """[G] STATE: the world of this iteration."""


class Leaves(NamedTuple):
    """What the network is asked in one iteration, and what it says."""

    observations: Array
    """[G, D] float32."""
    masks: Array
    """[G, 31] int8, in the network's suits."""
    waiting: Array
    """[G] bool: is the network needed at all?"""
    signs: Array
    """[G] int64: 1 when seat 0 is to move there, else -1."""
    policies: Array
    """[G, 31] float32, in the network's suits."""
    values: Array
    """[G] float64: to seat 0, in thirds of a game point."""


def new_forest(games: int, iterations: int) -> Forest:
    """Empty trees for so many iterations."""
    room = 2 * iterations + LOG_SIZE  # forced moves add nodes, too; a full tree goes on without new ones
    return Forest(
        np.zeros((games, room, NUM_ACTIONS), np.int32),
        np.zeros((games, room, NUM_ACTIONS), np.float32),
        np.zeros((games, room), bool),
        np.zeros((games, room), np.int32),
        np.zeros((games, room), np.int32),
        np.zeros((games, room)),
        np.ones(games, np.int64),
        np.zeros((games, LOG_SIZE + 2), np.int32),
        np.zeros(games, np.int64),
        np.zeros(games, STATE),
    )


def new_leaves(games: int) -> Leaves:
    """Leaves that say nothing yet."""
    return Leaves(
        np.zeros((games, OBSERVATION_SIZE), np.float32),
        np.zeros((games, NUM_ACTIONS), np.int8),
        np.zeros(games, bool),
        np.zeros(games, np.int64),
        np.zeros((games, NUM_ACTIONS), np.float32),
        np.zeros(games),
    )


class SearchPolicy:
    """Tree search guided by a checkpoint's network, with a fixed number of iterations for each decision.

    net: a checkpoint or a run. iterations: worlds and leaves per decision. exploration: weight of the network's
    policy. exact: solve what is left once the talon is used up, and play it exactly. threads: how many share the
    games (0: one for each core); it changes no action. ``rules`` names the rules the network was trained under.
    """

    heavy = True
    batch = 1024

    def __init__(
        self, net: str, iterations: int = 200, exploration: float = 1.0, exact: bool = True, threads: int = 0
    ) -> None:
        self.network, meta = load_network(net)
        self.rules = meta["rules"]
        self.canonical_suits = bool(meta["canonical_suits"])
        self.value_scale = 1 / (3 * float(meta["config"].get("reward_scale", 1 / 3)))
        self.iterations = check_count("iterations", iterations)
        self.exploration = float(exploration)
        self.exact = bool(exact)
        self.threads = check_count("threads", threads, least=0)

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        """views [B], masks [B, 31], keys [B] -> actions [B]. Raises ValueError for an impossible view."""
        check_masks(masks)
        check_views(views)
        actions: Array = (masks != 0).argmax(axis=1).astype(np.int64)
        free = (masks != 0).sum(axis=1) > 1
        if self.exact:
            _act_exactly(views, new_solver(), free, actions)
        rows = np.flatnonzero(free)
        for start in range(0, len(rows), GROUP):
            group = rows[start : start + GROUP]
            actions[group] = self.visits(views[group], keys[group]).argmax(axis=1)
        return actions

    def visits(self, views: Array, keys: Array) -> Array:
        """How often each action [B, 31] was tried at the roots of searches of views [B] by keys [B]."""
        count = len(views)
        forest, leaves = new_forest(count, self.iterations), new_leaves(count)
        for iteration in range(self.iterations + 1):  # the first one only judges the root

            def down(block: slice, solver: Solver, iteration: int = iteration) -> None:
                _descend_all(
                    views,
                    keys,
                    iteration,
                    self.exploration,
                    self.exact,
                    self.canonical_suits,
                    forest,
                    leaves,
                    solver,
                    block.start,
                    block.stop,
                )

            in_blocks(count, BLOCK, self.threads, new_solver, down)
            self._judge(leaves)
            _back_up_all(forest, leaves, self.canonical_suits)
        visits = np.zeros((count, NUM_ACTIONS), np.int64)
        _root_visits(forest, visits)
        return visits

    @torch.inference_mode()
    def _judge(self, leaves: Leaves) -> None:
        rows = np.flatnonzero(leaves.waiting)
        if not len(rows):
            return
        logits, values = in_fixed_blocks(self.network, leaves.observations[rows])
        mask = torch.from_numpy(leaves.masks[rows]).bool()
        leaves.policies[rows] = masked_log_softmax(logits, mask).exp().numpy()
        leaves.values[rows] = leaves.signs[rows] * self.value_scale * values.numpy()


@jit
def _act_exactly(views: Array, solver: Solver, free: Array, actions: Array) -> None:
    for i in range(len(views)):
        if free[i] and is_known(views[i]):
            actions[i] = exact_action(views[i], solver)
            free[i] = False


@jit
def _descend_all(
    views: Array,
    keys: Array,
    iteration: int,
    exploration: float,
    exact: bool,
    canonical: bool,
    forest: Forest,
    leaves: Leaves,
    solver: Solver,
    start: int,
    stop: int,
) -> None:
    own = np.zeros(1, VIEW)
    for game in range(start, stop):
        state = forest.states[game]
        fill_sample(views[game], mix(keys[game], iteration), state)
        descend(game, state, exploration, exact, forest)
        leaves.waiting[game] = False
        if state.player < 0:
            leaves.values[game] = (int64(state.game_points[0]) - int64(state.game_points[1])) / 3.0
        elif exact and state.talon == 0:
            leaves.values[game] = value_of(state, solver) / 3.0
        else:
            leaves.waiting[game] = True
            leaves.signs[game] = 1 - 2 * int64(state.player)
            fill_view(state, state.player, own[0])
            encode_into(own[0], canonical, leaves.observations[game])
            legal = engine.legal_bits(state)
            write_mask(canonical_actions(legal, state.trump) if canonical else legal, leaves.masks[game])


@jit
def descend(game: int, state: Record, exploration: float, exact: bool, forest: Forest) -> None:
    """Go down to a node that the network has not judged, to the end of the deal, or to where it can be solved."""
    node, depth = 0, 0
    while state.player >= 0 and not (exact and state.talon == 0):
        legal = engine.legal_bits(state)
        if legal & (legal - 1) == 0:
            action = int64(lowest_bit(legal))
        elif forest.judged[game, node]:
            action = choose(game, node, legal, 1 - 2 * int64(state.player), exploration, forest)
        else:
            break
        child = int64(forest.children[game, node, action])
        if child == 0:
            child = int64(forest.size[game])
            if child == forest.visits.shape[1]:
                break
            forest.size[game] += 1
            forest.children[game, node, action] = child
            forest.available[game, child] = 1
        engine.advance(state, action)
        node = child
        depth += 1
        forest.path[game, depth] = node
    forest.depth[game] = depth


@jit
def choose(game: int, node: int, legal: int, sign: int, exploration: float, forest: Forest) -> int:
    """The legal action of the highest value to the player to move, plus what the network's policy adds to those
    that were tried less often than they could have been; an untried one has the value of the node."""
    mean = sign * forest.total[game, node] / max(1, forest.visits[game, node])
    even = 1.0 / bit_count(legal)
    best, best_score = -1, 0.0
    while legal:
        action = lowest_bit(legal)
        legal &= legal - 1
        prior = float(forest.priors[game, node, action])
        if prior == UNKNOWN:
            prior = even
        child = forest.children[game, node, action]
        value, visits, chances = mean, 0, forest.visits[game, node]
        if child > 0:
            forest.available[game, child] += 1
            visits, chances = forest.visits[game, child], forest.available[game, child]
            if visits > 0:
                value = sign * forest.total[game, child] / visits
        score = value + exploration * prior * np.sqrt(float(chances)) / (1 + visits)
        if best < 0 or score > best_score:
            best, best_score = int64(action), score
    return best


@jit
def _back_up_all(forest: Forest, leaves: Leaves, canonical: bool) -> None:
    for game in range(len(leaves.waiting)):
        depth = forest.depth[game]
        leaf = forest.path[game, depth]
        if leaves.waiting[game] and not forest.judged[game, leaf]:
            forest.judged[game, leaf] = True
            trump = int64(forest.states[game].trump)
            for action in range(NUM_ACTIONS):
                real = real_action(action, trump) if canonical else action
                known = leaves.masks[game, action] != 0
                forest.priors[game, leaf, real] = leaves.policies[game, action] if known else UNKNOWN
        for i in range(depth + 1):
            node = forest.path[game, i]
            forest.visits[game, node] += 1
            forest.total[game, node] += leaves.values[game]


@jit
def _root_visits(forest: Forest, visits: Array) -> None:
    for game in range(len(visits)):
        for action in range(NUM_ACTIONS):
            child = forest.children[game, 0, action]
            visits[game, action] = forest.visits[game, child] if child > 0 else 0
