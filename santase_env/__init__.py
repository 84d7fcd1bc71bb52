"""Santase (Sixty-six) for reinforcement-learning research: the game and its environments."""

import gymnasium
import pettingzoo

from . import santase_v0
from .actions import IllegalAction
from .aec import SantaseAECEnv
from .game import DealResult, Game
from .observation import encode
from .policy import ObservationPolicy, Policy, RandomPolicy, load_policy
from .record import RecordError, replay
from .rules import Rules
from .vector import SantaseVectorEnv
from .versus import VersusEnv, VersusVectorEnv
from .view import check_views, sample_state, view_of

__version__ = "0.3.0"

__all__ = [
    "DealResult",
    "Game",
    "IllegalAction",
    "ObservationPolicy",
    "Policy",
    "RandomPolicy",
    "RecordError",
    "Rules",
    "SantaseAECEnv",
    "SantaseVectorEnv",
    "VersusEnv",
    "VersusVectorEnv",
    "check_views",
    "encode",
    "load_policy",
    "replay",
    "sample_state",
    "santase_v0",
    "view_of",
]

gymnasium.register(
    "Santase-v0",
    entry_point="santase_env.versus:VersusEnv",
    vector_entry_point="santase_env.versus:VersusVectorEnv",
)
pettingzoo.register("aec", "santase_v0", entry_point="santase_env.santase_v0:env")
