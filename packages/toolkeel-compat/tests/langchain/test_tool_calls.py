"""LangChain's calls of tools, as records and as dicts."""

from __future__ import annotations

import pytest

from toolkeel import ToolCall as CoreToolCall
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
    call = to_tool_call(form)
    assert call == FORMS[1] == {"name": "add", "args": {"a": 1}, "id": "1"}
    assert dict(call) == FORMS[2] and call.get("none", 3) == 3


@pytest.mark.parametrize(("text", "is_object"), [("{", False), ("[1]", False), ("", True)])
def test_arguments_that_are_no_object_are_told_apart(text: str, is_object: bool) -> None:
    assert has_object_args(CoreToolCall("1", "add", text)) is is_object
    assert dump_arguments(CoreToolCall("1", "add", text)) == text


def test_calls_are_a_list_to_programs_and_arguments_stay_readable() -> None:
    calls = ToolCalls(map(to_tool_call, FORMS))
    assert calls == [FORMS[1]] * 4 and repr(calls) == repr(list(calls))
    assert dump_arguments(ToolCall("1", "add", {"city": "北京"})) == '{"city": "北京"}'
