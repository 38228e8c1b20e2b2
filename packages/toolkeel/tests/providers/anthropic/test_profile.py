"""Content blocks that are still coming."""

from __future__ import annotations

from toolkeel.messages import Usage
from toolkeel.providers.anthropic.profile import usage_of
from toolkeel.providers.anthropic.stream import MessageBlock, grow


def test_a_block_knows_what_it_is() -> None:
    assert MessageBlock({"type": "text"}).part is None
    said = MessageBlock({"type": "text"})
    said.pieces.append("a")
    assert said.part == "text"
    said.wire["citations"] = [{}]
    assert said.part == "other"
    assert MessageBlock({"type": "thinking"}).part is None
    assert MessageBlock({"type": "thinking", "signature": "s"}).part == "reasoning"
    assert MessageBlock({"type": "tool_use"}).part == "call"
    assert MessageBlock({"type": "redacted_thinking"}).part == "other"


def test_a_text_goes_back_without_what_helpers_added() -> None:
    block = MessageBlock({"type": "text", "text": "", "parsed_output": 1, "citations": None})
    block.pieces += ["a", "b"]
    assert block.back() == {"type": "text", "text": "ab"}


def test_unreadable_input_goes_back_as_an_empty_object() -> None:
    block = MessageBlock({"type": "server_tool_use", "input": {}})
    block.pieces.append('{"a": ')
    assert block.back() == {"type": "server_tool_use", "input": {}}


def test_pieces_of_an_unknown_kind_grow_text_and_lists() -> None:
    wire: dict[str, object] = {"type": "x", "a": "1", "b": [1]}
    grow(wire, {"type": "x_delta", "a": "2", "b": [2], "c": 3, "d": None})
    assert wire == {"type": "x", "a": "12", "b": [1, 2], "c": 3}


def test_cached_tokens_are_counted_as_input() -> None:
    usage = {"input_tokens": 1, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 4}
    assert usage_of({**usage, "output_tokens": None}) == Usage(1, 7, 0, 2, 0, 4)
    assert usage_of({}) == Usage(1)
