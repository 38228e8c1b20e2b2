"""Markdown on a terminal."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_studio.cli.terminal.markdown import Markdown


def bare(text: str) -> str:
    """Without the styles."""
    return re.sub("\x1b\\[\\d+m", "", text)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("## 杭州 **天气**", "\x1b[1m杭州 天气\x1b[0m"),
        ("  * 晴 `a*b`", "  • 晴 \x1b[36ma*b\x1b[0m"),
        ("2 ** 3 ** 4 and a*b*c", "2 ** 3 ** 4 and a*b*c"),
        ("#5 is no heading", "#5 is no heading"),
        ("| a | b |", "| a | b |"),
        ("", ""),
    ],
)
def test_a_line_is_shown_as_what_it_means(line: str, shown: str) -> None:
    assert Markdown()(line) == shown


def test_between_fences_nothing_means_anything() -> None:
    made = Markdown()
    lines = ["```python", "# **not** bold", "~~~", "```", "**bold**"]
    assert [bare(made(line)) for line in lines] == [*lines[:4], "bold"]


@given(st.text(st.characters(exclude_categories=("Cc", "Cs"))))
def test_no_line_loses_a_word(line: str) -> None:
    marks = re.compile(r"[`*#+•\s-]")
    assert marks.sub("", bare(Markdown()(line))) == marks.sub("", line)


@pytest.mark.parametrize("line", ["**a " * 15_000, "# a" + " " * 60_000 + "b", "`" * 60_000 + "a"])
def test_a_long_line_takes_no_time(line: str) -> None:
    began = process_time()
    assert bare(Markdown()(line)).strip("# ") == line.strip("# ")
    assert process_time() - began < 3
