"""The end of an output, bounded in lines and bytes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.builtin.shell import Tail, run_command, shell_words
from toolwright.builtin.window import MAX_BYTES, MAX_LINES
from toolwright.engines.sandbox import Sandbox
from toolwright.errors import ToolError


def tail_of(*pieces: bytes, folder: Path | None = None) -> Tail:
    tail = Tail(lambda text: None, str(folder) if folder else None)
    for piece in pieces:
        tail.add(piece)
    tail.close()
    return tail


@given(st.lists(st.binary(max_size=30), max_size=20))
def test_a_short_output_is_shown_whole_however_it_came(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    tail = tail_of(*pieces)
    text, notice = tail.text()
    assert notice == "" and tail.path == ""
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
    text, notice = tail.text()
    shown = text.split("\n")
    assert shown == rows[-len(shown) :]
    assert len(shown) <= MAX_LINES and len(text.encode()) <= MAX_BYTES
    assert bool(notice) is (len(shown) < lines)
    if len(shown) < lines and len(shown) < MAX_LINES:
        assert len(text.encode()) + width + 2 > MAX_BYTES
    if tail.path:
        assert Path(tail.path).read_bytes() == data
        Path(tail.path).unlink()


def test_of_one_endless_line_the_end_is_kept_on_a_border_of_characters(tmp_path: Path) -> None:
    tail = tail_of(("你" * 100_000).encode(), folder=tmp_path)
    text, notice = tail.text()
    assert set(text) == {"你"} and len(text.encode()) > MAX_BYTES - 3
    assert "of line 1 are shown" in notice and "293.0 KB in all" in notice


def test_memory_stays_flat_and_the_file_holds_everything(tmp_path: Path) -> None:
    tail = Tail(lambda text: None, str(tmp_path))
    for _ in range(200):
        tail.add(b"x" * 65_535 + b"\n")
    assert tail._kept < 4 * MAX_BYTES
    tail.close()
    assert Path(tail.path).stat().st_size == 200 * 65_536


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_timeout_counts_from_one(timeout: float, tmp_path: Path) -> None:
    sandbox = Sandbox("off", [tmp_path])
    with pytest.raises(ToolError, match="counts from 1"):
        asyncio.run(run_command(sandbox, shell_words("true"), timeout=timeout))


def test_no_output_is_said(tmp_path: Path) -> None:
    done = asyncio.run(run_command(Sandbox("off", [tmp_path]), shell_words("true")))
    assert done.content == "(no output)"
