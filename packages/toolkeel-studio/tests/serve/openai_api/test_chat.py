"""Items as chunks of a completion."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.chat import ChatCompletion

from toolkeel import events
from toolkeel._records import entries
from toolkeel.messages import AssistantMessage, ToolCall
from toolkeel.model_interface import TextDelta
from toolkeel_studio.serve.items import Item
from toolkeel_studio.serve.openai_api.chat import ChatEncoder
from toolkeel_studio.serve.openai_api.ids import parse_call_id


def feed(*bodies: Any) -> tuple[ChatEncoder, list[Any]]:
    encoder = ChatEncoder("id", "agent", "t", lambda name: name == "pick", lambda error: "masked")
    chunks = [encoder.start(1.0)]
    for body in bodies:
        chunks += encoder.encode(Item("1.0", "", body))
    return encoder, chunks


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("answered", "stop"),
        ("refused", "content_filter"),
        ("cut_off", "length"),
        ("waiting", "stop"),
    ],
)
def test_a_run_ends_with_one_reason(reason: str, finish: str) -> None:
    _, chunks = feed(entries.RunEnded("r", reason))
    assert [c["choices"][0]["finish_reason"] for c in chunks] == [None, finish]


def test_a_failed_run_has_a_masked_error_and_no_end() -> None:
    encoder, chunks = feed(entries.RunEnded("r", "failed", "CANARY"))
    assert encoder.error == "masked" and len(chunks) == 1


def test_calls_of_the_client_alone_are_shown_and_text_once() -> None:
    calls = ToolCall("c1", "pick", {"color": "red"}), ToolCall("c2", "pay", {})
    reply = AssistantMessage("Hello.", calls)
    delta = events.Streamed(1, 0.0, "r", TextDelta("Hel"))
    ended = entries.RunEnded("r", "waiting")
    encoder, chunks = feed(delta, entries.ModelReplied("r", 1, reply), ended)
    [call] = encoder.completion()["choices"][0]["message"]["tool_calls"]
    assert parse_call_id(call["id"]) == ("t", "c1") and encoder.text == "Hello."
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_pages_that_replies_cite_are_annotations_at_their_places_in_the_whole_text() -> None:
    options = {"citations": ["https://a.example", "https://b.example", "javascript:alert(1)"]}
    first = AssistantMessage("猫 [1].", (ToolCall("c1", "look", {}),), provider_options=options)
    second = AssistantMessage(" See [2], [2].", provider_options=options)
    delta = events.Streamed(1, 0.0, "r", TextDelta("猫 "))
    asked = entries.ModelAsked("r", 2)
    replies = entries.ModelReplied("r", 1, first), asked, entries.ModelReplied("r", 2, second)
    encoder, chunks = feed(delta, *replies, entries.RunEnded("r", "answered"))
    made = ChatCompletion.model_validate(encoder.completion())
    message = made.choices[0].message
    cited = [one.url_citation for one in message.annotations or ()]
    text = message.content or ""
    assert [(c.url[8], text[c.start_index : c.end_index]) for c in cited] == [
        ("a", "[1]"), ("b", ""), ("a", ""), ("b", "[2]"), ("b", "[2]")
    ]  # fmt: skip
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    sent = [each for delta in deltas for each in delta.get("annotations", ())]
    assert sent == encoder.completion()["choices"][0]["message"]["annotations"]
