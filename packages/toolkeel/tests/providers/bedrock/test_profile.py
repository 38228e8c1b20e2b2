"""Content blocks of Converse that are still coming, and their bytes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolkeel.providers.bedrock.profile import append_bytes, pack_bytes, unpack_bytes
from toolkeel.providers.bedrock.stream import ConverseBlock

keys = st.text(min_size=1, max_size=4)
values: Any = st.recursive(
    st.none() | st.integers() | st.text(max_size=4) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
)


@given(values)
def test_bytes_stand_in_json_and_come_back(value: Any):
    assert unpack_bytes(json.loads(json.dumps(pack_bytes(value)))) == value


def test_redacted_bytes_come_as_bytes_or_as_base64() -> None:
    assert append_bytes(append_bytes(None, b"ab"), "Y2Q=") == b"abcd"


def test_a_block_is_empty_until_something_is_said() -> None:
    text = ConverseBlock("text", "text", {})
    assert text.layout_kind is None
    text.pieces.append("a")
    assert text.layout_kind == "text"
    assert text.to_wire() == {"text": "a"}
    assert ConverseBlock("call", "toolUse", {}).layout_kind == "call"
    signed = ConverseBlock("reasoning", "reasoningContent", {"signature": "s"})
    assert signed.layout_kind == "reasoning"


def test_a_cited_text_goes_back_with_its_sources() -> None:
    block = ConverseBlock("other", "citationsContent", {"citations": [{"title": "t"}]})
    block.pieces += ["a", "b"]
    cited = {"content": [{"text": "ab"}], "citations": [{"title": "t"}]}
    assert block.to_wire() == {"citationsContent": cited}
