"""Advantages in a fixed-seat frame.

Turns do not alternate: whoever wins a trick leads again, and announcing, exchanging and closing keep the turn.
So values and rewards are first put into the frame of seat 0 (the sign of seat 1 is flipped); there the game is
one chain with one value per decision, whoever takes it, and generalised advantage estimation (Schulman et al.,
2016) needs no word about turns.
"""

from santase_env.compiled import Array, jit


@jit
def fixed_seat_advantages(
    rewards: Array,
    values: Array,
    counted: Array,
    ends: Array,
    last_values: Array,
    discount: float,
    trace: float,
    advantages: Array,
) -> None:
    """Generalised advantage estimates of T decisions in each of N games, all in the frame of seat 0.

    rewards [T, N]: reward that followed the decision; values [T, N]: value before it; counted [T, N] bool: False
    for decisions of a frozen opponent, which are part of the environment and are passed over; ends [T, N] bool:
    the episode ended with it; last_values [N]: value after the last decision; ``discount`` (gamma) and
    ``trace`` (lambda). Writes advantages [T, N]; 0 where not counted.
    """
    steps, games = rewards.shape
    for game in range(games):
        next_value = float(last_values[game])
        next_advantage = 0.0
        reward = 0.0
        for step in range(steps - 1, -1, -1):
            if ends[step, game]:
                next_value, next_advantage, reward = 0.0, 0.0, 0.0
            reward += rewards[step, game]
            advantages[step, game] = 0.0
            if counted[step, game]:
                error = reward + discount * next_value - values[step, game]
                next_advantage = float(error + discount * trace * next_advantage)
                advantages[step, game] = next_advantage
                next_value = values[step, game]
                reward = 0.0
