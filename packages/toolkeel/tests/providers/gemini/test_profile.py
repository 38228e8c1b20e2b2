"""Parts of Gemini's contents."""

from __future__ import annotations

import base64

from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.messages import Usage
from toolkeel.providers.gemini.profile import (
    SENTINEL,
    kind_of,
    parse_usage,
    signature_of,
    spoken_text,
    to_wire_names,
)


@given(st.binary(min_size=1))
def test_a_signature_is_the_same_bytes_however_it_was_written(secret: bytes) -> None:
    expected = base64.b64encode(secret).decode()
    for text in (expected, base64.urlsafe_b64encode(secret).decode()):
        assert signature_of({"thoughtSignature": text}) == expected


def test_what_is_no_base64_is_no_signature() -> None:
    for text in ("not base64!", "abc", None, 5, "é"):
        assert signature_of({"thoughtSignature": text}) == ""


def test_the_stand_in_is_base64_as_the_sdk_wants_it() -> None:
    part = types.Part.model_validate({"text": "x", "thought_signature": b"1"})
    again = type(part).model_validate_json('{"thoughtSignature": "' + SENTINEL + '"}')
    assert again.thought_signature


def test_an_sdks_object_says_what_the_wire_says() -> None:
    part = types.Part(function_call=types.FunctionCall(name="f", args={"city_name": "北"}))
    assert to_wire_names(part) == {"functionCall": {"name": "f", "args": {"city_name": "北"}}}
    assert to_wire_names('{"a": 1}') == {"a": 1}
    chunk = {"candidates": [{"content": {"parts": [{"function_call": {"name": "f"}}]}}]}
    assert to_wire_names(chunk) == {
        "candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}}]
    }


def test_a_thought_is_not_said_and_a_signed_text_is_more_than_text() -> None:
    assert spoken_text({"text": "a"}) == "a"
    assert spoken_text({"text": "a", "thought": True}) == ""
    kinds = [{"text": "a"}, {"text": "a", "thoughtSignature": "x"}, {"functionCall": {}}, {"x": 1}]
    assert [kind_of(one) for one in kinds] == ["text", "other", "call", "other"]


def test_tokens_add_up_to_the_servers_total() -> None:
    usage = {
        "promptTokenCount": 10,
        "toolUsePromptTokenCount": 2,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 3,
        "cachedContentTokenCount": 4,
        "totalTokenCount": 20,
    }
    assert parse_usage(usage) == Usage(1, 12, 8, 4, 3)
    assert parse_usage(usage).total_tokens == usage["totalTokenCount"]
