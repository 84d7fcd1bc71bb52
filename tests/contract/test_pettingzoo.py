"""What PettingZoo checks, with its own tests."""

import contextlib
import io
from typing import Any

import pettingzoo
import pytest
from pettingzoo.test import api_test, parallel_api_test, render_test, seed_test
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from santase_env import santase_v0

MAKERS = [santase_v0.env, santase_v0.raw_env]
OPTIONS: list[dict[str, Any]] = [{}, {"episode": "match", "canonical_suits": True}, {"rules": "paper"}]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("options", OPTIONS)
def test_api(make: Any, options: dict[str, Any]) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        api_test(make(**options), num_cycles=300)


@pytest.mark.parametrize("make", MAKERS)
def test_seeds(make: Any) -> None:
    seed_test(make, num_cycles=200)


@pytest.mark.parametrize("make", MAKERS)
def test_render_modes(make: Any, capsys: pytest.CaptureFixture[str]) -> None:
    render_test(make)
    assert "trump" in capsys.readouterr().out


@pytest.mark.parametrize("options", OPTIONS)
def test_parallel_api_through_the_turn_based_conversion(options: dict[str, Any]) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        parallel_api_test(turn_based_aec_to_parallel(santase_v0.env(**options)), num_cycles=300)


def test_make_knows_the_environment_and_its_options() -> None:
    env = pettingzoo.make("aec", "santase_v0", rules="classic", episode="match")
    env.reset(seed=1)
    assert str(env) == "santase_v0"
    assert str(env.unwrapped.rules) == "classic"
    assert env.unwrapped.episode == "match"
