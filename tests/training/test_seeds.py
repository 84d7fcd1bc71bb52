"""Interquartile means and their intervals."""

import numpy as np
import pytest
from scipy.stats import trim_mean

from santase_training.seeds import estimate, interquartile_mean


def test_the_middle_half_counts() -> None:
    values = np.random.default_rng(0).normal(size=(5, 40))
    np.testing.assert_allclose(interquartile_mean(values), trim_mean(values, 0.25, axis=1))
    assert interquartile_mean(np.array([100.0, 1.0, 2.0, -7.0])) == pytest.approx(1.5)


def test_of_three_seeds_the_outer_ones_count_a_sixth() -> None:
    assert interquartile_mean(np.array([6.0, 0.0, 1.0])) == pytest.approx(0 / 6 + 1 * 4 / 6 + 6 / 6)
    assert interquartile_mean(np.array([3.5])) == 3.5


def test_the_interval_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    hits = []
    for seed in range(200):
        result = estimate(rng.normal(2.0, 1.0, size=20).tolist(), seed)
        assert result.low <= result.mean <= result.high
        hits.append(result.low <= 2.0 <= result.high)
    assert np.mean(hits) > 0.86


def test_the_same_seed_gives_the_same_interval() -> None:
    assert estimate([0.1, 0.5, 0.2]) == estimate([0.1, 0.5, 0.2])
    with pytest.raises(ValueError, match="at least one number"):
        estimate([])
