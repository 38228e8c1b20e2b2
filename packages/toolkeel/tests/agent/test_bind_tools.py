"""A model with tools, asked once: it calls, and nothing is run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.call.test_enclosing_run import PLACES, in_a_body, in_a_history_policy
from tests.waiting import run
from toolkeel import (
    Agent,
    AssistantMessage,
    SetupError,
    ToolCall,
    Toolset,
    Usage,
    UserMessage,
    tool,
)
from toolkeel.agent.bind_tools import bind_tools
from toolkeel.errors import ModelError
from toolkeel.messages import FinishReason, ToolMessage
from toolkeel.model_interface import CallDelta, Finish, ModelRequest, TextDelta
from toolkeel.sessions import Sessions, Summarize
from toolkeel.spending import RunLimits
from toolkeel.testing.scripted import Scripted, call

RAN: list[str] = []
ASKED = ModelRequest([UserMessage("is it?")])


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    RAN.append("add")
    return a + b


def subtract(a: int, b: int) -> int:
    """Subtract two numbers."""
    return a - b


def test_the_reply_holds_the_calls_and_none_is_run() -> None:
    bound = Scripted([call("add", {"a": 1, "b": 2})]).bind_tools([add])
    reply = bound.invoke("what is 1 + 2?")
    [made] = reply.tool_calls
    assert (made.name, made.arguments, made.complete) == ("add", {"a": 1, "b": 2}, True)
    assert made.id
    assert not RAN


def test_the_model_is_told_of_the_tools_and_of_how_to_choose() -> None:
    model = Scripted(["hi"])
    bound = bind_tools(
        model, [add, subtract], tool_choice="add", strict=True, parallel_tool_calls=False
    )
    bound.invoke([UserMessage("1 + 2?")])
    [request] = model.requests
    assert [item.name for item in request.tools] == ["add", "subtract"]
    settings = request.settings
    assert (settings.tool_choice, settings.strict, settings.parallel_tool_calls) == (
        "add",
        True,
        False,
    )


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (None, None),
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("any", "required"),
    ],
)
def test_words_for_the_choice_are_passed_on_and_any_means_required(
    given: str | None, sent: str | None
) -> None:
    assert bind_tools(Scripted([]), [add], tool_choice=given).settings.tool_choice == sent


def test_a_choice_that_names_no_tool_is_refused_and_the_tools_are_named() -> None:
    with pytest.raises(SetupError, match=r"'sub' is none of add, subtract"):
        bind_tools(Scripted([]), [add, subtract], tool_choice="sub")


def test_text_is_what_the_person_says_and_a_transcript_is_sent_as_it_is() -> None:
    model = Scripted(["one", "two"])
    bound = model.bind_tools(Toolset([add]))
    transcript = [UserMessage("a"), AssistantMessage("b"), UserMessage("c")]
    assert [bound.invoke("hello").text, bound.invoke(transcript).text] == ["one", "two"]
    assert list(model.requests[0].messages) == [UserMessage("hello")]
    assert list(model.requests[1].messages) == transcript


def test_deltas_come_as_they_are_and_are_put_together() -> None:
    deltas = [
        TextDelta("let me "),
        TextDelta("see"),
        CallDelta(0, "c1", "add", '{"a": 1, '),
        CallDelta(0, arguments='"b": 2}'),
        Finish("tool_calls"),
    ]

    async def main() -> list[object]:
        return [delta async for delta in Scripted([deltas]).bind_tools([add]).stream("go")]

    assert run(main) == deltas
    reply = run(lambda: Scripted([deltas]).bind_tools([add]).ainvoke("go"))
    assert (reply.text, reply.tool_calls) == (
        "let me see",
        (ToolCall("c1", "add", '{"a": 1, "b": 2}'),),
    )


@pytest.mark.parametrize("reason", ["length", "error", "incomplete", "refusal"])
def test_calls_of_a_whole_reply_that_did_not_end_well_are_marked_incomplete(
    reason: FinishReason,
) -> None:
    whole = AssistantMessage("", (ToolCall("1", "add", "{}"), ToolCall("1", "add", "{}")), reason)
    reply = Scripted([whole]).bind_tools([add]).invoke("go")
    assert [made.complete for made in reply.tool_calls] == [False, False]
    assert len({made.id for made in reply.tool_calls}) == 2


# — asked by code of a run —


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_request_of_a_runs_code_counts_in_its_usage_and_its_bound(
    place: Any, streamed: bool
) -> None:
    judge = Scripted([AssistantMessage(f"fine {n}", usage=Usage(1, 10, 5)) for n in range(9)])
    bound = judge.bind_tools([add])

    async def ask() -> str:
        if streamed:
            return "".join([str(delta) async for delta in bound.stream("is it?")])
        return (await bound.ainvoke("is it?")).text

    agent = place(ask)
    result = agent.run_sync("go")
    asked = len(judge.requests) + len(agent.model.requests)
    assert result.usage.requests == asked and result.usage.input_tokens == 10 * len(judge.requests)
    spent = result.run.context.scope.spending
    assert spent is not None and spent.requests == asked


@pytest.mark.parametrize("place", [each for each in PLACES if each is not in_a_history_policy])
def test_a_request_by_a_models_own_stream_counts_likewise(place: Any) -> None:
    judge = Scripted([AssistantMessage(f"fine {n}", usage=Usage(1, 10, 5)) for n in range(9)])

    async def ask() -> str:
        return "".join([str(delta) async for delta in judge.stream(ASKED)])

    agent = place(ask)
    result = agent.run_sync("go")
    asked = len(judge.requests) + len(agent.model.requests)
    assert result.usage.requests == asked and result.usage.input_tokens == 10 * len(judge.requests)
    spent = result.run.context.scope.spending
    assert spent is not None and spent.requests == asked


def test_what_a_summarizer_asks_is_counted_once() -> None:
    judge = Scripted([AssistantMessage("short", usage=Usage(1, 10, 5)) for _ in range(9)])
    agent = Agent(Scripted(["fine"]), history=Summarize(judge, 100))
    said = [UserMessage("a " * 900), AssistantMessage("b " * 900), UserMessage("and now?")]
    result = agent.run_sync(said)
    assert len(judge.requests) == 1
    assert result.usage == Usage(2, 10, 5)


def test_at_the_bound_a_models_own_stream_is_not_sent_and_the_run_ends_there(
    tmp_path: Path,
) -> None:
    judge = Scripted(["fine"] * 9)

    async def ask() -> str:
        for _ in range(9):
            _ = [delta async for delta in judge.stream(ASKED)]
        return "done"

    session = Sessions(tmp_path / "s.db")["ada"]
    result = in_a_body(ask).run_sync("go", session=session, limits=RunLimits(requests=4))
    assert (result.reason, result.limit) == ("limit", "requests: 4 of 4")
    assert len(judge.requests) == 3 and result.usage.requests == session.usage.requests == 4


def test_at_the_bound_a_request_of_a_body_is_not_sent_and_the_run_ends_there() -> None:
    judge = Scripted(["fine"] * 9)

    async def ask() -> str:
        return "".join([(await judge.bind_tools([]).ainvoke("is it?")).text for _ in range(9)])

    result = in_a_body(ask).run_sync("go", limits=RunLimits(requests=4))
    assert (result.reason, result.limit) == ("limit", "requests: 4 of 4")
    assert len(judge.requests) == 3 and result.usage.requests == 4
    [failed] = [m for m in result.messages if isinstance(m, ToolMessage)]
    assert failed.kind == "limit_reached" and "was not asked" in failed.text


def test_a_session_counts_it_too_also_one_that_failed(tmp_path: Path) -> None:
    error = ModelError("down")
    error.usage = Usage(1, 7, 0)
    judge = Scripted([AssistantMessage("fine", usage=Usage(1, 10, 5)), error])

    async def ask() -> str:
        bound = judge.bind_tools([])
        texts = [(await bound.ainvoke("is it?")).text]
        with pytest.raises(ModelError):
            await bound.ainvoke("again?")
        return texts[0]

    session = Sessions(tmp_path / "s.db")["ada"]
    result = in_a_body(ask).run_sync("go", session=session)
    assert result.usage == session.usage == Usage(4, 17, 5)
    assert [m.text for m in session.messages] == ["go", "", "fine", "end"]


def test_what_a_model_asks_of_another_is_the_request_of_its_run() -> None:
    class Wrapper:
        name = "wrapper"

        def __init__(self) -> None:
            self.requests: list[object] = []
            self.bound = Scripted(["end"]).bind_tools([])

        async def stream(self, request: ModelRequest) -> AsyncIterator[AssistantMessage]:
            yield await self.bound.ainvoke(request.messages)

    result = Agent(Wrapper()).run_sync("go", limits=RunLimits(requests=1))
    assert (result.output, result.usage.requests) == ("end", 1)


def test_outside_of_runs_nothing_counts() -> None:
    assert Scripted(["hi"]).bind_tools([]).invoke("hello").text == "hi"
