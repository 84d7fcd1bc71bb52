"""Advantages in the fixed-seat frame."""

import numpy as np
import pytest

from santase_training.returns import fixed_seat_advantages

Chain = dict[str, np.ndarray]


def random_chain(rng: np.random.Generator, steps: int = 40, games: int = 5) -> Chain:
    """Games that end now and then with a reward, values, and some decisions of a frozen opponent."""
    ends = rng.random((steps, games)) < 0.15
    return {
        "rewards": np.where(ends, rng.integers(-3, 4, (steps, games)), 0).astype(np.float32),
        "values": rng.normal(size=(steps, games)).astype(np.float32),
        "counted": rng.random((steps, games)) < 0.8,
        "ends": ends,
        "last_values": rng.normal(size=games).astype(np.float32),
    }


def advantages(chain: Chain, discount: float, trace: float) -> np.ndarray:
    out = np.zeros_like(chain["values"])
    fixed_seat_advantages(
        chain["rewards"], chain["values"], chain["counted"], chain["ends"], chain["last_values"], discount, trace, out
    )
    return out


def episodes(chain: Chain, game: int) -> list[tuple[list[int], float, float]]:
    """(counted steps, final reward, value after the last step) of every stretch of one game."""
    found, steps = [], []
    for t in range(len(chain["ends"])):
        if chain["counted"][t, game]:
            steps.append(t)
        if chain["ends"][t, game]:
            found.append((steps, float(chain["rewards"][t, game]), 0.0))
            steps = []
    return [*found, (steps, 0.0, float(chain["last_values"][game]))]


@pytest.mark.parametrize(("discount", "trace"), [(1.0, 0.95), (0.9, 0.8), (1.0, 0.0), (1.0, 1.0)])
def test_they_are_the_discounted_sums_of_temporal_differences(discount: float, trace: float) -> None:
    chain = random_chain(np.random.default_rng(1))
    got = advantages(chain, discount, trace)
    expected = np.zeros_like(got)
    for game in range(got.shape[1]):
        for steps, reward, after in episodes(chain, game):
            values = [float(chain["values"][t, game]) for t in steps] + [after]
            errors = [discount * values[i + 1] - values[i] for i in range(len(steps))]
            if errors:
                errors[-1] += reward
            for i, t in enumerate(steps):
                expected[t, game] = sum((discount * trace) ** k * error for k, error in enumerate(errors[i:]))
    np.testing.assert_allclose(got, expected, atol=1e-5)


def test_without_values_they_are_each_players_pending_return() -> None:
    """cleanrl-like trainers that alternate signs lose the loser's reward; here both seats get it, summing to zero."""
    chain = random_chain(np.random.default_rng(2), steps=60)
    chain["values"][:] = 0
    chain["last_values"][:] = 0
    got = advantages(chain, 1.0, 1.0)
    movers = np.random.default_rng(3).integers(2, size=got.shape)
    sign = 1 - 2 * movers
    for game in range(got.shape[1]):
        for steps, reward, _ in episodes(chain, game):
            for t in steps:
                pending = reward if movers[t, game] == 0 else -reward
                assert got[t, game] * sign[t, game] == pending


def test_decisions_of_a_frozen_opponent_are_passed_over() -> None:
    chain = random_chain(np.random.default_rng(4))
    got = advantages(chain, 1.0, 0.95)
    assert (got[~chain["counted"]] == 0).all()
    changed = {key: value.copy() for key, value in chain.items()}
    changed["values"][~chain["counted"]] = 99.0
    np.testing.assert_array_equal(got, advantages(changed, 1.0, 0.95))


def test_nothing_crosses_the_end_of_an_episode() -> None:
    chain = random_chain(np.random.default_rng(5))
    first = advantages(chain, 1.0, 0.95)
    end = int(np.flatnonzero(chain["ends"][:, 0])[0])
    chain["values"][end + 1 :, 0] += 7
    chain["rewards"][end + 1 :, 0] *= 2
    np.testing.assert_array_equal(first[: end + 1, 0], advantages(chain, 1.0, 0.95)[: end + 1, 0])
