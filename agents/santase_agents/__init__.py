"""Opponents: every agent reads nothing but a VIEW, and is found by ``load(spec)``."""

import os

# Before torch is imported: threads that spin while they wait steal the core from the one that works, and two
# torch threads are then far slower than one on shared cores.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from santase_env import load_policy as load

__all__ = ["load"]
