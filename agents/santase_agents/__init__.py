"""Opponents: every agent reads nothing but a VIEW, and is found by ``load(spec)``."""

from santase_env import load_policy as load

__all__ = ["load"]
