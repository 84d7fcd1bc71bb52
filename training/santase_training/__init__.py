"""Training by self-play, evaluation, learning curves, and the command ``santase``."""
