"""Stored conversations of this wire as messages; what holds for all wires stands in
`packages/toolkeel/tests/providers/wire/test_stored_conversations.py`."""

from __future__ import annotations

from toolkeel.content import Data, File, Image
from toolkeel.messages import SystemMessage, ToolMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.bedrock import decode_messages, encode

PNG = b"\x89PNG\r\n\x1a\n1234"


def test_cache_points_are_placed_anew_and_not_kept() -> None:
    point = {"cachePoint": {"type": "default"}}
    body = {
        "system": [{"text": "a"}, point],
        "messages": [{"role": "user", "content": [{"text": "b"}, point]}],
    }
    read = decode_messages(body)
    assert read[0] == SystemMessage("a") and read[1].content == "b"
    assert decode_messages([{"role": "user", "content": [point]}]) == []


def test_bytes_may_be_bytes_or_base64_as_saved_requests_have_them() -> None:
    for data in (PNG, "iVBORw0KGgoxMjM0", {"$bytes": "iVBORw0KGgoxMjM0"}):
        block = {"image": {"format": "png", "source": {"bytes": data}}}
        [message] = decode_messages([{"role": "user", "content": [block]}])
        assert message.content == (Image(PNG),)


def test_a_document_keeps_its_name_and_gets_no_second_introduction() -> None:
    document = {"document": {"format": "pdf", "name": "report", "source": {"bytes": b"%PDF-1"}}}
    content = [{"text": "Read this."}, document]
    read = decode_messages([{"role": "user", "content": content}])
    assert encode(ModelRequest(read), "m")["messages"][0]["content"] == content  # type: ignore[index]
    introduced = encode(
        ModelRequest([type(read[0])((File(b"%PDF-1", "a.b.pdf", "application/pdf"),))]), "m"
    )
    again = decode_messages(introduced)
    [file] = again[0].content
    assert file == File(b"%PDF-1", "a.b.pdf", "application/pdf")


def test_json_in_results_is_a_value() -> None:
    use = {"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}
    result = {"toolResult": {"toolUseId": "t", "content": [{"json": {"a": 1}}], "status": "error"}}
    read = decode_messages(
        [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    )
    assert read[1] == ToolMessage((Data({"a": 1}, '{"a":1}'),), "t", "f", "error")
