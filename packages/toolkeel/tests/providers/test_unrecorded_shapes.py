"""Histories of shapes that no recording shows, family by family: what goes back is what servers accept."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.providers.transcripts import transcripts
from toolkeel import tool
from toolkeel.agent.reply_assembly import assemble
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.providers.anthropic.encode import AnthropicEncoder
from toolkeel.providers.anthropic.profile import AnthropicProfile
from toolkeel.providers.chat_servers import COMPATIBLE, PRESETS

Json = dict[str, Any]
CLAUDE = "claude-sonnet-4-5"
names = st.text("abc_", min_size=1, max_size=5)
words = st.text("ab 猫\n<>{}\"'", max_size=12)


# — reasoning —


@settings(max_examples=30)
@given(transcripts, st.sampled_from(["deepseek", "moonshot", "kimi", "mimo"]), st.booleans())
def test_reasoners_get_reasoning_beside_all_calls_of_any_model(
    messages: list[Message], server: str, is_named: bool
) -> None:
    model = "gpt-5" if is_named else ""
    profile = PRESETS[server].profile
    for wire in openai_chat.encode_messages(messages, model=model, profile=profile):
        if wire.get("tool_calls"):
            assert isinstance(wire["reasoning_content"], str)


@settings(max_examples=30)
@given(transcripts, st.sampled_from(["groq", "mistral"]))
def test_servers_that_refuse_reasoning_get_none(messages: list[Message], server: str) -> None:
    profile = PRESETS[server].profile
    for wire in openai_chat.encode_messages(messages, model="other", profile=profile):
        assert not {"reasoning", "reasoning_content", "reasoning_details"} & wire.keys()


@given(
    st.sampled_from(["claude-sonnet-4", "claude-opus-4"]),
    st.sampled_from(["", "-0", "-latest", "@20250514"]),
    words.filter(str.strip),
    st.booleans(),
)
def test_signed_thinking_is_thinking_again_for_each_name_of_its_model(
    family: str, ending: str, thought: str, is_requested: bool
) -> None:
    block = {"type": "thinking", "thinking": thought, "signature": "c2ln"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    stored = {"type": "message", "role": "assistant", "model": f"{family}-20250514"}
    answer = {**stored, "content": [block, call], "stop_reason": "tool_use"}
    requested: Json = {"model": family + ending} if is_requested else {}
    reply = anthropic.decode(answer, **requested)
    messages = [UserMessage("go"), reply, ToolMessage("1", "toolu_1")]
    sent: Any = anthropic.encode_messages(messages, model=family + ending)
    assert sent[1]["content"][0] == block
    other = anthropic.encode_messages(messages, model="claude-haiku-3-5")
    assert "signature" not in str(other)


# — containers —


@st.composite
def replies_in_containers(draw: st.DrawFn) -> list[tuple[Message, str]]:
    """Turns of any length, each message with the container that must be named behind it."""
    made: list[tuple[Message, str]] = []
    for turn in range(draw(st.integers(1, 3))):
        container = ""
        made.append((UserMessage(f"question {turn}"), ""))
        for step in range(draw(st.integers(0, 3))):
            new = draw(st.sampled_from(["", "c_1", "c_2"]))
            container = new or container
            call = ToolCall(f"t{turn}_{step}", "f", {})
            has_call = draw(st.booleans())
            options = {"anthropic": {"container": new}} if new else {}
            text = "" if has_call else "said"
            reply = AssistantMessage(text, (call,) * has_call, provider_options=options)
            made.append((reply, container))
            if has_call:
                made.append((ToolMessage("1", call.id), container))
    return made


@given(replies_in_containers(), st.booleans())
def test_the_last_container_of_an_open_turn_is_named_and_none_after_it(
    story: list[tuple[Message, str]], keep: bool
) -> None:
    profile = AnthropicProfile(CLAUDE, keep_container=keep)
    latest = ""
    for upto, (_, container) in enumerate(story, 1):
        latest = container or latest
        request = ModelRequest([message for message, _ in story[:upto]])
        body = AnthropicEncoder.encode(request, profile)
        assert body.get("container", "") == (latest if keep else container)


# — answers spread over choices —


@given(
    words,
    st.lists(names, min_size=1, max_size=3),
    st.sampled_from([None, 0, "0", "counted"]),
    st.booleans(),
)
def test_an_answer_spread_over_choices_is_one_answer(
    text: str, called: list[str], index: object, is_streamed: bool
) -> None:
    calls = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for number, name in enumerate(called)
    ]
    parts: list[Json] = [{"content": text}, *({"tool_calls": [one]} for one in calls)]
    key = "delta" if is_streamed else "message"
    choices: list[Json] = [
        {key: {"role": "assistant", **part}, "finish_reason": "tool_calls"} for part in parts
    ]
    for number, choice in enumerate(choices):
        choice |= {} if index is None else {"index": number if index == "counted" else index}
    if is_streamed:
        chunks = [{"choices": [one]} for one in choices]
        reply = assemble(openai_chat.decode_stream(chunks))
    else:
        reply = openai_chat.decode({"choices": choices})
    assert (reply.text, [call.name for call in reply.tool_calls]) == (text, called)
    assert reply.finish_reason == "tool_calls"


@given(words, st.lists(names, min_size=1, max_size=2), st.booleans(), st.booleans())
def test_a_second_answer_beside_the_first_is_not_part_of_it(
    text: str, called: list[str], has_calls: bool, is_streamed: bool
) -> None:
    calls = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for number, name in enumerate(called)
    ]
    key = "delta" if is_streamed else "message"
    first: Json = {"content": text, **({"tool_calls": calls} if has_calls else {})}
    end = "tool_calls" if has_calls else "stop"
    answer: Json = {
        "choices": [
            {"index": 0, key: first, "finish_reason": end},
            {"index": 1, key: {"tool_calls": calls}, "finish_reason": "tool_calls"},
        ]
    }
    read = openai_chat.decode_stream([answer]) if is_streamed else [openai_chat.decode(answer)]
    assert len(assemble(read).tool_calls) == len(called) * has_calls


# — calls of every form —


@given(words, names, st.booleans())
def test_a_freeform_text_is_the_same_after_any_number_of_turns(
    text: str, name: str, is_streamed: bool
) -> None:
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c", "name": name, "input": text}
    response = {"id": "r", "object": "response", "model": "gpt-5", "status": "completed"}
    answer = {**response, "output": [item]}
    if is_streamed:
        added = {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "input": ""},
        }
        done = {"type": "response.completed", "response": answer}
        reply = assemble(list(openai_responses.decode_stream([added, done])))
    else:
        reply = openai_responses.decode(answer)
    messages: list[Message] = [UserMessage("go"), reply, ToolMessage("1", "c", name)]
    for _ in range(2):
        sent = openai_responses.encode_messages(messages, model="gpt-5")
        called = next(one for one in sent if one.get("type") == "custom_tool_call")
        assert (called["input"], called["name"]) == (text, name)
        messages = openai_responses.decode_messages({"model": "gpt-5", "input": sent})


@tool
def apply(patch: str, dry_run: bool = False) -> str:
    """Apply a patch."""
    return patch


@tool
def count(lines: int, columns: int) -> str:
    """Count."""
    return ""


FREEFORM_PARAMETERS = {"apply": "patch", "count": "input", "gone": "input"}


@given(
    words.filter(lambda text: not text.startswith("{")),
    st.sampled_from(sorted(FREEFORM_PARAMETERS)),
    st.sampled_from([openai_chat, openai_responses, anthropic, bedrock, gemini]),
    st.booleans(),
)
def test_a_freeform_text_is_a_valid_argument_where_there_are_only_functions(
    text: str, name: str, wire: Any, is_from_chat: bool
) -> None:
    custom = {"name": name, "input": text}
    if is_from_chat or wire is openai_responses:
        call = {"id": "c", "type": "custom", "custom": custom}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        reply = openai_chat.decode({"choices": [{"message": message, "finish_reason": "stop"}]})
    else:
        item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c", **custom}
        reply = openai_responses.decode({"object": "response", "output": [item]})
    messages = [UserMessage("go"), reply, ToolMessage("1", "c", name)]
    options: Json = {"profile": COMPATIBLE} if wire is openai_chat else {}
    sent = wire.encode_messages(messages, tools=[apply, count], **options)
    for _ in range(2):
        again = wire.decode_messages(sent)
        [called] = [one for message in again for one in getattr(message, "tool_calls", ())]
        assert json.loads(called.arguments) == {FREEFORM_PARAMETERS[name]: text}
        assert called.provider_options.get("type") != "custom"
        sent = wire.encode_messages(again, tools=[apply, count], **options)


@given(st.integers(1, 5), st.data())
def test_after_a_stored_response_only_what_is_newer_is_sent(
    count: int, data: st.DataObject
) -> None:
    messages: list[Message] = []
    for number in range(count):
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}"}
        output = [{**item, "name": "f", "arguments": "{}"}]
        response = {"id": f"resp_{number}", "object": "response", "model": "gpt-5"}
        reply = openai_responses.decode(
            {**response, "status": "completed", "output": output, "store": True}
        )
        messages += [UserMessage(f"q{number}"), reply, ToolMessage(f"r{number}", f"c{number}")]
    last = data.draw(st.integers(0, count - 1))
    options = Settings(extra_body={"previous_response_id": f"resp_{last}"})
    body: Any = openai_responses.encode(ModelRequest(messages, (), options), "gpt-5")
    whole: Any = openai_responses.encode(ModelRequest(messages), "gpt-5")
    sent = body["input"]
    assert sent == whole["input"][-len(sent) :]
    assert sent[0] == {"type": "function_call_output", "call_id": f"c{last}", "output": f"r{last}"}
    assert f"q{last}'" not in str(sent) and str(sent).count("'output':") == count - last


@given(
    st.dictionaries(
        st.sampled_from(["extra_content", "index2", "x_vendor"]), st.just({"a": 1}), max_size=3
    ),
    st.sampled_from(["m", "m-2", "other"]),
)
def test_what_a_vendor_adds_to_a_call_goes_back_to_its_own_model_only(
    extra: Json, model: str
) -> None:
    function = {"name": "f", "arguments": "{}"}
    message = {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": function, **extra}],
    }
    choices = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
    reply = openai_chat.decode({"model": "m", "choices": choices})
    messages = [UserMessage("go"), reply, ToolMessage("1", "c")]
    sent = openai_chat.encode_messages(messages, model=model)[1]["tool_calls"][0]  # type: ignore[index]
    added = {key: sent[key] for key in sent.keys() - {"id", "type", "function"}}
    assert added == (extra if model == "m" else {})


# — no text that was not there —


@settings(max_examples=30)
@given(transcripts, st.sampled_from(["us.amazon.nova-pro-v1:0", "meta.llama3-1-70b-instruct-v1:0"]))
def test_no_blank_text_is_sent_to_bedrock(messages: list[Message], model: str) -> None:
    for wire in bedrock.encode_messages([*messages, UserMessage("go on")], model=model):
        for block in wire["content"]:  # type: ignore[attr-defined]
            assert "text" not in block or block["text"].strip()


@given(words, words, st.sampled_from(["reasoning", "reasoning_content"]), st.booleans())
def test_a_local_gpt_oss_never_gets_text_and_reasoning_beside_calls(
    said: str, thought: str, key: str, is_called: bool
) -> None:
    reply = AssistantMessage(
        said,
        (ToolCall("c", "f", {}),) * is_called,
        reasoning=(Reasoning(thought, "", "gpt-oss-20b"),),
        model="gpt-oss-20b",
        provider_options={"reasoning_key": key},
    )
    messages = [UserMessage("go"), reply, *[ToolMessage("1", "c")] * is_called]
    profile = PRESETS["llamacpp"].profile
    for wire in openai_chat.encode_messages(messages, model="gpt-oss-20b", profile=profile)[1:2]:
        if wire.get("tool_calls"):
            assert not (wire.get(key) and wire["content"])
            assert said.strip() in f"{wire.get(key, '')}{wire['content']}"
