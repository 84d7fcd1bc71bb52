"""No agent can cheat: what is hidden changes neither what it is shown nor what it does.

For every position another full deal is drawn that the player to move cannot tell from the real one. Both must
give him the same view to the byte, the same observation, the same mask, and the same action of every agent.
"""

import numpy as np
import pytest

from santase_env import load_policy, sample_state, view_of
from santase_env.batch import apply_all, deal_all, new_games, views_to_move
from santase_env.compiled import Array, jit
from santase_env.observation import encode_batch
from santase_env.policy import policy_names
from santase_env.rng import mix
from santase_env.state import STATE
from santase_env.view import fill_sample

NEEDS_MORE = ("net", "search", "sb3", "exec")  # a file, and a program; their own tests have these checks
BUDGETS = {"pimc": "pimc:worlds=2,infer=0.5", "ismcts": "ismcts:iterations=12,infer=0.5"}
AGENTS = [BUDGETS.get(name, name) for name in policy_names() if name not in NEEDS_MORE] + ["random:claims=any"]
RULES = [
    "paper",
    "online",
    "online,false_claim=illegal",
    "classic",
    "online,ranks=QKTA,suits=CH,hand_size=2,target=30,schneider=15,false_claim=illegal",
    "paper,ranks=JKTA,suits=DHS,hand_size=4,target=40,schneider=20,exchange_min_talon=2",
]
GAMES = 150


@jit
def fill_samples(views: Array, keys: Array, states: Array) -> None:
    """states [B]: one drawn from each view [B] by its key [B]."""
    for i in range(len(views)):
        fill_sample(views[i], keys[i], states[i])


def key_row(count: int, salt: int) -> Array:
    """Keys [B] uint64, all different."""
    return np.array([mix(np.uint64(salt), i) for i in range(count)], np.uint64)


def positions(rules: str, player: str, games: int = GAMES) -> Array:
    """STATEs [B] at every turn of many deals that ``player`` plays with itself."""
    policy = load_policy(player)
    states = new_games(games, rules, seed=11)
    deal_all(states, np.arange(games) % 2)
    found = []
    while (rows := np.flatnonzero(states["player"] >= 0)).size:
        found.append(states[rows].copy())
        views, masks = views_to_move(states, rows)
        assert apply_all(states, rows, policy.act(views, masks, key_row(len(rows), len(found)))) == -1
    return np.concatenate(found)


@pytest.fixture(scope="module", params=RULES)
def worlds(request: pytest.FixtureRequest) -> tuple[Array, Array]:
    """Thousands of positions of random and of sensible play, and for each another deal that fits its view."""
    states = np.concatenate([positions(request.param, player) for player in ("random", "greedy", "heuristic")])
    others = np.zeros(len(states), STATE)
    fill_samples(views_to_move(states, np.arange(len(states)))[0], key_row(len(states), 5), others)
    return states, others


def shown(states: Array) -> tuple[Array, Array]:
    """Views and masks of the players to move."""
    return views_to_move(states, np.arange(len(states)))


def test_the_other_deals_differ_in_what_is_hidden(worlds: tuple[Array, Array]) -> None:
    states, others = worlds
    assert (states["hands"] != others["hands"]).any(axis=1).mean() > 0.25
    assert not (states["key"] == others["key"]).any(), "nor is the generator known"


def test_views_masks_and_observations_do_not_depend_on_what_is_hidden(worlds: tuple[Array, Array]) -> None:
    states, others = worlds
    (views, masks), (other_views, other_masks) = shown(states), shown(others)
    assert views.tobytes() == other_views.tobytes()
    np.testing.assert_array_equal(masks, other_masks)
    for canonical_suits in (False, True):
        seen = encode_batch(views, masks, canonical_suits, recall=True)
        other_seen = encode_batch(other_views, other_masks, canonical_suits, recall=True)
        for mine, theirs in zip(seen, other_seen, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_the_view_of_one_sample_is_the_view_it_came_from() -> None:
    for row, state in enumerate(positions("online", "random", games=20)):
        for player in (0, 1):
            view = view_of(state, player)
            assert view_of(sample_state(view, row), player).tobytes() == view.tobytes()


@pytest.mark.parametrize("agent", AGENTS)
def test_actions_do_not_depend_on_what_is_hidden(worlds: tuple[Array, Array], agent: str) -> None:
    states, others = worlds
    keys = key_row(len(states), 6)
    policy = load_policy(agent)
    np.testing.assert_array_equal(policy.act(*shown(states), keys), policy.act(*shown(others), keys))


@pytest.mark.parametrize("agent", AGENTS)
def test_actions_are_legal_and_the_inputs_stay_as_they_were(worlds: tuple[Array, Array], agent: str) -> None:
    views, masks = shown(worlds[0])
    keys = key_row(len(views), 7)
    before = views.tobytes(), masks.tobytes(), keys.tobytes()
    actions = np.asarray(load_policy(agent).act(views, masks, keys))
    assert actions.shape == (len(views),)
    assert masks[np.arange(len(views)), actions].all()
    assert before == (views.tobytes(), masks.tobytes(), keys.tobytes())


@pytest.mark.parametrize("agent", AGENTS)
def test_actions_do_not_depend_on_the_batch(worlds: tuple[Array, Array], agent: str) -> None:
    views, masks = shown(worlds[0][:: len(worlds[0]) // 500])
    keys = key_row(len(views), 8)
    together = np.asarray(load_policy(agent).act(views, masks, keys))
    alone = load_policy(agent)
    one_by_one = [alone.act(views[i : i + 1], masks[i : i + 1], keys[i : i + 1])[0] for i in range(len(views))]
    np.testing.assert_array_equal(together, one_by_one)
    backwards = load_policy(agent).act(views[::-1].copy(), masks[::-1].copy(), keys[::-1].copy())
    np.testing.assert_array_equal(together, np.asarray(backwards)[::-1])
