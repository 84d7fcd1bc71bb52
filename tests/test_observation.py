"""The observation: every piece says what LAYOUT promises, and canonical suits are a pure renaming."""

from typing import Any

import numpy as np
import pytest

from santase_env import Game, encode
from santase_env.actions import ACTION_TEXTS, NUM_ACTIONS
from santase_env.cards import CARD_IDS, CARD_TEXTS, RANKS, SUITS
from santase_env.observation import (
    LAYOUT,
    OBSERVATION_SIZE,
    RECALL_LAYOUT,
    canonical_actions,
    canonical_masks,
    encode_batch,
    real_action,
    real_actions,
)
from santase_env.view import VIEW

PRESETS = ["paper", "classic", "online,false_claim=illegal", "online"]
DEAL: dict[str, Any] = {
    "hands": ("9H AH AC QS KD 9D", "TH QH KH JC QC JS"),
    "talon": "TS AS JD 9C 9S TD JH TC KS QD AD KC",
}


def pieces(row: Any) -> dict[str, list[float]]:
    """An observation as its named pieces."""
    return {piece.name: row[piece.start : piece.start + piece.size].tolist() for piece in LAYOUT}


def cards_of(values: list[float]) -> set[str]:
    """The cards marked in a piece of 24."""
    assert set(values) <= {0.0, 1.0}
    return {text for text, value in zip(CARD_TEXTS, values, strict=True) if value}


def near(*values: float) -> Any:
    return pytest.approx(list(values), abs=1e-6)


def random_action(game: Game, rng: np.random.Generator) -> str:
    """Any action, but rarely a close or a claim, so that deals last."""
    legal = game.legal_texts()
    kept = [action for action in legal if action not in ("close", "claim")] if rng.random() < 0.75 else legal
    return str(rng.choice(kept))


# ---------------------------------------------------------------------------------------------- layout


def test_layout_covers_the_vector_without_gaps() -> None:
    assert len({piece.name for piece in LAYOUT}) == len(LAYOUT)
    place = 0
    for piece in LAYOUT:
        assert piece.start == place
        assert piece.size > 0
        assert piece.meaning
        place += piece.size
    assert place == OBSERVATION_SIZE == len(encode(Game(seed=0).view(0)))


class Tracker:
    """What everybody could write down while watching a deal, from the actions and the public side of Game alone."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.played: tuple[set[str], set[str]] = (set(), set())
        self.taken: tuple[set[str], set[str]] = (set(), set())
        self.known: tuple[set[str], set[str]] = (set(), set())
        self.marriages: tuple[set[str], set[str]] = (set(), set())
        self.closed_by: int | None = None
        self.first: int | None = None
        self.leader = game.player
        self.announced = False

    def apply(self, action: str) -> None:
        game, me = self.game, self.game.player
        assert me is not None
        bottom, table, tricks, talon = game.talon[-1:], game.table, game.tricks, len(game.talon)
        if action != "claim":
            self.announced = action.startswith("announce")
        game.apply(action)
        if action.startswith("announce"):
            self.known[me].update({"K" + action[-1], "Q" + action[-1]})
            self.marriages[me].add(action[-1])
        elif action == "exchange":
            self.known[me].update(bottom)
        elif action == "close":
            self.closed_by = me
        elif action in CARD_IDS:
            self.played[me].add(action)
            self.known[me].discard(action)
            if table is not None:
                winner = 0 if game.tricks[0] > tricks[0] else 1
                self.taken[winner].update({table, action})
                self.leader = winner
                if talon == 2 and self.closed_by is None:
                    self.known[1 - winner].update(bottom)
        for seat in (me, 1 - me):
            if self.first is None and game.points[seat] >= game.rules.target:
                self.first = seat

    def expect(self, me: int) -> dict[str, Any]:
        """The pieces as they must be for this player."""
        game, rules, other = self.game, self.game.rules, 1 - me
        deck = {CARD_TEXTS[card] for card in rules.deck}
        talon, trump, target = game.talon, game.trump, rules.target
        mine = set(game.hands[me])
        seen = mine | self.played[0] | self.played[1] | self.known[other] | set(talon[-1:])
        size = rules.deck_size - 2 * rules.hand_size
        return {
            "hand": mine,
            "played_mine": self.played[me],
            "played_theirs": self.played[other],
            "taken_mine": self.taken[me],
            "table": {game.table} - {None},
            "known_theirs": self.known[other],
            "unseen": deck - seen,
            "trump_suit": [float(suit == trump) for suit in SUITS],
            "face_up": [float(rank + trump in talon[-1:]) for rank in RANKS],
            "talon": near(len(talon) / size),
            "closed": [float(self.closed_by == me), float(self.closed_by == other)],
            "strict": [float(not talon or self.closed_by is not None)],
            "leading": [float(self.leader == me)],
            "to_move": [float(game.player == me)],
            "announced": [float(self.announced)],
            "points": near(*(min(game.points[seat] / target, 1) for seat in (me, other))),
            "points_beyond": near(*(min(max(game.points[seat] - target, 0) / 200, 1) for seat in (me, other))),
            "pending": near(*(min(game.pending[seat] / target, 1) for seat in (me, other))),
            "safe": [float(game.points[seat] >= rules.schneider) for seat in (me, other)],
            "first_to_target": [float(self.first == me), float(self.first == other)],
            "tricks": near(*(game.tricks[seat] / 12 for seat in (me, other))),
            "marriages_mine": [float(suit in self.marriages[me]) for suit in SUITS],
            "marriages_theirs": [float(suit in self.marriages[other]) for suit in SUITS],
            "match_points": near(
                *(min((game.result.game_points[seat] if game.result else 0) / rules.match_target, 1)
                  for seat in (me, other))
            ),
            "rules": [
                float(value)
                for value in (
                    rules.marriage_on_opening_lead,
                    rules.close_on_opening_lead,
                    rules.close_min_talon > 2,
                    rules.claim == "after_trick",
                    rules.claim == "on_turn",
                    rules.claim == "immediate",
                    rules.false_claim == "illegal",
                    rules.failed_close == "three",
                    rules.exhausted == "draw",
                )
            ],
        }  # fmt: skip


MINI = "online,ranks=QKTA,suits=CDH,hand_size=3,target=40,schneider=12,false_claim=illegal"


@pytest.mark.parametrize("rules", [*PRESETS, MINI])
def test_every_piece_is_what_its_name_says(rules: str) -> None:
    seen: set[str] = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        game = Game(rules, seed)
        tracker = Tracker(game)
        while True:
            for seat in range(2):
                row = encode(game.view(seat))
                assert row.dtype == np.float32
                assert 0 <= row.min() <= row.max() <= 1
                found = pieces(row)
                expected = tracker.expect(seat)
                assert list(found) == list(expected)
                for name, value in expected.items():
                    got = cards_of(found[name]) if isinstance(value, set) else found[name]
                    assert got == value, f"{name} of seat {seat}: {game.record()}"
                    if any(found[name]):
                        seen.add(name)
            if game.over:
                break
            tracker.apply(random_action(game, rng))
    assert {piece.name for piece in LAYOUT} - seen <= {"pending"}  # paper and classic have nothing pending


def test_pieces_in_the_worked_example() -> None:
    game = Game.from_cards(**DEAL, rules="paper")
    for action in ("9H", "TH", "announce:H", "QH", "AH", "JD", "JC", "exchange", "close", "announce:C"):
        game.apply(action)
    mine, theirs = (pieces(encode(game.view(seat))) for seat in range(2))
    assert cards_of(mine["known_theirs"]) == {"KH", "QC", "KC"}
    assert cards_of(theirs["known_theirs"]) == set()
    assert cards_of(theirs["hand"]) == {"QC", "KC", "KH", "JS", "TS", "9S"}
    assert cards_of(mine["unseen"]) == {"JS", "TS", "9S"} | {"JH", "TC", "KS", "QD", "AD"}
    assert cards_of(mine["taken_mine"]) == {"QH", "AH"}
    assert cards_of(mine["played_theirs"]) == {"TH", "QH", "JC"}
    assert mine["face_up"] == theirs["face_up"] == [1, 0, 0, 0, 0, 0]  # the nine, since the exchange
    assert mine["talon"] == near(6 / 12)
    assert (mine["closed"], theirs["closed"]) == ([0, 1], [1, 0])
    assert (mine["to_move"], theirs["to_move"]) == ([0], [1])
    assert mine["points"] == near(14 / 66, 1)
    assert mine["points_beyond"] == near(0, 8 / 200)
    assert mine["safe"] == [0, 1]
    assert mine["first_to_target"] == [0, 1]
    assert mine["marriages_theirs"] == theirs["marriages_mine"] == [1, 0, 1, 0]
    assert mine["announced"] == theirs["announced"] == [1]


def test_match_points_are_a_share_of_what_ends_the_match() -> None:
    game = Game("paper", seed=1)
    game.state.match_points[:] = (3, 12)
    assert pieces(encode(game.view(0)))["match_points"] == near(3 / 11, 1)
    assert pieces(encode(game.view(1)))["match_points"] == near(1, 3 / 11)


# -------------------------------------------------------------------------------------- canonical suits


def rename(text: str, trump: str, new_trump: str) -> str:
    """A card or action with suits renamed so that ``new_trump`` is the trump and the others keep their order."""
    old = trump + "".join(suit for suit in SUITS if suit != trump)
    new = new_trump + "".join(suit for suit in SUITS if suit != new_trump)
    if text in CARD_IDS or text.startswith("announce"):
        return text[:-1] + new[old.index(text[-1])]
    return text


def rename_all(cards: str, trump: str, new_trump: str) -> str:
    return " ".join(rename(card, trump, new_trump) for card in cards.split())


@pytest.mark.parametrize("rules", PRESETS)
def test_renaming_the_suits_changes_nothing_canonical(rules: str) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        game = Game(rules, seed)
        record = game.record()
        twins = {}
        for trump in SUITS:
            *hands, talon = (rename_all(cards, game.trump, trump) for cards in (*record["hands"], record["talon"]))
            twins[trump] = Game.from_cards(hands, talon, 0, rules)
            assert twins[trump].trump == trump
        while True:
            for seat in range(2):
                rows = {trump: encode(twin.view(seat), True).tobytes() for trump, twin in twins.items()}
                assert len(set(rows.values())) == 1
            masks = set()
            for twin in twins.values():
                views = np.zeros(1, VIEW)
                views[0] = twin.view(0)
                mask = np.zeros((1, NUM_ACTIONS), np.int8)
                mask[0, twin.legal_actions()] = 1
                masks.add(canonical_masks(views, mask).tobytes())
            assert len(masks) == 1
            if game.over:
                break
            action = random_action(game, rng)
            for trump, twin in twins.items():
                twin.apply(rename(action, game.trump, trump))
            game.apply(action)
        assert len({twin.result for twin in twins.values()}) == 1


def test_with_clubs_as_trumps_canonical_is_real() -> None:
    game = Game.from_cards(**DEAL, rules="paper")
    game.apply("9H")
    assert (encode(game.view(0), True) == encode(game.view(0), False)).all()
    *hands, talon = (rename_all(cards, "C", "S") for cards in (*DEAL["hands"], DEAL["talon"]))
    spades = Game.from_cards(hands, talon, rules="paper")
    assert (encode(spades.view(0), True) != encode(spades.view(0), False)).any()
    assert cards_of(pieces(encode(spades.view(0), True))["hand"]) == set(DEAL["hands"][0].split())


def test_canonical_names_are_a_bijection_that_real_action_inverts() -> None:
    for first, suit in enumerate(SUITS):
        order = [suit, *(other for other in SUITS if other != suit)]
        reals = [real_action(action, first) for action in range(NUM_ACTIONS)]
        assert sorted(reals) == list(range(NUM_ACTIONS))
        for action, real in enumerate(reals):
            text = ACTION_TEXTS[action]
            if action < 28:
                text = text[:-1] + order[SUITS.index(text[-1])]
            assert ACTION_TEXTS[real] == text
            assert canonical_actions(1 << real, first) == 1 << action


def test_batches_are_the_single_ones() -> None:
    games = [Game(rules, seed) for seed, rules in enumerate(PRESETS * 3)]
    rng = np.random.default_rng(0)
    for game in games:
        for _ in range(9):
            if not game.over:
                game.apply(random_action(game, rng))
    views, masks = np.zeros(len(games), VIEW), np.zeros((len(games), NUM_ACTIONS), np.int8)
    for row, game in enumerate(games):
        views[row] = game.view(game.player or 0)
        masks[row, game.legal_actions()] = 1
    for canonical in (False, True):
        rows, renamed = encode_batch(views, masks, canonical)
        for row, game in enumerate(games):
            assert (rows[row] == encode(game.view(game.player or 0), canonical)).all()
            names = real_actions(np.repeat(views[row : row + 1], NUM_ACTIONS), np.arange(NUM_ACTIONS))
            chosen = names if canonical else np.arange(NUM_ACTIONS)
            assert (renamed[row] == masks[row][chosen]).all()


def test_rules_of_the_deal_reach_the_observation() -> None:
    rows = {rules: tuple(pieces(encode(Game(rules, seed=1).view(0)))["rules"]) for rules in PRESETS}
    assert len(set(rows.values())) == 4
    assert rows["paper"] == (0, 1, 0, 1, 0, 0, 0, 1, 1)
    assert rows["online"] == (1, 0, 0, 0, 1, 0, 0, 0, 0)
    assert rows["classic"] == (0, 0, 1, 0, 0, 1, 0, 1, 1)
    assert rows["online,false_claim=illegal"] == (1, 0, 0, 0, 1, 0, 1, 0, 0)


@pytest.mark.parametrize("canonical", [False, True])
def test_recall_tells_the_log_and_the_order_of_ones_own_cards(canonical: bool) -> None:
    rng = np.random.default_rng(3)
    for seed in range(30):
        game = Game("online", seed=seed)
        for _ in range(int(rng.integers(25))):
            if not game.over:
                game.apply(random_action(game, rng))
        for seat in range(2):
            view = game.view(seat)
            row = encode(view, canonical, recall=True)
            assert ((row >= 0) & (row <= 1)).all()
            told = {piece.name: row[piece.start : piece.start + piece.size] for piece in RECALL_LAYOUT}
            log: dict[int, tuple[int, int]] = {}
            for mine, name in enumerate(("when_theirs", "when_mine")):
                for action in np.flatnonzero(told[name]):
                    real = real_action(int(action), int(view.trump)) if canonical else int(action)
                    log[round(float(told[name][action]) * 32) - 1] = (real, mine)
            entries = [int(entry) for entry in view.log[: view.log_length]]
            assert [log[place] for place in sorted(log)] == [
                (entry % 32, int(entry // 32 == seat)) for entry in entries
            ]
            order = sorted(np.flatnonzero(told["came"]), key=lambda card: float(told["came"][card]))
            cards = [real_action(int(card), int(view.trump)) if canonical else int(card) for card in order]
            assert cards == [int(card) for card in view.cards if card >= 0]
