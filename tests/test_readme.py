"""README: its Python runs, and prints what its comments say."""

import re
import textwrap
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = [
    textwrap.dedent(block)
    for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", README, flags=re.MULTILINE)
    if re.match(r"\s*(import|from) ", block)
]


def test_every_python_block_is_found() -> None:
    assert len(BLOCKS) == 5


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_python_of_the_readme_runs(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(block, {})
    printed = capsys.readouterr().out
    for line in block.splitlines():
        if line.startswith("# "):
            assert line[2:] in printed
