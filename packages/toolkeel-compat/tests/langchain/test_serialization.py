"""Messages as LangChain's JSON and back."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import SetupError
from toolkeel.messages import Reasoning, Usage
from toolkeel_compat.langchain import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    dumpd,
    dumps,
    load,
    loads,
    messages_from_dict,
    messages_to_dict,
)

CALL = {"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}
PLAIN = [
    HumanMessage("hi", id="7", name="Ann"),
    SystemMessage("猫"),
    AIMessage("", tool_calls=[CALL]),
    ToolMessage("r", tool_call_id="c", name="f", status="error", artifact={"x": 1}),
]
RICH = [
    AIMessage("x", reasoning=(Reasoning("why", "signed"),), model="m", finish_reason="length"),
    AIMessage("x", usage=Usage(1, 2, 3, cached_tokens=1), provider_options={"a": [1]}),
    ToolMessage("r", "c", "f", "error", "timeout", date(2026, 1, 2), {"code": 3}, 1.5),
]


def test_a_message_has_the_form_that_the_library_stores() -> None:
    assert dumpd(PLAIN[0]) == {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "HumanMessage"],
        "kwargs": {"content": "hi", "type": "human", "name": "Ann", "id": "7"},
    }
    [data] = messages_to_dict([PLAIN[3]])
    assert (data["type"], data["data"]["status"], data["data"]["artifact"]) == (
        "tool",
        "error",
        {"x": 1},
    )


@pytest.mark.parametrize("message", [*PLAIN, *RICH], ids=lambda one: one.type)
def test_nothing_of_a_message_is_lost(message: Any) -> None:
    assert loads(dumps({"a": [message]})) == {"a": [message]}
    assert messages_from_dict(json.loads(json.dumps(messages_to_dict([message])))) == [message]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["lc", "type", "id", "__lc_escaped__", "a"]), inner)
        ),
    )
)
def test_data_of_a_program_is_never_taken_for_a_message(data: Any) -> None:
    assert load(dumpd(data)) == data


def test_nothing_but_messages_is_created_or_stored() -> None:
    with pytest.raises(SetupError, match=r"\['os', 'system'\] is no message"):
        load({"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {}})
    with pytest.raises(SetupError, match=r"dumpd\(object"):
        dumpd([object()])
    with pytest.raises(SetupError, match="no message of type 'function'"):
        messages_from_dict([{"type": "function", "data": {}}])
    with pytest.raises(SetupError, match="additional_kwargs"):
        load({**dumpd(PLAIN[0]), "kwargs": {"content": "", "additional_kwargs": {"a": 1}}})
    with pytest.raises(TypeError, match="no option secrets_map"):
        load({}, secrets_map={})
