"""Shared by the tests of agents."""

from collections.abc import Callable

import numpy as np
import pytest

from santase_env import Game, Rules, load_policy
from santase_env.actions import ACTION_TEXTS
from santase_env.batch import views_to_move
from santase_env.cards import card_texts

Choose = Callable[[str, Game], str]
Deal = Callable[..., Game]


@pytest.fixture(scope="session")
def choose() -> Choose:
    """choose(agent, game): the text of what the agent does as the player to move."""

    def ask(agent: str, game: Game) -> str:
        views, masks = views_to_move(game._states, np.array([0]))
        return ACTION_TEXTS[int(load_policy(agent).act(views, masks, np.ones(1, np.uint64))[0])]

    return ask


@pytest.fixture(scope="session")
def deal_of() -> Deal:
    """deal_of(mine, theirs, face_up, first=…, rules=…, then=…): a deal that seat 0 leads.

    ``first`` are the talon's top cards, and cards not named lie under them; ``then`` is done before the question.
    """

    def make(
        mine: str,
        theirs: str,
        face_up: str,
        first: str = "",
        rules: str = "online,false_claim=illegal",
        then: str = "",
    ) -> Game:
        named = {*mine.split(), *theirs.split(), *first.split(), face_up}
        rest = [text for text in card_texts(Rules.of(rules).deck) if text not in named]
        game = Game.from_cards((mine, theirs), " ".join([*first.split(), *rest, face_up]), rules=rules)
        for action in then.split():
            game.apply(action)
        return game

    return make
