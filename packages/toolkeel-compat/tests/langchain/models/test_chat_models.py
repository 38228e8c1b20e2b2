"""A chat model with bound tools, and `create_agent` with one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from tests.langchain.test_tool_node import CONFIG, remember
from toolkeel import Settings
from toolkeel.errors import SetupError
from toolkeel.messages import Usage
from toolkeel.model_interface import CallDelta, Finish, TextDelta
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.langchain import (
    ChatAnthropic,
    ChatOpenAI,
    HumanMessage,
    InMemoryStore,
    ToolMessage,
    create_agent,
    init_chat_model,
    tool,
)
from toolkeel_compat.langchain.models.chat_models import plain_failures


@pytest.mark.parametrize(
    ("choice", "sent"),
    [("any", "required"), (True, "required"), ("auto", "auto"), ("now", "now"), (False, None)],
)
def test_a_bound_model_is_told_of_its_tools_and_how_to_choose(choice: Any, sent: Any) -> None:
    def now() -> str:
        return "noon"

    model = Scripted(["hello"])
    bound = init_chat_model(model).bind_tools(
        [now], tool_choice=choice, strict=True, parallel_tool_calls=False
    )
    assert bound.invoke([("user", "hi")]).content == "hello"
    [request] = model.requests
    assert [t.name for t in request.tools] == ["now"]
    assert request.settings == Settings(sent, False, True)


def test_binding_leaves_the_model_itself_as_it_was() -> None:
    model = Scripted(["a", "b"])
    plain = init_chat_model(model)
    plain.bind_tools([remember]).invoke("hi")
    asyncio.run(plain.ainvoke("hi"))
    assert [len(request.tools) for request in model.requests] == [1, 0]


def test_an_agent_takes_and_gives_a_state() -> None:
    store = InMemoryStore()
    model = Scripted([call("remember", {"fact": "tea"}, "1"), "done"])
    agent = create_agent(model, [remember], system_prompt="Be brief.", store=store)
    given = {"messages": [{"role": "user", "content": "hi"}], "mood": "fine"}
    state = agent.invoke(given, CONFIG, context="me")
    kinds = [type(m).__name__ for m in state["messages"]]
    assert kinds == [
        "HumanMessage",
        "AIMessage",
        "ToolMessage",
        "AIMessage",
    ]  # the prompt is the agent's
    assert model.requests[0].messages[0].text == "Be brief."
    assert state["messages"][1].tool_calls[0]["args"] == {"fact": "tea"}
    assert state["messages"][2].content == "tea by ada for me"
    assert (state["mood"], store.mget(["fact"])) == ("fine", ["tea"])
    assert given == {"messages": [{"role": "user", "content": "hi"}], "mood": "fine"}


def test_an_agent_runs_with_no_key_and_no_network() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    model = init_chat_model("offline")
    state = create_agent(model, [add]).invoke({"messages": "add 2 and 3"})
    results = [m.content for m in state["messages"] if isinstance(m, ToolMessage)]
    assert results == ["5"]


def test_callbacks_that_would_hear_nothing_are_refused() -> None:
    model = init_chat_model(Scripted(["a"]))
    with pytest.raises(SetupError, match="callbacks"):
        model.invoke("hi", {"callbacks": [object()]})
    assert model.invoke("hi", {"tags": ["t"]}).content == "a"


@dataclass
class City:
    """A city."""

    name: str


def test_a_model_by_itself_streams_and_answers_several() -> None:
    model = init_chat_model(Scripted(["one two", call("now", {}), "b", "c"]))
    assert "".join(piece.text for piece in model.stream("hi")) == "one two"
    called, end = model.stream([HumanMessage("x")])
    assert (called.tool_calls[0].name, end.tool_calls) == ("now", [])
    assert sorted(reply.content for reply in model.batch(["1", "2"])) == ["b", "c"]


def test_an_answer_of_a_form_may_be_had_by_a_tool_and_other_ways_are_told() -> None:
    model = Scripted([call("City", {"name": "Oslo"})])
    asked = init_chat_model(model).with_structured_output(City, method="function_calling")
    assert asked.invoke("Where?") == City("Oslo")
    assert [each.name for each in model.requests[0].tools] == ["City"]
    plain: Any = init_chat_model(Scripted([]))
    with pytest.raises(SetupError, match=r"include_raw=\.\.\.\) is not here: create_agent"):
        plain.with_structured_output(City, include_raw=True)
    with pytest.raises(SetupError, match="object"):
        plain.with_structured_output({"title": "Cities", "type": "array"})
    with pytest.raises(AttributeError, match=r"'bind'; write init_chat_model\("):
        plain.bind(temperature=0)
    with pytest.raises(SetupError, match="no chains"):
        plain | str


def test_a_streamed_reply_adds_up_to_the_whole_with_its_calls() -> None:
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    deltas = [
        TextDelta("Let me "),
        TextDelta("see."),
        CallDelta(0, "c1", "add", '{"a"'),
        CallDelta(0, arguments=": 1}"),
        Finish("tool_calls", Usage(1, 7, 3)),
    ]

    class Streaming:
        name = "streaming"

        async def stream(self, request: Any) -> Any:
            for delta in deltas:
                yield delta

    model = init_chat_model(Streaming()).bind_tools([add])
    pieces = list(model.stream("go"))
    assert [piece.content for piece in pieces] == ["Let me ", "see.", "", ""]
    whole = pieces[0] + pieces[1:]
    assert whole.content == "Let me see."
    assert whole.tool_calls == [{"name": "add", "args": {"a": 1}, "id": "c1", "type": "tool_call"}]
    assert whole.usage_metadata == {
        "input_tokens": 7, "output_tokens": 3, "total_tokens": 10,
        "input_token_details": {}, "output_token_details": {},
    }  # fmt: skip


@pytest.mark.parametrize(("make", "status"), [(ChatOpenAI, "success"), (ChatAnthropic, "error")])
def test_a_failed_result_is_marked_only_where_the_wire_has_a_flag(make: Any, status: str) -> None:
    failed = ToolMessage("no", "1", status="error")
    model = make(model="gpt-5", api_key="x").model
    assert [one.status for one in plain_failures([failed], model)] == [status]
