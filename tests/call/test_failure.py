"""What the model reads of a failure, and what people find in the details."""

from __future__ import annotations

from typing import Any

import pytest

from toolwright import ToolCall, ToolError, ToolMessage, Toolset, tool


def failing(error: BaseException, arguments: str = "", **options: Any) -> ToolMessage:
    def body() -> str:
        raise error

    made = tool("body", **options)(body)
    [result] = Toolset([made]).run_sync([ToolCall("1", "body", arguments)])
    return result


def test_a_crash_is_masked_and_its_traceback_is_in_the_details():
    result = failing(RuntimeError("password=123"))
    assert result.kind == "crashed" and "password" not in result.text
    assert "password=123" in result.details["traceback"]
    assert result.details["exception"] == "RuntimeError"


@pytest.mark.parametrize(
    ("handler", "text"),
    [
        (True, "RuntimeError: boom"),
        ("Try later.", "Try later."),
        (lambda error: f"{type(error).__name__}!", "RuntimeError!"),
    ],
)
def test_a_crash_is_told_as_the_tool_says(handler, text):
    assert failing(RuntimeError("boom"), handle_crash=handler).text == text


@pytest.mark.parametrize(
    ("handler", "text"),
    [(True, "no such user"), ("Ask again.", "Ask again."), (lambda e: f"<{e}>", "<no such user>")],
)
def test_a_tool_error_is_told_as_the_tool_says(handler, text):
    result = failing(ToolError("no such user"), handle_tool_error=handler)
    assert (result.text, result.kind) == (text, "tool_error")


def test_invalid_arguments_are_told_as_the_tool_says():
    result = failing(RuntimeError(), '{"x": 1}', handle_validation_error="Give nothing.")
    assert (result.text, result.kind) == ("Give nothing.", "invalid_arguments")
    assert "x" in str(result.details["error"])


def test_a_handler_that_fails_does_not_hide_the_failure():
    def broken(error: Exception) -> str:
        raise ValueError("handler")

    result = failing(RuntimeError("boom"), handle_crash=broken)
    assert result.kind == "crashed" and "internal error" in result.text


def test_a_very_long_error_is_cut():
    assert len(failing(ToolError("x" * 100_000)).text) < 11_000


def test_an_error_that_cannot_be_shown_is_still_a_result():
    class Nasty(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert failing(Nasty()).kind == "crashed"
