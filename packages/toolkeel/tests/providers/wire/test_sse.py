"""Server-sent events come apart the same way however the bytes are cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.errors import ModelError
from toolkeel.providers.wire import sse
from toolkeel.providers.wire.sse import SSEParser, decode_events

line_ends = st.sampled_from(["\n", "\r\n", "\r"])
datas = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)


def parse(body: bytes, size: int) -> list[str]:
    parser = SSEParser()
    events: list[str] = []
    for start in range(0, len(body), size):
        events += parser.feed(body[start : start + size])
    return events + parser.close()


@given(st.lists(datas, max_size=6), line_ends, st.integers(1, 9), st.booleans())
def test_any_data_in_any_pieces_with_any_line_ends_comes_out_whole(
    events: list[str], end: str, size: int, comments: bool
):
    noise = f": ping{end}event: x{end}id: 7{end}" if comments else ""
    body = "".join(f"{noise}data: {data}{end}{end}" for data in events)
    assert parse(body.encode(), size) == events


def test_a_character_cut_between_pieces_is_put_together() -> None:
    body = "data: 東京🐱\n\n".encode()
    for size in range(1, len(body) + 1):
        assert parse(body, size) == ["東京🐱"]


def test_several_data_lines_are_one_event_of_several_lines() -> None:
    assert parse(b"data: a\ndata:b\ndata\n\n", 3) == ["a\nb\n"]


def test_a_byte_order_mark_in_front_is_no_part_of_the_field() -> None:
    assert parse("\ufeffdata: a\n\n".encode(), 1) == ["a"]


def test_an_event_of_which_only_the_blank_line_is_missing_is_given_at_the_end() -> None:
    assert parse(b"data: a\n\ndata: b\n", 4) == ["a", "b"]


def test_an_event_whose_last_line_was_cut_is_dropped() -> None:
    assert parse(b'data: {"a": 1}\n\ndata: {"b', 5) == ['{"a": 1}']


def test_bytes_that_are_no_text_do_not_stop_the_stream() -> None:
    assert parse(b"data: a\xff\n\ndata: b\n\n", 2) == ["a\ufffd", "b"]


@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize("blank", ["", "\n\r\n ", "\ufeff"])
def test_a_body_that_is_one_json_object_is_one_event(blank: str, size: int) -> None:
    body = f'{blank}{{"a": "猫\\n",\n\n "b": 1}}'.encode()
    assert asyncio.run(_all(body, size)) == ['{"a": "猫\\n",\n\n "b": 1}']
    stream = f'{blank.rstrip(" ")}data: {{"a": 1}}\n\n'.encode()
    assert asyncio.run(_all(stream, size)) == ['{"a": 1}']
    assert asyncio.run(_all(blank.encode(), size)) == []


async def _all(body: bytes, size: int) -> list[str]:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), size):
            yield body[start : start + size]

    return [data async for events in decode_events(pieces()) for data in events]


@pytest.mark.parametrize("piece", ["x" * 100, "x" * 100 + "\ndata: ", '{"a": 1'])
def test_an_event_without_an_end_is_an_error_before_it_fills_the_memory(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 10_000)
    given = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal given
        yield b"" if piece[0] == "{" else b"data: "
        while True:
            given += len(piece)
            yield piece.encode()

    async def read() -> None:
        async for _ in sse.decode_events(endless()):
            raise AssertionError("there is no event")

    with pytest.raises(ModelError, match="more than 10,000 bytes"):
        asyncio.run(read())
    assert given < 11_000


def test_a_reply_of_events_without_an_end_is_an_error_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sse, "MAX_REPLY", 10_000)
    given = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal given
        while True:
            given += 100
            yield b"data: " + b"x" * 92 + b"\n\n"

    async def read() -> None:
        async for _ in sse.decode_events(endless()):
            pass

    with pytest.raises(ModelError, match="a reply of more than 10,000 bytes"):
        asyncio.run(read())
    assert given < 11_000


def test_many_events_together_may_be_larger_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 1_000)
    parser = SSEParser()
    for _ in range(100):
        assert parser.feed(b"data: " + b"x" * 500) == []
        assert parser.feed(b"\n\n") == ["x" * 500]
        assert parser.feed(b": kept alive\n") == []
