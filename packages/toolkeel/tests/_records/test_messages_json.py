"""Messages go to JSON and come back as they were; what is no message is refused."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages_made import JSON, MESSAGE
from toolkeel import ToolCall, ToolMessage
from toolkeel._records.messages_json import (
    dump_message,
    inline,
    is_text_type,
    json_line,
    json_text,
    load_message,
    refuse_constant,
)
from toolkeel._records.record_json import DEPTH, to_json_data
from toolkeel.content import Audio, File, Image, data_url
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message


@given(MESSAGE)
def test_any_message_comes_back_from_its_text_as_it_was(message: Message) -> None:
    text = json_text(dump_message(message))
    assert load_message(json.loads(text, parse_constant=refuse_constant)) == message


@given(JSON)
def test_what_is_json_already_is_kept_as_it_is(value: Any) -> None:
    assert to_json_data(value) == value


def test_what_lies_deeper_than_anybody_reads_is_left_behind() -> None:
    deep: Any = "bottom"
    for _ in range(5000):
        deep = [deep]
    assert json_text(to_json_data(deep)).count("[") == DEPTH


@pytest.mark.parametrize("arguments", [object(), ["a"], None, {"n": {1, object()}}])
def test_arguments_that_are_no_json_object_are_refused_by_the_calls_name(arguments: Any) -> None:
    reply = AssistantMessage(tool_calls=(ToolCall("1", "add", arguments),))
    with pytest.raises(SetupError, match="the call '1' of 'add'"):
        dump_message(reply)


def test_half_a_surrogate_pair_is_escaped_and_nothing_else_is() -> None:
    text = json_text(dump_message(ToolMessage("北京 \ud83d")))
    assert "\\ud83d" in text
    assert "北京" in json_text(dump_message(ToolMessage("北京")))


ANY = st.text(st.characters() | st.sampled_from("\n\r\x0b\x85\u2028\u2029\u202e\ud800"))


@given(st.dictionaries(ANY, ANY | st.integers() | st.lists(ANY)))
def test_a_line_of_json_is_the_value_it_was_made_of(value: dict[str, object]) -> None:
    line = json_line(value)
    assert json.loads(line) == value
    assert line.endswith("\n") and len(line.splitlines()) == 1


PNG = b"\x89PNG\r\n\x1a\n"


@given(st.binary(), st.sampled_from(["image/png", "text/plain", "a/b"]))
def test_a_data_url_becomes_the_bytes_it_holds_and_keeps_the_rest(data: bytes, kind: str) -> None:
    extra = {"annotations": {"priority": 1}}
    url = data_url(File(data, "f", kind))
    assert inline(File(url=url, name="f", extra=extra)) == File(data, "f", kind, "", extra)


def test_a_picture_named_wrongly_gets_its_right_type() -> None:
    assert inline(Image(PNG, "image/jpeg")).media_type == "image/png"
    assert inline(Image(url="data:image/gif;base64," + base64.b64encode(PNG).decode())) == Image(
        PNG
    )


@pytest.mark.parametrize("url", ["https://example.org/a.png", "data:x"])
def test_any_other_address_is_left_as_it_is(url: str) -> None:
    assert inline(Image(url=url)) == Image(url=url)
    assert inline(Audio(b"a")) == Audio(b"a")


def test_text_is_known_by_its_media_type() -> None:
    assert all(map(is_text_type, ["text/csv", "application/json", "application/geo+json"]))
    assert not any(map(is_text_type, ["application/pdf", "image/png", ""]))
