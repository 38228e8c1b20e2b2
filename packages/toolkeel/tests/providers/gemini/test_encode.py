"""What of a transcript goes to Gemini, and in which form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from toolkeel.content import Audio, Content, File, Image, Text
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.providers.gemini import encode_messages
from toolkeel.providers.gemini.profile import SENTINEL, GeminiProfile

WIRE = "gemini"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
CALL = ToolCall(
    "c1", "f", '{"a": 1}', provider_options={WIRE: {"id": "c1", "thoughtSignature": "QUJD"}}
)
THOUGHT = {"text": "hm", "thought": True, "thoughtSignature": "QUJE"}
CODE = {"executableCode": {"language": "PYTHON", "code": "1"}}


def reply(*parts: object, model: str = "gemini-3-pro") -> AssistantMessage:
    thoughts = (Reasoning("hm", "QUJE", model),)
    extra = {WIRE: {"parts": [*parts]}}
    return AssistantMessage(
        "Hi", (CALL,), "tool_calls", reasoning=thoughts, model=model, provider_options=extra
    )


def sent(*messages: Message, model: str = "gemini-3-pro", vertex: bool = False) -> list[Any]:
    prompt = UserMessage("?")
    return encode_messages([prompt, *messages], model=model, vertex=vertex)[1:]


def answered(content: Content, model: str = "gemini-3-pro", *, failed: bool = False) -> list[Any]:
    status: Any = "error" if failed else "success"
    call = AssistantMessage(tool_calls=(ToolCall("c", "look", "{}"),))
    parts: list[Any] = sent(call, ToolMessage(content, "c", "look", status), model=model)[1][
        "parts"
    ]
    return parts


# — what only its own model gets back —


@pytest.mark.parametrize("model", ["gemini-3-pro", "models/gemini-3-pro", "gemini-3-pro-001"])
def test_a_reply_goes_back_to_its_model_as_it_came(model: str) -> None:
    said, results = sent(
        reply(THOUGHT, CODE, {"text": "Hi"}, "call"), ToolMessage("1", "c1"), model=model
    )
    function = {"name": "f", "args": {"a": 1}, "id": "c1"}
    assert said["parts"] == [
        THOUGHT,
        CODE,
        {"text": "Hi"},
        {"functionCall": function, "thoughtSignature": "QUJD"},
    ]
    assert results["parts"] == [
        {"functionResponse": {"name": "f", "response": {"output": "1"}, "id": "c1"}}
    ]


def test_another_model_gets_what_was_said_and_called_and_no_more() -> None:
    message = reply(THOUGHT, CODE, {"text": "Hi"}, "call")
    said, results = sent(message, ToolMessage("1", "c1"), model="gemini-2.5-pro")
    assert said["parts"] == [{"text": "Hi"}, {"functionCall": {"name": "f", "args": {"a": 1}}}]
    assert results["parts"][0]["functionResponse"].keys() == {"name", "response"}


def test_calls_of_another_model_get_a_stand_in_where_one_is_wanted() -> None:
    message = replace(reply("call", {"text": "Hi"}), model="gpt-5")
    [_, part] = sent(message)[0]["parts"]
    assert part["thoughtSignature"] == SENTINEL
    for model, vertex in (("gemini-3-pro", True), ("gemini-2.5-pro", False)):
        parts = sent(message, model=model, vertex=vertex)[0]["parts"]
        assert "thoughtSignature" not in parts[1]


def test_one_signature_is_enough_for_parallel_calls() -> None:
    message = replace(reply(), tool_calls=(CALL, ToolCall("c2", "f", "{}")), provider_options={})
    parts = sent(message)[0]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [None, "QUJD", None]


def test_what_is_no_base64_does_not_go_back() -> None:
    call = ToolCall("c", "f", "{}", provider_options={WIRE: {"thoughtSignature": "no base64!"}})
    message = AssistantMessage(tool_calls=(call,), model="gemini-2.5-pro")
    [part] = sent(message, model="gemini-2.5-pro")[0]["parts"]
    assert part.keys() == {"functionCall"}


def test_what_was_changed_since_goes_in_the_plain_order() -> None:
    message = replace(reply(CODE, {"text": "Hi"}, "call"), content="Hello")
    assert [next(iter(part)) for part in sent(message)[0]["parts"]] == [
        "executableCode",
        "text",
        "functionCall",
    ]


@pytest.mark.parametrize(
    ("model", "generation"),
    [("gemini-2.5-flash", 2), ("gemini-3-pro", 3), ("gemini-flash-latest", 3), ("gemini-10-x", 10)],
)
def test_the_generation_is_in_the_name(model: str, generation: int) -> None:
    assert GeminiProfile(model).generation == generation


# — calls and results —


def test_results_stand_in_one_content_in_call_order() -> None:
    calls = (ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}"), ToolCall("b", "g", "{}"))
    results = [ToolMessage("2", "b"), ToolMessage("1", "a"), ToolMessage("3", "b")]
    _, back = sent(AssistantMessage(tool_calls=calls), *results)
    answers = [part["functionResponse"] for part in back["parts"]]
    assert [(one["name"], one["response"]["output"]) for one in answers] == [
        ("f", "1"),
        ("g", "2"),
        ("g", "3"),
    ]


def test_a_call_nobody_answered_is_answered_with_an_error() -> None:
    for rest in ([], [UserMessage("go on")]):
        _, back = sent(AssistantMessage(tool_calls=(CALL,)), *rest)
        assert "has no result" in back["parts"][0]["functionResponse"]["response"]["error"]


def test_an_id_goes_back_once() -> None:
    twice = AssistantMessage(tool_calls=(CALL, replace(CALL, id="c1_2")), model="gemini-3-pro")
    said, back = sent(twice, ToolMessage("1", "c1"), ToolMessage("2", "c1_2"))
    assert [part["functionCall"].get("id") for part in said["parts"]] == ["c1", None]
    assert [part["functionResponse"].get("id") for part in back["parts"]] == ["c1", None]


def test_a_failure_is_an_error_and_nothing_is_never_empty() -> None:
    [part] = answered("no such city", failed=True)
    assert part["functionResponse"]["response"] == {"error": "no such city"}
    [part] = answered(" ")
    assert part["functionResponse"]["response"] == {"output": "(no tool output)"}


# — content —


def test_pictures_stand_in_the_result_as_of_gemini_3() -> None:
    [part] = answered((Text("see"), Image(PNG)))
    response = part["functionResponse"]
    assert response["response"] == {"output": "see"}
    assert [one["inlineData"]["mimeType"] for one in response["parts"]] == ["image/png"]


def test_pictures_stand_behind_the_results_before() -> None:
    calls = (ToolCall("a", "look", "{}"), ToolCall("b", "f", "{}"))
    results = [ToolMessage((Image(PNG),), "a"), ToolMessage("ok", "b")]
    _, back = sent(AssistantMessage(tool_calls=calls), *results, model="gemini-2.5-pro")
    assert [next(iter(part)) for part in back["parts"]] == [
        "functionResponse",
        "functionResponse",
        "text",
        "inlineData",
    ]
    assert back["parts"][2]["text"] == "Output of look:"


def test_what_a_result_cannot_hold_stands_behind_it() -> None:
    parts = answered((Audio(b"RIFF", "audio/wav"), Image(PNG)))
    assert [next(iter(part)) for part in parts] == ["functionResponse", "text", "inlineData"]
    assert parts[0]["functionResponse"]["response"] == {"output": "(the result follows)"}


def test_media_are_sent_by_bytes_or_by_address() -> None:
    blocks = (
        Image(PNG, "image/jpeg"),
        File(b"%PDF-", "a.pdf", "application/pdf"),
        File(b"v", "v.mp4", "video/mp4"),
        File(url="gs://bucket/a.pdf", media_type="application/pdf"),
        File("甲,乙".encode(), "t.csv", "text/csv"),
    )
    [content] = encode_messages([UserMessage(blocks)])
    parts: Any = content["parts"]
    assert [one["inlineData"]["mimeType"] for one in parts[:3]] == [
        "image/png",
        "application/pdf",
        "video/mp4",
    ]
    uri = {"fileUri": "gs://bucket/a.pdf", "mimeType": "application/pdf"}
    assert parts[3:] == [{"fileData": uri}, {"text": "t.csv:\n甲,乙"}]


def test_what_the_wire_has_no_form_for_is_named() -> None:
    blocks = (Image(b"GIF89a"), File(b"\xff", "x.bin"), File(url="s3://a"), Image(b""))
    [content] = encode_messages([UserMessage(blocks)])
    parts: Any = content["parts"]
    assert all("cannot be shown" in part["text"] for part in parts)
    assert len(parts) == 4


def test_text_is_sent_without_half_surrogates() -> None:
    [content] = encode_messages([UserMessage("cat \ud83d\0")])
    assert content["parts"] == [{"text": "cat "}]
