"""Santase (Sixty-six) for reinforcement-learning research: the game and its environments."""

from .actions import IllegalAction
from .game import DealResult, Game
from .observation import encode
from .policy import ObservationPolicy, Policy, RandomPolicy, load_policy
from .record import RecordError, replay
from .rules import Rules
from .vector import SantaseVectorEnv
from .view import sample_state, view_of

__version__ = "0.1.0"

__all__ = [
    "DealResult",
    "Game",
    "IllegalAction",
    "ObservationPolicy",
    "Policy",
    "RandomPolicy",
    "RecordError",
    "Rules",
    "SantaseVectorEnv",
    "encode",
    "load_policy",
    "replay",
    "sample_state",
    "view_of",
]
