"""Stored conversations of this wire as messages; what holds for all wires stands in
`packages/toolkeel/tests/providers/wire/test_stored_conversations.py`."""

from __future__ import annotations

from toolkeel.content import Data, File, Image
from toolkeel.messages import SystemMessage, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.gemini import decode_messages, encode


def call(name: str, **more: object) -> dict[str, object]:
    return {"functionCall": {"name": name, "args": {}, **more}}


def result(name: str, **response: object) -> dict[str, object]:
    return {"functionResponse": {"name": name, "response": response}}


def test_instructions_are_parts_or_a_text() -> None:
    for key, value in (
        ("systemInstruction", {"parts": [{"text": "a"}]}),
        ("system_instruction", "a"),
    ):
        assert decode_messages({key: value, "contents": []}) == [SystemMessage("a")]


def test_results_without_ids_find_their_calls_by_name_and_order() -> None:
    calls = {"role": "model", "parts": [call("f"), call("g"), call("f")]}
    results = {
        "role": "user",
        "parts": [result("g", output="2"), result("f", output="1"), result("f", error="no")],
    }
    reply, *found = decode_messages([calls, results])
    ids = [one.id for one in reply.tool_calls]  # type: ignore[union-attr]
    assert found == [
        ToolMessage("2", ids[1], "g"),
        ToolMessage("1", ids[0], "f"),
        ToolMessage("no", ids[2], "f", "error"),
    ]


def test_a_result_that_is_more_than_a_text_is_a_value() -> None:
    contents = [
        {"role": "model", "parts": [call("f")]},
        {"role": "user", "parts": [result("f", a=1)]},
    ]
    assert decode_messages(contents)[1].content == (Data({"a": 1}, '{"a":1}'),)


def test_signatures_go_back_to_their_model_and_stand_ins_are_none() -> None:
    parts = [{**call("f", id="x"), "thoughtSignature": "c2ln"}]
    contents = [{"role": "user", "parts": [{"text": "go"}]}, {"role": "model", "parts": parts}]
    read = decode_messages(contents, model="gemini-3-pro")
    assert "c2ln" in str(encode(ModelRequest(read), "gemini-3-pro"))
    assert "c2ln" not in str(encode(ModelRequest(read), "gemini-2.5-flash"))
    stand_in = [{**call("f"), "thoughtSignature": "skip_thought_signature_validator"}]
    told = decode_messages([{"role": "model", "parts": stand_in}])
    assert "thoughtSignature" not in str(told[0])


def test_pictures_and_files_are_blocks_of_ours() -> None:
    parts = [
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://a/b.pdf"}},
    ]
    assert decode_messages([{"role": "user", "parts": parts}]) == [
        UserMessage(
            (Image(b"\x89PNG\r\n\x1a\n"), File(b"", "file", "application/pdf", "gs://a/b.pdf"))
        )
    ]
