"""What LangChain's tools are handed by marker or type, at any position, unseen by the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import pytest

import toolkeel
from toolkeel import RunContext, ToolCall, Toolset, tool
from toolkeel.errors import InjectionError
from toolkeel.events import Emitted, Event, Progress
from toolkeel.executors import Process
from toolkeel_compat.langchain.runtime import (
    AsyncCallbackManagerForToolRun,
    CallbackManagerForToolRun,
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InjectedToolCallId,
    RunnableConfig,
    ToolRuntime,
    build_config,
)
from toolkeel_compat.langchain.tools import BaseTool

SEEN: list[Any] = []


@tool
def look(
    config: RunnableConfig,
    word: str,
    runtime: ToolRuntime[dict[str, int], Any],
    manager: CallbackManagerForToolRun | None = None,
    times: int = 1,
) -> str:
    """Look around."""
    assert manager is not None
    manager.get_child("inner").on_text("looking")
    runtime.stream_writer({"seen": word})
    SEEN.append((config, runtime, manager))
    return word * times


def play(run: RunContext[Any], word: str = "a") -> str:
    [message] = Toolset([look]).run_sync([ToolCall("c1", "look", {"word": word})], run)
    assert message.status == "success", message.text
    return message.text


@tool
def own_id(call: Annotated[str, InjectedToolCallId]) -> str:
    """Give the call's id."""
    return call


def test_a_calls_id_reaches_another_process_as_it_follows_from_the_call() -> None:
    assert Toolset([replace(own_id, executor=Process())]).names == ("own_id",)


def test_they_are_filled_by_type_and_hidden_from_the_model() -> None:
    assert list(look.parameters["properties"]) == ["word", "times"]  # type: ignore[call-overload]
    events: list[Event] = []
    store, state = object(), {"messages": []}
    run = RunContext(
        {"user": 7},
        state=state,  # type: ignore[arg-type]
        store=store,
        inject={"config": {"configurable": {"thread_id": "t"}}},
        listeners=(events.append,),
    )
    SEEN.clear()
    assert play(run) == "a"
    [(config, runtime, manager)] = SEEN
    assert config == {"tags": [], "metadata": {}, "configurable": {"thread_id": "t"}}
    assert runtime.config == config
    assert (runtime.context, runtime.tool_call_id) == ({"user": 7}, "c1")
    assert runtime.state is state
    assert runtime.store is store
    assert manager.run_id == run.id
    assert [e.value for e in events if isinstance(e, Emitted)] == [{"seen": "a"}]


def test_a_run_without_a_config_gives_one_with_nothing_in_it() -> None:
    SEEN.clear()
    play(RunContext())
    assert SEEN[0][0] == {"tags": [], "metadata": {}, "configurable": {}}
    assert isinstance(SEEN[0][0], RunnableConfig)


def test_an_async_tool_awaits_its_callbacks() -> None:
    @tool
    async def later(word: str, manager: AsyncCallbackManagerForToolRun) -> str:
        await manager.on_text(f"on {word}")
        return word

    events: list[Event] = []
    run = RunContext(listeners=(events.append,))
    [message] = Toolset([later]).run_sync([ToolCall("c1", "later", {"word": "a"})], run)
    assert message.content == "a"
    assert [e.message for e in events if isinstance(e, Progress)] == ["on a"]


def test_no_argument_of_the_model_takes_their_place() -> None:
    forged = ToolCall("c1", "look", {"word": "a", "config": {"configurable": {}}})
    [message] = Toolset([look]).run_sync([forged])
    assert message.kind == "invalid_arguments"


def test_an_async_body_gives_its_callbacks_to_the_sync_one() -> None:
    class Both(BaseTool):
        name: str = "both"
        description: str = "Both."

        def _run(self, a: int, run_manager: CallbackManagerForToolRun | None = None) -> int:
            assert type(run_manager) is CallbackManagerForToolRun
            run_manager.on_text("working")
            return a

        async def _arun(
            self, a: int, run_manager: AsyncCallbackManagerForToolRun | None = None
        ) -> int:
            assert run_manager is not None
            return self._run(a, run_manager=run_manager.get_sync())

    assert Both().invoke({"a": 2}) == 2


@tool
def tells(
    state: Annotated[dict[str, Any], InjectedState],
    count: Annotated[int, InjectedState("count")],
    user: Annotated[str, InjectedToolArg],
    id: Annotated[str, InjectedToolCallId],
    store: Annotated[Any, InjectedStore] = None,
) -> str:
    """Tell what was injected."""
    return f"{sorted(state)} {count} {user} {id} {store}"


def test_each_marker_gives_its_own_value_and_none_is_shown() -> None:
    run: RunContext[None] = RunContext(None, state={"count": 2}, inject={"user": "ada"})
    tools = Toolset([tells])
    [result] = tools.run_sync([ToolCall("c1", "tells", "{}")], run)
    assert result.content == "['count'] 2 ada c1 None"
    assert not dict(tools["tells"].parameters).get("properties")


@pytest.mark.parametrize(
    "word", ["InjectedState", "InjectedStore", "InjectedToolArg", "InjectedToolCallId"]
)
def test_the_package_names_where_a_marker_of_langchain_is(word: str) -> None:
    with pytest.raises(AttributeError, match=f"has no '{word}'; write (Injected|ToolContext; )"):
        getattr(toolkeel, word)


def test_a_config_has_its_lists_though_nobody_gave_them() -> None:
    context = RunContext[Any](inject={"config": {"tags": ["t"]}})
    assert build_config(context) == {"tags": ["t"], "metadata": {}, "configurable": {}}


@tool(executor="process", timeout=60)
def call_id_elsewhere(id: Annotated[str, InjectedToolCallId]) -> str:
    """Tell the id of the call."""
    return id


def test_a_body_in_another_process_is_given_the_id_of_its_call() -> None:
    [result] = Toolset([call_id_elsewhere]).run_sync([ToolCall("c7", "call_id_elsewhere", "{}")])
    assert result.text == "c7"


@pytest.mark.parametrize(
    ("annotation", "fix"),
    [
        (Annotated[int, InjectedState("missing")], "state="),
        (Annotated[Any, InjectedStore], "store="),
        (Annotated[Any, InjectedStore()], "store="),
    ],
)
def test_a_missing_value_names_where_it_is_passed_or_leaves_the_default(
    annotation: Any, fix: str
) -> None:
    def needs(x: Any) -> str:
        return str(x)

    needs.__annotations__["x"] = annotation
    with pytest.raises(InjectionError, match=rf"tool 'needs': .* parameter 'x'.*{fix}"):
        tool(needs).invoke({})
    needs.__defaults__ = ("default",)
    assert tool(needs).invoke({}) == "default"
