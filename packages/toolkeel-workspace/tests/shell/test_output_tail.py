"""The end of an output, bounded in lines and bytes."""

from __future__ import annotations

import errno
import io
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkeel._records.result_store import RESULTS, ResultStore
from toolkeel_workspace.files.line_window import MAX_BYTES, MAX_LINES
from toolkeel_workspace.shell.output_tail import OutputTail


def tail_of(*pieces: bytes) -> OutputTail:
    tail = OutputTail(lambda text: None)
    for piece in pieces:
        tail.add(piece)
    tail.close()
    return tail


PLAIN = st.lists(st.text("a猫\n\t\udc80", max_size=9), max_size=20).map(
    lambda texts: [text.encode("utf-8", "surrogateescape") for text in texts]
)


@given(PLAIN)
def test_a_short_output_is_shown_whole_however_it_came(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    tail = tail_of(*pieces)
    text, notice = tail.render()
    assert notice == "" and tail.name == ""
    assert text == data.removesuffix(b"\n").decode("utf-8", "replace")
    assert tail.lines == data.count(b"\n") + (data[-1:] not in (b"", b"\n"))


@settings(max_examples=25)
@given(st.integers(1, 4000), st.integers(1, 100), st.integers(500, 70_000))
def test_a_long_output_is_cut_to_whole_lines_within_both_limits(
    lines: int, width: int, size: int
) -> None:
    rows = [f"{n:0{width}}" for n in range(1, lines + 1)]
    data = "".join(f"{row}\n" for row in rows).encode()
    tail = tail_of(*(data[i : i + size] for i in range(0, len(data), size)))
    text, notice = tail.render()
    shown = text.split("\n")
    assert shown == rows[-len(shown) :]
    assert len(shown) <= MAX_LINES and len(text.encode()) <= MAX_BYTES
    assert bool(notice) is (len(shown) < lines)
    if len(shown) < lines and len(shown) < MAX_LINES:
        assert len(text.encode()) + width + 2 > MAX_BYTES
    assert bool(tail.name) is bool(notice)
    if tail.name:
        assert Path(tail.path).read_bytes() == data
        RESULTS.remove(tail.name)


def test_of_one_endless_line_the_end_is_kept_on_a_border_of_characters() -> None:
    tail = tail_of(("你" * 100_000).encode())
    text, notice = tail.render()
    assert set(text) == {"你"} and len(text.encode()) > MAX_BYTES - 3
    assert "of line 1 are shown" in notice and "293.0 KB in all" in notice


def test_memory_stays_flat_and_the_file_holds_everything() -> None:
    tail = OutputTail(lambda text: None)
    for _ in range(200):
        tail.add(b"x" * 65_535 + b"\n")
    assert tail._buffered_bytes < 4 * MAX_BYTES
    tail.close()
    assert Path(tail.path).stat().st_size == 200 * 65_536
    RESULTS.remove(tail.name)


class Full(io.BytesIO):
    """A file on a disk that is full after some bytes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def writelines(self, pieces: object) -> None:
        data = b"".join(pieces)  # type: ignore[arg-type]
        if self.tell() + len(data) > self.room:
            raise OSError(errno.ENOSPC, "full")
        super().write(data)


class Disks(ResultStore):
    """Kept results on a disk with some room, and a spare one."""

    def __init__(self, room: int, spare: bool) -> None:
        super().__init__()
        self.room, self.spare = room, spare

    def create(self, *, spare: bool = False) -> tuple[str, BinaryIO]:
        if spare and self.spare:
            return super().create()
        if spare or not self.room:
            raise OSError(errno.ENOSPC, "full")
        return "output:full", Full(self.room)


@pytest.mark.parametrize("room", [0, 100_000])
@pytest.mark.parametrize("spare", [True, False])
def test_a_full_disk_ends_no_command_and_what_is_lost_is_said(room: int, spare: bool) -> None:
    disks = Disks(room, spare)
    tail = OutputTail(lambda text: None, disks)
    data = b"".join(b"line %d\n" % number for number in range(40_000))
    for start in range(0, len(data), 9000):
        tail.add(data[start : start + 9000])
    tail.close()
    text, notice = tail.render()
    assert text.endswith("line 39999") and "of 40000 are shown" in notice
    if spare and room:
        assert Path(tail.path).read_bytes() == data
        disks.remove(tail.name)
    else:
        assert "The rest is lost: there was no room to keep it." in notice
