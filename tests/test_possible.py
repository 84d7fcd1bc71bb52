"""A VIEW that no play can lead to is refused, and one that play leads to never is."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from santase_env import Game, Rules, check_views, engine, sample_state, view_of
from santase_env.actions import ACTION_IDS, CLAIM, NUM_ACTIONS
from santase_env.batch import new_games, opener_of
from santase_env.cards import CARD_IDS, card_set, parse_cards
from santase_env.compiled import Array, Record, jit
from santase_env.policy import random_action
from santase_env.possible import FAULTS, FINE, describe_fault
from santase_env.rng import mix
from santase_env.state import LOG_PLAYER, STATE
from santase_env.view import VIEW, fill_sample, fill_view, view_fault

RULES = (
    "paper",
    "online",
    "online,false_claim=illegal",
    "classic",
    "online,ranks=QKTA,suits=CH,hand_size=2,target=30,schneider=15,false_claim=illegal",
    "paper,ranks=JKTA,suits=DHS,hand_size=4,target=40,schneider=20,exchange_min_talon=2",
    "online,ranks=QK,marriage_on_opening_lead=true,hand_size=2,exchange_min_talon=2,claim=immediate,target=200",
    "classic,hand_size=11",
)
GAPS = [VIEW.fields[name][1] for name in VIEW.names or () if name.startswith("gap")]


@jit
def play(states: Array, seed: int, matches: int, views: Array) -> int:
    """Random matches of up to ``matches`` deals; writes both views of every state, and returns how many.

    Claims that are false are left out, or most deals would be short.
    """
    mask, filled = np.zeros(NUM_ACTIONS, np.int8), 0
    for game in range(len(states)):
        state = states[game]
        engine.new_match(state, opener_of(game, 0))
        for step in range(32 * matches):
            for seat in range(2):
                fill_view(state, seat, views[filled])
                filled += 1
            if state.player < 0:
                if engine.match_over(state) or state.deal + 1 >= matches:
                    break
                engine.next_deal(state)
                continue
            engine.legal_mask(state, mask)
            if state.points[state.player] < state.target and game & 3:
                mask[CLAIM] = 0
            engine.apply(state, random_action(mask, mix(state.key, 1000 + step + seed)))
    return filled


def views_of_play(rules: Rules | str, games: int, seed: int, matches: int = 1) -> Array:
    """VIEWs of both players at every turn of random deals, from the first turn to after the end."""
    views = np.zeros(games * matches * 70, VIEW)
    return views[: play(new_games(games, rules, seed), seed, matches, views)]


# ---------------------------------------------------------------------------------------- what can be


@pytest.mark.parametrize("rules", RULES)
def test_views_of_play_are_possible(rules: str) -> None:
    views = views_of_play(rules, games=300, seed=5, matches=3)
    assert len(views) > 5000
    assert {-1, 0, 1} == set(views["player"].tolist())
    assert views["match_points"].max() > 1
    check_views(views)


@settings(max_examples=150)
@given(data=st.data())
def test_views_of_play_under_any_rules_are_possible(any_rules: st.SearchStrategy[Rules], data: st.DataObject) -> None:
    check_views(views_of_play(data.draw(any_rules), games=20, seed=data.draw(st.integers(0, 2**31)), matches=2))


def test_any_form_of_an_array_of_views_will_do() -> None:
    views = views_of_play("paper", games=3, seed=1)
    before = views.tobytes()
    read_only = views.copy()
    read_only.flags.writeable = False
    moved = np.zeros(views.nbytes + 1, np.uint8)
    moved[1:] = views.view(np.uint8)
    plain = views.view(np.dtype([(name, *VIEW.fields[name][:1]) for name in VIEW.names or ()], align=True))
    for form in (
        views,
        views[::3],
        views[::-1],
        read_only,
        moved[1:].view(VIEW),
        views[:0],
        views[0],
        views[5:6],
        plain,
    ):
        check_views(form)
    check_views(views[0].copy())
    check_views(np.array(views[0], VIEW))
    assert views.tobytes() == before


def test_the_fields_without_meaning_may_hold_anything() -> None:
    view = Game("paper", seed=1).view(0)
    view["gap_1"] = 77
    check_views(view)


# ------------------------------------------------------------------------------------- what cannot be


def a_game() -> Game:
    """The deal of the paper text's worked example, to the first lead after the talon was closed."""
    game = Game.from_cards(
        ("9H AH AC QS KD 9D", "TH QH KH JC QC JS"), "TS AS JD 9C 9S TD JH TC KS QD AD KC", 0, "paper"
    )
    for action in ("9H", "TH", "announce:H", "QH", "AH", "JD", "JC", "exchange", "close", "announce:C", "QC"):
        game.apply(action)
    return game


def cards(text: str) -> int:
    return card_set(parse_cards(text))


def entry(seat: int, action: str) -> int:
    return LOG_PLAYER * seat + ACTION_IDS[action]


def put(field: str, value: int, index: int | None = None) -> Callable[[Record], None]:
    """Set a field, or one of its row."""

    def change(view: Record) -> None:
        if index is None:
            view[field] = value
        else:
            view[field][index] = value

    return change


def add(text: str, field: str, seat: int | None = None) -> Callable[[Record], None]:
    """Put cards into a set."""

    def change(view: Record) -> None:
        if seat is None:
            view[field] |= cards(text)
        else:
            view[field][seat] |= cards(text)

    return change


def remove(text: str, field: str, seat: int | None = None) -> Callable[[Record], None]:
    """Take cards, which are there, out of a set."""

    def change(view: Record) -> None:
        if seat is None:
            view[field] ^= cards(text)
        else:
            view[field][seat] ^= cards(text)

    return change


def both(*changes: Callable[[Record], None]) -> Callable[[Record], None]:
    def change(view: Record) -> None:
        for one in changes:
            one(view)

    return change


def without_nine_of_clubs(view: Record) -> None:
    view.deck ^= cards("9C")
    view.deck_size -= 1


IMPOSSIBLE: list[tuple[str, Callable[[Record], None]]] = [
    ("seat is 2, not from 0 to 1", put("seat", 2)),
    ("opener is -1, not from 0 to 1", put("opener", -1)),
    ("player is 2, not from -1 to 1", put("player", 2)),
    ("closed_by is -2, not from -1 to 1", put("closed_by", -2)),
    ("exchanged_by is 3, not from -1 to 1", put("exchanged_by", 3)),
    ("trump is 4, not from 0 to 3", put("trump", 4)),
    ("turned_up is -1, not from 0 to 23", put("turned_up", -1)),
    ("face_up is 24, not from -1 to 23", put("face_up", 24)),
    ("talon is -2, not from 0 to 22", put("talon", -2)),
    ("log_length is 33, not from 0 to 32", put("log_length", 33)),
    ("hand_size is 12, not from 1 to 11", put("hand_size", 12)),
    ("target is 0, not from 1 to 1000", put("target", 0)),
    ("claim is 3, not from 0 to 2", put("claim", 3)),
    ("close_on_opening_lead is 2, not from 0 to 1", put("close_on_opening_lead", 2)),
    ("its deck is not deck_size cards, the same ranks from lowest_rank up in every suit", without_nine_of_clubs),
    ("its deck is not deck_size cards, the same ranks from lowest_rank up in every suit", put("deck_size", 22)),
    ("its deck is not deck_size cards, the same ranks from lowest_rank up in every suit", put("lowest_rank", 1)),
    (
        "its hand_size leaves no even talon of at least 2 cards",
        both(put("deck", cards("QC KC QH KH")), put("deck_size", 4), put("lowest_rank", 2), put("hand_size", 2)),
    ),
    ("its talon is odd, or larger than at the deal", put("talon", 7)),
    ("its talon is odd, or larger than at the deal", put("talon", 14)),
    ("face_up must be a card while there is a talon, and -1 after it", put("face_up", -1)),
    ("face_up must be a card while there is a talon, and -1 after it", put("talon", 0)),
    (
        "cards must hold what the player was dealt and drew, as many as the talon says, and -1 after them",
        put("cards", -1, 3),
    ),
    (
        "cards must hold what the player was dealt and drew, as many as the talon says, and -1 after them",
        put("cards", 3, 11),
    ),
    ("a number above those of the cards is not in the deck", put("hand", 1 << 24)),
    ("a number above those of the cards is not in the deck", put("taken", -(1 << 31), 0)),
    ("excluded holds something that is no card", put("excluded", 1 << 24, 1)),
    ("TH is both in the hand and taken by seat 1", add("TH", "hand")),
    ("AS is both in the hand and taken by seat 0", add("AS", "taken", 0)),
    ("KD is both in the hand and known in the other hand", add("KD", "known", 1)),
    ("9C is both face up and played by seat 0", add("9C", "played", 0)),
    ("KC is both known in the other hand and played by seat 1", add("KC", "played", 1)),
    ("9H is both taken by seat 0 and taken by seat 1", add("9H", "taken", 0)),
    ("9H is both played by seat 0 and played by seat 1", add("9H", "played", 1)),
    ("TS is taken but was not played", add("TS", "taken", 1)),
    (
        "TC is the player's own but is not among the cards that he was dealt and drew",
        both(add("TC", "hand"), remove("AS", "hand")),
    ),
    ("the hand and the cards played do not make the number of cards dealt and drawn", remove("KD", "hand")),
    (
        "the other player has played, or is known to hold, more cards than he was dealt and drew",
        add("TS 9S JS QD JH", "known", 1),
    ),
    ("too few cards are left that the other player's replies do not exclude", put("excluded", (1 << 24) - 1, 1)),
    ("the match points before this deal are negative", put("match_points", -1, 1)),
    ("the match points before this deal are negative", put("game_points", 1, 0)),
    ("entry 2 of the log is 31, which is no action", put("log", 31, 2)),
    ("entry 2 of the log is -5, which is no action", put("log", -5, 2)),
    ("entry 2 of the log is 64, which is no action", put("log", 64, 2)),
    ("the log and played differ about TH", put("log", entry(0, "TH"), 1)),
    ("the log and played differ about 9D", put("log", entry(0, "9D"), 0)),
    ("the log and played differ about QC", put("log_length", 10)),
    ("action 8 of the log (claim by seat 1) is not legal", put("log", entry(1, "claim"), 8)),
    ("no deal of its deck fits its cards and its log", put("trump", 1)),
    ("action 9 of the log (exchange by seat 1) is not legal", put("log", entry(1, "exchange"), 9)),
    ("log holds something after its log_length", put("log", 1, 20)),
    ("tricks is not what the log leads to", put("tricks", 5, 0)),
    ("points is not what the log leads to", put("points", 66, 1)),
    ("pending is not what the log leads to", put("pending", 20, 0)),
    ("taken is not what the log leads to", remove("9H", "taken", 1)),
    ("known is not what the log leads to", add("KD", "known", 0)),
    ("excluded is not what the log leads to", put("excluded", cards("9D"), 1)),
    ("marriages is not what the log leads to", put("marriages", 15, 0)),
    ("winner is not what the log leads to", put("winner", 1)),
    ("reason is not what the log leads to", put("reason", 100)),
    ("table is not what the log leads to", put("table", -1)),
    ("leader is not what the log leads to", put("leader", 7)),
    ("trick_winners is not what the log leads to", put("trick_winners", 5 | 1 << 9)),
]


@pytest.mark.parametrize(("message", "change"), IMPOSSIBLE, ids=[f"{i}" for i in range(len(IMPOSSIBLE))])
def test_impossible_views_are_refused(message: str, change: Callable[[Record], None]) -> None:
    view = a_game().view(0)
    check_views(view)
    views = np.array([view] * 5, VIEW)
    change(view)
    with pytest.raises(ValueError, match="impossible") as error:
        check_views(view)
    assert str(error.value) == f"impossible view: {message}"
    with pytest.raises(ValueError, match="impossible") as error:
        sample_state(view, 1)
    assert str(error.value) == f"impossible view: {message}"
    views[3] = view
    with pytest.raises(ValueError, match="impossible") as error:
        check_views(views)
    assert str(error.value) == f"row 3 is an impossible view: {message}"


def test_a_card_outside_a_mini_deck_is_named() -> None:
    view = Game("online,ranks=QKTA,suits=CH,hand_size=2", seed=1).view(0)
    view.known[1] = cards("9S")
    with pytest.raises(ValueError, match=r"^impossible view: 9S is not in the deck$"):
        check_views(view)


def test_a_hand_that_the_log_does_not_lead_to_is_refused() -> None:
    game = Game.from_cards(("QC KC AC", "QD KD TD"), "AD QH KH TH AH TC", 0, "paper,ranks=QKTA,suits=CDH,hand_size=3")
    view = game.view(0)
    view.hand ^= cards("AC TC")  # the card turned up is in the hand, and nobody has exchanged
    with pytest.raises(ValueError, match="impossible view: TC is both in the hand and face up"):
        check_views(view)
    view.face_up = CARD_IDS["AC"]
    with pytest.raises(ValueError, match="impossible view: "):
        check_views(view)


@pytest.mark.parametrize(
    "wrong",
    [None, 3, np.zeros(3), np.zeros(2, STATE), np.zeros(1, STATE)[0], "a view", np.zeros(2, VIEW.newbyteorder())],
)
def test_what_is_no_view_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="a view is a record of dtype VIEW") as error:
        check_views(wrong)
    assert len(str(error.value)) < 150


def test_views_are_one_or_a_row() -> None:
    with pytest.raises(ValueError, match=r"one view or a row of them, not an array of shape \(2, 3\)"):
        check_views(np.zeros((2, 3), VIEW))


def test_blank_records_are_refused() -> None:
    with pytest.raises(ValueError, match="row 0 is an impossible view"):
        check_views(np.zeros(2, VIEW))


# ------------------------------------------------------------------------------------------ corrupt bytes


@jit
def faults_of(views: Array, worlds: Array, faults: Array) -> None:
    for i in range(len(views)):
        faults[i] = view_fault(views[i], worlds)


@jit
def views_again(views: Array, worlds: Array, again: Array, seed: int) -> None:
    """The view of the same player in a state drawn from each view."""
    for i in range(len(views)):
        fill_sample(views[i], mix(np.uint64(seed), i), worlds[0])
        fill_view(worlds[0], views[i].seat, again[i])


def refused_or_true(views: Array, seed: int) -> Array:
    """Faults [B] of the views; fails when a view without one is not what its player sees of a state drawn from it."""
    faults, worlds = np.zeros(len(views), np.int64), np.zeros(2, STATE)
    faults_of(views, worlds, faults)
    assert faults.min() >= FINE
    assert faults.max() < len(FAULTS)
    fine = np.flatnonzero(faults == FINE)
    accepted = raw_rows(views)[fine]
    again = np.zeros(len(fine), VIEW)
    views_again(accepted.reshape(-1).view(VIEW), worlds, again, seed)
    shown = raw_rows(again)
    for place in GAPS:
        accepted[:, place] = shown[:, place]
    np.testing.assert_array_equal(accepted, shown)
    for row in np.flatnonzero(faults != FINE)[:2000]:
        text = describe_fault(views[row], int(faults[row]))
        assert text
        assert "{" not in text
    return faults


def raw_rows(views: Array) -> Array:
    """The bytes [B, size] of views."""
    return views.view(np.uint8).reshape(len(views), VIEW.itemsize)


def corrupt(views: Array, rng: np.random.Generator, most: int) -> Array:
    """Copies of the views with 1 to ``most`` bytes of each replaced."""
    damaged = views.copy()
    rows = raw_rows(damaged)
    changes = rng.integers(1, most + 1, len(rows))
    for change in range(most):
        hit = np.flatnonzero(changes > change)
        rows[hit, rng.integers(0, VIEW.itemsize, len(hit))] = rng.integers(0, 256, len(hit), dtype=np.uint8)
    return damaged


def nudge(views: Array, rng: np.random.Generator) -> Array:
    """Copies of the views with one byte of each a little larger or smaller, or with one bit flipped."""
    damaged = views.copy()
    rows = raw_rows(damaged)
    everywhere, places = np.arange(len(rows)), rng.integers(0, VIEW.itemsize, len(rows))
    rows[everywhere, places] += rng.choice(np.array([1, 2, 254, 255], np.uint8), len(rows))
    flip = np.flatnonzero(rng.random(len(rows)) < 0.5)
    rows[flip] = raw_rows(views)[flip]
    rows[flip, places[flip]] ^= np.uint8(1) << rng.integers(0, 8, len(flip), dtype=np.uint8)
    return damaged


def mixed(views: Array, rng: np.random.Generator) -> Array:
    """Copies of the views with some fields of each taken from another one."""
    damaged, others = views.copy(), views[rng.permutation(len(views))]
    for name in VIEW.names or ():
        rows = rng.random(len(views)) < 0.05
        damaged[name][rows] = others[name][rows]
    return damaged


@pytest.mark.parametrize("rules", RULES)
def test_corrupt_views_are_refused_unless_they_are_possible_all_the_same(rules: str) -> None:
    rng = np.random.default_rng(3)
    views = views_of_play(rules, games=400, seed=8)
    for damaged in (corrupt(views, rng, 4), corrupt(views, rng, 1), nudge(views, rng), mixed(views, rng)):
        faults = refused_or_true(damaged, seed=4)
        assert 0.3 < (faults != FINE).mean() < 1


def test_random_bytes_are_refused() -> None:
    rng = np.random.default_rng(4)
    noise = rng.integers(0, 256, (20_000, VIEW.itemsize), dtype=np.uint8).reshape(-1).view(VIEW)
    assert (refused_or_true(noise, seed=1) != FINE).all()
    views = views_of_play("online", games=400, seed=9)
    for name in VIEW.names or ():  # all of one field
        damaged = views.copy()
        damaged[name] = noise[name][: len(views)]
        refused_or_true(damaged, seed=2)


def test_logs_of_random_actions_are_refused_or_true() -> None:
    """The log alone says when the other player showed which card, and so where it may have lain."""
    rng = np.random.default_rng(5)
    views = views_of_play("online", games=600, seed=10)
    damaged = views.copy()
    damaged["log_length"] = rng.integers(0, 33, len(views))
    damaged["log"] = rng.integers(0, NUM_ACTIONS, (len(views), 32)) + LOG_PLAYER * rng.integers(0, 2, (len(views), 32))
    refused_or_true(damaged, seed=3)
    shuffled = views.copy()
    for row in shuffled:
        row.log[: row.log_length] = rng.permutation(row.log[: row.log_length])
    refused_or_true(shuffled, seed=3)


def test_the_first_row_that_cannot_be_is_found() -> None:
    views = views_of_play("paper", games=2, seed=1)
    check_views(views)
    views["seat"][[7, 9]] = 5
    with pytest.raises(ValueError, match="row 7 is an impossible view: seat is 5, not from 0 to 1"):
        check_views(views)
    some = np.ones(len(views), bool)
    some[:9] = False
    with pytest.raises(ValueError, match="row 9 is an impossible view"):
        check_views(views, some)
    some[9] = False
    check_views(views, some)


def test_a_sample_of_a_view_shows_that_view() -> None:
    view = a_game().view(1)
    assert view_of(sample_state(view, 5), 1).tobytes() == view.tobytes()
