"""Content blocks that are still coming."""

from __future__ import annotations

from toolkeel.messages import Usage
from toolkeel.providers.anthropic.profile import parse_usage
from toolkeel.providers.anthropic.stream import MessageBlock, merge_delta


def test_a_block_knows_what_it_is() -> None:
    assert MessageBlock({"type": "text"}).layout_kind is None
    said = MessageBlock({"type": "text"})
    said.pieces.append("a")
    assert said.layout_kind == "text"
    said.wire["citations"] = [{}]
    assert said.layout_kind == "other"
    assert MessageBlock({"type": "thinking"}).layout_kind is None
    assert MessageBlock({"type": "thinking", "signature": "s"}).layout_kind == "reasoning"
    assert MessageBlock({"type": "tool_use"}).layout_kind == "call"
    assert MessageBlock({"type": "redacted_thinking"}).layout_kind == "other"


def test_a_text_goes_back_without_what_helpers_added() -> None:
    block = MessageBlock({"type": "text", "text": "", "parsed_output": 1, "citations": None})
    block.pieces += ["a", "b"]
    assert block.to_wire() == {"type": "text", "text": "ab"}


def test_unreadable_input_goes_back_as_an_empty_object() -> None:
    block = MessageBlock({"type": "server_tool_use", "input": {}})
    block.pieces.append('{"a": ')
    assert block.to_wire() == {"type": "server_tool_use", "input": {}}


def test_pieces_of_an_unknown_kind_grow_text_and_lists() -> None:
    wire: dict[str, object] = {"type": "x", "a": "1", "b": [1]}
    merge_delta(wire, {"type": "x_delta", "a": "2", "b": [2], "c": 3, "d": None})
    assert wire == {"type": "x", "a": "12", "b": [1, 2], "c": 3}


def test_cached_tokens_are_counted_as_input() -> None:
    usage = {"input_tokens": 1, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 4}
    assert parse_usage({**usage, "output_tokens": None}) == Usage(1, 7, 0, 2, 0, 4)
    assert parse_usage({}) == Usage(1)
