"""What must hold in every deal: checked over many random ones by one compiled loop that returns the code of a fault."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from santase_env import Game, IllegalAction, Rules, engine
from santase_env.actions import CLAIM, CLOSE, NUM_ACTIONS
from santase_env.batch import deal_all, new_games, opener_of
from santase_env.cards import NUM_CARDS, NUM_SUITS
from santase_env.compiled import Array, Record, copy_bytes, int64, jit
from santase_env.policy import random_action
from santase_env.rng import mix
from santase_env.rules import DEFAULT_RULES
from santase_env.state import (
    DRAWN,
    LOG_PLAYER,
    LOG_SIZE,
    MAX_TRICKS,
    REASONS,
    STATE,
    new_states,
)
from santase_env.view import count_cards

FAULTS = (
    "",
    "a card is lost or in two places",
    "a hand has the wrong number of cards",
    "tricks, taken cards and played cards disagree",
    "the talon does not fit the tricks, or its bottom card the talon",
    "the cards in the order they came are not those of the hand and the plays",
    "card points, marriages and the last ten do not add up",
    "pending points are not the marriages of a player without a trick",
    "the first to the target is wrong",
    "a card known in a hand is not there",
    "a card excluded from a hand is there",
    "the wrong player is to move",
    "the log is too long",
    "there is no legal action before the end",
    "there is a legal action after the end",
    "a legal action was refused",
    "an illegal action was accepted",
    "a refused action changed the state",
    "the log does not hold the action",
    "the game points are none of 1, 2, 3 for the winner alone",
    "the deal does not end",
    "the log does not replay to the same end",
)
_SIZE = STATE.itemsize


@jit
def fault_in(state: Record) -> int:
    """The index in FAULTS of what is wrong with this state, or 0."""
    deck = int64(state.deck)
    played = int64(state.played[0]) | int64(state.played[1])
    taken = int64(state.taken[0]) | int64(state.taken[1])
    on_table = 1 << int64(state.table) if state.table >= 0 else 0
    tricks = int64(state.tricks[0]) + int64(state.tricks[1])
    talon = 0
    for i in range(state.deck_size - state.talon, state.deck_size - 1):
        talon |= 1 << int64(state.dealt[i])
    if state.face_up >= 0:
        talon |= 1 << int64(state.face_up)
    everywhere = int64(state.hands[0]) | int64(state.hands[1]) | talon | played
    counted = count_cards(state.hands[0]) + count_cards(state.hands[1]) + state.talon + count_cards(played)
    if everywhere != deck or counted != state.deck_size or count_cards(talon) != state.talon:
        return 1

    drawn = int64(state.deck_size) - 2 * int64(state.hand_size) - int64(state.talon)
    for seat in range(2):
        if count_cards(state.hands[seat]) != state.hand_size + drawn // 2 - count_cards(state.played[seat]):
            return 2
    if (
        taken & on_table
        or taken | on_table != played
        or int64(state.taken[0]) & int64(state.taken[1])
        or int64(state.played[0]) & int64(state.played[1])
        or count_cards(state.taken[0]) != 2 * state.tricks[0]
        or count_cards(state.taken[1]) != 2 * state.tricks[1]
    ):
        return 3
    if (state.face_up >= 0) != (state.talon > 0) or drawn % 2 or drawn > 2 * tricks:
        return 4
    if state.closed_by < 0 and state.talon > 0 and drawn != 2 * tricks:
        return 4
    for seat in range(2):
        came = 0
        for i in range(MAX_TRICKS):
            if (state.cards[seat, i] >= 0) != (i < state.hand_size + drawn // 2):
                return 5
            if state.cards[seat, i] >= 0:
                came |= 1 << int64(state.cards[seat, i])
        if state.exchanged_by == seat:
            came |= 1 << int64(state.turned_up)
        owned = int64(state.hands[seat]) | int64(state.played[seat])
        if owned & ~came or (owned != came and state.exchanged_by != seat):
            return 5

    for seat in range(2):
        cards, marriages, bonus = 0, 0, 0
        for card in range(NUM_CARDS):
            if int64(state.taken[seat]) >> card & 1:
                cards += engine.CARD_VALUES[card]
        for suit in range(NUM_SUITS):
            if int64(state.marriages[seat]) >> suit & 1:
                marriages += state.trump_marriage if suit == state.trump else state.marriage
        if taken == deck and state.closed_by < 0 and state.leader == seat:
            bonus = int64(state.last_trick_bonus)
        if state.tricks[seat] == 0:
            if state.points[seat] != 0 or state.pending[seat] != marriages:
                return 7
        elif state.pending[seat] != 0:
            return 7
        elif state.points[seat] != cards + marriages + bonus:
            return 6
        if (state.points[seat] >= state.target and state.first_to_target < 0) or (
            state.first_to_target == seat and state.points[seat] < state.target
        ):
            return 8
        if int64(state.known[seat]) & ~int64(state.hands[seat]):
            return 9
        if int64(state.excluded[seat]) & int64(state.hands[seat]):
            return 10
    if state.player >= 0 and state.player != (1 - state.leader if state.table >= 0 else state.leader):
        return 11
    if state.announced >= 0 and state.table >= 0:
        return 11
    return 12 if state.log_length > LOG_SIZE - 1 else 0


@jit
def accepts(state: Record, action: int) -> bool:
    """Does ``apply`` take this action?"""
    try:
        engine.apply(state, action)
    except Exception:
        return False
    return True


@jit
def fault_of_actions(state: Record, raw: Array, mask: Array, spare: Array, spare_raw: Array) -> int:
    """Try every action, and some that do not exist, on a copy: does ``apply`` agree with the mask?"""
    for action in range(-2, NUM_ACTIONS + 3):
        copy_bytes(spare[0], state, _SIZE)
        legal = 0 <= action < NUM_ACTIONS and mask[action] == 1
        accepted = accepts(spare[0], action)
        if accepted != legal:
            return 15 if legal else 16
        if legal:
            if (
                spare[0].log_length != state.log_length + 1
                or spare[0].log[state.log_length] != action + LOG_PLAYER * state.player
            ):
                return 18
            fault = fault_in(spare[0])
            if fault:
                return fault
        else:
            for i in range(_SIZE):
                if spare_raw[i] != raw[i]:
                    return 17
    return 0


@jit
def fault_of_end(state: Record, raw: Array, opener: int, spare: Array, spare_raw: Array) -> int:
    """The score of an ended deal, and its replay from the key and the log."""
    if state.player >= 0 or state.reason == 0:
        return 20
    if state.reason == DRAWN:
        if state.winner >= 0 or state.game_points[0] or state.game_points[1]:
            return 19
    elif (
        not 0 <= state.winner <= 1
        or not 1 <= state.game_points[state.winner] <= 3
        or state.game_points[1 - state.winner] != 0
    ):
        return 19
    copy_bytes(spare[0], state, _SIZE)
    engine.new_match(spare[0], opener)
    for i in range(state.log_length):
        if spare[0].player != state.log[i] // LOG_PLAYER or not accepts(spare[0], state.log[i] % LOG_PLAYER):
            return 21
    for i in range(_SIZE):
        if spare_raw[i] != raw[i]:
            return 21
    return 0


@jit
def first_fault(states: Array, raw: Array, spare: Array, spare_raw: Array, seed: int) -> tuple[int, int]:
    """Play every game at random from its deal on and check every state; (index in FAULTS, game), or (0, -1).

    Half of the games are not closed, and a false claim is made once in 20 chances, so that deals last.
    """
    mask = np.zeros(NUM_ACTIONS, np.int8)
    for game in range(len(states)):
        state = states[game]
        key = mix(np.uint64(seed), game)
        opener = opener_of(game, 0)
        engine.new_match(state, opener)
        fault = fault_in(state)
        for step in range(LOG_SIZE):
            engine.legal_mask(state, mask)
            if fault == 0 and (mask.sum() > 0) != (state.player >= 0):
                fault = 13 if state.player >= 0 else 14
            if fault == 0:
                fault = fault_of_actions(state, raw[game], mask, spare, spare_raw)
            if fault or state.player < 0:
                break
            bits = int64(mix(key, 2 * step) >> np.uint64(32))
            if state.points[state.player] < state.target and bits % 20 != 0:
                mask[CLAIM] = 0
            if game & 2:
                mask[CLOSE] = 0
            engine.apply(state, random_action(mask, mix(key, 2 * step + 1)))
            fault = fault_in(state)
        if fault == 0:
            fault = fault_of_end(state, raw[game], opener, spare, spare_raw)
        if fault:
            return fault, game
    return 0, -1


def play_and_check(count: int, rules: Rules, seed: int) -> Array:
    """The ends of ``count`` random deals in which all is well; fails with what is wrong otherwise."""
    states, spare = new_games(count, rules, seed), new_states(1, rules)
    raw, spare_raw = states.view(np.uint8).reshape(count, -1), spare.view(np.uint8).reshape(-1)
    fault, game = first_fault(states, raw, spare, spare_raw, seed)
    assert fault == 0, f"{FAULTS[fault]}: game {game} of seed {seed} under {rules}, log {states[max(game, 0)]['log']}"
    return states


@pytest.mark.parametrize(
    ("rules", "ends"),
    [
        ("paper", {"reached_66", "failed_close"}),
        ("classic", {"reached_66", "failed_close"}),
        ("online,false_claim=illegal", {"claim", "failed_close", "exhausted", "last_trick"}),
        ("online", {"claim", "false_claim", "failed_close", "exhausted", "last_trick"}),
    ],
)
def test_all_is_well_in_20000_random_deals(rules: str, ends: set[str]) -> None:
    states = play_and_check(20_000, Rules.of(rules), seed=1)
    assert {REASONS[code] for code in np.unique(states["reason"])} >= ends
    for name in ("exchanged_by", "closed_by"):
        assert set(np.unique(states[name])) == {-1, 0, 1}
    assert (states["talon"] == 0).any()
    assert (states["marriages"] > 0).any(axis=0).all()


@settings(max_examples=200)
@given(data=st.data())
def test_all_is_well_under_any_rules(any_rules: st.SearchStrategy[Rules], data: st.DataObject) -> None:
    play_and_check(20, data.draw(any_rules), data.draw(st.integers(0, 2**31)))


def test_all_is_well_in_the_mini_deck_whose_queen_exchanges() -> None:
    """Its queen of trumps can be announced, stay in hand while the king is led, and then be exchanged away."""
    rules = Rules(ranks="QKTA", suits="CDH", hand_size=3, target=500, exchange_min_talon=2)
    states = play_and_check(5000, rules, seed=2)
    trump_marriage = states["marriages"] >> states["trump"][:, None] & 1
    exchanged = states["exchanged_by"] >= 0
    assert trump_marriage[exchanged, states["exchanged_by"][exchanged]].any()


# ------------------------------------------------------------------------------------------------ deals


def test_a_deal_depends_on_seed_game_and_deal_alone() -> None:
    many = new_games(64, DEFAULT_RULES, seed=5)
    deal_all(many, np.zeros(64, np.int64))
    for first, count in ((0, 1), (63, 1), (10, 7), (17, 40)):
        few = new_games(count, DEFAULT_RULES, seed=5, first=first)
        deal_all(few, np.zeros(count, np.int64))
        assert few.tobytes() == many[first : first + count].tobytes()
    assert len(np.unique(many["dealt"], axis=0)) == 64

    later = new_games(64, DEFAULT_RULES, seed=5)
    later["deal"] = 3
    deal_all(later, np.zeros(64, np.int64))
    one = new_games(1, DEFAULT_RULES, seed=5, first=9)
    deal_all(one, np.zeros(1, np.int64))
    assert (one["dealt"] == many["dealt"][9]).all()
    for _ in range(3):
        one["winner"] = -1
        engine.next_deal(one[0])
    assert (one["dealt"] == later["dealt"][9]).all()
    assert (later["dealt"] != many["dealt"]).any(axis=1).all()


def test_game_of_a_seed_is_deal_0_of_game_0() -> None:
    states = new_games(3, "paper", seed=11)
    deal_all(states, np.zeros(3, np.int64))
    assert Game("paper", seed=11).state.tobytes() == states[0].tobytes()


def test_a_deal_leaves_nothing_of_the_one_before() -> None:
    """A reset once kept the terminal flag of the game before (lesson 7)."""
    used, fresh = play_and_check(50, DEFAULT_RULES, seed=3), new_games(50, DEFAULT_RULES, seed=3)
    openers = np.arange(50) % 2
    deal_all(used, openers)
    deal_all(fresh, openers)
    assert used.tobytes() == fresh.tobytes()


def test_talon_is_dealt_from_its_top_and_ends_with_the_trump_turned_up() -> None:
    state = Game("paper", seed=4).state
    assert state.turned_up == state.face_up == state.dealt[23]
    assert state.trump == state.dealt[23] // 6
    assert state.talon == 12
    assert (state.opener, state.leader, state.player) == (0, 0, 0)


# ----------------------------------------------------------------------------------------------- matches


def play_match(rules: Rules, seed: int) -> list[tuple[int, int, tuple[int, int]]]:
    """A random match: for every deal its opener, its winner, and the score after it."""
    rng = np.random.default_rng(seed)
    state = new_games(1, rules, seed)[0]
    engine.new_match(state, seed % 2)
    story = []
    while True:
        while state.player >= 0:
            bits = engine.legal_bits(state)
            engine.apply(state, int(rng.choice([a for a in range(NUM_ACTIONS) if bits >> a & 1])))
        story.append((int(state.opener), int(state.winner), tuple(state.match_points.tolist())))
        if engine.match_over(state):
            return story
        engine.next_deal(state)


@pytest.mark.parametrize(
    "rules",
    [
        Rules.preset("paper"),
        DEFAULT_RULES,
        Rules.preset("classic", match_target=4),
        Rules(ranks="9J", suits="CD", hand_size=1, last_trick_bonus=0, match_target=7),
    ],
    ids=str,
)
def test_loser_leads_the_next_deal_until_the_match_is_won(rules: Rules) -> None:
    drawn = 0
    for seed in range(12):
        story = play_match(rules, seed)
        assert story[0][0] == seed % 2
        before = (0, 0)
        for (opener, winner, score), following in zip(story, [*story[1:], None], strict=True):
            gained = tuple(score[seat] - before[seat] for seat in range(2))
            if winner < 0:
                drawn += 1
                assert gained == (0, 0)
            else:
                assert 1 <= gained[winner] <= 3
                assert gained[1 - winner] == 0
            assert max(before) < rules.match_target
            if following is not None:
                assert following[0] == (opener if winner < 0 else 1 - winner)
            before = score
        assert max(before) >= rules.match_target
    if rules.deck_size == 4:
        assert drawn > 0


# -------------------------------------------------------------------------------------------- odd calls


@pytest.mark.parametrize("action", [-1, 25, 28, 30, 31, 64, 2**40])
def test_an_illegal_action_raises_and_changes_nothing(action: int) -> None:
    state = Game("paper", seed=0).state
    before = state.tobytes()
    with pytest.raises(IllegalAction):
        engine.apply(state, action)
    assert state.tobytes() == before


def test_outcome_before_and_after_the_end() -> None:
    game = Game.from_cards(
        ("9H AH AC QS KD 9D", "TH QH KH JC QC JS"), "TS AS JD 9C 9S TD JH TC KS QD AD KC", 0, "paper"
    )
    assert engine.outcome(game.state) == (-1, 0, 0, 0)
    for action in ("9H", "TH", "announce:H", "QH", "AH", "JD", "JC", "exchange", "close", "announce:C", "QC", "AC"):
        game.apply(action)
    assert engine.outcome(game.state) == (1, 0, 2, 3)
