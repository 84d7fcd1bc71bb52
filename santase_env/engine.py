"""The rules of Santase, compiled: deal, legal_mask, apply, outcome. The only implementation there is.

Every function takes a record of dtype STATE and changes it in place. What differs between presets is
read from the rules at its head; ``rules.py`` says where each clause comes from.
"""

import numpy as np

from .actions import ANNOUNCE, CLAIM, CLOSE, EXCHANGE, NUM_ACTIONS, IllegalAction
from .cards import KING, NUM_CARDS, NUM_RANKS, NUM_SUITS, QUEEN, SUIT_BITS, VALUES
from .compiled import Array, Record, int64, jit
from .rng import below, mix
from .rules import DRAW, IMMEDIATE, LAST_TRICK, ON_TURN, PENALTY, THREE
from .state import (
    CLAIMED,
    DRAWN,
    EXHAUSTED,
    FAILED_CLOSE,
    FALSE_CLAIM,
    LAST_TRICK_TAKEN,
    LOG_PLAYER,
    MAX_TRICKS,
    NOT_OVER,
    REACHED_TARGET,
)

CARD_VALUES = np.array(VALUES * NUM_SUITS, np.int64)
PAIR_BITS = (1 << QUEEN) | (1 << KING)
_ONE_PER_SUIT = sum(1 << NUM_RANKS * suit for suit in range(NUM_SUITS))

# ---------------------------------------------------------------------------------------------- deal


@jit
def deal(state: Record, opener: int) -> None:
    """Shuffle by (key, deal) and begin the deal; ``opener`` leads. Rules and match score stay."""
    count = int64(state.deck_size)
    filled = 0
    for card in range(NUM_CARDS):
        if int64(state.deck) >> card & 1:
            state.dealt[filled] = card
            filled += 1
    key = mix(state.key, state.deal)
    for last in range(count - 1, 0, -1):
        other = below(mix(key, last), last + 1)
        card = state.dealt[last]
        state.dealt[last] = state.dealt[other]
        state.dealt[other] = card
    begin(state, opener)


@jit
def begin(state: Record, opener: int) -> None:
    """Begin a deal of the cards that lie in ``dealt``."""
    size = int64(state.hand_size)
    for seat in range(2):
        hand = 0
        for i in range(MAX_TRICKS):
            state.cards[seat, i] = state.dealt[seat * size + i] if i < size else -1
            if i < size:
                hand |= 1 << int64(state.dealt[seat * size + i])
        state.hands[seat] = hand
        state.played[seat] = 0
        state.taken[seat] = 0
        state.known[seat] = 0
        state.excluded[seat] = 0
        state.points[seat] = 0
        state.pending[seat] = 0
        state.tricks[seat] = 0
        state.marriages[seat] = 0
        state.game_points[seat] = 0
    state.turned_up = state.dealt[state.deck_size - 1]
    state.face_up = state.turned_up
    state.trump = state.turned_up // NUM_RANKS
    state.talon = state.deck_size - 2 * size
    state.trick_winners = 0
    state.opener = opener
    state.leader = opener
    state.player = opener
    state.table = -1
    state.announced = -1
    state.closed_by = -1
    state.exchanged_by = -1
    state.first_to_target = -1
    state.winner = -1
    state.reason = NOT_OVER
    state.log_length = 0
    state.log[:] = 0


@jit
def new_match(state: Record, opener: int) -> None:
    """Deal with the match score back at 0."""
    state.match_points[0] = 0
    state.match_points[1] = 0
    deal(state, opener)


@jit
def match_over(state: Record) -> bool:
    """Has a player the game points that end the match?"""
    return int64(max(state.match_points[0], state.match_points[1])) >= int64(state.match_target)


@jit
def next_deal(state: Record) -> None:
    """Deal the next one of the match: the loser of the last one leads; after a draw, the same player again."""
    opener = int64(state.opener if state.winner < 0 else 1 - state.winner)
    state.deal += 1
    deal(state, opener)


# ---------------------------------------------------------------------------------------- legal moves


@jit
def legal_mask(state: Record, mask: Array) -> None:
    """mask: [31] int8; receives 1 for every action that the player to move may take, all 0 after the end."""
    bits = legal_bits(state)
    for action in range(NUM_ACTIONS):
        mask[action] = bits >> action & 1


@jit
def legal_bits(state: Record) -> int:
    """The legal actions as a set: bit *a* for action *a*."""
    if state.player < 0:
        return 0
    hand = int64(state.hands[state.player])
    if state.table >= 0:
        actions = follow_options(hand, state.table, state.trump) if is_strict(state) else hand
    elif state.announced >= 0:
        actions = hand & pair_of(state.announced)
    else:
        actions = hand | announce_options(state, hand)
        if may_exchange(state, hand):
            actions |= 1 << EXCHANGE
        if may_close(state):
            actions |= 1 << CLOSE
    if may_claim(state):
        actions |= 1 << CLAIM
    return actions


@jit
def is_strict(state: Record) -> bool:
    """Must the follower follow suit? Once the talon is used up or closed."""
    return int64(state.talon) == 0 or int64(state.closed_by) >= 0


@jit
def follow_options(hand: int, led: int, trump: int) -> int:
    """Cards of ``hand`` that may follow ``led`` in the strict phase: higher of the suit, the suit, a trump, any."""
    suit = hand & suit_of(led)
    higher = suit & higher_than(led)
    if higher:
        return higher
    if suit:
        return suit
    trumps = hand & (SUIT_BITS << NUM_RANKS * int64(trump))
    return trumps if trumps else hand


@jit
def announce_options(state: Record, hand: int) -> int:
    """Announcements open to the leader, as action bits: both cards held, not on the first lead where that is barred."""
    if state.marriage_on_opening_lead == 0 and tricks_played(state) == 0:
        return 0
    pairs = pairs_in(hand)
    actions = 0
    if pairs:
        for suit in range(NUM_SUITS):
            actions |= (pairs >> NUM_RANKS * suit & 1) << (ANNOUNCE + suit)
    return actions


@jit
def may_exchange(state: Record, hand: int) -> bool:
    """Has the leader won a trick, the lowest trump, and a talon that is open and large enough?"""
    return (
        hand >> lowest_trump(state) & 1 == 1
        and state.tricks[state.player] > 0
        and state.talon >= state.exchange_min_talon
        and state.closed_by < 0
    )


@jit
def may_close(state: Record) -> bool:
    """Is the talon open and large enough, and this not the first lead where that is barred?"""
    return (
        state.closed_by < 0
        and state.talon >= state.close_min_talon
        and (state.close_on_opening_lead == 1 or tricks_played(state) > 0)
    )


@jit
def may_claim(state: Record) -> bool:
    """Do deals end by a claim, and is it true, or false but allowed at a penalty?"""
    true_claim = int64(state.points[state.player]) >= int64(state.target)
    return int64(state.claim) == ON_TURN and (true_claim or int64(state.false_claim) == PENALTY)


# ---------------------------------------------------------------------------------------------- apply


@jit
def apply(state: Record, action: int) -> None:
    """Take ``action`` (0 to 30) for the player to move; raises IllegalAction, with the state unchanged."""
    if not is_legal(state, action):
        raise IllegalAction("this action is not legal here")
    advance(state, action)


@jit
def is_legal(state: Record, action: int) -> bool:
    """May the player to move take ``action``? Any integer may be asked about."""
    return 0 <= action < NUM_ACTIONS and legal_bits(state) >> action & 1 == 1


@jit
def advance(state: Record, action: int) -> None:
    """Take an action that is known to be legal."""
    player = int64(state.player)
    state.log[state.log_length] = action + LOG_PLAYER * player
    state.log_length += 1
    if action >= ANNOUNCE:
        declare(state, player, action)
    elif state.table < 0:
        lead(state, player, action)
    else:
        follow(state, player, action)


@jit
def declare(state: Record, player: int, action: int) -> None:
    """Whatever is done besides playing a card."""
    if action < EXCHANGE:
        announce(state, player, action - ANNOUNCE)
    elif action == EXCHANGE:
        exchange(state, player)
    elif action == CLOSE:
        state.closed_by = player
    else:
        claim(state, player)


@jit
def announce(state: Record, player: int, suit: int) -> None:
    """20, or 40 in trumps; pending until the announcer has won a trick."""
    state.announced = suit
    state.marriages[player] |= 1 << suit
    state.known[player] |= pair_of(suit)
    value = int64(state.trump_marriage if suit == state.trump else state.marriage)
    if state.tricks[player] == 0:
        state.pending[player] += value
        return
    count_points(state, player, value)
    if state.claim == IMMEDIATE and state.first_to_target >= 0:
        end_at_target(state, state.first_to_target, REACHED_TARGET)


@jit
def exchange(state: Record, player: int) -> None:
    """The lowest trump for the face-up card."""
    lowest = lowest_trump(state)
    bit = 1 << int64(state.face_up)
    state.hands[player] ^= (1 << lowest) | bit
    state.known[player] = state.known[player] & ~(1 << lowest) | bit
    state.face_up = lowest
    state.exchanged_by = player


@jit
def claim(state: Record, player: int) -> None:
    """To hold 66: right ends the deal, wrong loses it."""
    if state.points[player] >= state.target:
        end_at_target(state, player, CLAIMED)
    else:
        end(state, 1 - player, 3 if state.tricks[player] == 0 else 2, FALSE_CLAIM)


@jit
def lead(state: Record, player: int, card: int) -> None:
    """Lay the first card of a trick."""
    leave_hand(state, player, card)
    state.table = card
    state.announced = -1
    state.player = 1 - player


@jit
def follow(state: Record, player: int, card: int) -> None:
    """Lay the second card, and settle the trick."""
    led = int64(state.table)
    leave_hand(state, player, card)
    if is_strict(state):
        state.excluded[player] |= ruled_out(card, led, state.trump)
    state.table = -1
    finish_trick(state, player if beats(card, led, state.trump) else 1 - player, led, card)


@jit
def leave_hand(state: Record, player: int, card: int) -> None:
    """A card goes from the hand to the table."""
    bit = 1 << card
    state.hands[player] &= ~bit
    state.known[player] &= ~bit
    state.played[player] |= bit


@jit
def finish_trick(state: Record, winner: int, led: int, card: int) -> None:
    """The winner takes the cards, both draw, the winner leads; unless that ends the deal."""
    state.trick_winners |= winner << tricks_played(state)
    state.tricks[winner] += 1
    state.taken[winner] |= (1 << led) | (1 << card)
    state.leader = winner
    state.player = winner
    points = CARD_VALUES[led] + CARD_VALUES[card] + int64(state.pending[winner])
    state.pending[winner] = 0
    if state.talon > 0 and state.closed_by < 0:
        draw(state, winner)
    played_out = state.hands[winner] == 0
    if played_out and state.closed_by < 0:
        points += state.last_trick_bonus
    count_points(state, winner, points)
    if state.claim != ON_TURN and state.first_to_target >= 0:
        end_at_target(state, state.first_to_target, REACHED_TARGET)
    elif played_out:
        run_out(state, winner)


@jit
def draw(state: Record, first: int) -> None:
    """``first`` draws the top card of the talon, then the other; the last one is the face-up card, and all see it."""
    place = int64(state.deck_size) - state.talon
    received = cards_received(state)
    one, two = int64(state.dealt[place]), int64(state.dealt[place + 1])
    if state.talon == 2:
        two = int64(state.face_up)
        state.known[1 - first] |= 1 << two
        state.face_up = -1
    state.hands[first] |= 1 << one
    state.hands[1 - first] |= 1 << two
    state.cards[first, received] = one
    state.cards[1 - first, received] = two
    state.talon -= 2


@jit
def cards_received(state: Record) -> int:
    """Cards that each player was dealt and drew."""
    return (int64(state.deck_size) - int64(state.talon)) // 2


@jit
def count_points(state: Record, player: int, points: int) -> None:
    """Add points that count at once, and note who reached the target first."""
    state.points[player] += points
    if state.points[player] >= state.target and state.first_to_target < 0:
        state.first_to_target = player


# -------------------------------------------------------------------------------------------- outcome


@jit
def end_at_target(state: Record, winner: int, reason: int) -> None:
    """``winner`` has 66: by the general table, or as a failed close if the opponent had closed."""
    if state.closed_by == 1 - winner:
        fail_close(state)
    else:
        end(state, winner, general_table(state, 1 - winner), reason)


@jit
def run_out(state: Record, last: int) -> None:
    """No cards are left and nobody has ended the deal; ``last`` took the last trick."""
    first, second = int64(state.points[0]), int64(state.points[1])
    higher = last if first == second else (0 if first > second else 1)
    if state.closed_by >= 0:
        if state.first_to_target == state.closed_by:
            end(state, state.closed_by, general_table(state, 1 - state.closed_by), EXHAUSTED)
        else:
            fail_close(state)
    elif state.exhausted == LAST_TRICK and state.first_to_target < 0:
        end(state, last, 1, LAST_TRICK_TAKEN)
    elif state.exhausted == DRAW and first == second:
        end(state, -1, 0, DRAWN)
    else:
        end(state, higher, general_table(state, 1 - higher), EXHAUSTED)


@jit
def fail_close(state: Record) -> None:
    """The opponent of the closer scores 3, or by the other rule 2 if the closer has a trick."""
    end(state, 1 - state.closed_by, failed_close_table(state), FAILED_CLOSE)


@jit
def failed_close_table(state: Record) -> int:
    """Game points of the closer's opponent when the close fails."""
    return 3 if state.failed_close == THREE or state.tricks[state.closed_by] == 0 else 2


@jit
def general_table(state: Record, loser: int) -> int:
    """Game points of the winner: 3 if the loser took no trick, 2 if he is below 33, else 1."""
    if state.tricks[loser] == 0:
        return 3
    return 2 if state.points[loser] < state.schneider else 1


@jit
def most_game_points(state: Record, seat: int) -> int:
    """The most that ``seat`` can still win in this deal unless the opponent claims falsely: what it would win now,
    since tricks and points are never lost again."""
    loser = 1 - seat
    return failed_close_table(state) if state.closed_by == loser else general_table(state, loser)


@jit
def end(state: Record, winner: int, game_points: int, reason: int) -> None:
    """The deal is over; ``winner`` -1 is a draw."""
    state.player = -1
    state.winner = winner
    state.reason = reason
    if winner >= 0:
        state.game_points[winner] = game_points
        state.match_points[winner] += game_points


@jit
def outcome(state: Record) -> tuple[int, int, int, int]:
    """(winner or -1, game points of seat 0, of seat 1, reason); reason 0 while the deal goes on."""
    return state.winner, state.game_points[0], state.game_points[1], state.reason


# ---------------------------------------------------------------------------------------------- cards


@jit
def suit_of(card: int) -> int:
    """The set of the six cards of ``card``'s suit."""
    return SUIT_BITS << NUM_RANKS * (int64(card) // NUM_RANKS)


@jit
def higher_than(card: int) -> int:
    """The set of the cards of the suit that rank above ``card``."""
    return suit_of(card) & ~((2 << int64(card)) - 1)


@jit
def beats(card: int, led: int, trump: int) -> bool:
    """Does the second card win the trick?"""
    if card // NUM_RANKS == led // NUM_RANKS:
        return card > led
    return card // NUM_RANKS == trump


@jit
def ruled_out(card: int, led: int, trump: int) -> int:
    """Cards that whoever follows ``led`` with ``card`` in the strict phase cannot hold."""
    if card // NUM_RANKS == led // NUM_RANKS:
        return higher_than(led) if card < led else 0
    trumps = SUIT_BITS << NUM_RANKS * int64(trump)
    return suit_of(led) | (0 if card // NUM_RANKS == trump else trumps)


@jit
def pair_of(suit: int) -> int:
    """The king and the queen of a suit."""
    return PAIR_BITS << NUM_RANKS * int64(suit)


@jit
def pairs_in(hand: int) -> int:
    """The marriages in a hand: bit 6·suit for every suit of which it holds king and queen."""
    return hand >> QUEEN & hand >> KING & _ONE_PER_SUIT


@jit
def lowest_trump(state: Record) -> int:
    """The card that exchanges: the nine of trumps in the full deck."""
    return int64(state.trump) * NUM_RANKS + int64(state.lowest_rank)


@jit
def tricks_played(state: Record) -> int:
    """Tricks of both players together."""
    return int64(state.tricks[0]) + int64(state.tricks[1])
