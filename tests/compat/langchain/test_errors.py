"""`handle_tool_errors` of a `ToolNode`, in each form LangGraph takes."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import RunContext, SetupError, ToolCall, ToolMessage, Toolset
from toolkeel.compat.langchain import AIMessage, ToolException, ToolNode, tool
from toolkeel.compat.langchain.errors import handling
from toolkeel.events import ToolFinished


@tool
def divide(a: int, b: int) -> float:
    """Divide."""
    if b == 13:
        raise ToolException("thirteen is unlucky")
    return a / b


@tool
def fine(a: int) -> int:
    """Fine."""
    return a


def answers(handle: Any, b: int = 0) -> list[str]:
    node = ToolNode([divide, fine], handle_tool_errors=handle)
    calls = [
        {"name": "divide", "args": {"a": 1, "b": b}, "id": "1"},
        {"name": "fine", "args": {"a": 1}, "id": "2"},
    ]
    return [message.text for message in node.invoke([AIMessage("", tool_calls=calls)])]


def arithmetic(error: ZeroDivisionError | OverflowError) -> str:
    return f"arithmetic: {error}"


ZERO = "ZeroDivisionError('division by zero')"


@pytest.mark.parametrize(
    ("handle", "told"),
    [
        (True, f"Error: {ZERO}\n Please fix your mistakes."),
        ("Try another way.", "Try another way."),
        (arithmetic, "arithmetic: division by zero"),
        (lambda error: f"any: {error}", "any: division by zero"),
        (ZeroDivisionError, f"Error: {ZERO}\n Please fix your mistakes."),
        ((ValueError, ArithmeticError), f"Error: {ZERO}\n Please fix your mistakes."),
    ],
)
def test_the_model_is_told_as_was_asked_for(handle: Any, told: str) -> None:
    assert answers(handle) == [told, "1"]


@pytest.mark.parametrize("handle", [False, ValueError, (ValueError, TypeError)])
def test_an_error_that_is_not_handled_is_raised(handle: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        answers(handle)
    told: list[ToolMessage] = []
    run = RunContext[None](
        listeners=(lambda e: told.append(e.message) if isinstance(e, ToolFinished) else None,)
    )
    with pytest.raises(ZeroDivisionError):
        Toolset([divide], steps=[handling(handle)]).run_sync(
            [ToolCall("1", "divide", '{"a": 1, "b": 0}')], run
        )
    assert [each.text for each in told] == ["'divide' failed, and the run was ended."]


def test_by_default_a_crash_is_masked_and_a_tool_exception_told() -> None:
    assert "internal error" in answers(None)[0]
    assert answers(None, 13)[0] == "thirteen is unlucky"


def test_what_a_tool_says_itself_of_its_errors_comes_first() -> None:
    @tool
    def own() -> str:
        """Own."""
        raise ToolException("mine")

    own.handle_tool_error = "in its own words"
    node = ToolNode([own], handle_tool_errors="generic")
    call = {"name": "own", "args": {}, "id": "1"}
    assert node.invoke([AIMessage("", tool_calls=[call])])[0].text == "in its own words"


def test_what_is_no_way_to_handle_errors_is_refused() -> None:
    with pytest.raises(SetupError, match="handle_tool_errors is 3"):
        ToolNode([fine], handle_tool_errors=3)  # type: ignore[arg-type]
