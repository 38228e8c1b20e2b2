"""From raw arguments to keyword arguments: the fast way and the patient way agree."""

from __future__ import annotations

import json
from typing import Annotated, Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from toolkeel import RunContext, Tool, ToolCall, Toolset, tool
from toolkeel.call.arguments import validate
from toolkeel.call.arguments.parse import MAX_SIZE
from toolkeel.call.arguments.validate import is_large, prepare
from toolkeel.define.explain.error_budget import LONG
from toolkeel.define.secret import Secret
from toolkeel.errors import InvalidArguments, MalformedArguments, TruncatedCall
from toolkeel.events import Coerced, Event
from toolkeel.providers import openai_responses
from toolkeel.streaming import assemble

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@tool
def book(name: str, nights: int = 1, tags: list[str] | None = None) -> str:
    """Book."""
    return name


def prepared(arguments: str | dict[str, Any], complete: bool = True) -> Any:
    return prepare(ToolCall("1", "book", arguments, complete), book)


def test_right_arguments_pass_unmended_from_text_and_from_an_object():
    for given_ in ('{"name": "Ada", "nights": 2}', {"name": "Ada", "nights": 2}):
        made = prepared(given_)
        assert (made.arguments, made.changes) == ({"name": "Ada", "nights": 2}, ())


def test_mended_arguments_say_how_they_were_mended():
    made = prepared('{"name": "Ada", "nights": "2"}')
    assert made.arguments["nights"] == 2 and len(made.changes) == 1
    assert "nights" in made.changes[0]


@pytest.mark.parametrize(
    "text",
    ['{"name": "a", "name": "b"}', '{"name": NaN}', "[1]", '"x"', "{", '{"name": "\\ud800"}'],
)
def test_what_is_not_one_json_object_is_malformed(text):
    with pytest.raises(MalformedArguments):
        prepared(text)


def test_a_call_that_was_cut_off_is_not_even_parsed():
    with pytest.raises(TruncatedCall, match="smaller payload"):
        prepared('{"name": "Ada"}', complete=False)


@given(JSON)
def test_any_json_is_accepted_with_the_right_types_or_refused(value: Any) -> None:
    try:
        made = prepared(json.dumps(value))
    except (InvalidArguments, MalformedArguments):
        return
    arguments = made.arguments
    assert isinstance(arguments["name"], str)
    assert type(arguments.get("nights", 1)) is int


@tool
def plan(days: int, hours: float = 1.0, quick: bool = False, tags: list[int] | None = None) -> str:
    """Plan."""
    return ""


def told_of(arguments: dict[str, Any]) -> Any:
    try:
        return prepare(ToolCall("1", "plan", json.dumps(arguments)), plan).arguments
    except (InvalidArguments, MalformedArguments) as error:
        return error.text


@given(
    st.dictionaries(
        st.sampled_from(["days", "hours", "quick", "tags", "day"]),
        st.sampled_from(["5", "-5", "٣", "5.5", "true", "yes", "", "[1]", "x", 5, 5.0, 5.5])
        | st.sampled_from([True, None, [1], ["1"], ["x"], {}]),
    )
)
def test_what_the_table_is_not_asked_about_it_could_not_have_mended(
    arguments: dict[str, Any],
) -> None:
    with mock.patch.object(validate, "is_final", lambda *_: False):
        wanted = told_of(arguments)
    assert told_of(arguments) == wanted


class Bill(BaseModel):
    """Its numbers need not be finite, unlike those of a function's parameters."""

    amount: float


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity"])
def test_a_number_that_is_not_finite_is_refused_in_a_model_too(number: str) -> None:
    @tool(parameters=Bill)
    def pay(amount: float) -> str:
        """Pay."""
        return ""

    with pytest.raises(MalformedArguments):
        prepare(ToolCall("1", "pay", f'{{"amount": {number}}}'), pay)


def test_what_was_sent_is_shown_and_what_was_read_otherwise_is_listed() -> None:
    @tool
    def book(n: Annotated[int, Field(ge=20)], pets: dict[str, Any], seat: int = 1) -> str:
        """Book."""
        return "booked"

    events: list[Event] = []
    text = '{"n": "12", "pets": "[1]", "seat": null}'
    run = RunContext(listeners=(events.append,))
    [message] = Toolset([book]).run_sync([ToolCall("1", "book", text)], run)
    assert message.kind == "invalid_arguments"
    assert 'n: expected an integer of at least 20, got "12" (a string)' in message.text
    assert 'Before that, these were read as follows:\n- n: "12" was taken as 12' in message.text
    assert message.details["coerced"] == (
        'n: "12" was taken as 12 (integer_from_string)',
        "seat: null was dropped (null_dropped)",
    )
    [coerced] = [event for event in events if isinstance(event, Coerced)]
    assert coerced.changes == message.details["coerced"]


@pytest.mark.parametrize(
    ("where", "wrap"), [("", lambda part: part), ("in.", lambda part: {"in": part})]
)
def test_a_null_for_a_key_that_its_object_needs_is_a_wrong_value_and_not_one_to_leave_out(
    where: str, wrap: Any
) -> None:
    either = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    root = {"type": "object", "properties": {"in": either}} if where else either
    made = Tool.from_schema("take", "Take it.", root, lambda _context, _arguments: "taken")
    refused, taken = Toolset([made]).run_sync(
        [
            ToolCall("1", "take", wrap({"a": None, "c": None})),
            ToolCall("2", "take", wrap({"a": None, "b": "x"})),
        ]
    )
    assert refused.kind == "invalid_arguments"
    assert f"- {where}a: expected an integer, got null" in refused.text
    assert "an object" not in refused.text
    assert taken.kind is None


def test_what_is_wrong_within_a_text_that_was_read_as_a_list_is_shown_as_it_is_there() -> None:
    @tool
    def add(numbers: list[int]) -> str:
        """Add."""
        return "added"

    [message] = Toolset([add]).run_sync([ToolCall("1", "add", {"numbers": '["x", "2"]'})])
    assert 'numbers[0]: expected an integer, got "x" (a string)' in message.text


@pytest.mark.parametrize("number", [2**53, 2**53 + 1, -(2**53) - 1, 2**60 + 1])
def test_an_integer_written_with_a_fraction_keeps_its_last_digit(number: int) -> None:
    @tool
    def add(n: int) -> int:
        """Add."""
        return n

    [message] = Toolset([add]).run_sync([ToolCall("1", "add", f'{{"n": {number}.0}}')])
    assert message.text == str(number)


def test_a_refused_calls_coercions_hide_what_may_be_secret() -> None:
    @tool
    def login(pin: Annotated[int, Secret, Field(ge=9999)], n: Annotated[int, Field(ge=20)]) -> str:
        """Log in."""
        return "in"

    [message] = Toolset([login]).run_sync([ToolCall("1", "login", '{"pin": "7777", "n": "12"}')])
    assert message.kind == "invalid_arguments"
    assert "7777" not in message.text
    assert "7777" not in str(message.details)


def freeform(name: str, text: str) -> ToolCall:
    return ToolCall("1", name, text, provider_options={"type": "custom"})


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_a_freeform_text_is_the_one_text_parameter_whatever_it_holds(text: str) -> None:
    @tool
    def run(code: str, timeout: int = 3) -> str:
        """Run code."""
        return code

    @tool
    def note(text: str = "") -> str:
        """Take a note."""
        return text

    for made, name in ((run, "code"), (note, "text")):
        assert prepare(freeform(made.name, text), made).arguments == {name: text}


def test_a_freeform_text_for_several_parameters_is_read_as_json() -> None:
    @tool
    def move(here: str, there: str) -> str:
        """Move."""
        return here

    assert prepare(freeform("move", '{"here": "a", "there": "b"}'), move).arguments == {
        "here": "a",
        "there": "b",
    }
    with pytest.raises(MalformedArguments):
        prepare(freeform("move", "a b"), move)


@pytest.mark.parametrize("streamed", [True, False])
def test_a_custom_call_of_the_responses_wire_calls_a_tool(streamed: bool) -> None:
    @tool
    def run(code: str) -> str:
        """Run code."""
        return f"ran {code}"

    item = {
        "type": "custom_tool_call",
        "id": "i",
        "call_id": "c",
        "name": "run",
        "input": 'print("北京")',
    }
    answer = {
        "object": "response",
        "id": "r",
        "status": "completed",
        "model": "m",
        "output": [item],
    }
    if streamed:
        events = [{"type": "response.output_item.done", "output_index": 0, "item": item}, {"type": "response.completed", "response": answer}]  # fmt: skip
        reply = assemble(openai_responses.decode_stream(events))
    else:
        reply = openai_responses.decode(answer)
    [message] = Toolset([run]).run_sync(list(reply.tool_calls))
    assert message.text == 'ran print("北京")'
    wires = openai_responses.encode_messages([reply, message])
    assert [one["type"] for one in wires] == ["custom_tool_call", "custom_tool_call_output"]
    assert wires[0]["input"] == item["input"]


def test_long_arguments_are_taken_up_to_their_largest_size() -> None:
    @tool
    def count(n: int) -> None:
        """Count."""

    for size, fits in ((LONG, True), (LONG + 1, True), (MAX_SIZE, True), (MAX_SIZE + 1, False)):
        call = ToolCall("c", "count", '{"n": 1' + " " * (size - 8) + "}")
        if fits:
            assert prepare(call, count).arguments == {"n": 1}
        else:
            with pytest.raises(MalformedArguments, match="too large"):
                prepare(call, count)


@pytest.mark.parametrize(
    ("width", "length", "large"),
    [
        (1, 20_000, False), (1, 20_001, True), (100, 200, False), (100, 201, True), (4, 5_000, False),
        (4, 5_001, True), (500, 200, False), (500, 201, True),
    ],
)  # fmt: skip
def test_a_text_is_large_by_its_length_times_the_branches_of_a_union(
    width: int, length: int, large: bool
) -> None:
    schema = {"properties": {"x": {"anyOf": [{"const": number} for number in range(width)]}}}
    made = Tool.from_schema("take", "Take it.", schema, lambda _run, _sent: "taken")
    assert is_large("x" * length, made) is large
    assert is_large("x" * length) is (length > 20_000)
