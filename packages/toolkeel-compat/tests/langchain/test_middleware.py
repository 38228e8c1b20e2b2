"""Middleware stands around requests and calls in the order in which it was given."""

from __future__ import annotations

import asyncio
import operator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from toolkeel import SetupError
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.langchain import (
    REMOVE_ALL_MESSAGES,
    AgentMiddleware,
    AgentState,
    AIMessage,
    Command,
    HumanMessage,
    InMemorySaver,
    ModelRequest,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    ToolRuntime,
    after_agent,
    after_model,
    before_agent,
    before_model,
    create_agent,
    create_react_agent,
    dynamic_prompt,
    hook_config,
    init_chat_model,
    tool,
    wrap_model_call,
    wrap_tool_call,
)


@tool
def look(runtime: ToolRuntime) -> Any:
    """Look."""
    message = ToolMessage("looked", tool_call_id=runtime.tool_call_id)
    return Command(update={"seen": ["tool"], "messages": [message]})


class Seen(AgentState):
    seen: Annotated[list[str], operator.add]


@dataclass
class Mood:
    mood: str


def noting(name: str, log: list[str]) -> AgentMiddleware:
    class Noting(AgentMiddleware):
        def before_agent(self, state: Any, runtime: Any) -> None:
            log.append(f"{name} begins with {len(state['messages'])}")

        async def abefore_model(self, state: Any, runtime: Any) -> None:
            await asyncio.sleep(0)
            log.append(f"{name} before")

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            log.append(f"{name} asks")
            return handler(request)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            log.append(f"{name} calls {request.tool_call['name']}")
            return await handler(request)

        def after_model(self, state: Any, runtime: Any) -> None:
            log.append(f"{name} after")

        def after_agent(self, state: Any, runtime: Any) -> None:
            log.append(f"{name} ends with {len(state['messages'])}")

    return Noting()


def test_the_first_is_the_outermost_everywhere() -> None:
    log: list[str] = []
    model = Scripted([call("look"), "bye"])
    agent = create_agent(model, [look], middleware=[noting("a", log), noting("b", log)])
    agent.invoke({"messages": "hi"})
    turn = ["a before", "b before", "a asks", "b asks", "b after", "a after"]
    assert log == [
        "a begins with 1", "b begins with 1", *turn, "a calls look", "b calls look", *turn,
        "b ends with 4", "a ends with 4",
    ]  # fmt: skip


def test_what_hooks_and_tools_write_is_joined_as_the_schema_says() -> None:
    @before_agent
    def begin(state: Any, runtime: Any) -> Any:
        return {"seen": [f"begin {runtime.context.mood}"]}

    @before_model
    def before(state: Any, runtime: Any) -> Any:
        return {"seen": ["before"]}

    @after_model
    async def after(state: Any, runtime: Any) -> Any:
        return {"seen": ["after"]}

    @after_agent
    def end(state: Any, runtime: Any) -> Any:
        return {"seen": ["end"]}

    agent = create_agent(
        Scripted([call("look"), "bye"]), [look], middleware=[begin, before, after, end],
        state_schema=Seen, context_schema=Mood,
    )  # fmt: skip
    state = agent.invoke({"messages": "hi", "seen": ["given"]}, context={"mood": "kind"})
    turn = ["before", "after"]
    assert state["seen"] == ["given", "begin kind", *turn, "tool", *turn, "end"]


def test_a_key_that_the_schema_does_not_have_is_refused() -> None:
    agent = create_agent(Scripted(["x"]), state_schema=Seen)
    with pytest.raises(SetupError, match="state_schema has no 'other'"):
        agent.invoke({"messages": "hi", "other": 1})


def test_messages_that_a_hook_removes_are_not_in_the_state_any_more() -> None:
    model = Scripted(["one", "two"])

    @before_model
    def last(state: Any, runtime: Any) -> Any:
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *state["messages"][-1:]]}

    @dynamic_prompt
    def told(request: Any) -> str:
        return f"be {request.runtime.context}; {len(request.messages)} shown"

    agent = create_agent(model, middleware=[last, told])
    given = [HumanMessage("a"), AIMessage("b"), HumanMessage("c")]
    state = agent.invoke({"messages": given}, context="kind")
    assert [one.text for one in model.requests[0].messages] == ["be kind; 1 shown", "c"]
    assert [one.content for one in state["messages"]] == ["c", "one"]


@pytest.mark.parametrize("answer", ["enough", None])
@pytest.mark.parametrize(
    ("hook", "node"), [(before_agent, "stop.before_agent"), (before_model, "stop.before_model")]
)
def test_a_hook_may_end_a_run_before_the_model_with_an_answer_or_without(
    hook: Any, node: str, answer: str | None
) -> None:
    @hook(can_jump_to=["end"])
    def stop(state: Any, runtime: Any) -> Any:
        if state["messages"][-1].text != "stop":
            return None
        said = {"messages": [AIMessage(answer)]} if answer else {}
        return {**said, "jump_to": "end"}

    thread: Any = {"configurable": {"thread_id": "1"}}
    model = Scripted(["hello", "again"])
    agent = create_agent(model, middleware=[stop], checkpointer=InMemorySaver())
    agent.invoke({"messages": "hi"}, thread)
    told = ["hi", "hello", "stop", *([answer] if answer else [])]
    modes = ["updates", "values"]
    parts = [*agent.stream({"messages": "stop"}, thread, stream_mode=modes)]
    assert [name for mode, part in parts if mode == "updates" for name in part] == [node]
    assert [one.text for one in parts[-1][1]["messages"]] == told
    assert [one.text for one in agent.get_state(thread).values["messages"]] == told
    state = agent.invoke({"messages": "go"}, thread)
    assert [one.text for one in state["messages"]] == [*told, "go", "again"]
    assert [one.text for one in model.requests[-1].messages] == [*told, "go"]


@pytest.mark.parametrize("hook", [before_model, after_model])
def test_a_hook_may_go_to_the_end(hook: Any) -> None:
    @hook(can_jump_to=["end"])
    def stop(state: Any, runtime: Any) -> Any:
        return {"messages": [AIMessage("enough")], "jump_to": "end"}

    state = create_agent(Scripted([call("look")]), [look], middleware=[stop]).invoke(
        {"messages": "hi"}
    )
    assert [one.content for one in state["messages"]] == ["hi", "enough"]


def test_a_hook_of_a_class_says_where_it_goes_and_elsewhere_is_refused() -> None:
    class Stop(AgentMiddleware):
        @hook_config(can_jump_to=["end"])
        def before_model(self, state: Any, runtime: Any) -> Any:
            return {"messages": [AIMessage("enough")], "jump_to": "end"}

    state = create_agent(Scripted([]), middleware=[Stop()]).invoke({"messages": "hi"})
    assert state["messages"][-1].content == "enough"
    with pytest.raises(SetupError, match="'tools'"):
        before_model(can_jump_to=["end", "tools"])(print)


def test_a_request_of_ones_own_has_a_system_prompt_and_known_fields() -> None:
    request = ModelRequest(model="offline", messages=[], system_prompt="be kind")
    assert (request.system_prompt, request.tools) == ("be kind", ())
    assert request.override(system_prompt=None).system_message is None
    assert request.override(messages=[{"role": "user", "content": "hi"}]).messages[0].text == "hi"
    for given in ({"model": "offline"}, {"model": "m", "messages": [], "modle": 1}):
        with pytest.raises(TypeError, match=r"ModelRequest: \['(messages|modle)'\]"):
            ModelRequest(**given)


def test_a_request_may_be_answered_elsewhere_or_go_to_another_model() -> None:
    other = init_chat_model(Scripted(["from another"]))

    @wrap_model_call
    def reroute(request: Any, handler: Any) -> Any:
        return handler(request.override(model=other, tools=[]))

    @wrap_model_call
    async def cached(request: Any, handler: Any) -> Any:
        return AIMessage("from memory")

    for middleware, said in ((reroute, "from another"), (cached, "from memory")):
        agent = create_agent(Scripted([]), [look], middleware=[middleware])
        assert agent.invoke({"messages": "hi"})["messages"][-1].content == said


def test_tools_are_sent_in_the_order_that_a_wrapper_gives_them() -> None:
    @wrap_model_call
    def reverse(request: Any, handler: Any) -> Any:
        return handler(request.override(tools=[*reversed(request.tools)]))

    @tool
    def listen() -> str:
        """Listen."""
        return ""

    model = Scripted(["bye"])
    create_agent(model, [look, listen], middleware=[reverse]).invoke({"messages": "hi"})
    assert [one.name for one in model.requests[0].tools] == ["listen", "look"]


def test_a_wrapper_around_calls_may_answer_in_the_tools_place() -> None:
    @wrap_tool_call
    def pretend(request: Any, handler: Any) -> Any:
        return ToolMessage("pretended", tool_call_id=request.tool_call["id"])

    agent = create_agent(Scripted([call("look"), "bye"]), [look], middleware=[pretend])
    assert agent.invoke({"messages": "hi"})["messages"][2].content == "pretended"


@pytest.mark.parametrize(
    ("update", "named"),
    [
        ({"jump_to": "tools"}, "jump_to"),
        ({"messages": [HumanMessage("more")]}, "after_model"),
        ({"messages": [HumanMessage("other", id="1")]}, "after_model"),
        (7, "give a dict"),
    ],
)
def test_what_a_hook_cannot_change_here_is_refused(update: Any, named: str) -> None:
    @after_model
    def wrong(state: Any, runtime: Any) -> Any:
        return update

    with pytest.raises(SetupError, match=named):
        create_agent(Scripted(["x"]), middleware=[wrong]).invoke(
            {"messages": HumanMessage("hi", id="1")}
        )


def test_an_option_of_a_decorator_that_nobody_knows_is_refused() -> None:
    with pytest.raises(TypeError, match="before_model has no option 'when'"):
        before_model(when="always")(lambda state, runtime: None)


def test_tools_of_middleware_are_the_agents_too() -> None:
    class Looking(AgentMiddleware):
        tools = (look,)

    agent = create_agent(Scripted([call("look"), "bye"]), middleware=[Looking()])
    assert agent.invoke({"messages": "hi"})["messages"][2].content == "looked"


def test_what_is_told_among_the_messages_stays_there() -> None:
    @wrap_model_call
    async def pass_on(request: Any, handler: Any) -> Any:
        assert (request.system_prompt, len(request.messages)) == ("Be brief.", 2)
        return await handler(request)

    @before_model
    def look(state: Any, runtime: Any) -> None:
        assert state["messages"][0].content == "It is Monday."

    model = Scripted(["Monday."])
    agent = create_agent(model, system_prompt="Be brief.", middleware=[look, pass_on])
    agent.invoke({"messages": [("system", "It is Monday."), ("user", "Which day?")]})
    told = [message.text for message in model.requests[0].messages]
    assert told == ["Be brief.", "It is Monday.", "Which day?"]


@pytest.mark.parametrize("outer", ["Be kind.", None])
def test_middleware_within_sees_the_prompt_that_another_has_given(outer: str | None) -> None:
    seen: list[Any] = []

    @wrap_model_call
    async def give(request: Any, handler: Any) -> Any:
        return await handler(request.override(system_prompt=outer))

    @wrap_model_call
    async def look(request: Any, handler: Any) -> Any:
        seen.append((request.system_prompt, [one.text for one in request.messages]))
        return await handler(request)

    for own in ("Be brief.", None):
        model = Scripted(["Monday."])
        agent = create_agent(model, system_prompt=own, middleware=[give, look])
        agent.invoke({"messages": [("system", "It is Monday."), "Which day?"]})
        assert [*filter(None, [outer])] == [m.text for m in model.requests[0].messages][:-2]
    assert seen == [(outer, ["It is Monday.", "Which day?"])] * 2


def test_a_model_is_chosen_before_each_request_with_its_own_tools_and_sampling() -> None:
    @tool
    def hide() -> str:
        """Hide."""
        return "hidden"

    first, then = Scripted([call("look", {})], "first"), Scripted(["done"], "then")
    cold = init_chat_model(first, temperature=0.1).bind_tools([look])

    def choose(state: Any, runtime: Any) -> Any:
        return cold if len(state["messages"]) == 1 else {"then": then}[runtime.context]

    for make in (create_agent, create_react_agent):
        agent = make(choose, [look, hide], state_schema=Seen)
        state = agent.invoke({"messages": "go", "seen": []}, context="then")
        assert state["messages"][-1].content == "done"
        [request], [last] = first.requests, then.requests
        assert [one.name for one in request.tools] == ["look"]
        assert request.settings.temperature == 0.1
        assert len(last.tools) == 2 and last.settings.temperature is None
        first, then = Scripted([call("look", {})], "first"), Scripted(["done"], "then")
        cold = init_chat_model(first, temperature=0.1).bind_tools([look])


def test_a_model_that_middleware_gives_brings_its_own_sampling() -> None:
    own, other = Scripted([]), Scripted(["a", "b"])

    @wrap_model_call
    def change(request: Any, handler: Any) -> Any:
        return handler(request.override(model=init_chat_model(other, max_tokens=5)))

    agent = create_agent(init_chat_model(own, temperature=0.9), middleware=[change])
    assert agent.invoke({"messages": "go"})["messages"][-1].content == "a"
    assert other.requests[0].settings.max_tokens == 5
    assert other.requests[0].settings.temperature is None


@pytest.mark.parametrize("choice", ["any", True, {"type": "any"}])
def test_a_choice_of_tools_that_middleware_makes_is_told_in_the_models_words(choice: Any) -> None:
    @wrap_model_call
    def force(request: Any, handler: Any) -> Any:
        return handler(request.override(tool_choice=choice))

    model = Scripted(["done"])
    create_agent(model, [look], middleware=[force]).invoke({"messages": "go"})
    assert model.requests[0].settings.tool_choice == "required"


def test_middleware_adds_a_part_to_the_system_message() -> None:
    @wrap_model_call
    def more(request: Any, handler: Any) -> Any:
        parts = [*request.system_message.content_blocks, {"type": "text", "text": " More."}]
        return handler(request.override(system_message=SystemMessage(content=parts)))

    model = Scripted(["done"])
    create_agent(model, system_prompt="Be kind.", middleware=[more, more]).invoke(
        {"messages": "go"}
    )
    assert [one.text for one in model.requests[0].messages] == ["Be kind. More. More.", "go"]
