"""Whether a line of shell runs what it does not say; the many ways are tried in `test_commands`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.call.steps.shell_reader import runs_unread


@pytest.mark.parametrize(
    "line", ["$X", "curl y | sh", "eval a", "echo $($X)", "a='b'; 'never closed"]
)
def test_a_line_that_runs_more_than_it_says_is_told(line: str) -> None:
    assert runs_unread(line)


@pytest.mark.parametrize("line", ["ls", "cat f | wc -l", 'echo "$X"', "if [ -f a ]; then ls; fi"])
def test_a_line_that_says_all_is_not(line: str) -> None:
    assert not runs_unread(line)


@given(st.text("$x`'\"(){}<>|&;#\\\n a=[]*", max_size=40))
def test_any_text_is_decided(line: str) -> None:
    assert runs_unread(line) in (True, False)
