"""LangChain's messages are the core's, and can be read as LangChain's."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import AssistantMessage, SetupError
from toolkeel import ToolCall as CoreToolCall
from toolkeel.content import Image, Text
from toolkeel.messages import Reasoning
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import InMemorySaver, ToolRuntime, create_agent, tool
from toolkeel_compat.langchain.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from toolkeel_compat.langchain.tool_calls import ToolCall, to_tool_call

ARGS = st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=5))


@given(st.text(max_size=5), st.text(max_size=5), ARGS)
def test_a_call_reads_the_same_whatever_form_it_came_in(id: str, name: str, args: Any) -> None:
    text = json.dumps(args)
    forms: list[Any] = [
        {"name": name, "args": args, "id": id, "type": "tool_call"},
        {"id": id, "type": "function", "function": {"name": name, "arguments": text}},
        CoreToolCall(id, name, text),
        CoreToolCall(id, name, args),
        ToolCall(name=name, args=args, id=id),
    ]
    calls = [to_tool_call(form) for form in forms]
    assert all(dict(made) == forms[0] for made in calls)
    assert all(made == forms[0] and made == calls[0] for made in calls)
    assert len({hash(made) for made in calls}) == 1


def test_a_call_is_the_cores_record_and_survives_copy_and_pickle() -> None:
    made = ToolCall(name="add", args={"a": 1}, id="1")
    assert isinstance(made, CoreToolCall)
    assert (made.id, made.arguments, made.complete) == ("1", {"a": 1}, True)
    assert copy.copy(made) == pickle.loads(pickle.dumps(made)) == made
    assert made.get("none", 7) == 7
    with pytest.raises(KeyError):
        made["none"]
    assert made != {"name": "add", "args": {"a": 2}, "id": "1"}
    assert made != "add"


def test_a_call_without_an_id_has_the_empty_one() -> None:
    assert to_tool_call({"name": "now", "args": {}, "id": None}).id == ""


def test_an_ai_message_takes_calls_as_dicts_and_is_the_cores_record() -> None:
    made = AIMessage(content=None, tool_calls=[{"name": "add", "args": {"a": 1}, "id": "1"}])
    assert isinstance(made, AssistantMessage)
    assert (made.content, made.tool_calls[0]["args"]) == ("", {"a": 1})
    assert AIMessage("hi", tool_calls=None).tool_calls == ()
    assert copy.copy(made) == made


def test_messages_are_read_in_every_form_people_write() -> None:
    asked = AssistantMessage("x", (CoreToolCall("1", "add", "{}"),), model="m")
    found = convert_to_messages(
        [
            ("system", "Be brief."),
            ("human", "hi"),
            {"role": "user", "content": "again"},
            {"role": "assistant", "content": None, "tool_calls": [_wire_call()]},
            {"role": "tool", "tool_call_id": "1", "content": "3", "refusal": None},
            asked,
            "last",
        ]
    )
    assert found[:3] == [SystemMessage("Be brief."), HumanMessage("hi"), HumanMessage("again")]
    first = found[3]
    assert isinstance(first, AIMessage)
    assert dict(first.tool_calls[0])["args"] == {"a": 1}
    assert found[4] == ToolMessage("3", "1")
    second = found[5]
    assert isinstance(second, AIMessage)
    assert (second.content, second.model, second.tool_calls[0]["id"]) == ("x", "m", "1")
    assert found[6] == HumanMessage("last")
    assert convert_to_messages("hi") == [HumanMessage("hi")]


def _wire_call() -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


@pytest.mark.parametrize("item", [7, {"content": "no role"}, ("poet", "x"), None])
def test_what_is_no_message_is_refused(item: object) -> None:
    with pytest.raises(SetupError, match="no message"):
        convert_to_messages([item])


def test_a_message_says_what_it_is_and_shows_itself(capsys: pytest.CaptureFixture[str]) -> None:
    call = {"name": "add", "args": {"a": 1}, "id": "7"}
    said = convert_to_messages(
        [("user", "hi"), AIMessage("", [call]), ToolMessage("3", "7", "add")]
    )
    assert [one.type for one in said] == ["human", "ai", "tool"]  # type: ignore[union-attr]
    for one in said:
        one.pretty_print()  # type: ignore[union-attr]
    shown = capsys.readouterr().out
    assert " Human Message =" in shown and "Name: add\n\n3" in shown
    assert "Tool Calls:\n  add (7)\n Call ID: 7\n  Args:\n    a: 1" in shown


def test_what_a_message_would_not_keep_is_refused() -> None:
    for kind in (HumanMessage, AIMessage):
        with pytest.raises(SetupError, match=rf"{kind.__name__}\(additional_kwargs=.*no addit"):
            kind("hi", additional_kwargs={"a": 1})
    assert ToolMessage("x", "1", "look").name == "look"
    assert (HumanMessage("hi", id=None).id, HumanMessage("hi").additional_kwargs) == (None, {})


@pytest.mark.parametrize("path", [":memory:", "talk.db"])
def test_ids_and_names_stay_with_messages_through_threads_streams_and_tools(
    path: str, tmp_path: Path
) -> None:
    seen: list[Any] = []

    @tool
    def look(runtime: ToolRuntime) -> str:
        """Look."""
        seen.extend((one.id, one.name) for one in runtime.state["messages"][:2])
        return "found"

    saver = InMemorySaver(path if path == ":memory:" else tmp_path / path)
    model = Scripted([call("look"), "done", "again"])
    agent = create_agent(model, [look], checkpointer=saver)
    thread = {"configurable": {"thread_id": "t"}}
    said = [HumanMessage("hi", id="m1", name="Ann"), {"role": "user", "content": "x", "id": "m2"}]
    agent.invoke({"messages": said}, thread)
    *_, last = agent.stream(
        {"messages": [HumanMessage("more", id="m3")]}, thread, stream_mode="values"
    )
    assert seen == [("m1", "Ann"), ("m2", None)]
    state = agent.get_state(thread).values
    history = next(iter(agent.get_state_history(thread))).values
    for messages in (last["messages"], state["messages"], history["messages"]):
        people = [(m.id, m.name) for m in messages if m.type == "human"]
        assert people == [("m1", "Ann"), ("m2", None), ("m3", None)]


def test_every_kind_of_message_keeps_its_id_and_name_from_a_dict() -> None:
    rows = [
        {"role": role, "content": "x", "id": "7", "name": "n"} | more
        for role, more in (("user", {}), ("assistant", {}), ("system", {}))
    ]
    rows.append({"role": "tool", "content": "x", "tool_call_id": "c", "id": "7", "name": "n"})
    read: Any = convert_to_messages(rows)
    assert [(one.id, one.name) for one in read] == [("7", "n")] * 4


def test_a_reply_says_what_it_cost_and_what_of_it_cannot_be_read() -> None:
    spent = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    spent |= {"input_token_details": {"cache_read": 1}, "output_token_details": {"reasoning": 2}}
    message = AIMessage("x", usage_metadata=spent, model="m")
    assert message.usage_metadata == spent and AIMessage("x").usage_metadata is None
    assert message.response_metadata["model_name"] == "m"
    bad, good = CoreToolCall("1", "look", '{"a"'), CoreToolCall("2", "look", "{}")
    assert [one.id for one in AIMessage("", [bad, good]).invalid_tool_calls] == ["1"]


def test_content_of_parts_is_read_and_written() -> None:
    url = "https://a.example/b.png"
    asked = HumanMessage(
        [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": url}}]
    )
    assert asked.content == (Text("see"), Image(url=url))
    assert asked.content_blocks[1] == {"type": "image", "url": url}
    assert HumanMessage(content_blocks=[{"type": "text", "text": "see"}]).content == "see"


def test_thoughts_and_calls_among_the_parts_of_a_reply_are_no_content() -> None:
    reply = AIMessage(
        [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Done."},
            {"type": "tool_use", "id": "1", "name": "add", "input": {}},
        ],
        [{"name": "add", "args": {}, "id": "1"}],
    )
    assert reply.content == "Done."
    assert reply.reasoning == (Reasoning("hm", "s"),)
    assert [call.name for call in reply.tool_calls] == ["add"]


@pytest.mark.parametrize(
    "one",
    [HumanMessage("hi"), ("user", "hi"), {"role": "user", "content": "hi"}, "hi"],
    ids=lambda one: type(one).__name__,
)
def test_a_message_by_itself_stands_for_a_list_of_it(one: object) -> None:
    assert convert_to_messages(one) == [HumanMessage("hi")]
    agent = create_agent(Scripted(["Hello."]))
    assert [m.content for m in agent.invoke({"messages": one})["messages"]] == ["hi", "Hello."]


def test_a_pair_that_is_no_message_and_a_dict_without_a_role_are_refused() -> None:
    for strange in (("nobody", "hi"), {"text": "hi"}):
        with pytest.raises(SetupError, match="no message"):
            convert_to_messages(strange)


def test_calls_of_a_reply_are_shown_and_compared_as_a_list_of_dicts() -> None:
    made = {"name": "add", "args": {"a": 1}, "id": "1", "type": "tool_call"}
    reply = AIMessage("", [made])
    assert reply.tool_calls == [made]
    assert repr(reply.tool_calls) == repr([made])
    assert AIMessage("").tool_calls == []
    broken = AIMessage("", [ToolCall("1", "add", "{")])
    assert "arguments='{'" in repr(broken)
    assert reply.name is HumanMessage("hi").name is None


def test_what_messages_do_not_do_is_told_with_what_to_write() -> None:
    message: Any = HumanMessage("a")
    with pytest.raises(AttributeError, match=r"no 'model_dump'; write dataclasses\.asdict"):
        message.model_dump()
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"replace\(message, content="):
        message.content = "b"
    assert dataclasses.replace(message, content="b").content == "b"
    assert isinstance(message, BaseMessage) and not isinstance("a", BaseMessage)
    assert isinstance(message, AnyMessage)


def test_the_text_of_a_message_is_its_words_alone() -> None:
    parts = [{"type": "text", "text": "看"}, {"type": "image", "url": "https://a.example/b.png"}]
    assert HumanMessage(parts).text == "看"


def test_a_dict_of_a_result_keeps_its_name_status_and_artifact() -> None:
    fields = {"content": "no", "name": "add", "status": "error", "artifact": [1]}
    for kind in ({"role": "tool"}, {"type": "tool"}):
        [made] = convert_to_messages([{**kind, "tool_call_id": "1", **fields}])
        assert made == ToolMessage("no", "1", "add", "error", artifact=[1])


@pytest.mark.parametrize(
    "lost", [{"tool_call_id": "7"}, {"refusal": "no"}, {"function_call": {"name": "f"}}]
)
def test_a_field_that_a_message_would_lose_is_refused(lost: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match=f"has no '{next(iter(lost))}'"):
        convert_to_messages([{"role": "user", "content": "hi", **lost}])
    empty = dict.fromkeys(lost)
    assert convert_to_messages([{"role": "user", "content": "hi", **empty}]) == [HumanMessage("hi")]


def test_texts_of_a_system_prompt_are_joined_as_they_are() -> None:
    parts = [{"type": "text", "text": "Serve."}, {"type": "text", "text": " Be kind."}]
    assert SystemMessage(parts).content == "Serve. Be kind."
