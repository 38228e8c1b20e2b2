"""Pieces of streamed replies, beside the original's where it is installed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import peer
from toolkeel.content import Image, Text
from toolkeel.messages import Reasoning
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    AIMessage,
    AIMessageChunk,
    create_agent,
    dumps,
    loads,
    message_chunk_to_message,
)

PIECES: list[dict[str, Any]] = [
    {"content": "let "},
    {"content": "me", "id": "lc_run--1"},
    {"content": "", "tool_call_chunks": [{"name": "f", "args": '{"a', "id": "c1", "index": 0}]},
    {"content": "", "tool_call_chunks": [{"name": None, "args": '": 1', "id": None, "index": 0}]},
    {"content": "", "tool_call_chunks": [{"name": "g", "args": "", "id": "c2", "index": 1}]},
    {"content": "", "tool_call_chunks": [{"name": None, "args": "}", "id": None, "index": 0}]},
    {"content": "", "tool_calls": [{"name": "h", "args": {"b": 2}, "id": "c3"}]},
    {"content": "", "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}},
    {"content": "", "chunk_position": "last"},
]


def read(chunk: Any) -> list[Any]:
    """What a program reads of a piece."""
    calls = [(one["name"], one["args"], one["id"]) for one in chunk.tool_calls]
    spent = (chunk.usage_metadata or {}).get("total_tokens")
    return [
        type(chunk).__name__, chunk.type, chunk.content, chunk.id, calls, chunk.tool_call_chunks,
        chunk.content_blocks, chunk.chunk_position, chunk.text, spent,
    ]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6))
def test_a_sum_of_pieces_reads_the_same_in_any_grouping(given: list[dict[str, Any]]) -> None:
    first, *rest = (AIMessageChunk(**one) for one in given)
    one_by_one: Any = first
    for piece in rest:
        one_by_one = one_by_one + piece
    assert read(first + rest) == read(one_by_one)
    assert read(loads(dumps(one_by_one))) == read(one_by_one)


@pytest.mark.slow
def test_pieces_and_their_sums_read_as_the_originals() -> None:
    original = peer("langchain_core.messages").AIMessageChunk
    for start in range(len(PIECES)):
        for end in range(start + 1, len(PIECES) + 1):
            ours, theirs = (
                [kind(**one) for one in PIECES[start:end]] for kind in (AIMessageChunk, original)
            )
            assert read(ours[0] + ours[1:]) == read(theirs[0] + theirs[1:])


def test_a_piece_is_a_reply_and_a_reply_is_no_piece() -> None:
    piece = AIMessageChunk("a", id="7", tool_calls=[{"name": "f", "args": {}, "id": "1"}])
    assert isinstance(piece, AIMessage) and not isinstance(AIMessage("a"), AIMessageChunk)
    whole = message_chunk_to_message(piece + AIMessageChunk("b", chunk_position="last"))
    assert (type(whole), whole.content, whole.id) == (AIMessage, "ab", "7")
    assert whole.tool_calls == [{"name": "f", "args": {}, "id": "1"}]
    assert message_chunk_to_message(whole) is whole
    with pytest.raises(TypeError):
        whole + piece


def test_reasoning_and_images_of_pieces_are_joined() -> None:
    image = Image(url="https://a.example/b.png")
    pieces = [
        AIMessageChunk(reasoning=(Reasoning("so "),)),
        AIMessageChunk(reasoning=(Reasoning("what", "signed"),)),
        AIMessageChunk((image,)),
        AIMessageChunk("seen"),
    ]
    whole = pieces[0] + pieces[1:]
    assert whole.reasoning == (Reasoning("so what", "signed"),)
    assert whole.content == (image, Text("seen"))


def test_a_call_that_is_no_json_is_invalid() -> None:
    broken = [{"name": "f", "args": "no", "id": "1", "index": 0}]
    assert [one.id for one in AIMessageChunk(tool_call_chunks=broken).invalid_tool_calls] == ["1"]


def test_an_agent_streams_pieces_and_keeps_whole_replies() -> None:
    def look() -> str:
        """Look."""
        return "found"

    model = Scripted([call("look"), "done"])
    stream = create_agent(model, [look]).stream(
        {"messages": "?"}, stream_mode=["messages", "values"]
    )
    parts = list(stream)
    pieces = [part[0] for mode, part in parts if mode == "messages" and part[0].type != "tool"]
    assert {type(one) for one in pieces} == {AIMessageChunk}
    assert [one.chunk_position for one in pieces] == [None, "last", None, "last"]
    assert pieces[0].content_blocks[0]["type"] == "tool_call_chunk"
    assert type(parts[-1][1]["messages"][-1]) is AIMessage
