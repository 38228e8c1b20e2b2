"""Reasoning goes back with its calls, to its own model, in the form in which it arrived."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.loopback import answer, events, saying
from tests.providers.models import chat
from toolkeel.agent.reply_assembly import assemble
from toolkeel.messages import AssistantMessage, Message, Reasoning, ToolCall, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import openai_chat
from toolkeel.providers.chat_servers import COMPATIBLE, PRESETS, ChatProfile
from toolkeel.providers.openai_chat.encode import ChatEncoder
from toolkeel.providers.openai_chat.profile import ChatTarget
from toolkeel.providers.wire.tools import WireTools

Json = dict[str, Any]


def encode(
    messages: Sequence[Message], profile: ChatProfile = COMPATIBLE, model: str = "m"
) -> list[Json]:
    return openai_chat.encode_messages(messages, model=model, profile=profile)


def thinking(model: str, key: str = "reasoning_content") -> AssistantMessage:
    return AssistantMessage(
        tool_calls=(ToolCall("c", "f"),),
        reasoning=(Reasoning("hm", "", model),),
        model=model,
        provider_options={"reasoning_key": key, "reasoning_details": [{"type": "reasoning.text"}]},
    )


def test_reasoning_goes_back_to_its_own_model_by_the_name_it_came_by() -> None:
    for model in ("m", "m-2026", "vendor/M", ""):
        [wire, *_] = encode([thinking(model, "reasoning")])
        assert wire["reasoning"] == "hm"
        assert wire["reasoning_details"] == [{"type": "reasoning.text"}]
    [wire, *_] = encode([thinking("other")])
    assert wire.keys() == {"role", "content", "tool_calls"}
    [wire, *_] = encode([thinking("m")], ChatProfile(reasoning="never"))
    assert wire.keys() == {"role", "content", "tool_calls"}


def test_reasoning_that_arrived_between_tags_goes_back_between_tags() -> None:
    [wire, *_] = encode([thinking("m", "think")])
    assert wire["content"].startswith("<think>\nhm\n</think>\n\n")
    assert "think" not in wire
    for back in (
        encode([thinking("other", "think")]),
        encode([thinking("m", "think")], ChatProfile(reasoning="never")),
    ):
        assert "<think>" not in str(back)


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SIGNED = st.lists(
    st.one_of(
        st.builds(
            lambda text, seal: {"type": "thinking", "thinking": text, "signature": seal},
            st.text("ab 猫\n", max_size=8),
            st.sampled_from(["c2ln", "bmV4dA=="]),
        ),
        st.just({"type": "redacted_thinking", "data": "c2VjcmV0"}),
    ),
    min_size=1,
    max_size=4,
)


def block_pieces(block: Json, size: int) -> list[Json]:
    if "data" in block:
        return [block]
    text = block["thinking"]
    texts = [text[at : at + size] for at in range(0, len(text), size)]
    signed = {"type": "thinking", "thinking": "", "signature": block["signature"]}
    return [*({"type": "thinking", "thinking": one} for one in texts), signed]


def answer_with(fields: Json, stream: list[Json] | None) -> Any:
    last = {"choices": [{"delta": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}]}
    if stream is not None:
        chunks = [{"model": "m", "choices": [{"delta": one}]} for one in stream]
        return assemble(openai_chat.decode_stream([*chunks, last]))
    message = {"role": "assistant", "content": None, "tool_calls": [CALL], **fields}
    choice = {"message": message, "finish_reason": "tool_calls"}
    return openai_chat.decode({"model": "m", "choices": [choice]})


@given(SIGNED, st.integers(1, 3), st.booleans())
def test_blocks_of_thinking_go_back_complete(
    signed: list[Json], size: int, is_streamed: bool
) -> None:
    pieces = [{"thinking_blocks": [one]} for block in signed for one in block_pieces(block, size)]
    reply = answer_with({"thinking_blocks": signed}, pieces if is_streamed else None)
    [sent, *_] = encode([reply])
    assert sent["thinking_blocks"] == signed
    assert "thinking_blocks" not in encode([reply], model="other")[0]
    assert "thinking_blocks" not in encode([reply], ChatProfile(reasoning="never"))[0]


@given(st.lists(st.sampled_from(["reasoning.text", "reasoning.summary"]), min_size=2, max_size=3))
def test_the_blocks_of_a_complete_message_stay_apart(kinds: list[str]) -> None:
    blocks: list[Json] = [{"type": kind, "text": "a", "index": 0} for kind in kinds]
    [sent, *_] = encode([answer_with({"reasoning_details": blocks}, None)])
    assert sent["reasoning_details"] == blocks


@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize("key", ["reasoning_opaque", "reasoning_signature", "thought_signature"])
def test_the_seal_of_reasoning_goes_back_to_its_server_and_no_other(
    key: str, is_streamed: bool
) -> None:
    pieces: list[Json] = [{"reasoning_text": "Let"}, {"reasoning_text": " me."}, {key: "c2ln"}]
    reply = answer_with({"reasoning_text": "Let me.", key: "c2ln"}, pieces if is_streamed else None)
    sent = encode([reply])[0]
    assert (sent["reasoning_text"], sent[key]) == ("Let me.", "c2ln")


@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_sealed_reply_names_the_server_that_may_have_it_back(is_streamed: bool) -> None:
    fields: Json = {"reasoning_text": "Hm.", "reasoning_opaque": "c2ln", "tool_calls": [CALL]}
    key = "delta" if is_streamed else "message"
    body: Json = {"model": "m", "choices": [{key: fields, "finish_reason": "tool_calls"}]}
    said = events(body) if is_streamed else answer(json.dumps(body))
    with saying(said) as server:
        model = chat(server, stream=is_streamed)
        reply = asyncio.run(ask(model))
    for endpoint, is_sent in (("127.0.0.1", True), ("", True), ("other.example", False)):
        target = ChatTarget("m", endpoint=endpoint, server=COMPATIBLE)
        [sent, *_] = ChatEncoder(WireTools(), target).encode_transcript([reply])
        assert ("reasoning_opaque" in sent) == is_sent
        assert sent["reasoning_text"] == "Hm."


async def ask(model: Any) -> AssistantMessage:
    return assemble([one async for one in model.stream(ModelRequest([UserMessage("go")]))])


def test_reasoning_behind_a_plain_answer_does_not_go_back() -> None:
    said = AssistantMessage(
        "42", reasoning=(Reasoning("hm"),), provider_options={"reasoning_key": "reasoning"}
    )
    assert encode([said]) == [{"role": "assistant", "content": "42"}]


LOCAL = PRESETS["llamacpp"].profile


def reply_with_text(model: str) -> AssistantMessage:
    return AssistantMessage(
        "I look.",
        tool_calls=(ToolCall("c", "f"),),
        reasoning=(Reasoning("hm", "", model),),
        model=model,
        provider_options={"reasoning_key": "reasoning_content"},
    )


@pytest.mark.parametrize("asked", ["gpt-oss-20b-mxfp4.gguf", "default"])
def test_a_local_gpt_oss_reads_the_text_beside_calls_as_reasoning(asked: str) -> None:
    reply = reply_with_text("gpt-oss-20b-mxfp4.gguf" if asked == "default" else asked)
    sent = openai_chat.encode_messages([reply], model="", profile=LOCAL)[0]
    assert (sent["reasoning_content"], sent["content"]) == ("hm\n\nI look.", "")


def test_other_models_and_servers_get_text_and_reasoning_apart() -> None:
    for profile, model in ((LOCAL, "qwen3"), (COMPATIBLE, "gpt-oss-20b")):
        [sent, *_] = encode([reply_with_text(model)], profile, model)
        assert (sent["reasoning_content"], sent["content"]) == ("hm", "I look.")


def test_a_gpt_oss_without_reasoning_keeps_its_text() -> None:
    reply = AssistantMessage("I look.", tool_calls=(ToolCall("c", "f"),), model="gpt-oss-20b")
    assert encode([reply], LOCAL, "gpt-oss-20b")[0]["content"] == "I look."


def test_what_a_call_carried_goes_to_its_own_model_only() -> None:
    options = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    call = ToolCall("c", "f", "{}", provider_options=options)
    reply = AssistantMessage(tool_calls=(call,), model="gemini-3-pro")
    [own, *_] = encode([reply], model="gemini-3-pro")
    assert own["tool_calls"][0]["extra_content"] == options["extra_content"]
    [other, *_] = encode([reply], model="gpt-5")
    assert "extra_content" not in other["tool_calls"][0]
