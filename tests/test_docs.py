"""The reference in docs/ is what the code says."""

from pathlib import Path

from santase_env.docs import reference


def test_the_reference_is_what_the_code_says() -> None:
    written = (Path(__file__).parents[1] / "docs" / "reference.md").read_text(encoding="utf-8")
    assert written == reference(), "run `make docs`"
