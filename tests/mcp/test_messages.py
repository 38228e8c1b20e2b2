"""Messages as bytes: strict where that is possible, mended where one character is at fault."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.mcp.messages import read_message, with_whole_characters


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=30))
def test_any_text_can_be_read_once_halves_are_replaced(text: str) -> None:
    mended = with_whole_characters(json.dumps(text).encode())
    read = json.loads(mended)
    read.encode()
    assert read == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in _paired(text))


def _paired(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@pytest.mark.parametrize(
    "said", [b'"a \\ud83d b"', b'"a \xff b"', b'"a \xed\xa0\xbd b"', b'"a \xf0\x9f b"']
)
def test_a_message_with_half_a_character_is_read(said: bytes) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"result":{"text":' + said + b"}}"
    message = read_message(line)
    assert "\ufffd" in message.model_dump()["result"]["text"]


@pytest.mark.parametrize("line", [b"{", b"[]", b"{}", b"null", b'{"jsonrpc":"1.0","id":1}'])
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        read_message(line)
