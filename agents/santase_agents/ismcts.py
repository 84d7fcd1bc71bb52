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
(infer=0.5) costs 0.07, too: this opponent does not play like ``heuristic``. That was while actions not tried yet
counted as available whenever the node was visited. With availability counted for them, too, and seen from what it now
has, (4, 2, 0.7) makes +0.02 and (8, 1, 0.8) 0.00.

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
from santase_env.policy import action_set
from santase_env.rng import mix
from santase_env.state import STATE

from .belief import Belief, draw_world, new_belief, think
from .decide import check_decisions, decide_rows
from .endgame import Solver, exact_action, is_known, new_solver
from .options import check_count, check_flag, check_weight
from .rollout import RANDOM, RollOut, new_roll_out, roll_out, rollout_action
from .tree import (
    KNOWN,
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
)


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
    world: Array
    """[1] STATE: the world of this iteration."""
    shares: Array
    """[31] float64: what ``most_urgent`` asks for."""
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
            check_flag("exact", exact),
        )
        self.rollout = rollout
        self.infer = infer
        self.threads = check_count("threads", threads, least=0, most=1024)
        self._scratch()

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        """views [B], masks [B, 31], keys [B] -> actions [B]. Raises ValueError as ``check_decisions`` does."""
        return decide_rows(views, masks, keys, self.threads, self._scratch, self._decide)

    def visits(self, views: Array, masks: Array, keys: Array) -> Array:
        """How often each action [B, 31] was tried at the roots of searches of views [B] by keys [B]; a solved position
        gives all to the exact action. On one thread."""
        views, masks, keys = check_decisions(views, masks, keys)
        visits = np.zeros((len(views), NUM_ACTIONS), np.int64)
        _visits_all(views, masks, keys, self.options, self._scratch(), visits)
        return visits

    def _scratch(self) -> Scratch:
        return Scratch(
            new_tree(self.options.iterations),
            np.zeros(1, STATE),
            np.zeros(NUM_ACTIONS),
            new_belief(self.infer),
            new_roll_out(self.rollout),
            new_solver(),
        )

    def _decide(self, views: Array, masks: Array, keys: Array, scratch: Scratch, actions: Array) -> None:
        _decide_all(views, masks, keys, self.options, scratch, actions)


@jit
def _decide_all(views: Array, masks: Array, keys: Array, options: Options, scratch: Scratch, actions: Array) -> None:
    for i in range(len(views)):
        allowed = action_set(masks[i])
        if options.exact and is_known(views[i]):
            actions[i] = exact_action(views[i], allowed, scratch.solver)
        else:
            grow(views[i], allowed, keys[i], options, scratch)
            actions[i] = most_visited(scratch.tree, allowed)


@jit
def _visits_all(views: Array, masks: Array, keys: Array, options: Options, scratch: Scratch, visits: Array) -> None:
    for i in range(len(views)):
        allowed = action_set(masks[i])
        if options.exact and is_known(views[i]):
            visits[i, exact_action(views[i], allowed, scratch.solver)] = options.iterations
        else:
            grow(views[i], allowed, keys[i], options, scratch)
            for action in range(NUM_ACTIONS):
                visits[i, action] = root_visits(scratch.tree, action)


@jit
def grow(view: Record, allowed: int, key: np.uint64, options: Options, scratch: Scratch) -> None:
    """Make the tree of this view; ``allowed`` is the set of actions to choose from at its root."""
    tree, state = scratch.tree, scratch.world[0]
    plant(tree)
    think(view, mix(key, 0), scratch.belief)
    for iteration in range(options.iterations):
        chance = mix(key, 1 + iteration)
        draw_world(view, chance, scratch.belief, state)
        descend(state, allowed, chance, options, scratch)
        back_up(tree, roll_out(state, scratch.rollout, mix(chance, 0), scratch.solver, options.exact))


@jit
def descend(state: Record, allowed: int, chance: np.uint64, options: Options, scratch: Scratch) -> None:
    """Go down the tree to a new leaf, the end of the deal, or where it can be solved."""
    tree = scratch.tree
    go_to_root(tree)
    while state.player >= 0 and not (options.exact and state.talon == 0):
        node = here(tree)
        legal = engine.legal_bits(state)
        if node == 0:
            legal &= allowed
        notice(tree, node, legal)
        forced = legal & (legal - 1) == 0
        action = int64(lowest_bit(legal)) if forced else choose(state, legal, node, chance, options, scratch)
        outcome = step(tree, state, action)
        if outcome == NO_ROOM or (outcome != KNOWN and not forced):
            return


@jit
def choose(state: Record, legal: int, node: int, chance: np.uint64, options: Options, scratch: Scratch) -> int:
    """Which of the legal actions to try at this node."""
    rollout, shares = scratch.rollout, scratch.shares
    weight = options.root_exploration if node == 0 else options.exploration
    if node == 0 or rollout.kind == RANDOM:
        shares[:] = 1.0 / bit_count(legal)
    else:
        shares[:] = (1 - options.prior) / (bit_count(legal) - 1)
        shares[rollout_action(state, rollout, mix(chance, 1))] = options.prior
    return most_urgent(scratch.tree, node, legal, 1 - 2 * int64(state.player), weight, shares)


@jit
def most_visited(tree: Tree, allowed: int) -> int:
    """The root's action that was tried most, among equals the one of the lowest id."""
    best, most = -1, -1
    while allowed:
        action = lowest_bit(allowed)
        allowed &= allowed - 1
        if root_visits(tree, action) > most:
            best, most = int64(action), root_visits(tree, action)
    return best
