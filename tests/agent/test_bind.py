"""`bind_tools`: a model with tools, asked once."""

from __future__ import annotations

import pytest

from tests.waiting import run as run_async
from toolwright import SetupError, Toolset, UserMessage
from toolwright.agent.bind import bind_tools
from toolwright.testing.scripted import Scripted, call


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_a_bound_model_gives_its_calls_and_runs_none_of_them():
    bound = Scripted([call("add", {"a": 1, "b": 2})]).bind_tools([add])
    reply = bound.invoke("1 + 2?")
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("add", {"a": 1, "b": 2})]


def test_choice_strictness_and_parallel_calls_go_with_the_request():
    model = Scripted(["x", "y"])
    bound = bind_tools(
        model, Toolset([add]), tool_choice="any", strict=True, parallel_tool_calls=False
    )
    bound.invoke([UserMessage("go")])
    run_async(lambda: bound.ainvoke("go"))
    for request in model.requests:
        settings = request.settings
        assert settings.tool_choice == "required"
        assert (settings.strict, settings.parallel_tool_calls) == (True, False)
        assert [t.name for t in request.tools] == ["add"]


def test_a_choice_that_names_no_tool_is_refused():
    with pytest.raises(SetupError, match="none of add"):
        bind_tools(Scripted([]), [add], tool_choice="subtract")


def test_the_reply_may_be_streamed():
    async def text() -> str:
        stream = Scripted(["hello"]).bind_tools([add]).stream("hi")
        return "".join([getattr(delta, "text", "") async for delta in stream])

    assert run_async(text) == "hello"
