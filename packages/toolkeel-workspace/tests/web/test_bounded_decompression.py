"""Decompression under limits (T19)."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.errors import ToolError
from toolkeel_workspace.web.bounded_decompression import MAX_STEP, BodyTooLarge, Decompressor

MANY = 1 << 40


def inflated(encoding: str, pieces: list[bytes], limit: int = MANY) -> bytes:
    inflater = Decompressor(encoding, limit)
    return b"".join(piece for data in pieces for piece in inflater.feed(data))


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[place : place + size] for place in range(0, len(data), size)]


def raw(data: bytes) -> bytes:
    engine = zlib.compressobj(wbits=-15)
    return engine.compress(data) + engine.flush()


@given(st.binary(max_size=5000), st.integers(1, 400))
def test_a_body_comes_back_however_it_is_cut(data: bytes, size: int) -> None:
    assert inflated("", cut(data, size)) == data
    assert inflated("gzip", cut(gzip.compress(data), size)) == data
    assert inflated("x-gzip", cut(gzip.compress(data), size)) == data
    assert inflated("deflate", cut(zlib.compress(data), size)) == data
    assert inflated("deflate", [raw(data)]) == data


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(1, 50))
def test_members_of_a_gzip_body_are_joined(one: bytes, two: bytes, size: int) -> None:
    both = gzip.compress(one) + gzip.compress(two)
    assert inflated("gzip", cut(both, size)) == one + two
    assert inflated("gzip", cut(both + b"\0\0\0\0", size)) == one + two


def test_a_piece_is_never_larger_than_a_step() -> None:
    data = bytes(1 << 20)
    pieces = [*Decompressor("gzip", MANY).feed(gzip.compress(data))]
    assert max(map(len, pieces)) <= MAX_STEP
    assert b"".join(pieces) == data


def test_a_bomb_is_refused_after_little_of_it() -> None:
    bomb = gzip.compress(bytes(64 << 20))
    inflater, given = Decompressor("gzip", MANY), 0
    with pytest.raises(ToolError, match="was refused: its data swells more than 200-fold"):
        for piece in inflater.feed(bomb):
            given += len(piece)
    assert given < 16 << 20


def test_a_body_past_its_limit_is_refused() -> None:
    with pytest.raises(BodyTooLarge, match="more than 1,000 bytes"):
        inflated("", [bytes(1001)], 1000)
    with pytest.raises(BodyTooLarge):
        inflated("gzip", [gzip.compress(bytes(1001))], 1000)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_broken_data_is_told(encoding: str) -> None:
    with pytest.raises(ToolError, match="broken"):
        inflated(encoding, [b"this is no compressed data at all"])


def test_an_encoding_that_nobody_asked_for_is_refused() -> None:
    with pytest.raises(ToolError, match="'br', which was not asked for"):
        Decompressor("br", 1)
