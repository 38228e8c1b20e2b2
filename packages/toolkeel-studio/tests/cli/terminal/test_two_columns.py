"""Two sessions on screens of several widths."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkeel_studio.cli.terminal.text import cells
from toolkeel_studio.cli.terminal.two_columns import compare_lines
from toolkeel_studio.inspector.compare import Comparison, Row

SAME: Row = (("done", "一样\nthe same"), ("done", "一样\nthe same"))
OTHER: Row = (("call", 'look({"at": "猫"})'), ("call", 'look({"at": "狗"})'))
ALONE: Row = (None, ("model", "两行\n一只\t狗 \x1b[2J"))


def shown(rows: list[Row], width: int | None) -> list[str]:
    """What is behind the totals."""
    found = list(
        compare_lines(Comparison("a/猫", "b", {"turns": (1, 2), "tokens": (None, 7)}, rows), width)
    )
    assert [line.split() for line in found[1:3]] == [
        ["turns", "1", "2", "+1", "(+100%)"],
        ["tokens", "not", "measured", "7"],
    ]
    return found[4:]


def test_a_narrow_screen_has_one_under_the_other() -> None:
    assert shown([SAME, OTHER, ALONE], 60) == [
        "- a: a/猫",
        "+ b: b",
        "  done: 一样 the same",
        '- call: look({"at": "猫"})',
        '+ call: look({"at": "狗"})',
        "+ model: 两行",
        "+ 一只  狗 \\x1b[2J",
    ]


def test_a_wide_screen_has_two_columns_that_keep_their_places() -> None:
    lines = shown([OTHER, ALONE], 200)
    assert lines[1].split("  ")[0] == '- call: look({"at": "猫"})'
    for line in lines:
        left, mark, _ = line.partition("+ ")
        assert (cells(left), mark) == (101, "+ ")
    assert lines[2].strip() == "+ model: 两行"


def test_what_is_the_same_is_left_out_of_a_screen_and_not_of_a_pipe() -> None:
    assert shown([SAME] * 9, 60)[2:] == [
        "  done: 一样 the same",
        "  … 7 lines the same",
        "  done: 一样 the same",
        "No difference.",
    ]
    assert shown([SAME] * 9, None)[2:-1] == ["  done: 一样", "  the same"] * 9


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
sides = st.none() | st.tuples(st.sampled_from(["you", "call"]), texts)


@given(st.lists(st.tuples(sides, sides), max_size=5), st.sampled_from([40, 60, 99, 100, 200]))
def test_no_line_is_wider_than_the_screen_whatever_was_said(rows: list[Row], width: int) -> None:
    assert max(map(cells, shown(rows, width))) <= width
