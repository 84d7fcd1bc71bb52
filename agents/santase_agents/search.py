"""search: information-set tree search that a network guides, ``search:net=PATH,iterations=200``.

As in ``ismcts``, every iteration draws a fresh world that fits the view and goes down one tree of actions. Here the
network's policy says where to look first, and its value stands in for the roll-out (Silver and others, 2017, for the
formula of the choice). Many games search side by side: each goes down to its leaf, then the network judges all the
leaves at once, always in blocks of the same size, so that a decision does not depend on its neighbours.

Measured with the network of configs/quick.yaml, seed 1, after ten million steps, in game points per deal (rules
online,false_claim=illegal, 4,000 deals, intervals 0.04): 200 iterations make +0.26 against the network alone, and +0.12
against ``heuristic``, to which the network alone loses 0.14. The weight of exploration was chosen on other deals
(2,000, intervals 0.05), where against the network 0.3 made +0.24, 0.6 +0.28, 1 +0.27 and 2 +0.31; over 1,000 deals 3
made +0.27 and 10 +0.21. It matters little: on the 4,000 deals 1 makes +0.26, too.

A node keeps the policy that the network gave when the node was first reached, in the world of that moment. An
action that was not legal then, but is in a later world, counts as one of equally likely ones.
"""

from typing import NamedTuple

import numpy as np
import torch

from santase_env import engine
from santase_env.actions import NUM_ACTIONS
from santase_env.compiled import Array, Record, bit_count, int64, jit, lowest_bit
from santase_env.observation import canonical_actions, encode_row, real_action, write_mask
from santase_env.policy import action_set
from santase_env.rng import mix
from santase_env.state import STATE
from santase_env.view import VIEW, fill_sample, fill_view

from .checkpoint import PRETRAINED, digest_of, find_checkpoint, load_network
from .decide import check_decisions, forced_actions
from .endgame import Solver, exact_action, is_known, new_solver, value_of
from .net import in_fixed_blocks
from .network import masked_log_softmax
from .options import check_count, check_flag, check_weight
from .parallel import in_blocks
from .tree import (
    NO_ROOM,
    Tree,
    back_up,
    go_to_root,
    here,
    most_urgent,
    new_tree,
    notice,
    plant,
    root_visits,
    step,
    tree_of,
)

MOST_GAMES = 512
"""Games that search side by side at most; fewer where their trees are large."""
MOST_NODES = 400_000
"""Nodes that the trees of these games may have together; each takes 400 bytes."""
BLOCK = 32
"""Rows that a thread takes at a time."""
NETWORK_ROWS = 128
"""Leaves that go through the network at once: with 512 a lone decision would take three times as long."""
UNKNOWN = -1.0


class Games(NamedTuple):
    """G decisions that are searched side by side, each with a tree of N nodes."""

    trees: Tree
    """Arrays [G, ...]; results in game points."""
    priors: Array
    """[G, N, 31] float32; -1 for an action that was not legal when the node was judged."""
    judged: Array
    """[G, N] bool: has the network seen it?"""
    states: Array
    """[G] STATE: the world of this iteration."""
    allowed: Array
    """[G] int64: the set of actions to choose from at the root."""


class Leaves(NamedTuple):
    """What the network is asked in one iteration, and what it says."""

    observations: Array
    """[G, D] float32."""
    masks: Array
    """[G, 31] int8, in the network's suits."""
    waiting: Array
    """[G] bool: is the network needed at all?"""
    in_tree: Array
    """[G] bool: does the tree have a node for it?"""
    signs: Array
    """[G] int64: 1 when seat 0 is to move there, else -1."""
    policies: Array
    """[G, 31] float32, in the network's suits."""
    values: Array
    """[G] float64: to seat 0, in game points."""


class Options(NamedTuple):
    """How to search; see SearchPolicy."""

    exploration: float
    exact: bool
    canonical: bool


class Scratch(NamedTuple):
    """What one thread needs."""

    seen: Array
    """[1] VIEW: the leaf, as the player to move there sees it."""
    shares: Array
    """[31] float64: what ``most_urgent`` asks for."""
    solver: Solver


class SearchPolicy:
    """Tree search guided by a checkpoint's network, with a fixed number of iterations for each decision.

    net: a checkpoint or a run, or the released network. iterations: worlds and leaves per decision. exploration: weight
    of the network's policy, in game points. exact: solve what is left once the talon is used up, and play it exactly.
    threads: how many share the games (0: one for each core); it changes no action. ``rules`` names the rules that the
    network was trained under, ``identity`` stands for its contents. Raises ValueError for an impossible option.
    """

    heavy = True
    batch = 1024

    def __init__(
        self,
        net: str = PRETRAINED,
        iterations: int = 200,
        exploration: float = 2.0,
        exact: bool = True,
        threads: int = 0,
    ) -> None:
        folder = find_checkpoint(net)  # once, as a run may get a newer one at any time
        self.network, meta = load_network(folder)
        self.identity = digest_of(folder)
        self.rules = meta["rules"]
        # The network was trained on game points times this.
        self.reward_scale = check_weight("reward_scale", meta["config"].get("reward_scale", 1 / 3), least=1e-6)
        self.iterations = check_count("iterations", iterations, most=100_000)
        self.options = Options(
            check_weight("exploration", exploration), check_flag("exact", exact), bool(meta["canonical_suits"])
        )
        self.threads = check_count("threads", threads, least=0, most=1024)

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        """views [B], masks [B, 31], keys [B] -> actions [B]. Raises ValueError as ``check_decisions`` does."""
        views, masks, keys = check_decisions(views, masks, keys)
        actions, rows = forced_actions(masks)
        if len(rows):
            actions[rows] = self.visits(views[rows], masks[rows], keys[rows]).argmax(axis=1)
        return actions

    def visits(self, views: Array, masks: Array, keys: Array) -> Array:
        """How often each action [B, 31] was tried at the roots of searches of views [B] by keys [B]; a solved position
        gives all to the exact action."""
        visits = np.zeros((len(views), NUM_ACTIONS), np.int64)
        rows = np.arange(len(views))
        if self.options.exact:
            solved = np.zeros(len(views), bool)
            actions = np.zeros(len(views), np.int64)
            _act_exactly(views, masks, new_solver(), solved, actions)
            visits[rows[solved], actions[solved]] = self.iterations
            rows = rows[~solved]
        games = min(MOST_GAMES, max(1, MOST_NODES // (2 * self.iterations)))
        for start in range(0, len(rows), games):
            group = rows[start : start + games]
            visits[group] = self._search(views[group], masks[group], keys[group])
        return visits

    def _search(self, views: Array, masks: Array, keys: Array) -> Array:
        games, leaves = new_games(masks, self.iterations), new_leaves(len(views), self.network.inputs)
        for iteration in range(self.iterations + 1):  # the first one only judges the root

            def down(block: slice, scratch: Scratch, iteration: int = iteration) -> None:
                _descend_all(views, keys, iteration, self.options, games, leaves, scratch, block.start, block.stop)

            in_blocks(len(views), BLOCK, self.threads, new_scratch, down)
            self._judge(leaves)
            _back_up_all(games, leaves, self.options.canonical)
        visits = np.zeros((len(views), NUM_ACTIONS), np.int64)
        _root_visits(games, visits)
        return visits

    @torch.inference_mode()
    def _judge(self, leaves: Leaves) -> None:
        rows = np.flatnonzero(leaves.waiting)
        if not len(rows):
            return
        logits, values = in_fixed_blocks(self.network, leaves.observations[rows], NETWORK_ROWS)
        mask = torch.from_numpy(leaves.masks[rows]).bool()
        leaves.policies[rows] = masked_log_softmax(logits, mask).exp().numpy()
        leaves.values[rows] = leaves.signs[rows] * values.numpy() / self.reward_scale


def new_games(masks: Array, iterations: int) -> Games:
    """Games with no more than a root each, for so many iterations."""
    count = len(masks)
    trees = new_tree(iterations, count)
    allowed = np.zeros(count, np.int64)
    _plant_all(trees, masks, allowed)
    nodes = trees.visits.shape[1]
    priors = np.zeros((count, nodes, NUM_ACTIONS), np.float32)
    return Games(trees, priors, np.zeros((count, nodes), bool), np.zeros(count, STATE), allowed)


def new_leaves(games: int, inputs: int) -> Leaves:
    """Leaves that say nothing yet."""
    return Leaves(
        np.zeros((games, inputs), np.float32),
        np.zeros((games, NUM_ACTIONS), np.int8),
        np.zeros(games, bool),
        np.zeros(games, bool),
        np.zeros(games, np.int64),
        np.zeros((games, NUM_ACTIONS), np.float32),
        np.zeros(games),
    )


def new_scratch() -> Scratch:
    """A Scratch with nothing in it."""
    return Scratch(np.zeros(1, VIEW), np.zeros(NUM_ACTIONS), new_solver())


@jit
def _act_exactly(views: Array, masks: Array, solver: Solver, solved: Array, actions: Array) -> None:
    for i in range(len(views)):
        if is_known(views[i]):
            actions[i] = exact_action(views[i], action_set(masks[i]), solver)
            solved[i] = True


@jit
def _plant_all(trees: Tree, masks: Array, allowed: Array) -> None:
    for game in range(len(masks)):
        plant(tree_of(trees, game))
        allowed[game] = action_set(masks[game])


@jit
def _descend_all(
    views: Array,
    keys: Array,
    iteration: int,
    options: Options,
    games: Games,
    leaves: Leaves,
    scratch: Scratch,
    start: int,
    stop: int,
) -> None:
    for game in range(start, stop):
        state = games.states[game]
        fill_sample(views[game], mix(keys[game], iteration), state)
        leaves.in_tree[game] = descend(game, state, options, games, scratch)
        leaves.waiting[game] = False
        if state.player < 0:
            leaves.values[game] = int64(state.game_points[0]) - int64(state.game_points[1])
        elif options.exact and state.talon == 0:
            leaves.values[game] = value_of(state, scratch.solver)
        else:
            leaves.waiting[game] = True
            leaves.signs[game] = 1 - 2 * int64(state.player)
            fill_view(state, state.player, scratch.seen[0])
            encode_row(scratch.seen[0], options.canonical, leaves.observations[game])
            legal = engine.legal_bits(state)
            shown = canonical_actions(legal, state.trump) if options.canonical else legal
            write_mask(shown, leaves.masks[game])


@jit
def descend(game: int, state: Record, options: Options, games: Games, scratch: Scratch) -> bool:
    """Go down to a node that the network has not judged, to the end of the deal, or to where it can be solved; does
    the tree have a node for it?"""
    tree = tree_of(games.trees, game)
    go_to_root(tree)
    while state.player >= 0 and not (options.exact and state.talon == 0):
        node = here(tree)
        legal = engine.legal_bits(state)
        if node == 0:
            legal &= int64(games.allowed[game])
        forced = legal & (legal - 1) == 0
        if not forced and not games.judged[game, node]:
            return True
        notice(tree, node, legal)
        if forced:
            action = int64(lowest_bit(legal))
        else:
            fill_shares(games.priors[game, node], 1.0 / bit_count(legal), scratch.shares)
            sign = 1 - 2 * int64(state.player)
            action = most_urgent(tree, node, legal, sign, options.exploration, scratch.shares)
        if step(tree, state, action) == NO_ROOM:
            return False
    return True


@jit
def fill_shares(priors: Array, even: float, shares: Array) -> None:
    """The shares [31] of a node's actions: its priors [31], and ``even`` where they are unknown."""
    for action in range(NUM_ACTIONS):
        prior = float(priors[action])
        shares[action] = even if prior == UNKNOWN else prior


@jit
def _back_up_all(games: Games, leaves: Leaves, canonical: bool) -> None:
    for game in range(len(leaves.waiting)):
        tree = tree_of(games.trees, game)
        leaf = here(tree)
        if leaves.waiting[game] and leaves.in_tree[game] and not games.judged[game, leaf]:
            games.judged[game, leaf] = True
            trump = int64(games.states[game].trump)
            for action in range(NUM_ACTIONS):
                real = real_action(action, trump) if canonical else action
                known = leaves.masks[game, action] != 0
                games.priors[game, leaf, real] = leaves.policies[game, action] if known else UNKNOWN
        back_up(tree, leaves.values[game])


@jit
def _root_visits(games: Games, visits: Array) -> None:
    for game in range(len(visits)):
        tree = tree_of(games.trees, game)
        for action in range(NUM_ACTIONS):
            visits[game, action] = root_visits(tree, action)
