"""What the model is told of a failure, and what people find in the details."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract import check_result
from toolkeel import Agent, ToolCall, ToolError, tool
from toolkeel.call.failure_message import (
    TEXT_LIMIT,
    call_handler,
    failure_message,
    interrupted_message,
)
from toolkeel.context import RunContext
from toolkeel.define.tool import AnyTool
from toolkeel.errors import (
    CallError,
    Crashed,
    FieldError,
    InvalidArguments,
    MalformedArguments,
    TimedOut,
)
from toolkeel.messages import ToolMessage
from toolkeel.testing.scripted import Scripted, call

CALL = ToolCall("c1", "work", "{}")


def made(**options: Any) -> AnyTool:
    return tool("work", description="Work.", **options)(lambda: None)


def crash(error: Exception) -> Crashed:
    raised = Crashed(f"{type(error).__name__}: {error}")
    raised.__cause__ = error
    return raised


def test_a_failure_answers_its_call_by_id_and_the_tools_own_name() -> None:
    message = failure_message(ToolCall("c1", "alias"), made(), ToolError("no"), 1.5)
    assert (message.tool_call_id, message.name, message.status) == ("c1", "work", "error")
    assert (message.kind, message.content, message.duration) == ("tool_error", "no", 1.5)
    assert failure_message(CALL, None, ToolError("no"), 0.0).name == "work"


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("on_error", ToolError("the text")),
        ("on_invalid", InvalidArguments("the text", [FieldError(("n",), "an int")])),
        ("on_invalid", MalformedArguments("the text")),
        ("on_crash", crash(ValueError("inner"))),
    ],
)
def test_the_author_chooses_what_is_told_by_kind_of_error(option: str, error: CallError) -> None:
    own = error.text
    assert failure_message(CALL, made(**{option: True}), error, 0.0).content == own
    assert failure_message(CALL, made(**{option: "a text"}), error, 0.0).content == "a text"
    masked = failure_message(CALL, made(**{option: False}), error, 0.0)
    assert "internal error" in masked.text and own not in masked.text
    assert masked.details["error"] == own
    seen: list[Exception] = []
    chosen = made(**{option: lambda e: seen.append(e) or "told"})
    handled = asyncio.run(call_handler(chosen, error, RunContext()))
    assert failure_message(CALL, chosen, error, 0.0, handled=handled).content == "told"
    assert seen == [error.__cause__ or error]


@pytest.mark.parametrize("fails", [True, False])
def test_a_handler_that_fails_or_does_not_return_does_not_hide_the_failure(*, fails: bool) -> None:
    ended = threading.Event()

    def handle(error: Exception) -> str:
        if fails:
            raise LookupError("handler")
        ended.wait(60)
        return "too late"

    @tool(on_error=handle)
    def work() -> str:
        """Work."""
        raise ToolError("the text")

    agent = Agent(Scripted([call("work", {}), "done"]), [work], callback_timeout=0.05)
    message = agent.run_sync("go").messages[2]
    ended.set()
    assert isinstance(message, ToolMessage)
    assert message.kind == "tool_error" and "internal error" in message.text
    assert message.details["error"] == "the text"


def test_other_kinds_are_told_as_they_are_whatever_the_handlers_say() -> None:
    silent = made(on_error=False, on_invalid=False, on_crash=False)
    assert failure_message(CALL, silent, TimedOut("too slow"), 0.0).content == "too slow"


def test_a_crash_keeps_its_traceback_for_people_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "toolkeel"):
        message = failure_message(CALL, made(), ValueError("北京 s3cret"), 0.0)
    assert message.kind == "crashed" and "s3cret" not in message.text
    assert message.details["exception"] == "ValueError"
    assert "北京 s3cret" in str(message.details["traceback"])
    assert "北京 s3cret" in caplog.text


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), GeneratorExit()])
def test_what_is_no_failure_of_the_call_counts_as_its_interruption(error: BaseException) -> None:
    message = failure_message(CALL, made(), error, 0.5)
    assert message == interrupted_message(CALL, "work", 0.5)
    assert message.kind == "cancelled" and "may have taken effect" in message.text


class Silent(Exception):
    """An error that cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError


@given(
    st.sampled_from([ToolError, Crashed, TimedOut, InvalidArguments])
    | st.sampled_from([ValueError, Silent]),
    st.text(st.characters(exclude_categories=())) | st.none() | st.integers() | st.just("long"),
)
def test_whatever_was_raised_the_text_can_be_sent_and_is_bounded(
    kind: type[Exception], text: Any
) -> None:
    text = "x" * 50_000 if text == "long" else text
    message = failure_message(CALL, made(on_crash=True, max_output=20_000), kind(text), 0.0)
    check_result(message)
    assert len(message.text) < (20_000 if kind is ToolError else TEXT_LIMIT) + 200


def test_an_error_of_a_tool_that_cuts_its_own_output_is_not_cut_again() -> None:
    error = ToolError("x" * 60_000)
    assert failure_message(CALL, made(max_output=None), error, 0.0).text == error.text
    assert len(failure_message(CALL, made(), error, 0.0).text) < 50_200


def test_only_the_chosen_exceptions_are_shown_to_the_model() -> None:
    for shown in (LookupError, (OSError, LookupError), [LookupError]):
        tool = made(on_crash=shown)
        assert (
            failure_message(CALL, tool, KeyError("no such row"), 0.0).text
            == "KeyError: 'no such row'"
        )
        hidden = failure_message(CALL, tool, ValueError("password"), 0.0)
        assert "internal error" in hidden.text and hidden.details["error"] == "ValueError: password"


def test_the_place_of_a_crash_is_in_the_tools_own_file() -> None:
    import json

    try:
        json.loads("{")
    except ValueError as error:
        details = failure_message(CALL, made(), error, 0.0).details
    assert details["file"] == __file__
    lines = Path(__file__).read_text("utf-8").splitlines()
    line = details["line"]
    assert isinstance(line, int) and 'json.loads("{")' in lines[line - 1]


def test_an_error_that_the_author_answered_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    answered = ToolError("no such city")
    answered.__cause__ = KeyError("x")
    failure_message(CALL, made(), answered, 0.0)
    assert not caplog.records
    failure_message(CALL, made(), KeyError("x"), 0.0)
    [record] = caplog.records
    assert "'work' failed: crashed: KeyError: 'x'" in record.getMessage() and record.exc_info
