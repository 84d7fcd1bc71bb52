"""Counter-based randomness: a number depends on its key and counter alone, shuffles are uniform, seeds are checked."""

import numpy as np
import pytest
from scipy import stats

from santase_env import Game, Rules
from santase_env.batch import deal_all, new_games
from santase_env.rng import below, check_seed, fill_keys, game_key, mix


def test_numbers_never_change() -> None:
    """The finaliser of SplitMix64: with seed 0, its published first outputs."""
    assert [int(mix(np.uint64(0), counter)) for counter in range(3)] == [
        0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F
    ]  # fmt: skip


def test_keys_depend_on_seed_and_game_alone() -> None:
    keys = np.empty(1000, np.uint64)
    fill_keys(7, 0, keys)
    later = np.empty(10, np.uint64)
    fill_keys(7, 500, later)
    assert (later == keys[500:510]).all()
    assert keys[3] == game_key(7, 3)
    other = np.empty(1000, np.uint64)
    fill_keys(8, 0, other)
    assert len(np.unique(np.concatenate([keys, other]))) == 2000


def test_below_reaches_every_number_alike() -> None:
    found = np.bincount([below(np.uint64(mix(np.uint64(1), i)), 6) for i in range(6000)], minlength=6)
    assert len(found) == 6
    assert stats.chisquare(found).pvalue > 1e-3


def test_every_card_lies_everywhere_alike() -> None:
    states = new_games(48_000, "paper", seed=1)
    deal_all(states, np.zeros(len(states), np.int64))
    assert (np.sort(states["dealt"], axis=1) == np.arange(24)).all()
    for place in range(24):
        assert stats.chisquare(np.bincount(states["dealt"][:, place], minlength=24)).pvalue > 1e-4


def test_every_order_of_a_mini_deck_is_dealt_alike() -> None:
    """Over games and over the deals of one game."""
    rules = Rules(ranks="QK", suits="CH", hand_size=1)
    games = new_games(24_000, rules, seed=2)
    deals = new_games(24_000, rules, seed=2)
    deals["key"] = deals["key"][0]
    deals["deal"] = np.arange(24_000)
    for states in (games, deals):
        deal_all(states, np.zeros(len(states), np.int64))
        orders, counts = np.unique(states["dealt"][:, :4], axis=0, return_counts=True)
        assert len(orders) == 24
        assert stats.chisquare(counts).pvalue > 1e-3


def test_seed_makes_the_deal() -> None:
    assert Game(seed=5).record() == Game(seed=5).record()
    assert Game(seed=5).record() != Game(seed=6).record()
    assert Game(seed=2**63 - 1).record() != Game(seed=0).record()
    assert Game().record() != Game().record()


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "7", [1]])
def test_a_wrong_seed_is_named(seed: object) -> None:
    with pytest.raises(ValueError, match="seed must") as caught:
        check_seed(seed)  # type: ignore[arg-type]
    assert str(seed) in str(caught.value)


def test_seeds() -> None:
    assert check_seed(0) == 0
    assert check_seed(2**63 - 1) == 2**63 - 1
    assert check_seed(np.int64(7)) == 7
    assert len({check_seed(None) for _ in range(10)}) == 10
