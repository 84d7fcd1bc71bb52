"""The rest of a deal in the strict phase, played out in the head with both hands open.

Both sides play by the same simple habits. The leader announces what he can; he leads his dearest card that cannot
be beaten, else his cheapest. The follower answers with the cheapest card he may. So it is a sketch of how the deal
will go, not a search.
"""

from santase_env.cards import NUM_RANKS
from santase_env.compiled import Record, int64, jit
from santase_env.engine import CARD_VALUES, beats, follow_options, higher_than, pair_of, suit_of
from santase_env.rules import AFTER_TRICK, LAST_TRICK, THREE

from .counting import lowest_card, pairs_in, suit_cards

POINT = 1 / 256
"""Worth of a card point in game points, so that among equal results more points are better."""


@jit
def play_out(view: Record, leading: int, following: int, side: int, card: int, reply: int) -> float:
    """Game points that the viewer makes, and a little for card points.

    ``leading`` and ``following`` are hands, ``side`` is 0 if the viewer leads and 1 if the opponent does. ``card`` and
    ``reply`` begin the trick (-1: still to choose) and are in the hands no longer.
    """
    trump, target = int64(view.trump), int64(view.target)
    closer = int64(view.closed_by) ^ int64(view.seat) if view.closed_by >= 0 else -1
    leader = int64(view.seat) ^ side
    mine, other = points_of(view, leader), points_of(view, 1 - leader)  # the leader's and the follower's
    tricks, other_tricks = int64(view.tricks[leader]), int64(view.tricks[1 - leader])
    while True:
        if card < 0:
            options = leading
            pairs = pairs_in(leading)
            if pairs:
                in_trumps = pairs & suit_cards(trump) != 0
                mine += int64(view.trump_marriage if in_trumps else view.marriage)
                options = pair_of(trump if in_trumps else lowest_card(pairs) // NUM_RANKS)
                if mine >= target and view.claim != AFTER_TRICK:
                    return worth(view, side, closer, mine, other, other_tricks)
            card = pick_lead(options, following, trump)
            leading ^= 1 << card
        if reply < 0:
            reply = pick_reply(following, card, trump)
            following ^= 1 << reply
        if beats(reply, card, trump):
            side = 1 - side
            leading, following = following, leading
            mine, other = other, mine
            tricks, other_tricks = other_tricks, tricks
        mine += CARD_VALUES[card] + CARD_VALUES[reply]
        tricks += 1
        if leading == 0 and closer < 0:
            mine += int64(view.last_trick_bonus)
        if other >= target:  # by the marriage announced before this trick, so he was first
            return worth(view, 1 - side, closer, other, mine, tricks)
        if mine >= target:
            return worth(view, side, closer, mine, other, other_tricks)
        if leading == 0:
            return worth_at_the_end(view, side, closer, mine, other, tricks, other_tricks)
        card = reply = -1


@jit
def points_of(view: Record, seat: int) -> int:
    """Points, pending ones included: who wins no more trick has lost anyway."""
    return int64(view.points[seat]) + int64(view.pending[seat])


@jit
def pick_lead(options: int, following: int, trump: int) -> int:
    """The dearest card that cannot be beaten; else the cheapest, plain suits before trumps."""
    their_trumps = following & suit_cards(trump)
    best, best_score = -1, 0
    while options:
        card = lowest_card(options)
        options &= options - 1
        if following & higher_than(card) or (their_trumps and following & suit_of(card) == 0):
            score = -CARD_VALUES[card] - 20 * (card // NUM_RANKS == trump)
        else:
            score = 100 + CARD_VALUES[card]
        if best < 0 or score > best_score:
            best, best_score = card, score
    return best


@jit
def pick_reply(following: int, card: int, trump: int) -> int:
    """The cheapest card that may follow."""
    options = follow_options(following, card, trump)
    best = lowest_card(options)
    while options:
        other = lowest_card(options)
        options &= options - 1
        if CARD_VALUES[other] < CARD_VALUES[best]:
            best = other
    return best


@jit
def worth(view: Record, winner: int, closer: int, points: int, other: int, other_tricks: int) -> float:
    """What it is to the viewer that side ``winner`` wins; ``other`` are the loser's points, and his tricks."""
    if closer == 1 - winner:
        game_points = 3 if view.failed_close == THREE or other_tricks == 0 else 2
    elif other_tricks == 0:
        game_points = 3
    else:
        game_points = 2 if other < view.schneider else 1
    value = game_points + POINT * (points - other)
    return value if winner == 0 else -value


@jit
def worth_at_the_end(
    view: Record, side: int, closer: int, mine: int, other: int, tricks: int, other_tricks: int
) -> float:
    """The same when the cards ran out and nobody has 66; ``side`` took the last trick and has ``mine`` points."""
    if closer == side or (closer < 0 and view.exhausted != LAST_TRICK and other > mine):
        return worth(view, 1 - side, closer, other, mine, tricks)
    if closer < 0 and view.exhausted == LAST_TRICK:
        value = 1 + POINT * (mine - other)
        return value if side == 0 else -value
    if closer < 0 and mine == other:
        return 0.0
    return worth(view, side, closer, mine, other, other_tricks)
