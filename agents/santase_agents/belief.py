"""What the opponent's play tells about his cards: worlds in which he would hardly have played so count for less.

``sample_state`` draws from the chance prior, in which every hand that he can hold is as likely. Here some worlds are
drawn from it and replayed from the deal: at each of his decisions the ``heuristic`` player is asked what it would
have done in his place, and each time he did something else the world's weight is multiplied by ``infer``. The search
then draws its worlds from these 128 by weight. So infer=1 infers nothing (and draws a fresh world every time), and a
small value trusts that he plays like ``heuristic``.
"""

from typing import NamedTuple

import numpy as np

from santase_env import engine
from santase_env.compiled import Array, Record, copy_bytes, int64, jit
from santase_env.rng import mix
from santase_env.state import LOG_PLAYER, STATE
from santase_env.view import fill_sample

from .options import check_weight
from .rollout import RollOut, new_roll_out, rollout_action

CANDIDATES = 128
"""Worlds from which the weighted draw is made."""

_SIZE = STATE.itemsize


class Belief(NamedTuple):
    """Weighted worlds of one decision, and what one thread needs to weigh them."""

    infer: float
    worlds: Array
    """[128] STATE."""
    sums: Array
    """[128] float64: the weights, added up."""
    replay: Array
    """[1] STATE."""
    model: RollOut
    """The heuristic player."""


def new_belief(infer: float) -> Belief:
    """A Belief before any thought; raises ValueError unless ``infer`` lies between 0.001 and 1."""
    infer = check_weight("infer", infer, least=0.001, most=1.0)
    count = CANDIDATES if infer < 1 else 0
    return Belief(float(infer), np.zeros(count, STATE), np.zeros(count), np.zeros(1, STATE), new_roll_out("heuristic"))


@jit
def think(view: Record, key: np.uint64, belief: Belief) -> None:
    """Draw the worlds for this view and weigh them."""
    total = 0.0
    for i in range(len(belief.worlds)):
        fill_sample(view, mix(key, i), belief.worlds[i])
        total += likelihood(view, belief.worlds[i], belief)
        belief.sums[i] = total


@jit
def draw_world(view: Record, key: np.uint64, belief: Belief, world: Record) -> None:
    """Write a world that fits the view into ``world``, drawn by weight; a fresh one when nothing is inferred."""
    count = len(belief.worlds)
    if count == 0:
        fill_sample(view, key, world)
        return
    reach = float(mix(key, 0) >> np.uint64(11)) / 2.0**53 * belief.sums[count - 1]
    place = np.searchsorted(belief.sums, reach, side="right")
    copy_bytes(world, belief.worlds[min(place, count - 1)], _SIZE)


@jit
def likelihood(view: Record, world: Record, belief: Belief) -> float:
    """``infer`` to the power of how often the opponent did something else than ``heuristic`` would in this world."""
    state = belief.replay[0]
    copy_bytes(state, world, _SIZE)
    engine.begin(state, int64(view.opener))
    weight = 1.0
    for i in range(view.log_length):
        action = int64(view.log[i]) % LOG_PLAYER
        if state.player != view.seat and rollout_action(state, belief.model, np.uint64(0)) != action:
            weight *= belief.infer
        engine.advance(state, action)
    return weight
