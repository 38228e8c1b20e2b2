"""Lines of bytes as messages, whatever comes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCResponse

from toolkeel.mcp.client.frames import FrameReader, RateLimiter

ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"text": "猫"}}


@given(st.lists(st.integers(min_value=1, max_value=40)), st.integers(min_value=1, max_value=5))
def test_messages_are_the_same_however_the_bytes_are_cut(cuts: list[int], count: int) -> None:
    answers = [{**ANSWER, "id": n} for n in range(count)]
    data = "\n".join(json.dumps(each, ensure_ascii=False) for each in answers).encode() + b"\n"
    frames, found = FrameReader("s"), []
    for cut in [*cuts, len(data)]:
        found += list(frames.feed(data[:cut]))
        data = data[cut:]
    assert [message.message.id for message in found] == list(range(count))


@given(st.binary())
def test_no_bytes_break_the_reader_and_the_next_message_is_read(noise: bytes) -> None:
    frames = FrameReader("s")
    list(frames.feed(noise + b"\n"))
    [message] = frames.feed(json.dumps(ANSWER).encode() + b"\n")
    assert isinstance(message.message, JSONRPCResponse)


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "id": 7, "result": "%s"}' % ("x" * 2000),
        '{"result": {"x": "%s"}, "jsonrpc": "2.0", "id": 7}' % ("x" * 2000),
        '{"jsonrpc": "2.0", "id": 7, "result": {}, "more": nothing}',
        '{"jsonrpc": "2.0", "id": 7, "error": {}} and more',
        '{"jsonrpc": "2.0", "id": 7}',
    ],
)
def test_a_request_whose_answer_cannot_be_read_is_told_at_once(line: str) -> None:
    frames = FrameReader("s", limit=1000)
    data = line.encode() + b"\n"
    [message] = [m for i in range(0, len(data), 100) for m in frames.feed(data[i : i + 100])]
    assert isinstance(message.message, JSONRPCError)
    assert message.message.id == 7
    assert "cannot be read" in message.message.error.message


def test_an_answer_written_for_people_is_read_and_what_only_begins_so_is_not_kept() -> None:
    frames, written = FrameReader("s"), json.dumps(ANSWER, indent=2, ensure_ascii=False)
    noise = "{\n  hello\n}\n{,\n"
    found = list(frames.feed(f"{noise}{written}\r\n}}\n{json.dumps(ANSWER)}\n".encode()))
    assert [message.message.result for message in found[-1:]] == [ANSWER["result"]]
    found = list(frames.feed(f"{written}\r\n".encode()))
    assert [message.message.result for message in found] == [ANSWER["result"]]
    frames = FrameReader("s", limit=100)
    assert list(frames.feed(b"{\n" + b"x\n" * 1000)) == [] and frames._joined_bytes < 100


def test_a_line_without_end_takes_no_memory_and_the_next_line_is_read() -> None:
    frames = FrameReader("s", limit=10_000)
    for _ in range(1000):
        assert list(frames.feed(b"x" * 1000)) == []
    assert len(frames._buffer) <= 10_000 + 1000
    assert list(frames.feed(b"\n")) == []
    assert len(list(frames.feed(json.dumps(ANSWER).encode() + b"\n"))) == 1


def test_a_log_line_that_looks_like_an_answer_answers_nobody() -> None:
    assert list(FrameReader("s").feed(b'{"id": 1, "level": "info"}\n')) == []


NOTE = {"jsonrpc": "2.0", "method": "notifications/x"}
SAID = json.dumps(ANSWER, ensure_ascii=False)


@pytest.mark.parametrize(
    "line",
    [
        SAID.replace('"jsonrpc": "2.0", ', ""),
        SAID.replace('"2.0"', "2.0"),
        SAID.replace('"id": 1', '"id": 1.0'),
        SAID.replace('"id": 1', '"method": null, "error": false, "id": 1'),
        f"loading ... {SAID}",
        f"[{SAID}]",
        json.dumps([NOTE, ANSWER], ensure_ascii=False),
        json.dumps([ANSWER, {**ANSWER, "id": 2}], ensure_ascii=False),
    ],
)
def test_an_answer_of_another_form_is_the_answer(line: str) -> None:
    [first, *others] = [
        each.message
        for each in FrameReader("s").feed(line.encode() + b"\n")
        if isinstance(each.message, JSONRPCResponse)
    ]
    assert (first.id, first.result) == (1, ANSWER["result"])
    assert [each.id for each in others] == ([2] if '"id": 2' in line else [])


def test_a_tab_within_a_text_is_a_tab() -> None:
    [message] = FrameReader("s").feed(SAID.replace("猫", "a\t\0b").encode() + b"\n")
    assert isinstance(message.message, JSONRPCResponse)
    assert message.message.result == {"text": "a\t\0b"}


def test_a_flood_is_cut_and_answers_always_pass() -> None:
    rate = RateLimiter("s", rate=0.0, burst=5)
    note = SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/message"))
    assert [rate.allows(note) for _ in range(7)] == [True] * 5 + [False] * 2
    answer = SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={}))
    assert rate.allows(answer) and rate.dropped == 2


@pytest.mark.parametrize("size", [1, 5, 199, 10_000])
def test_who_is_told_of_a_message_too_large_is_the_same_however_its_bytes_are_cut(
    size: int,
) -> None:
    """Of several answers in one line it is the first; its request does not wait."""
    answers: list[dict[str, object]] = [
        {"jsonrpc": "2.0", "id": id, "result": {}} for id in ("a" * 150, 2)
    ]
    line = json.dumps(answers).encode() + b"\n"
    reader = FrameReader("s", 200)
    told = [
        one.message for at in range(0, len(line), size) for one in reader.feed(line[at : at + size])
    ]
    assert [getattr(message, "id", None) for message in told] == ["a" * 150]
