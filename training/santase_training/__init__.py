"""Training by self-play, evaluation, learning curves, and the command ``santase``."""

import santase_agents as santase_agents  # it sets how threads wait, which must happen before torch is imported
