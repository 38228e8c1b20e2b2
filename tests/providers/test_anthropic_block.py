"""Content blocks that are still coming."""

from __future__ import annotations

from toolwright.messages import Usage
from toolwright.providers.anthropic_block import Block, grow, usage_of


def test_a_block_knows_what_it_is() -> None:
    assert Block({"type": "text"}, 0).kind is None
    said = Block({"type": "text"}, 0)
    said.pieces.append("a")
    assert said.kind == "text"
    said.wire["citations"] = [{}]
    assert said.kind == "other"
    assert Block({"type": "thinking"}, 0).kind is None
    assert Block({"type": "thinking", "signature": "s"}, 0).kind == "reasoning"
    assert Block({"type": "tool_use"}, 0).kind == "call"
    assert Block({"type": "redacted_thinking"}, 0).kind == "other"


def test_a_text_goes_back_without_what_helpers_added() -> None:
    block = Block({"type": "text", "text": "", "parsed_output": 1, "citations": None}, 0)
    block.pieces += ["a", "b"]
    assert block.back() == {"type": "text", "text": "ab"}


def test_unreadable_input_goes_back_as_an_empty_object() -> None:
    block = Block({"type": "server_tool_use", "input": {}}, 0)
    block.pieces.append('{"a": ')
    assert block.back() == {"type": "server_tool_use", "input": {}}


def test_pieces_of_an_unknown_kind_grow_text_and_lists() -> None:
    wire: dict[str, object] = {"type": "x", "a": "1", "b": [1]}
    grow(wire, {"type": "x_delta", "a": "2", "b": [2], "c": 3, "d": None})
    assert wire == {"type": "x", "a": "12", "b": [1, 2], "c": 3}


def test_cached_tokens_are_counted_as_input() -> None:
    usage = {"input_tokens": 1, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 4}
    assert usage_of({**usage, "output_tokens": None}) == Usage(1, 7, 0, 2)
    assert usage_of({}) == Usage(1)
