"""The passage that is most like one that was not found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_workspace.files.passages.similar_passage import describe_mismatch, find_similar

TEXT = "".join(f"def f{n}(a, b):\n    total = a + {n}\n    return total * b\n\n" for n in range(50))


def test_the_place_where_most_lines_are_the_same_is_found() -> None:
    wanted = "def f7(a, b):\n    total = a - 7\n    return total * b"
    found = find_similar(TEXT, wanted)
    assert found is not None and found.first_line == 29
    said = describe_mismatch(TEXT, wanted, "old_text")
    assert "lines 29 to 31:\ndef f7(a, b):\n    total = a + 7\n" in said
    assert "line 30: the file has '    total = a + 7', old_text has '    total = a - 7'" in said


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("def f7(a, b):\n  total = a + 7", "line 30 (the indentation differs)"),
        ("def f7(a,  b):", "line 29 (only spaces differ)"),
        ("def f49(a, b):\n    total = a + 49\n    return total * b\n\nmore", "old_text has 'more'"),
        ("29: def f7(a, b):\n30:     total", "has line numbers before its lines"),
        ("entirely unlike @@@@", "Nothing in it is like it"),
        ("def f7(a, b)", "The most similar passage is line"),
    ],
)
def test_the_first_difference_is_told_in_words(wanted: str, told: str) -> None:
    assert told in describe_mismatch(TEXT, wanted, "old_text")


@given(st.text("ab \n\t", max_size=40), st.text("ab \n\t", max_size=20))
def test_any_two_texts_are_described_in_bounds(text: str, wanted: str) -> None:
    found = find_similar(text, wanted)
    assert len(describe_mismatch(text, wanted, "old_text")) < 8000
    if found is not None:
        assert text.split("\n")[found.first_line - 1 :][: len(found.lines)] == found.lines


def test_tabs_quoted_as_blanks_over_several_levels_are_called_tabs() -> None:
    tabs = "def f():\n\tif a:\n\t\treturn one\n\treturn two\n"
    blanks = tabs.replace("\t", "    ")
    assert "(the file indents with tabs, old_text with blanks)" in describe_mismatch(
        tabs, blanks, "old_text"
    )
    assert "(the file indents with blanks, old_text with tabs)" in describe_mismatch(
        blanks, tabs, "old_text"
    )
    assert "tabs" not in describe_mismatch(blanks, blanks.replace("    ", "  "), "old_text")
