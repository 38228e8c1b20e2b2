"""A session as the messages of an AG-UI client."""

from __future__ import annotations

from toolkeel.content import Image, Text
from toolkeel.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, UserMessage
from toolkeel_studio.serve.agui.history import messages_of, parts_of
from toolkeel_studio.serve.snapshot import Snapshot, SnapshotMessage


def test_instructions_and_what_a_program_said_are_not_among_the_messages() -> None:
    messages = (SystemMessage("CANARY"), UserMessage("CANARY", "program"), UserMessage("Hi."))
    kept = tuple(SnapshotMessage(f"m{n}", each, "r", 0.0) for n, each in enumerate(messages))
    [message] = messages_of(Snapshot("1.0", kept))
    assert (message.id, message.content) == ("m2", "Hi.")


def test_a_result_has_an_id_of_its_own_and_nothing_but_what_the_model_read() -> None:
    reply = AssistantMessage("", (ToolCall("c1", "pay", {"amount": 5}),))
    result = ToolMessage("paid", "c1", "pay", artifact="CANARY", details={"x": "CANARY"})
    kept = SnapshotMessage("m1", reply, "r", 0.0), SnapshotMessage("m1", result, "r", 0.0)
    asked, answered = messages_of(Snapshot("1.0", kept))
    assert asked.tool_calls[0].function.arguments == '{"amount": 5}'
    assert answered.id == "m1-c1" and "CANARY" not in answered.model_dump_json()


def test_pictures_are_parts_and_text_alone_is_text() -> None:
    assert parts_of((Text("a"), Text("b"))) == "ab"
    text, picture = parts_of((Text("a"), Image(b"\x89PNG")))
    assert text.text == "a" and picture.source.value == "iVBORw=="
