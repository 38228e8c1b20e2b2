"""What a body returns, as a model reads it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from toolwright import ToolCall, ToolMessage, ToolOutput, Toolset, tool
from toolwright.call.render import clean, shorten
from toolwright.content import Data, File, Image, Text

PNG = b"\x89PNG\r\n\x1a\n..."


class Color(enum.Enum):
    RED = "red"


class Model(BaseModel):
    name: str


@dataclass
class Point:
    x: int


def rendered(value: object, **options: Any) -> ToolMessage:
    made = tool("give", **options)(lambda: value)
    [result] = Toolset([made]).run_sync([ToolCall("1", "give")])
    return result


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("猫", "猫"),
        (None, ""),
        (5, "5"),
        (True, "true"),
        ({"a": "猫", "b": [1, 2.5]}, '{"a":"猫","b":[1,2.5]}'),
        ((1, "b"), '[1,"b"]'),
        ({"x"}, '["x"]'),
        (Color.RED, '"red"'),
        (date(2026, 12, 24), '"2026-12-24"'),
        (Model(name="Ada"), '{"name":"Ada"}'),
        (Point(1), '{"x":1}'),
        ([Model(name="a")], '[{"name":"a"}]'),
        (float("nan"), '"NaN"'),
    ],
)
def test_values_become_text_or_json_with_their_characters_as_they_are(value, content):
    assert rendered(value).content == content


def test_bytes_become_the_file_they_are():
    assert rendered(PNG).content == (Image(PNG, "image/png"),)
    assert rendered(b"\x00\x01").content == (File(b"\x00\x01"),)


def test_a_list_with_blocks_becomes_blocks_and_values_in_it_stay_values():
    content = rendered(["see", PNG, {"type": "text", "text": "也"}, {"n": 1}]).content
    assert content == (
        Text("see"),
        Image(PNG, "image/png"),
        Text("也"),
        Data({"n": 1}, '{"n":1}'),
    )


def test_an_output_keeps_content_artifact_and_details_apart():
    result = rendered(ToolOutput({"n": 1}, artifact=[1], details={"rows": 2}))
    assert (result.content, result.artifact, result.details["rows"]) == ('{"n":1}', [1], 2)


def test_content_and_artifact_is_a_pair_and_anything_else_is_the_tools_fault():
    pair = rendered(("short", {"long": 1}), response_format="content_and_artifact")
    assert (pair.content, pair.artifact) == ("short", {"long": 1})
    assert rendered("no pair", response_format="content_and_artifact").kind == "invalid_output"


def test_a_message_of_its_own_must_answer_this_call():
    assert rendered(ToolMessage("mine", "1", "other")).name == "give"
    assert rendered(ToolMessage("mine")).tool_call_id == "1"
    assert rendered(ToolMessage("mine", "2")).kind == "invalid_output"
    failed = rendered(ToolMessage("no", status="error"))
    assert (failed.status, failed.kind) == ("error", "tool_error")


def test_what_has_no_json_form_is_the_tools_fault_and_shows_nothing_of_it():
    result = rendered(object())
    assert result.kind == "invalid_output" and "0x" not in result.text


def test_a_long_result_shows_head_and_tail_and_keeps_the_whole():
    result = rendered("a" * 50 + "b" * 50, max_output=30)
    assert result.content.startswith("a" * 20) and result.content.endswith("b" * 10)
    assert "70 of 100 characters left out" in result.content
    assert result.artifact == "a" * 50 + "b" * 50


@given(st.text(), st.integers(1, 50))
def test_shortening_keeps_head_and_tail_of_the_length_asked(text: str, limit: int) -> None:
    if len(text) > limit:
        short = shorten(text, limit)
        head = limit * 2 // 3
        assert short.startswith(text[:head]) and short.endswith(text[len(text) - (limit - head) :])


@given(st.text(alphabet=st.characters(codec=None)))
def test_cleaned_text_can_always_be_sent_and_good_text_is_untouched(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert cleaned == text or any("\ud800" <= char <= "\udfff" for char in text)
