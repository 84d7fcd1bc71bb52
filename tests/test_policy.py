"""What ships with the protocol itself: the random player, functions of observations, and chains."""

import numpy as np
import pytest

from santase_env import Game
from santase_env.actions import ANNOUNCE, CLAIM, CLOSE, NUM_ACTIONS, action_id
from santase_env.batch import deal_all, new_games, views_to_move
from santase_env.cards import NUM_CARDS, NUM_RANKS
from santase_env.compiled import Array
from santase_env.policy import (
    AgentError,
    ChainPolicy,
    ObservationPolicy,
    Policy,
    RandomPolicy,
    _registered,
    ask,
    identity_of,
    load_policy,
)
from santase_env.rng import derive, mix

KEYS = np.arange(20_000, dtype=np.uint64) * np.uint64(2_654_435_761)


def opening(rules: str = "online") -> tuple[Array, Array]:
    """View [1] and mask [1, 31] of the leader of a deal where he holds a marriage in hearts."""
    game = Game.from_cards(
        ("KH QH 9C JC TD AS", "9H JH 9D JD 9S JS"), "QC KC QD KD QS KS TC AC AD TS TH AH", rules=rules
    )
    return views_to_move(game._states, np.array([0]))


def frequencies(policy: Policy, view: Array, mask: Array) -> Array:
    """How often each of the 31 actions is chosen, over many keys."""
    count = len(KEYS)
    actions = policy.act(np.repeat(view, count), np.repeat(mask, count, axis=0), KEYS)
    return np.bincount(actions, minlength=NUM_ACTIONS) / count


def test_random_is_uniform_over_the_legal_actions_but_false_claims() -> None:
    view, mask = opening("online")
    assert mask[0, CLAIM] == 1
    allowed = mask[0].astype(bool)
    allowed[CLAIM] = False
    shares = frequencies(RandomPolicy(), view, mask)
    assert not shares[~allowed].any()
    np.testing.assert_allclose(shares[allowed], 1 / allowed.sum(), atol=0.01)


def test_random_with_any_claims_is_uniform_over_all_legal_actions() -> None:
    view, mask = opening("online")
    shares = frequencies(RandomPolicy(claims="any"), view, mask)
    np.testing.assert_allclose(shares, mask[0] / mask[0].sum(), atol=0.01)


def test_random_makes_true_claims() -> None:
    view, mask = opening("online")
    view["points"][0, view["seat"][0]] = view["target"][0]
    assert frequencies(RandomPolicy(), view, mask)[CLAIM] == pytest.approx(1 / mask.sum(), abs=0.01)


def test_random_refuses_another_value_of_claims() -> None:
    with pytest.raises(ValueError, match="claims must be 'true' or 'any', not 'some'"):
        RandomPolicy(claims="some")  # type: ignore[arg-type]


def many_openings(count: int = 200, rules: str = "online") -> tuple[Array, Array]:
    """Views [B] and masks [B, 31] at the start of many deals, in all trump suits."""
    states = new_games(count, rules, seed=3)
    deal_all(states, np.zeros(count, np.int64))
    return views_to_move(states, np.arange(count))


def last_legal(observations: Array, masks: Array) -> Array:
    """The legal action of the highest id."""
    return NUM_ACTIONS - 1 - masks[:, ::-1].argmax(axis=1)


@pytest.mark.parametrize("canonical_suits", [False, True])
def test_observation_policy_answers_legally_in_real_suits(canonical_suits: bool) -> None:
    views, masks = many_openings()
    actions = ObservationPolicy(last_legal, canonical_suits=canonical_suits).act(views, masks, KEYS)
    assert masks[np.arange(len(views)), actions].all()


def test_observation_policy_with_canonical_suits_maps_actions_back() -> None:
    view, mask = opening()
    assert view["trump"][0] == 2, "hearts are trumps here"

    def announce_first_suit(observations: Array, masks: Array) -> Array:
        assert masks[0, ANNOUNCE : ANNOUNCE + 4].tolist() == [1, 0, 0, 0]
        return np.array([ANNOUNCE])

    def first_club(observations: Array, masks: Array) -> Array:
        assert masks[0, NUM_RANKS : NUM_RANKS + 2].tolist() == [1, 1], "clubs come second, after the trumps"
        return np.array([NUM_RANKS])

    assert ObservationPolicy(announce_first_suit, canonical_suits=True).act(view, mask, KEYS)[0] == action_id(
        "announce:H"
    )
    assert ObservationPolicy(first_club, canonical_suits=True).act(view, mask, KEYS)[0] == action_id("9C")


def test_observation_policy_with_canonical_suits_sees_the_same_deal_under_any_suit_names() -> None:
    # The same deal with the suits C D H S called H C D S: trumps are first either way, the others keep their order.
    cards = ("KC QC 9D JD TH AS", "9C JC 9H JH 9S JS", "QD KD QH KH QS KS TD AD AH TS TC AC")
    renamed = tuple(text.translate(str.maketrans("CDH", "HCD")) for text in cards)
    seen = []

    def look(observations: Array, masks: Array) -> Array:
        seen.append((observations[0], masks[0]))
        return last_legal(observations, masks)

    policy = ObservationPolicy(look, canonical_suits=True)
    for first, second, talon in (cards, renamed):
        game = Game.from_cards((first, second), talon)
        policy.act(*views_to_move(game._states, np.array([0])), KEYS)
    np.testing.assert_array_equal(seen[0][0], seen[1][0])
    np.testing.assert_array_equal(seen[0][1], seen[1][1])


def test_observation_policy_refuses_a_function_that_returns_another_shape() -> None:
    views, masks = many_openings(3)
    with pytest.raises(ValueError, match=r"must return 3 actions, not an array of shape \(3, 31\)"):
        ObservationPolicy(lambda observations, masks: masks).act(views, masks, KEYS)


class _FirstCard:
    """Plays the lowest legal card."""

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        return np.asarray(masks[:, :NUM_CARDS].argmax(axis=1))


class _ClubsOnly:
    """Applies where clubs are trumps; plays the highest legal card."""

    def applies(self, views: Array, masks: Array) -> Array:
        return np.asarray(views["trump"] == 0)

    def act(self, views: Array, masks: Array, keys: Array) -> Array:
        assert (views["trump"] == 0).all(), "asked where it does not apply"
        return NUM_CARDS - 1 - np.asarray(masks[:, NUM_CARDS - 1 :: -1].argmax(axis=1))


def test_chain_asks_the_first_where_it_applies_and_the_second_elsewhere() -> None:
    views, masks = many_openings()
    clubs = views["trump"] == 0
    assert 0 < clubs.sum() < len(views)
    actions = ChainPolicy(_ClubsOnly(), _FirstCard()).act(views, masks, KEYS[: len(views)])
    np.testing.assert_array_equal(actions[clubs], _ClubsOnly().act(views[clubs], masks[clubs], KEYS))
    np.testing.assert_array_equal(actions[~clubs], _FirstCard().act(views[~clubs], masks[~clubs], KEYS))


def test_the_identity_of_a_chain_is_that_of_its_parts() -> None:
    parts = [RandomPolicy() for _ in range(4)]
    chain = ChainPolicy(ChainPolicy(parts[0], parts[1]), ChainPolicy(parts[2], parts[3]))
    assert identity_of(parts[0]) == identity_of(chain) == ""
    parts[1].identity, parts[2].identity = "abc", "def"  # type: ignore[attr-defined]
    assert [identity_of(part) for part in parts] == ["", "abc", "def", ""]
    assert identity_of(chain) == "abc,def"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, True) for text in ("true", "True", "TRUE")),
        *((text, False) for text in ("false", "False", "fALSE")),
        *(("None", None), ("none", "none"), ("3", 3), ("0.5", 0.5), ("trueish", "trueish"), ("'true'", "true")),
    ],
)
def test_options_are_what_their_texts_say(monkeypatch: pytest.MonkeyPatch, text: str, value: object) -> None:
    class Keeps(RandomPolicy):
        def __init__(self, option: object = None) -> None:
            super().__init__()
            self.option = option

    monkeypatch.setitem(_registered, "keeps", Keeps)
    option = load_policy(f"keeps:option={text}").option  # type: ignore[attr-defined]
    assert (option, type(option)) == (value, type(value))


def test_true_is_a_text_where_the_option_is_one() -> None:
    assert load_policy("random:claims=true").claims == "true"  # type: ignore[attr-defined]


def test_options_by_their_place_are_read_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    class Keeps(RandomPolicy):
        def __init__(self, path: str, worlds: int = 1, style: str = "calm", other: object = None) -> None:
            super().__init__()
            self.options = path, worlds, style, other

    monkeypatch.setitem(_registered, "keeps", Keeps)
    made = [load_policy(spec) for spec in ("keeps:1e3,7,0x10,false", "keeps:path=1e3,worlds=7,style=0x10,other=false")]
    assert [policy.options for policy in made] == [("1e3", 7, "0x10", False)] * 2  # type: ignore[attr-defined]


def test_an_option_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="claims is given twice"):
        load_policy("random:claims=true,claims=any")


@pytest.mark.parametrize("spec", ["random", "greedy", "heuristic", "endgame"])
def test_what_a_mask_allows_is_done_though_it_has_no_card(spec: str) -> None:
    views, masks = many_openings(rules="online,close_on_opening_lead=true")
    for action in (CLOSE, CLAIM):
        rows = np.flatnonzero(masks[:, action])
        only = np.zeros_like(masks[rows])
        only[:, action] = 1
        assert len(rows) > 20
        assert (load_policy(spec).act(views[rows], only, np.arange(len(rows), dtype=np.uint64)) == action).all()


def test_keys_do_not_tell_how_the_cards_were_dealt() -> None:
    """mix can be turned back step by step; a key of a decision cannot."""
    assert mix(np.uint64(5), 3) != derive(np.uint64(5), 3)
    assert derive(np.uint64(5), 3) == mix(np.uint64(5), 3) ^ 5


@pytest.mark.parametrize("spec", ["random", "greedy", "heuristic"])
def test_an_empty_mask_is_refused_with_a_sentence(spec: str) -> None:
    """pytorch/rl 1471: all-zero masks of idle agents fed to a policy."""
    views, masks = opening()
    with pytest.raises(ValueError, match="row 0 of the masks is all zero"):
        load_policy(spec).act(views, masks * 0, np.zeros(1, np.uint64))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.array([99]), "chose action 99, which is not legal there; legal: "),
        (np.array([30]), "chose claim"),
        (np.array([0, 1]), "must return 1 integers"),
        (np.array([0.0]), "type float64"),
    ],
)
def test_answers_of_a_policy_are_checked(answer: Array, message: str) -> None:
    class Stubborn:
        def act(self, views: Array, masks: Array, keys: Array) -> Array:
            return answer

    views, masks = opening("online,false_claim=illegal")
    with pytest.raises(AgentError, match=message):
        ask(Stubborn(), "Stubborn", views, masks, np.zeros(1, np.uint64))
