"""The rest of a deal whose cards are all known, played out in the head: by the engine, on a state of its own.

Both sides play by the same simple habits. They claim 66 and announce what they can; the leader leads his dearest
card that cannot be beaten, else his cheapest; the follower answers with the cheapest card he may. So it is a sketch
of how the deal will go, not a search; ``look_ahead`` searches one move before it.
"""

from santase_env import engine
from santase_env.actions import ANNOUNCE, CLAIM
from santase_env.cards import NUM_CARDS, NUM_RANKS, NUM_SUITS
from santase_env.compiled import Array, Record, copy_bytes, int64, jit, lowest_bit
from santase_env.engine import CARD_VALUES, higher_than, suit_of
from santase_env.state import STATE

from .counting import suit_cards

POINT = 1 / 8192
"""Worth of a card point in game points, so that among equal results more points are better."""

ANYTHING = 100.0
"""More than any result."""

_ALL_CARDS = (1 << NUM_CARDS) - 1
_ALL_SUITS = (1 << NUM_SUITS) - 1
_SIZE = STATE.itemsize


@jit
def play_out(worlds: Array, seat: int, action: int) -> float:
    """Game points that ``seat`` makes when the player to move takes ``action``, and a little for card points.

    worlds [2] STATE: the first is the position, and stays; the second is for playing in.
    """
    state = worlds[1]
    copy_bytes(state, worlds[0], _SIZE)
    engine.advance(state, action)
    return finish(state, seat)


@jit
def look_ahead(worlds: Array, seat: int, action: int, enough: float) -> float:
    """As ``play_out``, but whoever moves after ``action`` tries every move, and takes the one that is best for him.

    A result of ``enough`` or less may be too high: the search stops where it cannot come to more.
    """
    state = worlds[1]
    copy_bytes(state, worlds[0], _SIZE)
    engine.advance(state, action)
    moves = engine.legal_bits(state)
    if moves & (moves - 1) == 0:
        return finish(state, seat)
    mine = state.player == seat
    best = -ANYTHING if mine else ANYTHING
    while moves and (mine or best > enough):
        copy_bytes(state, worlds[0], _SIZE)
        engine.advance(state, action)
        engine.advance(state, lowest_bit(moves))
        moves &= moves - 1
        score = finish(state, seat)
        best = max(best, score) if mine else min(best, score)
    return best


@jit
def finish(state: Record, seat: int) -> float:
    """Play ``state`` to its end by habit; what ``seat`` makes, as ``play_out`` says."""
    while state.player >= 0:
        engine.advance(state, habit(state))
    game_points = int64(state.game_points[seat]) - int64(state.game_points[1 - seat])
    return float(game_points + POINT * (int64(state.points[seat]) - int64(state.points[1 - seat])))


@jit
def habit(state: Record) -> int:
    """What the player to move does without much thought."""
    legal = engine.legal_bits(state)
    if legal >> CLAIM & 1 and state.points[state.player] >= state.target:
        return CLAIM
    marriages = legal >> ANNOUNCE & _ALL_SUITS
    if marriages:
        return ANNOUNCE + (int64(state.trump) if marriages >> state.trump & 1 else lowest_bit(marriages))
    if state.table < 0:
        return pick_lead(legal & _ALL_CARDS, int64(state.hands[1 - state.player]), int64(state.trump))
    return pick_reply(legal & _ALL_CARDS)


@jit
def pick_lead(options: int, following: int, trump: int) -> int:
    """The dearest card that the hand ``following`` cannot beat; else the cheapest, plain suits before trumps."""
    best, best_score = -1, 0
    while options:
        card = lowest_bit(options)
        options &= options - 1
        score = promise(card, holds_against(following, card, trump), trump)
        if best < 0 or score > best_score:
            best, best_score = card, score
    return best


@jit
def holds_against(following: int, card: int, trump: int) -> bool:
    """Can a hand that must follow suit not beat this lead?"""
    trumped = following & suit_cards(trump) != 0 and following & suit_of(card) == 0
    return following & higher_than(card) == 0 and not trumped


@jit
def promise(card: int, wins: bool, trump: int) -> int:
    """The order in which cards come to mind: winning ones first, dear ones first; then cheap ones, trumps last."""
    return int64(CARD_VALUES[card] + 100 if wins else -CARD_VALUES[card] - 20 * (card // NUM_RANKS == trump))


@jit
def pick_reply(options: int) -> int:
    """The cheapest of these cards."""
    best = int64(lowest_bit(options))
    while options:
        other = lowest_bit(options)
        options &= options - 1
        if CARD_VALUES[other] < CARD_VALUES[best]:
            best = other
    return best
