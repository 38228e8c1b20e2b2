"""What a terminal would show of an output."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkeel_workspace.shell.escape_codes import TerminalOutput


def plain(*pieces: bytes) -> bytes:
    output = TerminalOutput()
    return b"".join([*map(output.feed, pieces), output.flush()])


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\x1b[31mred\x1b[0m \x1b[1;4mbold\x1b[m", b"red bold"),
        (b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\", b"ab"),
        (b"10%\r50%\r100%\ndone", b"100%\ndone"),
        (b"50%\r\x1b[K100%\r\n", b"100%\n"),
        (b"a\r\nb\r\n", b"a\nb\n"),
        (b"bo\bold_\b", b"bold"),
        (b"\x1b(Bx\x1b7y\x1b=z\x07", b"xyz"),
        (b"a\x00b\x7fc\td", b"abc\td"),
        (b"end\x1b[3", b"end"),
        (b"a\x1b[\x1b[1mb", b"ab"),
        (b"a\x1b[3\x1b\x1b[1mb", b"ab"),
    ],
)
def test_only_what_stays_on_the_screen_is_shown(raw: bytes, shown: bytes) -> None:
    assert plain(raw) == shown


def test_any_number_of_backspaces_is_read_in_linear_time() -> None:
    """What takes quadratic time would take minutes here."""
    assert plain(b"a" * 400_000 + b"\b" * 399_999 + b"b\n") == b"ab\n"


def removed(*pieces: bytes) -> str:
    output = TerminalOutput()
    for piece in pieces:
        output.feed(piece)
    output.flush()
    return output.describe_removed()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"a\0b\0", "2 NUL bytes."),
        (b"a\r\nb\r\nc\n", "\\r at the end of 2 lines."),
        (b"10%\r20%\n", "text overwritten by \\r or backspace in 1 line."),
        (b"\x1b[31mred\x1b[0m\a", "1 control character; 2 escape sequences."),
        (b"x" * 70_000 + b"\r" + b"y\n", "in 1 line."),
        (b"tab\tand \xc3\xa4\n", ""),
    ],
)
def test_what_is_not_shown_is_counted(raw: bytes, said: str) -> None:
    found = removed(raw)
    assert said in found and bool(found) is bool(said)


TOKENS = [
    b"a",
    "猫".encode(),
    b"\n",
    b"\r",
    b"\x1b[1m",
    b"\x1b]0;t\x07",
    b"\x1b",
    b"[",
    b"0m",
    b"\b",
]


@given(st.lists(st.sampled_from(TOKENS), max_size=20).map(b"".join), st.lists(st.integers(0, 60)))
@example(b"\x1b[\x1b[1m", [3])
@example(b"\x1b]\x1b]0;t\x07", [1, 6])
@example(b"\x1b \x1b0m", [2])
def test_it_does_not_matter_where_the_pieces_are_cut(raw: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(raw)]
    pieces = [raw[one:other] for one, other in itertools.pairwise(places)]
    assert plain(*pieces) == plain(raw)
    assert removed(*pieces) == removed(raw)
    assert bool(removed(raw)) == any(byte in raw for byte in b"\r\b\x1b")
    assert b"\r" not in plain(raw) and b"\x1b[1m" not in plain(raw)


def test_a_line_that_never_ends_takes_little_memory() -> None:
    output = TerminalOutput()
    given = b"".join(output.feed(b"x" * 5000) for _ in range(100)) + output.flush()
    assert given == b"x" * 500_000
    for number in range(20_000):
        output.feed(b"progress %d\r" % number)
    assert len(output._pending) < 1 << 18 and output.line == b"progress 19999"
