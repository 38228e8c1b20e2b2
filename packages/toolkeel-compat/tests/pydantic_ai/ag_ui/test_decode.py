"""Messages of a client as the core's."""

from __future__ import annotations

from ag_ui.core.types import RunAgentInput

from toolkeel.content import Image, Text
from toolkeel_compat.pydantic_ai.ag_ui.decode import decode_messages


def decode(*messages: object) -> list[object]:
    ids = {"threadId": "t", "runId": "r", "context": [], "forwardedProps": {}, "state": {}}
    sent = RunAgentInput.model_validate({**ids, "tools": [], "messages": [*messages]})
    return [*decode_messages(sent.messages)]


def test_pictures_of_a_client_stay_parts_of_its_message() -> None:
    source = {"type": "data", "value": "aGk=", "mimeType": "image/png"}
    [message] = decode(
        {
            "id": "u",
            "role": "user",
            "content": [{"type": "text", "text": "see"}, {"type": "image", "source": source}],
        }
    )
    assert message.content == (Text("see"), Image(b"hi", "image/png"))  # type: ignore[attr-defined]


def test_a_result_that_failed_is_an_error() -> None:
    [result] = decode(
        {"id": "m", "role": "tool", "toolCallId": "c", "content": "", "error": "broken"}
    )
    assert (result.text, result.status) == ("broken", "error")  # type: ignore[attr-defined]
