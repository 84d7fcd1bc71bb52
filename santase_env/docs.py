"""The reference tables, printed from the code: ``python -m santase_env.docs`` writes docs/reference.md."""

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from . import aec, duel
from .actions import ACTION_TEXTS, ANNOUNCE, CLAIM, CLOSE, EXCHANGE
from .cards import CARD_TEXTS, NUM_RANKS, RANKS, SUITS, VALUES
from .hidden import HIDDEN_LAYOUT, HIDDEN_SIZE
from .observation import LAYOUT, LAYOUT_VERSION, OBSERVATION_SIZE, RECALL_LAYOUT, RECALL_SIZE
from .rules import PRESETS, Rules
from .state import REASONS
from .vector import FINAL, STEP

FILE = Path("docs/reference.md")

ACTION_MEANINGS = (
    (0, ANNOUNCE, "play that card"),
    (ANNOUNCE, EXCHANGE, "announce the marriage of that suit; its king or queen must be led next"),
    (EXCHANGE, CLOSE, "exchange the lowest trump for the face-up card"),
    (CLOSE, CLAIM, "close the talon"),
    (CLAIM, len(ACTION_TEXTS), "claim to hold the target (66)"),
)
REASON_MEANINGS = {
    "none": "the deal has not ended",
    "claim": "a player claimed 66 and had it",
    "false_claim": "a player claimed 66 and did not have it",
    "reached_66": "a player reached the target, which ends the deal by itself under these rules",
    "failed_close": "the closer did not reach the target, or the other did before",
    "exhausted": "the cards ran out: somebody has the target, or by these rules the higher total wins",
    "last_trick": "the cards ran out and nobody has the target: the last trick wins",
    "draw": "the cards ran out at equal points",
}
FINAL_MEANINGS = {
    "winner": "seat that won the deal, -1 for none",
    "game_points": "game points by seat",
    "points": "card points by seat, pending ones apart",
    "tricks": "tricks by seat",
    "reason": "why the deal ended, a code of the table below",
}


def reference() -> str:
    """The text of docs/reference.md."""
    return "\n".join(
        [
            "# Reference",
            "",
            "Written by `make docs` from the code; a test fails when the two differ.",
            "",
            *_cards(),
            *_actions(),
            *_observation(),
            *_infos(),
            *_reasons(),
            *_rules(),
        ]
    )


def _cards() -> list[str]:
    rows = [(suit, *(i * NUM_RANKS + rank for rank in range(NUM_RANKS))) for i, suit in enumerate(SUITS)]
    return [
        "## Cards",
        "",
        f"A card is written rank then suit, such as `{CARD_TEXTS[4]}` for the ten of clubs; its id is in the table.",
        "",
        *_table(("", *(f"{rank} ({value})" for rank, value in zip(RANKS, VALUES, strict=True))), rows),
        "",
        "In brackets what it is worth. Ranks rise from left to right.",
        "",
    ]


def _actions() -> list[str]:
    rows = []
    for first, stop, meaning in ACTION_MEANINGS:
        texts = ACTION_TEXTS[first:stop]
        shown = ", ".join(f"`{text}`" for text in texts) if len(texts) < 5 else f"`{texts[0]}` … `{texts[-1]}`"
        rows.append((_span(first, stop - first), shown, meaning))
    return [
        "## Actions",
        "",
        f"`Discrete({len(ACTION_TEXTS)})`; the mask holds 1 for what is legal.",
        "",
        *_table(("id", "text", "meaning"), rows),
        "",
        "With `canonical_suits=True` suits are renamed in observation, mask and actions alike: trumps come first, the "
        "others keep their order.",
        "",
    ]


def _observation() -> list[str]:
    def rows(pieces: Iterable[Any]) -> list[tuple[str, str, int, str]]:
        return [(_span(piece.start, piece.size), f"`{piece.name}`", piece.size, piece.meaning) for piece in pieces]

    heads = ("entries", "name", "size", "meaning")
    return [
        "## Observation",
        "",
        f"`Box(0, 1, ({OBSERVATION_SIZE},), float32)`, layout version {LAYOUT_VERSION}, seen from one player's seat. "
        "Sets of cards are 24 zeros and ones in the order of their ids, sets of suits 4.",
        "",
        *_table(heads, rows(LAYOUT)),
        "",
        f"`SantaseVectorEnv(..., recall=True)` and `encode(view, recall=True)` put {RECALL_SIZE} more behind it, with "
        "which a row tells everything that the player ever saw in the deal:",
        "",
        *_table(heads, rows(RECALL_LAYOUT)),
        "",
        f"`SantaseVectorEnv.hidden()` gives {HIDDEN_SIZE} numbers that no player may see, for critics in training:",
        "",
        *_table(heads, rows(HIDDEN_LAYOUT)),
        "",
    ]


def _infos() -> list[str]:
    rows = [(f"`{key}`", _shape(STEP[key].shape), FINAL_MEANINGS[key]) for key in FINAL]
    comments = dict(re.findall(r'\("(\w+)", np\.\w+\),  # (.*)', inspect.getsource(duel)))
    pettingzoo = [line.split(None, 1) for line in _indented(aec.__doc__ or "", "Infos.")]
    return [
        "## Infos",
        "",
        "PettingZoo, `infos[agent]`: numbers, the same keys from reset on, about the last finished deal.",
        "",
        *_table(("key", "meaning"), [(f"`{key}`", meaning) for key, meaning in pettingzoo]),
        "",
        "Gymnasium, `Santase-v0`: the same, seen by the learner, and more.",
        "",
        *_table(("key", "meaning"), [(f"`{key}`", comments[key]) for key in duel.INFO_KEYS]),
        "",
        '`SantaseVectorEnv`, `info["final"]`: arrays over all N games, meaningful where a deal has just ended. Beside '
        'it `info["player"]` (N,) is the seat to move, `info["deal_over"]` (N,) marks ends of deals and '
        '`info["steps"]` (N,) counts the actions that the call took.',
        "",
        *_table(("key", "shape", "meaning"), rows),
        "",
    ]


def _reasons() -> list[str]:
    rows = [(code, f"`{name}`", REASON_MEANINGS[name]) for code, name in enumerate(REASONS)]
    return ["## Why a deal ended", "", *_table(("reason", "name", "meaning"), rows), ""]


def _rules() -> list[str]:
    presets = {name: Rules.preset(name) for name in PRESETS}
    texts = _field_texts()
    rows = [
        (f"`{field.name}`", *(_value(getattr(preset, field.name)) for preset in presets.values()), texts[field.name])
        for field in dataclasses.fields(Rules)
    ]
    return [
        "## Rules",
        "",
        'Written `"online"`, `"online,false_claim=illegal"` (the default of environments and training), or '
        '`{"preset": "online", "false_claim": "illegal"}`. Sources: P is the rule text for paper cards, O that of an '
        "online game, D a decision of ours where both are silent or must be read one way.",
        "",
        *_table(("field", *presets, "meaning and source"), rows),
        "",
    ]


def _field_texts() -> dict[str, str]:
    """The text under each field of Rules, by its name."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(Rules)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    texts = {}
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            texts[field.target.id] = " ".join(str(ast.literal_eval(text.value)).split())
    return texts


def _indented(text: str, heading: str) -> list[str]:
    """The indented lines of the paragraph that begins with ``heading``."""
    paragraph = next(part for part in text.split("\n\n") if part.startswith(heading))
    return [line.strip() for line in paragraph.splitlines() if line.startswith("    ")]


def _table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines]


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("``", "`")


def _span(start: int, size: int) -> str:
    return str(start) if size == 1 else f"{start}–{start + size - 1}"


def _shape(shape: tuple[int, ...]) -> str:
    return f"(N, {', '.join(map(str, shape))})" if shape else "(N,)"


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def main() -> None:
    """Write the file into the folder of the checkout, which must be the current one."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(reference(), encoding="utf-8")
    print(FILE)


if __name__ == "__main__":
    main()
