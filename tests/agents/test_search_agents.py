"""pimc, ismcts and search: they find what is best where that is known, alike on any number of threads."""

from pathlib import Path

import numpy as np
import pytest
import torch

from santase_agents.belief import CANDIDATES, draw_world, likelihood, new_belief, think
from santase_agents.checkpoint import save_checkpoint
from santase_agents.endgame import hands_known, solve_all
from santase_agents.ismcts import IsmctsPolicy
from santase_agents.network import PolicyValueNet
from santase_agents.pimc import PimcPolicy
from santase_env import Policy, load_policy, sample_state
from santase_env.batch import apply_all, deal_all, new_games, views_to_move
from santase_env.compiled import Array
from santase_env.rng import mix
from santase_env.state import STATE
from santase_training.evaluate import evaluate

RULES = ("online,false_claim=illegal", "classic", "online")
META = {
    "rules": "classic",
    "canonical_suits": True,
    "network": {"kind": "mlp", "hidden": [16]},
    "config": {"reward_scale": 1 / 3},
    "update": 1,
    "step": 10,
}


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of an untrained network with opinions."""
    folder = tmp_path_factory.mktemp("search") / "c"
    torch.manual_seed(0)
    net = PolicyValueNet((16,))
    with torch.no_grad():
        net.head.weight.mul_(100)
    save_checkpoint(folder, META, net.state_dict())
    return folder


def agent(name: str, network: Path, **changes: object) -> Policy:
    """One of the three with a small budget, by the spec that a user would write."""
    options = {"pimc": {"worlds": 3}, "ismcts": {"iterations": 40}, "search": {"net": network, "iterations": 20}}[name]
    return load_policy(f"{name}:" + ",".join(f"{key}={value}" for key, value in {**options, **changes}.items()))


def positions(rules: str, deals: int, player: str = "heuristic", seed: int = 3) -> Array:
    """STATEs [B] at every decision of deals that ``player`` plays with itself."""
    policy = load_policy(player)
    states = new_games(deals, rules, seed=seed)
    deal_all(states, np.arange(deals) % 2)
    found = []
    while (rows := np.flatnonzero(states["player"] >= 0)).size:
        views, masks = views_to_move(states, rows)
        found.append(states[rows[masks.sum(axis=1) > 1]].copy())
        assert apply_all(states, rows, policy.act(views, masks, key_row(len(rows), len(found)))) == -1
    return np.concatenate(found)


def key_row(count: int, salt: int) -> Array:
    return np.array([mix(np.uint64(salt), i) for i in range(count)], np.uint64)


def shown(states: Array) -> tuple[Array, Array, Array]:
    views, masks = views_to_move(states, np.arange(len(states)))
    return views, masks, key_row(len(states), 9)


AGENTS = ("pimc", "ismcts", "search")


@pytest.mark.parametrize("name", AGENTS)
def test_the_number_of_threads_and_the_neighbours_change_nothing(name: str, network: Path) -> None:
    views, masks, keys = shown(positions("online", 12))
    alone = agent(name, network, threads=1).act(views, masks, keys)
    for threads in (2, 5):
        np.testing.assert_array_equal(agent(name, network, threads=threads).act(views, masks, keys), alone)
    backwards = agent(name, network).act(views[::-1].copy(), masks[::-1].copy(), keys[::-1].copy())[::-1]
    np.testing.assert_array_equal(backwards, alone)
    for row in range(0, len(views), 17):
        one = slice(row, row + 1)
        assert agent(name, network).act(views[one], masks[one], keys[one])[0] == alone[row]


@pytest.mark.parametrize("name", AGENTS)
def test_actions_are_legal_and_do_not_depend_on_what_is_hidden(name: str, network: Path) -> None:
    states = positions("online,false_claim=illegal", 30, player="random")
    views, masks, keys = shown(states)
    others = np.zeros(len(states), STATE)
    for row in range(len(states)):
        others[row] = sample_state(views[row], row)
    assert (states["hands"] != others["hands"]).any()
    policy = agent(name, network)
    actions = policy.act(views, masks, keys)
    assert masks[np.arange(len(views)), actions].all()
    np.testing.assert_array_equal(actions, policy.act(*shown(others)))


@pytest.mark.parametrize("name", AGENTS)
def test_a_forced_move_costs_nothing(name: str, network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    views, masks, keys = shown(positions("classic", 20))
    forced = np.zeros_like(masks)
    forced[np.arange(len(masks)), masks.argmax(axis=1)] = 1
    policy = agent(name, network)
    for method in ("_decide", "visits"):
        if hasattr(policy, method):
            monkeypatch.setattr(policy, method, None)  # searching would fail
    np.testing.assert_array_equal(policy.act(views, forced, keys), masks.argmax(axis=1))


@pytest.mark.parametrize("name", AGENTS)
def test_an_impossible_view_is_refused(name: str, network: Path) -> None:
    views, masks, keys = shown(positions("classic", 4))
    views["taken"][5, 0] |= views["hand"][5]
    with pytest.raises(ValueError, match="row 5 is an impossible view"):
        agent(name, network).act(views, masks, keys)


@pytest.mark.parametrize("rules", RULES)
def test_with_exact_endgames_no_value_is_lost_once_the_hands_are_known(rules: str, network: Path) -> None:
    states = positions(rules, 150)
    views, masks, keys = shown(states)
    known = hands_known(views)
    views, masks, keys = views[known], masks[known], keys[known]
    values, of_actions = solve_all(views)
    for name in AGENTS:
        taken = agent(name, network).act(views, masks, keys)
        np.testing.assert_array_equal(of_actions[np.arange(len(views)), taken], values)


def test_the_tree_alone_finds_the_exact_value_given_time() -> None:
    """Signs, turns that do not alternate, and results: all must be right for this."""
    states = positions("classic", 500, player="random")
    views, masks, keys = shown(states)
    cards = np.bitwise_count(views["hand"].astype(np.int64))
    late = hands_known(views) & (cards <= 4)
    views, masks, keys = views[late], masks[late], keys[late]
    values, of_actions = solve_all(views)
    rows = np.arange(len(views))
    worst = np.where(masks == 1, of_actions, 9).min(axis=1)
    assert (worst < values).sum() > 100, "there is something to find"
    policy = IsmctsPolicy(2000, 2.0, 2.0, 0.5, rollout="random", exact=False)
    regret = values - of_actions[rows, policy.act(views, masks, keys)]
    assert (regret == 0).mean() > 0.97


def test_one_world_of_a_known_deal_is_enough_for_pimc_to_see_a_loss() -> None:
    views, masks, keys = shown(positions("paper", 100))
    known = hands_known(views)
    views, masks, keys = views[known], masks[known], keys[known]
    random = load_policy("random").act(views, masks, keys)
    values, of_actions = solve_all(views)
    rows = np.arange(len(views))
    taken = PimcPolicy(1, exact=False).act(views, masks, keys)
    mine, theirs = ((values - of_actions[rows, actions]).mean() for actions in (taken, random))
    assert mine < 0.3 * theirs


@pytest.mark.parametrize("spec", ["pimc:worlds=30", "ismcts:iterations=100"])
def test_they_beat_greedy_clearly(spec: str) -> None:
    assert evaluate(spec, "greedy", 800, "online,false_claim=illegal").ci95[0] > 0.4


# ------------------------------------------------------------------------------------------- inference


def test_a_world_counts_less_for_every_action_that_heuristic_would_not_have_taken() -> None:
    belief = new_belief(0.25)
    certain = new_belief(0.5)
    weights = []
    for state in positions("classic", 40, player="heuristic")[::7]:
        views, _ = views_to_move(np.array([state], STATE), np.array([0]))
        truth = state
        assert likelihood(views[0], truth, belief) == 1.0, "heuristic played, and in the real world every action fits"
        think(views[0], np.uint64(4), belief)
        steps = np.diff(belief.sums, prepend=0.0)
        exponents = np.log(steps) / np.log(0.25)
        np.testing.assert_allclose(exponents, exponents.round(), atol=1e-6)
        other = likelihood(views[0], belief.worlds[3], certain)
        assert other == pytest.approx(0.5 ** exponents[3])
        weights.append(steps)
    assert len(np.unique(np.concatenate(weights))) > 2


def test_worlds_are_drawn_by_weight() -> None:
    state = positions("classic", 10, player="heuristic")[60:61]
    views, _ = views_to_move(state, np.array([0]))
    belief = new_belief(0.3)
    think(views[0], np.uint64(4), belief)
    weights = np.diff(belief.sums, prepend=0.0) / belief.sums[-1]
    world = np.zeros(1, STATE)
    counts = dict.fromkeys((bytes(one) for one in belief.worlds), 0)
    expected = dict.fromkeys(counts, 0.0)
    for one, weight in zip(belief.worlds, weights, strict=True):
        expected[bytes(one)] += weight
    draws = 20_000
    for i in range(draws):
        draw_world(views[0], np.uint64(i), belief, world[0])
        counts[world.tobytes()] += 1
    assert len(belief.worlds) == CANDIDATES
    for one, share in expected.items():
        assert abs(counts[one] / draws - share) < 5 * np.sqrt(share / draws) + 1e-9


# --------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("pimc:worlds=0", "worlds must be an integer of at least 1, not 0"),
        ("pimc:rollout=clever", "rollout must be one of random, habit, heuristic, not 'clever'"),
        ("pimc:infer=0", "infer must be a number above 0 and at most 1, not 0"),
        ("ismcts:iterations=1.5", "iterations must be an integer of at least 1, not 1.5"),
        ("ismcts:prior=2", "prior must be a number from 0 to 1, not 2"),
        ("ismcts:threads=-1", "threads must be an integer of at least 0, not -1"),
        ("ismcts:time=1", "its options are"),
        ("search:net=nowhere", "there is no checkpoint at nowhere"),
    ],
)
def test_a_wrong_option_is_one_sentence(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_policy(spec)
