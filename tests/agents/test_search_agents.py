"""pimc, ismcts and search: they find what is best where that is known, alike on any number of threads."""

from pathlib import Path

import numpy as np
import pytest
import torch

from santase_agents import search
from santase_agents.belief import CANDIDATES, draw_world, likelihood, new_belief, think
from santase_agents.checkpoint import save_checkpoint
from santase_agents.endgame import hands_known, solve_all
from santase_agents.ismcts import IsmctsPolicy, Options, Scratch, descend, grow
from santase_agents.network import PolicyValueNet
from santase_agents.pimc import PimcPolicy
from santase_agents.rollout import roll_out
from santase_agents.search import new_games as new_search_games
from santase_agents.tree import Tree, back_up, plant, root_visits, tree_of
from santase_env import Policy, engine, load_policy, sample_state, view_of
from santase_env.actions import NUM_ACTIONS
from santase_env.batch import apply_all, deal_all, new_games, views_to_move
from santase_env.cards import NUM_CARDS
from santase_env.compiled import Array, Record, jit
from santase_env.observation import POINTS
from santase_env.policy import action_set
from santase_env.rng import mix
from santase_env.state import STATE
from santase_env.view import VIEW, fill_sample
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


def points_after(state: Record, action: int) -> int:
    """The mover's card points less the other's after an action; -999 if it ends the deal."""
    after, mover = np.array([state], STATE), int(state["player"])
    assert apply_all(after, np.array([0]), np.array([action])) == -1
    points = after["points"][0]
    return int(points[mover] - points[1 - mover]) if after["player"][0] >= 0 else -999


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


@pytest.mark.parametrize("name", AGENTS)
def test_only_actions_of_the_mask_are_considered(name: str, network: Path) -> None:
    views, masks, keys = shown(positions("online,false_claim=illegal", 30))
    ranks = np.cumsum(masks, axis=1)
    narrow = np.where((ranks == 2) | (ranks == ranks[:, -1:]), masks, 0)  # the second and the last
    rows = narrow.sum(axis=1) == 2
    views, narrow, keys = views[rows], narrow[rows], keys[rows]
    actions = agent(name, network).act(views, narrow, keys)
    assert narrow[np.arange(len(narrow)), actions].all()
    assert 0.1 < (actions == narrow.argmax(axis=1)).mean() < 0.9, "both are chosen somewhere"


@pytest.mark.parametrize("name", AGENTS)
def test_what_does_not_belong_together_is_refused(name: str, network: Path) -> None:
    states = positions("classic", 4)
    views, masks, keys = shown(states)
    policy = agent(name, network)
    wide = masks.copy()
    wide[3] = 1
    with pytest.raises(ValueError, match=r"the mask of row 3 allows .*, which is not legal there"):
        policy.act(views, wide, keys)
    other = views.copy()
    other[2] = view_of(states[2], 1 - states[2]["player"])
    with pytest.raises(ValueError, match=r"row 2 is a view of seat [01], who is not to move"):
        policy.act(other, masks, keys)
    with pytest.raises(ValueError, match="views must be a row of views"):
        policy.act(views[0], masks[0], keys[0])
    for cut in ((views, masks[1:], keys), (views, masks, keys[1:]), (views, masks[:, 1:], keys)):
        with pytest.raises(ValueError, match=f"{len(views)} views need masks of shape"):
            policy.act(*cut)


@pytest.mark.parametrize("name", AGENTS)
def test_a_finished_deal_is_refused(name: str, network: Path) -> None:
    states = new_games(1, "classic", seed=1)
    deal_all(states, np.zeros(1, np.int64))
    while states["player"][0] >= 0:
        views, masks = views_to_move(states, np.array([0]))
        assert apply_all(states, np.array([0]), masks.argmax(axis=1)) == -1
    views = np.array([view_of(states[0], 0)], VIEW)
    with pytest.raises(ValueError, match=r"row 0 .* not to move"):
        agent(name, network).act(views, masks, key_row(1, 0))


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


@jit
def grow_and_recount(
    view: Record, allowed: int, key: np.uint64, options: Options, scratch: Scratch, counts: Array
) -> None:
    """``grow`` once more; counts [N, 31] receives how often each action was legal where an iteration went on."""
    tree, state, walk = scratch.tree, scratch.world[0], np.zeros(1, STATE)
    plant(tree)
    for iteration in range(options.iterations):
        chance = mix(key, 1 + iteration)
        fill_sample(view, chance, state)
        walk[0] = state
        descend(state, allowed, chance, options, scratch)
        for place in range(tree.used[1]):
            node, legal, taken = tree.path[place], engine.legal_bits(walk[0]), -1
            for action in range(NUM_ACTIONS):
                if place > 0 or allowed >> action & 1:
                    counts[node, action] += legal >> action & 1
                if tree.children[node, action] == tree.path[place + 1]:
                    taken = action
            engine.advance(walk[0], taken)
        back_up(tree, roll_out(state, scratch.rollout, mix(chance, 0), scratch.solver, options.exact))


@pytest.mark.parametrize("rules", ["online", "classic"])
def test_availability_counts_every_world_in_which_an_action_was_legal(rules: str) -> None:
    policy = IsmctsPolicy(300, rollout="random")
    states = positions(rules, 12)[::11]
    views, masks, keys = shown(states[states["talon"] > 0])
    for view, mask, key in zip(views, masks, keys, strict=True):
        scratch = policy._scratch()
        counts = np.zeros(scratch.tree.available.shape, np.int64)
        grow_and_recount(view, action_set(mask), key, policy.options, scratch, counts)
        used = int(scratch.tree.used[0])
        np.testing.assert_array_equal(scratch.tree.available[:used], counts[:used])
        assert scratch.tree.visits[0] == policy.options.iterations
        tried = np.array([root_visits(scratch.tree, action) for action in range(NUM_ACTIONS)])
        assert tried.sum() == policy.options.iterations
        again = policy._scratch()
        grow(view, action_set(mask), key, policy.options, again)
        np.testing.assert_array_equal(again.tree.available, scratch.tree.available)


def test_a_full_tree_goes_on_without_new_nodes() -> None:
    views, masks, keys = shown(positions("classic", 5)[::7])
    policy = IsmctsPolicy(200, rollout="random", exact=False)
    for view, mask, key in zip(views, masks, keys, strict=True):
        scratch = policy._scratch()
        small = scratch._replace(tree=Tree(*(array[:20] for array in scratch.tree[:4]), *scratch.tree[4:]))
        grow(view, action_set(mask), key, policy.options, small)
        assert small.tree.used[0] == 20
        assert small.tree.visits[0] == 200


def test_every_iteration_draws_a_fresh_world(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first lead of a deal the other player may have any six of 17 cards, and has in the tree."""
    views, masks, keys = shown(positions("classic", 1)[:1])
    ismcts = IsmctsPolicy(2000, root_exploration=0, rollout="random")
    scratch = ismcts._scratch()
    grow(views[0], action_set(masks[0]), keys[0], ismcts.options, scratch)
    games = []
    monkeypatch.setattr(search, "new_games", lambda *given: games.append(new_search_games(*given)) or games[-1])
    load_policy(f"search:net={network},iterations=2000").act(views, masks, keys)
    for tree in (scratch.tree, tree_of(games[0].trees, 0)):
        visits = [root_visits(tree, card) for card in range(NUM_CARDS)]
        child = tree.children[0, int(np.argmax(visits))]
        available = tree.available[child, :NUM_CARDS] / tree.available[child, :NUM_CARDS].sum()
        assert (available > 0).sum() == 17
        assert abs(available[available > 0] - 1 / 17).max() < 0.02


def test_search_takes_the_network_at_its_word_and_for_the_player_who_moves_there(network: Path) -> None:
    """A network that values nothing but the points of the tricks so far makes a player who takes what he can."""
    judge = PolicyValueNet(())
    with torch.no_grad():
        for parameter in judge.parameters():
            parameter.zero_()
        judge.head.weight[NUM_ACTIONS, POINTS] = 1.0
        judge.head.weight[NUM_ACTIONS, POINTS + 1] = -1.0
    policy = agent("search", network, exact=False, iterations=30, exploration=0.2)
    policy.network = judge  # type: ignore[attr-defined]
    states = positions("classic", 200, player="random")
    states = states[(states["table"] >= 0) & (states["tricks"].min(axis=1) > 0)]
    gains = np.full((len(states), NUM_ACTIONS), -999)
    for row, state in enumerate(states):
        for action in np.flatnonzero(views_to_move(states, np.array([row]))[1][0, :NUM_CARDS]):
            gains[row, action] = points_after(state, action)
    states, gains = states[gains.max(axis=1) > -999], gains[gains.max(axis=1) > -999]
    losses = np.where(gains > -999, gains.max(axis=1, keepdims=True) - gains, np.nan)
    taken = losses[np.arange(len(states)), policy.act(*shown(states))]
    assert (states["player"] == 0).any()
    assert (states["player"] == 1).any()
    assert np.nanmean(taken) < 0.25 * np.nanmean(losses)


def test_pimc_draws_a_world_for_each_number() -> None:
    views, masks, keys = shown(positions("classic", 1)[:1])
    policy = PimcPolicy(40)
    scratch = policy._scratch()
    policy._decide(views, masks, keys, scratch, np.zeros(1, np.int64))
    assert (scratch.sums % 40 != 0).any(), "one world 40 times over would give multiples of 40"


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
        ("pimc:worlds=0", "worlds must be an integer from 1 to 1,000,000,000, not 0"),
        ("pimc:rollout=clever", "rollout must be one of random, habit, heuristic, not 'clever'"),
        ("pimc:infer=0", "infer must be a number from 0.001 to 1, not 0"),
        ("pimc:infer=nan", "infer must be a number from 0.001 to 1, not 'nan'"),
        ("pimc:exact=2", "exact must be true or false, not 2"),
        ("pimc:exact=maybe", "exact must be true or false, not 'maybe'"),
        ("ismcts:iterations=1.5", "iterations must be an integer from 1 to 1,000,000, not 1.5"),
        ("ismcts:iterations=True", "iterations must be an integer from 1 to 1,000,000, not True"),
        ("ismcts:prior=2", "prior must be a number from 0 to 1, not 2"),
        ("ismcts:threads=-1", "threads must be an integer from 0 to 1,024, not -1"),
        ("ismcts:time=1", "its options are"),
        ("search:net=nowhere", "there is no checkpoint at nowhere"),
        ("search:net=12", "there is no checkpoint at 12"),
    ],
)
def test_a_wrong_option_is_one_sentence(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_policy(spec)
