"""Parts of files by lines."""

from __future__ import annotations

import io
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkeel.errors import ToolError
from toolkeel_workspace.files.line_window import (
    MAX_BYTES,
    escape_name,
    format_size,
    pluralize,
    read_window,
)


def buffered(data: bytes) -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO(data))  # type: ignore[arg-type]


@given(
    st.lists(st.binary(max_size=6).map(lambda b: b.replace(b"\n", b"")), max_size=12),
    st.booleans(),
    st.integers(1, 14),
    st.integers(1, 14),
)
def test_any_window_is_a_slice_of_the_lines_with_the_right_total(
    lines: list[bytes], ends: bool, first: int, limit: int
) -> None:
    data = b"\n".join(lines) + (b"\n" if ends and lines else b"")
    expected = data.splitlines(keepends=True) if b"\r" not in data else data.split(b"\n")
    if b"\r" in data:
        expected = [line + b"\n" for line in expected[:-1]] + (
            [expected[-1]] if expected[-1] else []
        )
    window = read_window(buffered(data), first, limit)
    assert window.total_lines == len(expected)
    assert window.data == b"".join(islice(expected, first - 1, first - 1 + limit))
    assert window.cut_by == ("lines" if len(expected) > first - 1 + limit else "")


def test_bytes_are_a_limit_at_the_end_of_a_line() -> None:
    line = b"x" * 999 + b"\n"
    window = read_window(buffered(line * 100), 1, 100)
    assert (window.shown_lines, window.total_lines, window.cut_by) == (
        MAX_BYTES // 1000,
        100,
        "bytes",
    )


@pytest.mark.parametrize("before", [b"", b"short\n"])
def test_a_line_that_is_too_long_is_one_line_shown_in_parts(before: bytes) -> None:
    data = before + b"x" * (3 * MAX_BYTES) + b"\nnext\n"
    line = before.count(b"\n") + 1
    window = read_window(buffered(data), 1, 10)
    assert window.data == (before or b"x" * MAX_BYTES)
    assert window.total_lines == line + 1 and window.cut_by == "bytes"
    assert window.next == ((line, 1) if before else (1, MAX_BYTES + 1))
    assert read_window(buffered(data), line + 1, 10).data == b"next\n"


LONG = st.integers(0, 3 * MAX_BYTES)
PIECE = st.tuples(
    st.sampled_from([b"x", "é".encode(), "猫".encode(), "😀".encode(), b"\xff"]), LONG
)


@settings(max_examples=40)
@given(st.lists(st.one_of(st.just((b"\n", 1)), PIECE), max_size=6), st.integers(1, 5))
def test_who_reads_on_to_the_end_has_read_every_byte_once(
    pieces: list[tuple[bytes, int]], limit: int
) -> None:
    data = b"".join(piece * number for piece, number in pieces)
    seen, place, windows = b"", (1, 1), 0
    while place is not None:
        window = read_window(buffered(data), place[0], limit, place[1])
        assert window.total_lines == data.count(b"\n") + (data[-1:] not in (b"", b"\n"))
        assert len(window.data) <= MAX_BYTES and window.is_exact
        assert window.next is None or window.data
        seen, place = seen + window.data, window.next  # type: ignore[assignment]
        windows += 1
        assert windows < 100
    assert seen == data


@given(st.binary(max_size=40), st.integers(1, 6), st.integers(1, 12))
def test_any_line_and_column_begin_where_they_say(data: bytes, line: int, column: int) -> None:
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    try:
        window = read_window(buffered(data), line, 100, column)
    except ToolError:
        assert line > len(lines) or len(lines[line - 1]) < column - 1
        return
    rest = "\n".join(lines[line - 1 :])[column - 1 :] if line <= len(lines) else ""
    assert window.data.decode("utf-8", "surrogateescape") == rest


def test_an_empty_file_has_no_lines() -> None:
    assert read_window(buffered(b""), 1, 10) == (b"", 1, 1, 0, 0, True, "", None)


def test_sizes_and_numbers_are_written_for_people() -> None:
    assert [format_size(size) for size in (0, 1023, 1024, 5 * 1024 * 1024)] == [
        "0 B",
        "1023 B",
        "1.0 KB",
        "5.0 MB",
    ]
    assert (pluralize(0, "line"), pluralize(1, "entry", "entries")) == ("0 lines", "1 entry")


def test_odd_file_names_become_visible() -> None:
    assert escape_name("a\u202eb\udcff\x1b") == "a\\x202eb\\xff\\x1b"
    assert escape_name("猫 1.txt") == "猫 1.txt"
