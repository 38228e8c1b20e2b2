"""What every wire needs: plain dicts in, clean text out."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage

from toolkeel.errors import ModelError
from toolkeel.providers.wire.plain_json import (
    arguments_text,
    clean,
    clean_text,
    dumps,
    plain,
)

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=20)
surrogates = st.text(st.sampled_from("a東🐱\ud83d\udc31\x00"), max_size=10)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(ANY_TEXT | surrogates)
def test_clean_text_can_always_be_sent(text: str):
    cleaned = clean_text(text)
    assert cleaned.encode().decode() == cleaned
    assert "\0" not in cleaned
    assert clean_text(cleaned) == cleaned


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20))
def test_text_that_can_be_sent_stays_as_it_is(text: str):
    assert clean_text(text) == text


@given(json_values)
def test_any_json_value_becomes_text_that_can_be_sent(value: Any):
    text = dumps(value)
    text.encode()
    json.loads(text)
    assert "\\u0000" not in text.replace("\\\\", "")


@given(st.dictionaries(ANY_TEXT | surrogates, json_values, max_size=3))
def test_arguments_keep_their_meaning_and_become_canonical(value: dict[str, Any]):
    text = json.dumps(value, indent=1, ensure_ascii=False)  # escaped, two halves would be one key
    assert arguments_text(text) == arguments_text(value) == dumps(json.loads(text))
    assert len(json.loads(arguments_text(value))) == len(value)


@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        (["", "\ud83d"], ["", "\ufffd"]),
        (["\ud83d", "", "\0", "\ufffd"], ["\ufffd\ufffd", "", "\ufffd\ufffd\ufffd", "\ufffd"]),
        (["\ud83d", "a"], ["", "a"]),
        (["🐱", "\ud83d\udc31"], ["🐱", "🐱\ufffd"]),
    ],
)
def test_keys_that_cannot_be_sent_replace_no_other_key(keys: list[str], sent: list[str]) -> None:
    value = {"a": [{key: number for number, key in enumerate(keys)}]}
    wanted = {"a": [{key: number for number, key in enumerate(sent)}]}
    assert clean(value) == wanted
    text = json.dumps(value, ensure_ascii=False)
    for each in (dumps(value), arguments_text(value), arguments_text(text)):
        assert json.loads(each, object_pairs_hook=list) == json.loads(
            json.dumps(wanted), object_pairs_hook=list
        )


@given(ANY_TEXT | st.text(st.sampled_from('{}[]":,\\ a1e9-nulltrue\ud83d'), max_size=30))
def test_whatever_a_model_wrote_goes_back_as_a_json_object(text: str):
    sent = arguments_text(text)
    sent.encode()
    assert isinstance(json.loads(sent, parse_constant=pytest.fail), dict)


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("", {}),
        ("  \n", {}),
        ("null", {}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ("[1, 2]", {"malformed_arguments": "[1, 2]"}),
        ('"text"', {"malformed_arguments": '"text"'}),
        ('{"a": NaN}', {"malformed_arguments": '{"a": NaN}'}),
        ('{"a": 1e999}', {"malformed_arguments": '{"a": 1e999}'}),
        ('{"城市": "\\u5317\\u4eac"}', {"城市": "北京"}),
        ('{"a": "\\ud83d"}', {"a": ""}),
        ("[" * 100_000, {"malformed_arguments": "[" * 1000 + "…"}),
        ('{"a":' * 100_000 + "1", {"malformed_arguments": ('{"a":' * 200) + "…"}),
    ],
)
def test_past_arguments_are_sent_so_that_every_server_takes_them(
    written: str, sent: dict[str, Any]
) -> None:
    assert json.loads(arguments_text(written)) == sent


def test_numbers_that_json_has_no_form_for_are_shown_as_text() -> None:
    assert json.loads(arguments_text({"a": float("inf")})) == {
        "malformed_arguments": '{"a":Infinity}'
    }


def test_sdk_objects_text_and_dicts_are_all_plain_data() -> None:
    message = ChatCompletionMessage(role="assistant", content="hi")
    assert plain(message) == message.to_dict() == {"role": "assistant", "content": "hi"}
    assert (
        plain('{"a": "東"}') == plain('{"a": "東"}'.encode()) == plain({"a": "東"}) == {"a": "東"}
    )
    assert plain(None) is None


@given(json_values, st.booleans())
def test_any_json_is_read_as_pythons_own_reader_reads_it(value: Any, escaped: bool) -> None:
    text = json.dumps(value, ensure_ascii=escaped)
    assert plain(text) == json.loads(text)


@pytest.mark.parametrize(
    "given",
    ['"\\ud83d"', '{"\\ude00": 1, "a": 1e400, "a": -Infinity}', "[" * 400 + "]" * 400, "1" * 400]
    + ["[]".encode("utf-16"), b"\xef\xbb\xbf[0.1]"],
)
def test_what_the_fast_reader_does_not_take_is_read_nevertheless(given: str | bytes) -> None:
    assert plain(given) == json.loads(given)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_json_end_only_where_json_lets_them(end: str) -> None:
    text = end.join(['{"a":"1\u20282\u0085"}', "", ' {"b":"\\ud83d"}', "[DONE]"])
    assert plain(text) == plain(text.encode()) == [{"a": "1\u20282\u0085"}, {"b": "\ud83d"}]


def test_text_that_is_no_json_is_the_servers_fault() -> None:
    with pytest.raises(ModelError, match="not JSON: '<html>'"):
        plain("<html>")


CALL: dict[str, Any] = {"name": "w", "arguments": "{}"}
ANSWERS: dict[str, dict[str, Any]] = {
    "openai_chat": {
        "object": "chat.completion",
        "choices": [
            {
                "message": {"role": "assistant", "tool_calls": [{"id": "c", "function": CALL}]},
                "finish_reason": "tool_calls",
            }
        ],
    },
    "openai_responses": {
        "object": "response",
        "status": "completed",
        "output": [{"type": "function_call", "call_id": "c", **CALL}],
    },
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c", "name": "w", "input": {}}],
        "stop_reason": "tool_use",
    },
    "bedrock": {
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "c", "name": "w", "input": {}}}],
            }
        },
        "stopReason": "tool_use",
    },
    "gemini": {
        "candidates": [
            {"content": {"parts": [{"functionCall": {"name": "w"}}]}, "finishReason": "STOP"}
        ]
    },
}


@pytest.mark.parametrize("wire", ANSWERS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_of_another_wire_is_never_read_as_one_without_calls(
    wire: str, answer: str
) -> None:
    module: Any = import_module(f"toolkeel.providers.{wire}")
    if wire == answer:
        assert [call.name for call in module.decode_calls(ANSWERS[answer])] == ["w"]
        return
    with pytest.raises(ModelError):
        module.decode_calls(ANSWERS[answer])
