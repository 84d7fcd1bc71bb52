"""ismcts: information-set Monte Carlo tree search by one observer (Cowling, Powley and Whitehouse, 2012).

Every iteration draws a fresh world that fits the view, goes down one tree of actions as far as it reaches, adds a
leaf, plays the world to its end, and adds the result to the nodes on the way. A node stands for the actions taken
since the view, whatever the world; so an action is judged by how often it was available, not by how often its
parent was visited. Once the talon is used up a world is solved instead of searched (``exact``): both players know
all cards there. The tree is made anew for every decision.

Which action is tried: at the root, where the choice is made, all are alike; below it, ``prior`` is the share of the
action that the roll-out's player would take (none if he plays at random), and the others have the rest between them.
An action's score is its mean result plus ``exploration`` times its share times the root of its availability, divided
by one more than its visits (Silver and others, 2017, with availability in place of the parent's visits).

Measured with 1,000 iterations, in game points per deal. Against itself with other settings (rules
online,false_claim=illegal, 3,000 deals each, intervals 0.045), seen from (root_exploration, exploration, prior) =
(8, 4, 0.9): (8, 2, 0.7), which it now has, +0.07; (4, 4, 0.9) +0.03; (4, 2, 0.5) +0.02; (8, 2, 0.9) and (4, 4, 0.5)
0.00; (8, 16, 0.9) -0.03; (4, 1, 0.5) and (4, 2, 0.3) -0.06; (8, 100, 0.95), which searches next to nothing below the
root, -0.12, though against ``heuristic``, whose play its roll-outs foresee, it makes as much as any. There inference
(infer=0.5) costs 0.07, too: this opponent does not play like ``heuristic``.

Tried and dropped: the usual UCB with availability counts in place of shares, every action of a node tried once. In
classic, 2,000 deals, intervals 0.06, it made +0.13 against ``heuristic`` where shares made +0.29 to +0.36. Against an
older ``heuristic`` it made +0.09, +0.24 and +0.24 with constants of 0.6, 1.2 and 2.4 game points, and +0.05 with
roll-outs by ``habit`` and 1.2.
"""

from typing import NamedTuple

import numpy as np

from santase_env import engine
from santase_env.actions import NUM_ACTIONS
from santase_env.compiled import Array, Record, bit_count, int64, jit, lowest_bit
from santase_env.rng import mix
from santase_env.state import LOG_SIZE, STATE

from .belief import Belief, draw_world, new_belief, think
from .endgame import Solver, exact_action, is_known, new_solver
from .parallel import check_count, decide_rows
from .rollout import RANDOM, RollOut, new_roll_out, roll_out, rollout_action


class Tree(NamedTuple):
    """The tree of one decision, with room for N nodes; node 0 is the root, and child 0 means none."""

    children: Array
    """[N, 31] int32."""
    visits: Array
    """[N] int64."""
    available: Array
    """[N] int64: how often the action that leads to this node could be taken."""
    total: Array
    """[N] int64: results in game points, to seat 0."""
    size: Array
    """[1] int64: nodes in use."""
    path: Array
    """[34] int64: the nodes of this iteration."""
    world: Array
    """[1] STATE: the world of this iteration."""


class Options(NamedTuple):
    """How to search; see IsmctsPolicy."""

    iterations: int
    root_exploration: float
    exploration: float
    prior: float
    exact: bool


class Scratch(NamedTuple):
    """What one thread needs."""

    tree: Tree
    belief: Belief
    rollout: RollOut
    solver: Solver


class IsmctsPolicy:
    """Information-set tree search with a fixed number of iterations for each decision.

    iterations: worlds drawn, each to one leaf. root_exploration, exploration: how widely to try at the root and below
    it, in game points. prior: share of the roll-out player's own choice below the root. rollout: how a world is
    played on from the leaf, ``heuristic``, ``habit`` or ``random``. exact: solve what is left once the talon is used
    up, and play it exactly. infer: see ``belief.py``. threads: how many share a batch (0: one for each core); it
    changes no action. Raises ValueError for an impossible option.
    """

    heavy = True
    batch = 512

    def __init__(
        self,
        iterations: int = 1000,
        root_exploration: float = 8.0,
        exploration: float = 2.0,
        prior: float = 0.7,
        rollout: str = "heuristic",
        exact: bool = True,
        infer: float = 1.0,
        threads: int = 0,
    ) -> None:
        self.options = Options(
            check_count("iterations", iterations),
            check_weight("root_exploration", root_exploration),
            check_weight("exploration", exploration),
            check_weight("prior", prior, most=1.0),
            bool(exact),
        )
        self.rollout = rollout
        self.infer = infer
        self.threads = check_count("threads", threads, least=0)
        self._scratch()

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        """views [B], masks [B, 31], keys [B] -> actions [B]. Raises ValueError for an impossible view."""
        return decide_rows(views, masks, keys, self.threads, self._scratch, self._decide)

    def _scratch(self) -> Scratch:
        tree = new_tree(self.options.iterations)
        return Scratch(tree, new_belief(self.infer), new_roll_out(self.rollout), new_solver())

    def _decide(self, views: Array, masks: Array, keys: Array, scratch: Scratch, actions: Array) -> None:
        _decide_all(views, keys, self.options, scratch, actions)


def check_weight(name: str, value: object, most: float = 1e6) -> float:
    """``value`` as a float if it is a number from 0 to ``most``; raises ValueError that names it otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError(f"{name} must be a number from 0 to {most:g}, not {value!r}")
    return float(value)


def new_tree(iterations: int) -> Tree:
    """An empty tree for so many iterations."""
    room = 2 * iterations + LOG_SIZE  # forced moves add nodes, too; a full tree goes on without new ones
    return Tree(
        np.zeros((room, NUM_ACTIONS), np.int32),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(1, np.int64),
        np.zeros(LOG_SIZE + 2, np.int64),
        np.zeros(1, STATE),
    )


@jit
def _decide_all(views: Array, keys: Array, options: Options, scratch: Scratch, actions: Array) -> None:
    for i in range(len(views)):
        if options.exact and is_known(views[i]):
            actions[i] = exact_action(views[i], scratch.solver)
        else:
            grow(views[i], keys[i], options, scratch)
            actions[i] = most_visited(scratch.tree)


@jit
def grow(view: Record, key: np.uint64, options: Options, scratch: Scratch) -> None:
    """Make the tree of this view."""
    tree, state = scratch.tree, scratch.tree.world[0]
    clear(tree, 0)
    tree.size[0] = 1
    think(view, mix(key, 0), scratch.belief)
    for iteration in range(options.iterations):
        chance = mix(key, 1 + iteration)
        draw_world(view, chance, scratch.belief, state)
        depth = descend(state, chance, options, tree, scratch.rollout)
        value = roll_out(state, scratch.rollout, mix(chance, 0), scratch.solver, options.exact)
        for i in range(depth + 1):
            tree.visits[tree.path[i]] += 1
            tree.total[tree.path[i]] += value


@jit
def descend(state: Record, chance: np.uint64, options: Options, tree: Tree, rollout: RollOut) -> int:
    """Go down the tree to a new leaf, the end of the deal, or where it can be solved; returns how many nodes down."""
    node, depth = 0, 0
    while state.player >= 0 and not (options.exact and state.talon == 0):
        legal = engine.legal_bits(state)
        forced = legal & (legal - 1) == 0
        action = int64(lowest_bit(legal)) if forced else choose(state, legal, node, chance, options, tree, rollout)
        child = int64(tree.children[node, action])
        is_new = child == 0
        if is_new:
            child = int64(tree.size[0])
            if child == len(tree.visits):
                break
            tree.size[0] += 1
            tree.children[node, action] = child
            clear(tree, child)
        engine.advance(state, action)
        node = child
        depth += 1
        tree.path[depth] = node
        if is_new and not forced:
            break
    return depth


@jit
def choose(
    state: Record, legal: int, node: int, chance: np.uint64, options: Options, tree: Tree, rollout: RollOut
) -> int:
    """The legal action of the highest score to the player to move; an untried one has the mean of the node."""
    even = 1.0 / bit_count(legal)
    suggested, share, rest = -1, even, even
    weight = options.root_exploration if node == 0 else options.exploration
    if node > 0 and rollout.kind != RANDOM:
        suggested = rollout_action(state, rollout, mix(chance, 1))
        share, rest = options.prior, (1 - options.prior) / (bit_count(legal) - 1)
    sign = 1 - 2 * int64(state.player)
    mean = sign * tree.total[node] / max(1, tree.visits[node])
    best, best_score = -1, 0.0
    while legal:
        action = lowest_bit(legal)
        legal &= legal - 1
        child = int64(tree.children[node, action])
        value, visits, available = mean, 0, tree.visits[node]
        if child > 0:
            tree.available[child] += 1
            visits, available = tree.visits[child], tree.available[child]
            value = sign * tree.total[child] / visits
        score = value + weight * (share if action == suggested else rest) * np.sqrt(available + 1.0) / (1 + visits)
        if best < 0 or score > best_score:
            best, best_score = int64(action), score
    return best


@jit
def clear(tree: Tree, node: int) -> None:
    """Make a node new."""
    for action in range(NUM_ACTIONS):
        tree.children[node, action] = 0
    tree.visits[node] = 0
    tree.available[node] = 1
    tree.total[node] = 0


@jit
def most_visited(tree: Tree) -> int:
    """The root's action that was tried most, among equals the one of the lowest id."""
    best, most = -1, -1
    for action in range(NUM_ACTIONS):
        child = tree.children[0, action]
        if child > 0 and tree.visits[child] > most:
            best, most = action, int64(tree.visits[child])
    return best
