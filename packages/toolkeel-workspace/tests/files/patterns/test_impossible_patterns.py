"""Patterns that can never match."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_workspace.files.patterns.impossible_patterns import explain_no_match


@pytest.mark.parametrize("pattern", [r"a\nb", "\n", r"(\n|a\n)", r"x{2}\n", "a^b", "$.", "(a)^"])
def test_what_can_never_match_is_told(pattern: str) -> None:
    assert explain_no_match(pattern)


@pytest.mark.parametrize(
    "pattern", ["a?^", "^a$", r"[^\n]", r"a|\n", r"\n?", "(", "x*$y*", r"\^a\$"]
)
def test_what_may_match_is_let_through(pattern: str) -> None:
    assert not explain_no_match(pattern)


PARTS = st.sampled_from(["a", "b", "^", "$", ".", "a*", "(a|b)", "[ab]", "b?", "\\n", "(?:a)+"])


@given(st.lists(PARTS, max_size=6).map("".join), st.text("ab", max_size=5))
def test_no_line_matches_what_is_refused(pattern: str, line: str) -> None:
    if explain_no_match(pattern):
        assert not re.compile(pattern.replace("$", r"\Z")).search(line)
