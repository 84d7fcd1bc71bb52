"""From logits and masks to distributions and actions, compiled: it looks at legal actions alone, of which there are
about six, where torch makes ten passes over all 31."""

import math

import numpy as np

from santase_env.compiled import Array, jit


@jit
def legal_softmax(logits: Array, mask: Array, legal: Array, logs: Array, shares: Array) -> tuple[int, float]:
    """The softmax over the legal actions of one row: logits [A] float32, mask [A] with 0 where illegal.

    Writes, from place 0 on, the legal actions and their log-probabilities and probabilities, [A] each; returns how
    many they are, 0 if a logit is not a number, and the entropy.
    """
    count, highest = 0, -math.inf
    for action in range(len(logits)):
        if mask[action]:
            legal[count] = action
            logs[count] = logits[action]
            highest = max(highest, logs[count])
            count += 1
    total = 0.0
    for k in range(count):
        logs[k] -= highest
        shares[k] = math.exp(logs[k])
        total += shares[k]
    if not 1 <= total < math.inf:
        return 0, 0.0
    log_total, inverse, entropy = math.log(total), 1 / total, 0.0
    for k in range(count):
        logs[k] -= log_total
        shares[k] *= inverse
        entropy -= shares[k] * logs[k]
    return count, entropy


@jit
def sample_legal(logits: Array, masks: Array, uniform: Array, actions: Array, log_probabilities: Array) -> int:
    """Draw actions from the softmax over legal logits.

    logits [B, A] float32; masks [B, A], 0 where illegal; uniform [B] in [0, 1) is the chance. Writes actions [B] and
    log_probabilities [B]. Returns the first row without a legal action or with a logit that is not a number, else -1.
    """
    legal, logs, shares = np.empty(masks.shape[1], np.int64), np.empty(masks.shape[1]), np.empty(masks.shape[1])
    for i in range(len(logits)):
        count, _ = legal_softmax(logits[i], masks[i], legal, logs, shares)
        if count == 0:
            return i
        reach, k = uniform[i] - shares[0], 0
        while reach >= 0 and k < count - 1:
            k += 1
            reach -= shares[k]
        actions[i] = legal[k]
        log_probabilities[i] = logs[k]
    return -1


@jit
def legal_log_softmax(logits: Array, masks: Array, out: Array) -> int:
    """Write log-probabilities [B, A] of the legal actions, and 0 for the others, into ``out``; returns as above."""
    legal, logs, shares = np.empty(masks.shape[1], np.int64), np.empty(masks.shape[1]), np.empty(masks.shape[1])
    for i in range(len(logits)):
        count, _ = legal_softmax(logits[i], masks[i], legal, logs, shares)
        if count == 0:
            return i
        out[i] = 0
        for k in range(count):
            out[i, legal[k]] = logs[k]
    return -1


@jit
def best_legal(scores: Array, masks: Array, uniform: Array, share: float, actions: Array) -> int:
    """The legal action of the highest score, the first of equal ones, but with probability ``share`` any legal one.

    scores [B, A]; masks [B, A]; uniform [B] in [0, 1) is the chance. Writes actions [B]; returns as above.
    """
    for i in range(len(scores)):
        best, count = -1, 0
        for action in range(scores.shape[1]):
            if masks[i, action]:
                count += 1
                if best < 0 or scores[i, action] > scores[i, best]:
                    best = action
        if best < 0 or not abs(scores[i, best]) < math.inf:
            return i
        if uniform[i] < share:
            place = min(int(uniform[i] / share * count), count - 1)
            for action in range(scores.shape[1]):
                if masks[i, action]:
                    if place == 0:
                        best = action
                    place -= 1
        actions[i] = best
    return -1


def check_rows(bad: int) -> None:
    """Raises ValueError when ``bad``, as the functions above return it, is a row."""
    if bad >= 0:
        raise ValueError(f"row {bad} has no legal action, or a logit that is not a number")
