"""A model with tools, asked once: it calls, and nothing is run."""

from __future__ import annotations

import pytest

from tests.waiting import run
from toolkeel import AssistantMessage, SetupError, ToolCall, Toolset, UserMessage, tool
from toolkeel.agent.bind_tools import bind_tools
from toolkeel.messages import FinishReason
from toolkeel.model_interface import CallDelta, Finish, TextDelta
from toolkeel.testing.scripted import Scripted, call

RAN: list[str] = []


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
