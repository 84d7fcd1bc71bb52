"""PettingZoo's usual module: ``from santase_env import santase_v0; env = santase_v0.env()``.

What the number means: it rises when an agent's behaviour could change, that is with any change of the rules of a
preset, of the default rules, of the cards that a seed deals, of the layout of the observation or the state, of the
action ids, or of the rewards. An agent trained in one version is comparable in that version only. Speed, infos
that are added, error texts and pictures do not raise it. ``pettingzoo.make("aec", "santase_v0")`` and
``gymnasium.make("Santase-v0")`` carry the same number.

There is no ``parallel_env``: only one agent acts at a time. Frameworks that know nothing else can wrap ``env()`` in
``pettingzoo.utils.conversions.turn_based_aec_to_parallel``.
"""

from .aec import env, raw_env

__all__ = ["env", "raw_env"]
