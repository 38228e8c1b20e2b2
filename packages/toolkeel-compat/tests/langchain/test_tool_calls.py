"""LangChain's calls of tools, as records and as dicts."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from toolkeel import ToolCall as CoreToolCall
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import ToolStrategy, create_agent
from toolkeel_compat.langchain.tool_calls import (
    ToolCall,
    ToolCalls,
    dump_arguments,
    has_object_args,
    to_tool_call,
)

FORMS = [
    CoreToolCall("1", "add", '{"a": 1}'),
    ToolCall(name="add", args={"a": 1}, id="1"),
    {"name": "add", "args": {"a": 1}, "id": "1", "type": "tool_call"},
    {"id": "1", "function": {"name": "add", "arguments": '{"a": 1}'}},
]


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_call_is_the_same_call(form: CoreToolCall) -> None:
    made = to_tool_call(form)
    assert made == FORMS[1] == {"name": "add", "args": {"a": 1}, "id": "1"}
    assert dict(made) == FORMS[2] and made.get("none", 3) == 3


@pytest.mark.parametrize(("text", "is_object"), [("{", False), ("[1]", False), ("", True)])
def test_arguments_that_are_no_object_are_told_apart(text: str, is_object: bool) -> None:
    assert has_object_args(CoreToolCall("1", "add", text)) is is_object
    assert dump_arguments(CoreToolCall("1", "add", text)) == text


def test_calls_are_a_list_to_programs_and_arguments_stay_readable() -> None:
    calls = ToolCalls(map(to_tool_call, FORMS))
    assert calls == [FORMS[1]] * 4 and repr(calls) == repr(list(calls))
    assert dump_arguments(ToolCall("1", "add", {"city": "北京"})) == '{"city": "北京"}'


class Contact(BaseModel):
    name: str


class Event(BaseModel):
    title: str


@pytest.mark.parametrize(
    ("handler", "read"),
    [
        (True, "Error: Model incorrectly returned multiple structured responses (Contact, Event)"),
        ("One only.", "One only."),
        (lambda error: f"<{error}>", "<Model incorrectly"),
    ],
)
def test_of_several_structured_answers_in_a_turn_none_counts(handler: Any, read: str) -> None:
    both = [call("Contact", {"name": "Ada"}), call("Event", {"title": "tea"})]
    model = Scripted([both, call("Event", {"title": "tea"})])
    form: Any = ToolStrategy(Contact | Event, handle_errors=handler)
    result = create_agent(model, [], response_format=form).invoke({"messages": [("user", "x")]})
    assert result["structured_response"] == Event(title="tea")
    assert [one.text.startswith(read) for one in model.requests[1].messages[-2:]] == [True, True]
