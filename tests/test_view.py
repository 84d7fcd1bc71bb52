"""VIEWs hold what one player may know and nothing else; sample_state draws uniformly from what fits a VIEW."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from santase_env import Game, Rules, encode, engine, sample_state, view_of
from santase_env.actions import ACTION_TEXTS, CLAIM, CLOSE, NUM_ACTIONS
from santase_env.batch import new_games, opener_of
from santase_env.cards import RANKS, card_texts, cards_in
from santase_env.compiled import Array, Record, copy_bytes, jit
from santase_env.policy import random_action
from santase_env.rng import mix
from santase_env.rules import DEFAULT_RULES
from santase_env.state import LOG_PLAYER, LOG_SIZE, STATE, new_states
from santase_env.view import VIEW, fill_sample, fill_view, unseen_cards

FAULTS = (
    "",
    "the sampled deal is not the whole deck, each card once",
    "the sampled state gives its player another view",
    "the sampled state's log is not legal from its own deal",
    "the sampled state's log leads from its own deal to another state",
    "the sampled state offers the player to move other actions, though he is the viewer",
)
_STATE_SIZE, _VIEW_SIZE = STATE.itemsize, VIEW.itemsize


@jit
def replays(state: Record, log: Array, length: int) -> bool:
    """Begin the deal that lies in ``state`` and follow the log; is it legal, each action by who took it?"""
    engine.begin(state, state.opener)
    for i in range(length):
        if state.player != log[i] // LOG_PLAYER or not engine.is_legal(state, log[i] % LOG_PLAYER):
            return False
        engine.advance(state, log[i] % LOG_PLAYER)
    return True


@jit
def fault_of_sample(
    state: Record, seat: int, key: np.uint64, views: Array, raw_views: Array, spare: Array, raw: Array
) -> int:
    """Draw one state from the view of ``seat``; the index in FAULTS of what is wrong with it, or 0."""
    fill_view(state, seat, views[0])
    fill_sample(views[0], key, spare[0])
    cards = 0
    for i in range(spare[0].deck_size):
        cards |= 1 << np.int64(spare[0].dealt[i])
    if cards != spare[0].deck:
        return 1
    fill_view(spare[0], seat, views[1])
    for i in range(_VIEW_SIZE):
        if raw_views[0, i] != raw_views[1, i]:
            return 2
    if state.player == seat and engine.legal_bits(spare[0]) != engine.legal_bits(state):
        return 5
    copy_bytes(spare[1], spare[0], _STATE_SIZE)
    for player in range(2):
        spare[1].match_points[player] -= spare[1].game_points[player]
    if not replays(spare[1], spare[0].log, spare[0].log_length):
        return 3
    for i in range(_STATE_SIZE):
        if raw[0, i] != raw[1, i]:
            return 4
    return 0


@jit
def first_fault(
    states: Array, views: Array, raw_views: Array, spare: Array, raw: Array, seed: int
) -> tuple[int, int, int]:
    """Play every game at random and sample from both views of every state; (index in FAULTS, game, seat)."""
    mask = np.zeros(NUM_ACTIONS, np.int8)
    for game in range(len(states)):
        state = states[game]
        key = mix(np.uint64(seed), game)
        engine.new_match(state, opener_of(game, 0))
        for step in range(LOG_SIZE):
            for seat in range(2):
                fault = fault_of_sample(state, seat, mix(key, 4 * step + seat), views, raw_views, spare, raw)
                if fault:
                    return fault, game, seat
            if state.player < 0:
                break
            engine.legal_mask(state, mask)
            if state.points[state.player] < state.target:
                mask[CLAIM] = 0
            if game & 2:
                mask[CLOSE] = 0
            engine.apply(state, random_action(mask, mix(key, 4 * step + 2)))
    return 0, -1, -1


def sample_everywhere(count: int, rules: Rules, seed: int) -> None:
    """Fails with what is wrong with a sample from any view of any state of ``count`` random deals."""
    states, views, spare = new_games(count, rules, seed), np.zeros(2, VIEW), new_states(2, rules)
    raw_views, raw = views.view(np.uint8).reshape(2, -1), spare.view(np.uint8).reshape(2, -1)
    fault, game, seat = first_fault(states, views, raw_views, spare, raw, seed)
    assert fault == 0, f"{FAULTS[fault]}: seat {seat}, game {game} of seed {seed}, {rules}, {states[max(game, 0)]}"


@pytest.mark.parametrize("rules", ["paper", "classic", "online,false_claim=illegal", "online"])
def test_samples_fit_the_view_and_replay(rules: str) -> None:
    sample_everywhere(3000, Rules.of(rules), seed=1)


@settings(max_examples=150)
@given(data=st.data())
def test_samples_fit_the_view_and_replay_under_any_rules(
    any_rules: st.SearchStrategy[Rules], data: st.DataObject
) -> None:
    sample_everywhere(20, data.draw(any_rules), data.draw(st.integers(0, 2**31)))


# ----------------------------------------------------------------------- mini decks, every deal enumerated

TINY = Rules(
    ranks="QKTA", suits="CH", hand_size=2, target=500, exchange_min_talon=2, claim="on_turn", false_claim="illegal"
)
SMALL = Rules(
    ranks="QKTA", suits="CDH", hand_size=3, target=500, claim="on_turn", false_claim="illegal",
    marriage_on_opening_lead=True,
)  # fmt: skip


@dataclass(frozen=True)
class Situation:
    """A point of a deal as one player sees it."""

    rules: Rules
    holds: Callable[[Record, Record], bool]
    """Of the state and the view: is this the situation?"""


def others(view: Record) -> int:
    return 1 - int(view.seat)


def open_unseen(view: Record) -> bool:
    """Is there something left to guess?"""
    return int(unseen_cards(view)).bit_count() > 1 and view.reason == 0


SITUATIONS = {
    "before the first lead": Situation(TINY, lambda state, view: view.log_length == 0),
    "after the first trick": Situation(TINY, lambda state, view: sum(view.tricks) == 1 and view.closed_by < 0),
    "in the middle of a trick": Situation(SMALL, lambda state, view: view.table >= 0 and view.talon == 4),
    "closed at once": Situation(TINY, lambda state, view: view.closed_by >= 0 and sum(view.tricks) == 0),
    "closed after a trick": Situation(SMALL, lambda state, view: view.closed_by >= 0 and view.talon == 4),
    "closed, and a reply excluded cards that are unseen": Situation(
        SMALL,
        lambda state, view: (
            view.closed_by >= 0
            and int(unseen_cards(view)) & int(view.excluded[others(view)]) != 0
            and int(unseen_cards(view)) & ~int(view.excluded[others(view)]) != 0
            and open_unseen(view)
        ),
    ),
    "a partner card is known from a marriage": Situation(
        SMALL,
        lambda state, view: view.marriages[others(view)] and view.known[others(view)] and view.talon > 2,
    ),
    "a pending marriage, its king or queen to be led": Situation(
        SMALL, lambda state, view: view.announced >= 0 and view.player != view.seat
    ),
    "the opponent exchanged": Situation(
        SMALL, lambda state, view: view.exchanged_by == others(view) and view.talon > 2 and open_unseen(view)
    ),
    "I exchanged": Situation(
        SMALL, lambda state, view: view.exchanged_by == view.seat and view.talon > 2 and open_unseen(view)
    ),
    "the opponent exchanged, then closed": Situation(
        SMALL,
        lambda state, view: (
            view.exchanged_by == others(view) == view.closed_by and open_unseen(view) and view.excluded[others(view)]
        ),
    ),
    "the opponent exchanged the queen of his announced trump marriage": Situation(
        SMALL,
        lambda state, view: (
            view.exchanged_by == others(view) and view.marriages[others(view)] >> int(view.trump) & 1 and view.talon > 0
        ),
    ),
    "the talon is used up": Situation(TINY, lambda state, view: view.talon == 0 and view.exchanged_by < 0),
    "the opponent exchanged, and the lowest trump came to me": Situation(
        TINY,
        lambda state, view: (
            view.talon == 0
            and view.exchanged_by == others(view)
            and int(engine.lowest_trump(view)) == view.cards[view.cards >= 0][-1]
        ),
    ),
    "I exchanged, and the lowest trump went to the opponent": Situation(
        TINY,
        lambda state, view: (
            view.talon == 0
            and view.exchanged_by == view.seat
            and int(engine.lowest_trump(view)) != view.cards[view.cards >= 0][-1]
        ),
    ),
    "the deal is over": Situation(TINY, lambda state, view: view.reason > 0 and view.closed_by >= 0),
}


def find(situation: Situation) -> tuple[Record, int]:
    """The first state of random deals, and the seat, where this is the situation."""
    for seed in range(3000):
        rng = np.random.default_rng(seed)
        game = Game(situation.rules, seed)
        while True:
            for seat in rng.permutation(2):
                if situation.holds(game.state, game.view(seat)):
                    return game.state, int(seat)
            if game.over:
                break
            special = [action for action in game.legal_actions() if action >= 24 and action != CLOSE]
            closing = CLOSE in game.legal_actions() and rng.random() < 0.15
            cards = [action for action in game.legal_actions() if action < 24]
            game.apply(CLOSE if closing else int(rng.choice(special if special and rng.random() < 0.7 else cards)))
    raise AssertionError("no such situation in 3000 deals")


@jit
def keep_possible(states: Array, log: Array, length: int, seat: int, cards: Array, possible: Array) -> None:
    """states: [N], each with a deal laid out; replays the log in each, and says where it is legal and ``seat``
    receives just these cards."""
    for i in range(len(states)):
        possible[i] = replays(states[i], log, length)
        for k in range(len(cards)):
            possible[i] = possible[i] and states[i].cards[seat, k] == cards[k]


def possible_states(state: Record, seat: int) -> Array:
    """Every deal that ``seat`` must think possible, by trying them all; the first hand and the trump are given."""
    size, deck_size = int(state.hand_size), int(state.deck_size)
    mine = range(seat * size, seat * size + size)
    places = [place for place in range(deck_size - 1) if place not in mine]
    orders = np.array(list(permutations([int(state.dealt[place]) for place in places])), np.int8)
    states = np.zeros(len(orders), STATE)
    states[:] = state
    states["match_points"] = 0
    states["dealt"][:, places] = orders
    possible = np.zeros(len(orders), np.bool_)
    keep_possible(states, state.log.copy(), int(state.log_length), seat, state.cards[seat].copy(), possible)
    # As bytes: numpy copies chosen records field by field, and leaves the padding between the fields undefined.
    chosen: Array = states.view(np.dtype((np.void, _STATE_SIZE)))[possible].view(STATE)
    return chosen


@jit
def fill_samples(view: Record, seed: int, states: Array) -> None:
    for i in range(len(states)):
        fill_sample(view, mix(np.uint64(seed), i), states[i])


def guesses(states: Array, seat: int) -> Array:
    """What ``seat`` cannot see, as rows: the opponent's hand, then the face-down talon from its top."""
    deck_size, talon = int(states["deck_size"][0]), int(states["talon"][0])
    face_down = states["dealt"][:, deck_size - talon : deck_size - 1] if talon else states["dealt"][:, :0]
    return np.column_stack([states["hands"][:, 1 - seat], face_down])


def agree(possible: Array, drawn: Array) -> None:
    """Both rows of guesses hold the same ones, and they are drawn as often as they are possible."""
    kinds, counts = np.unique(possible, axis=0, return_counts=True)
    drawn_kinds, drawn_counts = np.unique(drawn, axis=0, return_counts=True)
    known = {tuple(kind): place for place, kind in enumerate(kinds.tolist())}
    assert {tuple(kind) for kind in drawn_kinds.tolist()} <= set(known), "drawn, but impossible"
    found = np.zeros(len(kinds))
    for kind, count in zip(drawn_kinds.tolist(), drawn_counts, strict=True):
        found[known[tuple(kind)]] = count
    assert (found > 0).all(), "possible, but never drawn"
    if len(kinds) > 1:
        expected = counts / counts.sum() * len(drawn)
        assert stats.chisquare(found, expected).pvalue > 1e-3


@pytest.mark.parametrize("name", SITUATIONS)
def test_sampling_matches_the_enumeration_of_all_deals(name: str) -> None:
    state, seat = find(SITUATIONS[name])
    possible = possible_states(state, seat)
    view = view_of(state, seat)
    assert len(possible) > 1
    # Whatever lies hidden, the view, its observation and its mask are the same to the last byte.
    for other in possible[:: max(1, len(possible) // 50)]:
        assert view_of(other, seat).tobytes() == view.tobytes()
        assert encode(view_of(other, seat)).tobytes() == encode(view).tobytes()
        if state.player == seat:
            assert engine.legal_bits(other) == engine.legal_bits(state)

    unseen = guesses(possible, seat)
    kinds, counts = np.unique(unseen, axis=0, return_counts=True)
    assert (counts == counts[0]).all(), "the enumeration itself: every placement has as many deals behind it"
    drawn = np.zeros(max(4000, 30 * len(kinds)), STATE)
    fill_samples(view, 7, drawn)
    agree(unseen, guesses(drawn, seat))
    # Not only the placement, the whole deal that led to it is uniform among those possible.
    if len(possible) <= 2500:
        drawn = np.zeros(max(4000, 30 * len(possible)), STATE)
        fill_samples(view, 8, drawn)
        agree(possible["dealt"], drawn["dealt"])


# ------------------------------------------------------------------------------------------- what it holds


def test_sample_depends_on_view_and_key_alone() -> None:
    game = Game(DEFAULT_RULES, seed=3)
    view = game.view(0)
    assert sample_state(view, 1).tobytes() == sample_state(view, 1).tobytes()
    assert sample_state(view, 1).tobytes() != sample_state(view, 2).tobytes()
    assert sample_state(view, 2**64 - 1).tobytes() != sample_state(view, 2).tobytes()
    assert sample_state(view, 1).key != game.state.key


def test_samples_are_not_always_the_truth() -> None:
    game = Game(DEFAULT_RULES, seed=3)
    hands = {int(sample_state(game.view(0), key).hands[1]) for key in range(20)}
    assert len(hands) > 10


def test_view_has_nothing_of_the_hidden_part() -> None:
    assert set(VIEW.names or ()) & {"hands", "dealt", "key", "deal"} == set()
    game = Game(DEFAULT_RULES, seed=3)
    for seat in range(2):
        before = game.view(seat).tobytes()
        other = game.copy()
        hidden = other.state
        hidden.hands[1 - seat], hidden.cards[1 - seat], hidden.dealt[:], hidden.key, hidden.deal = 0, -1, -1, 5, 6
        assert other.view(seat).tobytes() == before
        hidden.hands[seat] = 0
        assert other.view(seat).tobytes() != before


EXAMPLE = Game.from_cards(("9H AH AC QS KD 9D", "TH QH KH JC QC JS"), "TS AS JD 9C 9S TD JH TC KS QD AD KC", 0, "paper")
"""The deal of the paper text's worked example."""


def test_view_keeps_the_cards_in_the_order_they_came() -> None:
    game = EXAMPLE.copy()
    for action in ("9H", "TH", "announce:H", "QH", "AH", "JD", "JC", "exchange"):
        game.apply(action)
    mine, theirs = game.view(0), game.view(1)
    assert (mine.seat, theirs.seat) == (0, 1)
    came = [card_texts(view.cards[view.cards >= 0].tolist()) for view in (mine, theirs)]
    assert came == [tuple("9H AH AC QS KD 9D AS JD TD".split()), tuple("TH QH KH JC QC JS TS 9C 9S".split())]
    assert set(card_texts(cards_in(int(theirs.hand)))) == set("KH QC JS TS 9S KC".split())
    log = [(entry // LOG_PLAYER, ACTION_TEXTS[entry % LOG_PLAYER]) for entry in mine.log[:8].tolist()]
    assert log == list(zip((0, 1, 1, 1, 0, 0, 1, 1), game.actions(), strict=True))
    assert theirs.log.tolist() == mine.log.tolist()


def test_known_cards_are_what_everybody_saw() -> None:
    game = EXAMPLE.copy()
    known = []
    for action in ("9H", "TH", "announce:H", "QH", "AH", "JD", "JC", "exchange", "close", "announce:C", "QC"):
        game.apply(action)
        known.append(set(card_texts(cards_in(int(game.view(0).known[1])))))
    nothing: set[str] = set()
    assert known == [
        nothing, nothing, {"QH", "KH"}, *[{"KH"}] * 4, *[{"KH", "KC"}] * 2, {"KH", "KC", "QC"}, {"KH", "KC"}
    ]  # fmt: skip


def test_queen_of_trumps_that_was_exchanged_is_no_longer_known_in_the_hand() -> None:
    """In a mini deck the queen can be the lowest trump: announced, the king led, and then exchanged away."""
    rules = Rules(ranks="QKTA", suits="CDH", hand_size=3, target=500, marriage_on_opening_lead=True)
    game = Game.from_cards(("QC KC AC", "QD KD TD"), "AD QH KH TH AH TC", 0, rules)
    for action in ("announce:C", "KC", "QD", "exchange"):
        game.apply(action)
    assert game.talon[-1] == "QC"
    assert card_texts(cards_in(int(game.view(1).known[0]))) == ("TC",)


def test_replies_in_the_strict_phase_exclude_cards() -> None:
    hands, talon = ("JC TH AD QS KD AS", "9H QH JH KH 9C JS"), "9D JD QD TD 9S KS TS AH QC TC AC KC"
    game = Game.from_cards(hands, talon, 0, "paper")

    def excluded(player: int) -> set[str]:
        return set(card_texts(cards_in(int(game.view(1 - player).excluded[player]))))

    diamonds, hearts, trumps = ({rank + suit for rank in RANKS} for suit in "DHC")
    game.apply("close")
    for action in ("TH", "9H"):  # lower: no ace of hearts
        game.apply(action)
    assert excluded(1) == {"AH"}
    for action in ("QS", "JS"):  # lower: nothing above the queen of spades
        game.apply(action)
    assert excluded(1) == {"AH", "KS", "TS", "AS"}
    for action in ("AD", "9C"):  # trumped: no diamond
        game.apply(action)
    assert excluded(1) == {"AH", "KS", "TS", "AS"} | diamonds
    assert excluded(0) == set()
    for action in ("QH", "JC"):  # trumped: no heart
        game.apply(action)
    assert excluded(0) == hearts
    for action in ("KD", "JH"):  # thrown away: no diamond and no trump
        game.apply(action)
    assert excluded(1) == {"AH", "KS", "TS", "AS"} | diamonds | trumps
    assert excluded(0) == hearts


def test_records_have_no_gaps_so_equal_ones_are_equal_byte_by_byte() -> None:
    for dtype in (STATE, VIEW):
        assert sum(field.itemsize for field, *_ in dtype.fields.values()) == dtype.itemsize
