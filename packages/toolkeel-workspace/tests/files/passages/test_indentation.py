"""Lines at another indentation."""

from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from toolkeel_workspace.files.passages.indentation import ReindentedPassage, find_reindented

BODY = "def one(self):\n    if self.two:\n\n        return 1"


@given(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["  ", "    ", "\t"]))
def test_what_is_put_in_is_indented_as_what_it_replaces(has: int, had: int, unit: str) -> None:
    there = textwrap.indent(BODY, unit * has)
    text = f"class A:\n{there}\nend\n"
    quoted = textwrap.indent(BODY, unit * had)
    moved = find_reindented(text, quoted, quoted.replace("1", "2"))
    assert isinstance(moved, ReindentedPassage)
    made = text[: moved.start] + moved.new + text[moved.end :]
    assert made == text.replace("1", "2")


def test_what_stands_there_otherwise_twice_or_hardly_at_all_is_not_found() -> None:
    text = f"{BODY}\n"
    assert find_reindented(text + text, textwrap.indent(BODY, " "), "x") == [1, 5]
    assert find_reindented(text, "def one(self):\nif self.two:", "x") == []
    assert find_reindented("  return\n", "return", "x") == []
    deeper = f"    {BODY}".replace("\n", "\n    ")
    assert find_reindented(textwrap.indent(BODY, "  "), deeper, "x") == []
