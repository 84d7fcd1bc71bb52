"""The table of the 31 actions."""

import numpy as np
import pytest

from santase_env import actions
from santase_env.cards import CARD_TEXTS


def test_the_31_actions_have_the_ids_that_files_and_networks_rely_on() -> None:
    assert actions.NUM_ACTIONS == len(actions.ACTION_TEXTS) == 31
    assert actions.ACTION_TEXTS[:24] == CARD_TEXTS
    assert actions.ACTION_TEXTS[24:] == (
        "announce:C", "announce:D", "announce:H", "announce:S", "exchange", "close", "claim"
    )  # fmt: skip
    assert (actions.ANNOUNCE, actions.EXCHANGE, actions.CLOSE, actions.CLAIM) == (24, 28, 29, 30)


def test_ids_and_texts_name_the_same_actions() -> None:
    for number, text in enumerate(actions.ACTION_TEXTS):
        assert actions.action_id(text) == actions.action_id(number) == number
    assert actions.action_id(np.int64(14)) == 14


@pytest.mark.parametrize("action", ["", "qh", "announce", "announce:X", "close ", -1, 31, 2.0, None])
def test_what_is_no_action_is_named(action: object) -> None:
    with pytest.raises(actions.IllegalAction, match="is not an action") as caught:
        actions.action_id(action)  # type: ignore[arg-type]
    assert (repr(action) if not isinstance(action, int) else str(action)) in str(caught.value)
