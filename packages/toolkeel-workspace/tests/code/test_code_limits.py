"""What is printed, and the value of the last line."""

from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_workspace.code.code_limits import OutputBuffer, print_last_value


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("1 + 1", "2"),
        ("x = 1", ""),
        ("'天'", "'天'"),
        ("a = '天'; a * 2", "'天天'"),
        ("print('x')", "x"),
        ("(1,\n 2)", "(1, 2)"),
        ("None", ""),
        ("if True:\n    3", ""),
        ("5;", "5"),
        ("5  # five", "5"),
        ("'''a\nb'''", "'a\\nb'"),
        ("", ""),
    ],
)
def test_the_last_value_is_printed_where_the_code_runs(code: str, shown: str) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(print_last_value(code), {})
    assert said.getvalue().rstrip("\n") == shown


@given(st.text())
def test_code_that_is_none_stays_as_it_is(code: str) -> None:
    assert print_last_value(code + "\n)(") == code + "\n)("


@given(st.lists(st.text(max_size=9)), st.integers(0, 40))
def test_what_is_printed_is_kept_up_to_the_limit(pieces: list[str], limit: int) -> None:
    printed = OutputBuffer(limit)
    for piece in pieces:
        printed.add(piece)
    whole = "".join(pieces)
    assert printed.text().startswith(whole[:limit])
    assert ("dropped" in printed.text().removeprefix(whole[:limit])) == (len(whole) > limit)
