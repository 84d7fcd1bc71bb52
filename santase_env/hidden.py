"""What a player to move cannot see, as a vector beside the observation: for critics in training only, never for play.

A critic that knows the whole deal judges a position with less variance than one that has to guess it, and the policy
that learns from it still sees the observation alone (Pinto and others, 2018: asymmetric actor-critic). Nothing that
chooses an action may read this.
"""

from typing import NamedTuple

from .cards import NUM_CARDS
from .compiled import Array, Record, int64, jit, lowest_bit
from .observation import canonical_cards, write_cards


class HiddenPiece(NamedTuple):
    """A named part of the vector: where it starts, how many entries, and what they say."""

    name: str
    start: int
    size: int
    meaning: str


HIDDEN_LAYOUT = (
    HiddenPiece("hand_theirs", 0, NUM_CARDS, "cards in the opponent's hand"),
    HiddenPiece("next", NUM_CARDS, NUM_CARDS, "the card that the winner of this trick will draw"),
    HiddenPiece("order", 2 * NUM_CARDS, NUM_CARDS, "cards in the talon: 1 for the next one, falling to 1/24; else 0"),
)
HIDDEN_SIZE = 3 * NUM_CARDS


@jit
def encode_hidden(state: Record, seat: int, canonical: bool, row: Array) -> None:
    """row: [HIDDEN_SIZE] float32, receives what ``seat`` cannot see, in the suits of its observation."""
    first = int64(state.trump) if canonical else 0
    write_cards(row, 0, canonical_cards(state.hands[1 - seat], first))
    for i in range(NUM_CARDS, HIDDEN_SIZE):
        row[i] = 0
    talon = int64(state.talon)
    for i in range(talon):
        last = i == talon - 1  # an exchange changes the face-up card, which ``dealt`` does not know
        card = int64(state.face_up) if last else int64(state.dealt[state.deck_size - talon + i])
        place = int64(lowest_bit(canonical_cards(1 << card, first)))
        row[2 * NUM_CARDS + place] = 1 - i / NUM_CARDS
        if i == 0:
            row[NUM_CARDS + place] = 1
