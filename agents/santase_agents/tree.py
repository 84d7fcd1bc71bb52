"""The tree of an information-set search: one for every decision, and what all such searches do with it.

A node stands for the actions taken since the view, whatever the world; so what its children share is not its visits:
each was available in some worlds only. ``available`` counts, for every node and action, the times that the action
was legal when a world came by, whether it was tried or not.
"""

from typing import NamedTuple

import numpy as np

from santase_env import engine
from santase_env.actions import NUM_ACTIONS
from santase_env.compiled import Array, Record, int64, jit, lowest_bit
from santase_env.state import LOG_SIZE

KNOWN, NEW, NO_ROOM = range(3)


class Tree(NamedTuple):
    """Room for N nodes; node 0 is the root, and child 0 means none."""

    children: Array
    """[N, 31] int32."""
    available: Array
    """[N, 31] int32."""
    visits: Array
    """[N] int64."""
    total: Array
    """[N] float64: results to seat 0, summed."""
    path: Array
    """[34] int64: the nodes of this iteration, from the root."""
    used: Array
    """[2] int64: nodes in use, and the place in ``path`` of the last node."""


def new_tree(iterations: int, games: int | None = None) -> Tree:
    """An empty tree for so many iterations; with ``games``, that many trees, as arrays with one axis more."""
    # Forced moves add nodes, too; a full tree goes on without new ones.
    room = 2 * iterations + LOG_SIZE
    front = () if games is None else (games,)
    return Tree(
        np.zeros((*front, room, NUM_ACTIONS), np.int32),
        np.zeros((*front, room, NUM_ACTIONS), np.int32),
        np.zeros((*front, room), np.int64),
        np.zeros((*front, room)),
        np.zeros((*front, LOG_SIZE + 2), np.int64),
        np.zeros((*front, 2), np.int64),
    )


@jit
def tree_of(trees: Tree, game: int) -> Tree:
    """One of several trees."""
    return Tree(
        trees.children[game],
        trees.available[game],
        trees.visits[game],
        trees.total[game],
        trees.path[game],
        trees.used[game],
    )


@jit
def plant(tree: Tree) -> None:
    """Begin anew with nothing but a root."""
    tree.used[0] = 0
    add_node(tree)
    go_to_root(tree)


@jit
def go_to_root(tree: Tree) -> None:
    """Begin an iteration."""
    tree.used[1] = 0
    tree.path[0] = 0


@jit
def add_node(tree: Tree) -> int:
    """A new node; 0 when there is no room."""
    node = int64(tree.used[0])
    if node == len(tree.visits):
        return 0
    tree.used[0] = node + 1
    tree.visits[node] = 0
    tree.total[node] = 0.0
    for action in range(NUM_ACTIONS):
        tree.children[node, action] = 0
        tree.available[node, action] = 0
    return node


@jit
def here(tree: Tree) -> int:
    """The node that this iteration has come to."""
    return int64(tree.path[tree.used[1]])


@jit
def step(tree: Tree, state: Record, action: int) -> int:
    """Take ``action`` in the world and in the tree; was the node that it leads to KNOWN, is it NEW, or is there NO_ROOM
    for it, so that the tree ends here?"""
    node = here(tree)
    engine.advance(state, action)
    child, outcome = int64(tree.children[node, action]), KNOWN
    if child == 0:
        child, outcome = add_node(tree), NEW
        if child == 0:
            return NO_ROOM
        tree.children[node, action] = child
    tree.used[1] += 1
    tree.path[tree.used[1]] = child
    return outcome


@jit
def notice(tree: Tree, node: int, legal: int) -> None:
    """Count the actions of the set ``legal`` as available at a node."""
    while legal:
        tree.available[node, lowest_bit(legal)] += 1
        legal &= legal - 1


@jit
def most_urgent(tree: Tree, node: int, legal: int, sign: int, weight: float, shares: Array) -> int:
    """The legal action of the highest score: its mean result to the player to move (``sign`` 1: seat 0), and
    ``weight`` times its share times the root of its availability over one more than its visits.

    An untried action has the node's mean. ``shares`` [31]: how much of the search each action is expected to deserve.
    The formula is that of Silver and others (2017), with availability in place of the parent's visits.
    """
    mean = sign * tree.total[node] / max(1, tree.visits[node])
    best, best_score = -1, 0.0
    while legal:
        action = lowest_bit(legal)
        legal &= legal - 1
        child = int64(tree.children[node, action])
        value, visits = mean, 0
        if child > 0 and tree.visits[child] > 0:
            visits = int64(tree.visits[child])
            value = sign * tree.total[child] / visits
        score = value + weight * shares[action] * np.sqrt(float(tree.available[node, action])) / (1 + visits)
        if best < 0 or score > best_score:
            best, best_score = int64(action), score
    return best


@jit
def back_up(tree: Tree, value: float) -> None:
    """Add a result to the nodes of this iteration."""
    for i in range(tree.used[1] + 1):
        node = tree.path[i]
        tree.visits[node] += 1
        tree.total[node] += value


@jit
def root_visits(tree: Tree, action: int) -> int:
    """How often an action was tried at the root."""
    child = tree.children[0, action]
    return int64(tree.visits[child]) if child > 0 else 0
