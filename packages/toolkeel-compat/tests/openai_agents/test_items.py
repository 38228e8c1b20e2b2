"""Items: what a run added, and what the next one is given."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import (
    AssistantMessage,
    Image,
    SetupError,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.messages import Message, Reasoning
from toolkeel_compat.openai_agents.items import (
    ItemHelpers,
    MessageOutputItem,
    RawItem,
    to_input_list,
    to_items,
    to_messages,
)


def test_a_reply_is_its_thoughts_its_text_and_its_calls() -> None:
    reply = AssistantMessage(
        "so", (ToolCall("1", "add", {"a": 1}),), "tool_calls", reasoning=(Reasoning("hm"),)
    )
    thought, said, called = to_items("agent", reply)
    assert [i.type for i in (thought, said, called)] == [
        "reasoning_item", "message_output_item", "tool_call_item",
    ]  # fmt: skip
    assert called.raw_item.arguments == '{"a":1}' and called.raw_item["call_id"] == "1"
    assert isinstance(said, MessageOutputItem)
    assert ItemHelpers.text_message_output(said) == "so"
    assert ItemHelpers.extract_last_content(said.raw_item) == "so"


def test_an_attribute_that_an_item_does_not_have_is_none() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = RawItem(type="x").nothing


TEXT = st.text(st.characters(exclude_categories=["C"]), min_size=1).filter(str.strip)
# No wire takes a NUL; half a surrogate pair is sent as U+FFFD.
TOLD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
ARGUMENTS = st.dictionaries(TOLD, st.integers() | TOLD, max_size=3).map(json.dumps)


@st.composite
def transcripts(draw: st.DrawFn) -> list[Message]:
    made: list[Message] = []
    for turn in range(draw(st.integers(1, 4))):
        made.append(UserMessage(draw(TEXT)))
        names = draw(st.lists(st.sampled_from(["add", "look"]), max_size=3))
        calls = tuple(
            ToolCall(f"{turn}-{n}", name, draw(ARGUMENTS)) for n, name in enumerate(names)
        )
        text = draw(TEXT)
        made.append(AssistantMessage(text, calls, "tool_calls" if calls else "stop"))
        made += [ToolMessage(draw(TEXT), call.id) for call in calls]
    return made


@given(transcripts())
def test_a_transcript_as_items_is_the_same_transcript_again(said: list[Message]) -> None:
    items = json.loads(json.dumps(to_input_list([SystemMessage("told"), *said])))
    again = to_messages(items)
    assert [(type(m), m.text) for m in again] == [(type(m), m.text) for m in said]
    assert [
        (c.id, c.name, json.loads(str(c.arguments)))
        for m in again if isinstance(m, AssistantMessage) for c in m.tool_calls
    ] == [
        (c.id, c.name, json.loads(str(c.arguments)))
        for m in said if isinstance(m, AssistantMessage) for c in m.tool_calls
    ]  # fmt: skip


def test_instructions_stay_with_the_agent_that_has_them() -> None:
    assert to_input_list([SystemMessage("told"), UserMessage("hi")])[0]["role"] == "user"


def test_pictures_and_texts_of_a_message_are_read() -> None:
    parts = [
        {"type": "input_text", "text": "what is it?"},
        {"type": "input_image", "image_url": "https://x.test/a.png"},
    ]
    [message] = to_messages([{"role": "user", "content": parts}])
    assert message.content[1] == Image(url="https://x.test/a.png")


@pytest.mark.parametrize(
    ("item", "named"),
    [
        ({"role": "user", "content": [{"type": "input_audio"}]}, "input_audio"),
        ({"role": "judge", "content": "x"}, "judge"),
        (7, "7"),
    ],
)
def test_an_item_that_is_not_read_is_refused_by_its_type(item: object, named: str) -> None:
    with pytest.raises(SetupError, match=named):
        to_messages([item])
    with pytest.raises(SetupError, match="give a text or a list"):
        to_messages(7)


def test_a_text_becomes_a_list_of_items() -> None:
    assert ItemHelpers.input_to_new_input_list("hi") == [{"role": "user", "content": "hi"}]


def test_items_of_responses_stay_as_they_came_with_their_ids() -> None:
    part = {"annotations": [], "text": "so", "type": "output_text", "logprobs": []}
    items = [
        {"content": "hi", "role": "user"},
        {
            "arguments": "{}", "call_id": "call_1", "name": "add", "type": "function_call",
            "id": "fc_1", "status": "completed",
        },
        {"call_id": "call_1", "output": "2", "type": "function_call_output"},
        {
            "id": "msg_1", "content": [part], "role": "assistant", "status": "completed",
            "type": "message",
        },
    ]  # fmt: skip
    assert json.dumps(to_input_list(to_messages(items))) == json.dumps(items)


def test_calls_that_the_provider_made_of_its_own_tools_are_items_in_their_place() -> None:
    ran = {"type": "code_interpreter_call", "id": "ci_1", "code": "1+1", "status": "completed"}
    said = {"type": "message", "content": [{"type": "output_text", "text": "2"}], "id": "m"}
    kept = {"openai-responses": {"output": [ran, "call", said]}}
    reply = AssistantMessage("2", (ToolCall("1", "add", "{}"),), provider_options=kept)
    items = to_items("agent", reply)
    assert [item.type for item in items] == [
        "tool_call_item", "tool_call_item", "message_output_item",
    ]  # fmt: skip
    assert items[0].raw_item.code == "1+1" and items[1].raw_item.name == "add"
    assert to_items("agent", AssistantMessage("3", provider_options=kept))[0].raw_item["content"]


def test_helpers_read_items_of_openais_own_types_too() -> None:
    from openai.types import responses as typed

    text = typed.ResponseOutputText(text="so", type="output_text", annotations=[])
    no = typed.ResponseOutputRefusal(refusal="no", type="refusal")
    about = {"id": "m", "role": "assistant", "status": "completed", "type": "message"}
    said = typed.ResponseOutputMessage(content=[text, no], **about)
    assert (ItemHelpers.extract_text(said), ItemHelpers.extract_refusal(said)) == ("so", "no")
    assert (ItemHelpers.extract_last_text(said), ItemHelpers.extract_last_content(said)) == (
        None, "no",
    )  # fmt: skip
    call = typed.ResponseFunctionToolCall(
        call_id="c", name="add", arguments="{}", type="function_call"
    )
    assert ItemHelpers.extract_last_content(call) == ""
    made = ItemHelpers.tool_call_output_item(
        call, {"type": "image", "image_url": "https://a.example/b.png"}
    )
    assert made == {
        "call_id": "c",
        "output": [
            {"type": "input_image", "image_url": "https://a.example/b.png", "detail": "auto"}
        ],
        "type": "function_call_output",
    }
    assert ItemHelpers.tool_call_output_item(call, [1])["output"] == "[1]"


def test_what_a_program_wrote_in_the_models_name_goes_back_as_it_wrote_it() -> None:
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert to_input_list(to_messages(said)) == said
    part = {"type": "output_text", "text": "b", "annotations": [{"url": "https://a.example"}]}
    cited = [{"type": "message", "role": "assistant", "content": [part]}]
    assert to_input_list(to_messages(cited)) == cited
