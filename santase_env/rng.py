"""Counter-based randomness: a number depends on a key and a counter, and on nothing that came before.

So deal *k* of game *i* is a function of (seed, i, k), whatever the batch, the threads or the neighbours.
The mixing function is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
"""

import secrets

import numpy as np

from .compiled import Array, bit_count, int64, jit

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@jit
def mix(key: np.uint64, counter: int) -> np.uint64:
    """64 random bits (uint64) for this key (uint64) and counter; they make a key of their own, too."""
    z = np.uint64(key) + _STEP * (np.uint64(counter) + np.uint64(1))
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@jit
def derive(key: np.uint64, counter: int) -> np.uint64:
    """As ``mix``, but one way: ``mix`` can be turned back, and who decides by a key must not learn from it how the
    cards were dealt."""
    return mix(key, counter) ^ np.uint64(key)


@jit
def below(bits: np.uint64, count: int) -> int:
    """An integer in [0, count) from 64 random bits, by their upper half (bias under count / 2**32)."""
    return int64(((bits >> _32) * np.uint64(count)) >> _32)


@jit
def random_element(bits: int, randomness: np.uint64) -> int:
    """One element of a set that is not empty, below 32, each equally likely, from 64 random bits."""
    rank = below(randomness, bit_count(bits))
    # Halving the range finds the element of that rank without a branch that the processor could guess wrong.
    rest, element, width = int64(bits), 0, 16
    while width:
        lower = bit_count(rest & ((1 << width) - 1))
        above = int64(rank >= lower)
        rank -= above * lower
        rest >>= above * width
        element += above * width
        width >>= 1
    return element


@jit
def game_key(seed: int, game: int) -> np.uint64:
    """Key of game number ``game`` under this seed."""
    return mix(mix(np.uint64(0), seed), game)


@jit
def fill_keys(seed: int, first: int, keys: Array) -> None:
    """keys: [B] uint64; receives the keys of games first, first + 1, ..."""
    for i in range(len(keys)):
        keys[i] = game_key(seed, first + i)


def check_seed(seed: int | None) -> int:
    """A seed from 0 to 2**63 - 1, drawn from the operating system when None; raises ValueError otherwise."""
    if seed is None:
        return secrets.randbits(63)
    try:
        number = seed.__index__()
    except (AttributeError, TypeError):
        number = None
    if number is None or isinstance(seed, bool):
        raise ValueError(f"seed must be an integer or None, not {seed!r}")
    if not 0 <= number < 2**63:
        raise ValueError(f"seed must lie between 0 and 2**63 - 1, not {number}")
    return number
