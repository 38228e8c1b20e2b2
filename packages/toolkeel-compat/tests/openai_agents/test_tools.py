"""`function_tool` and `FunctionTool`: the SDK's fields over one core tool."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any

import pytest

from toolkeel import RunContext, ToolCall, ToolMessage, Toolset
from toolkeel.errors import DefinitionError, InvalidArguments, SetupError
from toolkeel.events import ToolFinished
from toolkeel.providers.wire.tools import wire_tools
from toolkeel.testing import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    RunContextWrapper,
    Runner,
    ToolContext,
    ToolTimeoutError,
    UserError,
)
from toolkeel_compat.openai_agents.tools import (
    FunctionTool,
    default_tool_error_function,
    function_tool,
    mark_strict,
)

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}},
    "required": ["city"],
    "additionalProperties": False,
}


@function_tool
def weather(city: str, days: int = 1) -> str:
    """Look up the weather.

    Args:
        city: Name of the city.
    """
    return f"{city} {days}"


async def raw(context: ToolContext[Any], arguments: str) -> str:
    given = json.loads(arguments)
    return f"{given['city']} {given.get('days')} {context.tool_call_id}"


RAW = FunctionTool("weather", "Look up the weather.", SCHEMA, raw)


def answer(tool: FunctionTool, arguments: Any, run: RunContext[Any] | None = None) -> ToolMessage:
    [message] = Toolset([tool]).run_sync([ToolCall("c1", tool.name, arguments)], run)
    return message


def test_a_function_becomes_a_tool_with_the_sdks_fields() -> None:
    assert isinstance(weather, FunctionTool)
    assert (weather.name, weather.description) == ("weather", "Look up the weather.")
    assert weather.params_json_schema["required"] == ["city", "days"]
    assert weather.params_json_schema["properties"]["city"]["description"] == "Name of the city."
    assert (weather.strict_json_schema, weather.is_enabled) == (True, True)
    assert weather.tool_input_guardrails is weather.tool_output_guardrails is None
    assert weather("Paris") == "Paris 1"
    assert answer(weather, {"city": "Paris", "days": 2}).content == "Paris 2"


def test_options_override_what_the_function_says() -> None:
    made = function_tool(
        name_override="look", description_override="Look.", strict_mode=False, timeout=None
    )(lambda city: city)
    assert (made.name, made.description) == ("look", "Look.")
    assert (made.strict_json_schema, made.timeout_seconds, made.tool.timeout) == (False, None, None)
    plain = function_tool(weather.tool.function, use_docstring_info=False)
    assert plain.description == ""  # as there
    assert "description" not in plain.params_json_schema["properties"]["city"]


def test_a_raw_tool_gets_checked_arguments_as_text() -> None:
    assert answer(RAW, '{"city": "北京"}').content == "北京 1 c1"
    assert answer(RAW, {"city": "Paris", "days": "3"}).content == "Paris 3 c1"
    assert answer(RAW, {"days": 3}).kind == "invalid_arguments"
    assert answer(RAW, "[").kind == "malformed_arguments"


def test_on_invoke_tool_runs_the_function_from_outside() -> None:
    context = ToolContext({"u": 1}, tool_name="weather", tool_call_id="c7")
    for given in (context, RunContextWrapper({"u": 1}), None):
        assert asyncio.run(weather.on_invoke_tool(given, '{"city": "Paris"}')) == "Paris 1"
    told = asyncio.run(weather.on_invoke_tool(context, "{}"))
    assert "city" in told

    @function_tool
    def who(context: RunContextWrapper[Any]) -> str:
        return str(context.context)

    assert asyncio.run(who.on_invoke_tool(context, "")) == "{'u': 1}"


def test_a_changed_copy_runs_as_changed() -> None:
    renamed = dataclasses.replace(weather, name="forecast", description="Forecast.")
    assert (renamed.tool.name, renamed.tool.description) == ("forecast", "Forecast.")
    assert answer(renamed, {"city": "Paris"}).content == "Paris 1"
    wrapped = dataclasses.replace(weather, on_invoke_tool=raw)
    assert answer(wrapped, {"city": "Paris", "days": 4}).content == "Paris 4 c1"
    schema = {"type": "object", "properties": {"city": {"enum": ["Paris"]}}, "required": ["city"]}
    narrowed = dataclasses.replace(weather, params_json_schema=schema)
    assert answer(narrowed, {"city": "Paris"}).content == "Paris 1"
    assert answer(narrowed, {"city": "Rome"}).kind == "invalid_arguments"
    renamed.name, renamed.tool_input_guardrails = "outlook", []
    assert renamed.tool.name == "outlook" and weather.tool.name == "weather"
    with pytest.raises(DefinitionError):
        renamed.params_json_schema = {"type": 1}


def test_openai_holds_a_tool_to_its_schema_unless_it_says_otherwise() -> None:
    loose = dataclasses.replace(weather, strict_json_schema=False)
    strict, plain = mark_strict([weather, loose])
    assert strict.provider_options == {"strict": "verbatim"} and plain is loose
    [body] = wire_tools([strict], "openai-responses").bodies
    assert body["strict"] is True and body["parameters"] == weather.params_json_schema
    assert body["parameters"]["properties"]["days"]["default"] == 1  # it was optional, and can be

    @function_tool
    def count(by_name: dict[str, int]) -> int:
        """Count."""
        return len(by_name)

    [open_one] = mark_strict([count])
    assert wire_tools([open_one], "openai-responses").bodies[0]["strict"] is False


def test_a_result_is_shown_as_its_str_and_kept_as_it_is() -> None:
    @function_tool
    def row() -> dict[str, int]:
        """A row."""
        return {"a": 1}

    message = answer(row, {})
    assert (message.content, message.artifact) == ("{'a': 1}", {"a": 1})


def test_whether_it_is_enabled_may_depend_on_the_run() -> None:
    asked: list[Any] = []

    async def for_admins(context: RunContextWrapper[Any], agent: Any) -> bool:
        asked.append((context.context, agent))
        return context.context == "admin"

    made = dataclasses.replace(weather, is_enabled=for_admins)
    assert answer(made, {"city": "a"}, RunContext("admin", agent="me")).status == "success"
    assert answer(made, {"city": "a"}, RunContext("guest")).kind == "disabled"
    assert asked == [("admin", "me"), ("guest", None)]
    assert answer(dataclasses.replace(weather, is_enabled=False), {"city": "a"}).kind == "disabled"


def failing(**options: Any) -> FunctionTool:
    @function_tool(**options)
    def fail(n: int = 1) -> str:
        raise LookupError(f"row {n} of secret.db")

    made: FunctionTool = fail
    return made


def test_a_failure_is_masked_unless_the_tool_says_what_to_tell() -> None:
    masked = answer(failing(), {})
    assert masked.kind == "crashed"
    assert "secret" not in masked.text
    told = answer(failing(failure_error_function=default_tool_error_function), {})
    assert told.kind == "crashed"
    assert told.text == masked.text

    async def explain(context: RunContextWrapper[Any], error: Exception) -> str:
        return f"{context.context}: {type(error).__name__}"

    made = failing(failure_error_function=explain)
    message = answer(made, {}, RunContext("ada"))
    assert (message.text, message.details["exception"]) == ("ada: LookupError", "LookupError")
    assert asyncio.run(made.on_invoke_tool(None, "{}")) == "None: LookupError"


def test_a_tool_told_to_raise_ends_the_run_with_what_the_body_raised() -> None:
    made, told = failing(failure_error_function=None), list[ToolMessage]()
    run = RunContext(
        listeners=(lambda e: told.append(e.message) if isinstance(e, ToolFinished) else None,)
    )
    with pytest.raises(UserError, match="Error running tool fail: row 1") as caught:
        answer(made, {}, run)
    assert isinstance(caught.value.__cause__, LookupError)
    assert [each.text for each in told] == ["'fail' failed, and the run was ended."]
    with pytest.raises(UserError):
        asyncio.run(made.on_invoke_tool(None, "{}"))


def test_a_call_that_takes_too_long_says_or_raises_what_was_asked_for() -> None:
    async def slow() -> str:
        """Wait."""
        await asyncio.sleep(9)
        return "late"

    def say(context: RunContextWrapper[Any], error: Exception) -> str:
        return f"no: {error}"

    told = function_tool(timeout=0.01, timeout_error_function=say)(slow)
    message = answer(told, {})
    assert (message.kind, message.text) == (
        "timeout", "no: Tool 'slow' timed out after 0.01 seconds.",
    )  # fmt: skip
    ends = function_tool(timeout=0.01, timeout_behavior="raise_exception")(slow)
    with pytest.raises(ToolTimeoutError, match="timed out after") as caught:
        answer(ends, {})
    assert (caught.value.tool_name, caught.value.timeout_seconds) == ("slow", 0.01)
    with pytest.raises(SetupError, match="'error_as_result' or 'raise_exception'"):
        function_tool(timeout_behavior="explode")(slow)


def test_mistakes_are_found_where_the_tool_is_made() -> None:
    with pytest.raises(DefinitionError):
        FunctionTool("two words", "", SCHEMA, raw)
    with pytest.raises(DefinitionError):
        FunctionTool("t", "", {"type": "nonsense"}, raw)
    with pytest.raises(DefinitionError):
        function_tool(name_override="two words")(raw)


def test_invoking_the_core_tool_raises_what_went_wrong() -> None:
    with pytest.raises(InvalidArguments):
        weather.tool.invoke({"city": 1})


def test_an_option_that_is_openais_alone_is_refused_with_what_to_write() -> None:
    with pytest.raises(SetupError, match="search_tools=True"):
        function_tool(defer_loading=True)  # type: ignore[call-arg]


def test_in_a_run_the_words_of_a_programs_function_stand_alone() -> None:
    def say(context: Any, error: Exception) -> str:
        return f"told {type(error).__name__}"

    @function_tool(failure_error_function=say)
    def fail() -> str:
        """Fail."""
        raise LookupError("x")

    @function_tool(timeout=0.01, timeout_error_function=say)
    async def slow() -> str:
        """Wait."""
        await asyncio.sleep(9)
        return "late"

    @function_tool(failure_error_function=None)
    def end() -> str:
        """End the run."""
        raise LookupError("y")

    model = Scripted([[call("fail"), call("slow")], call("end")])
    agent = Agent("a", tools=[fail, slow, end], model=model)
    with pytest.raises(UserError, match="y"):
        Runner.run_sync(agent, "go")
    *_, first, second = model.requests[1].messages
    assert [(m.text, m.failed) for m in (first, second)] == [
        ("told LookupError", False), ("told ToolTimeoutError", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "option",
    [
        {"timeout": -1},
        {"needs_approval": None},
        {"is_enabled": None},
        {"strict_mode": "no"},
        {"failure_error_function": "x"},
        {"tool_input_guardrails": ["x"]},
        {"timeout_behavior": "explode"},
    ],
)
def test_an_option_of_a_wrong_type_is_refused_where_it_is_written(option: dict[str, Any]) -> None:
    [name] = option
    with pytest.raises(SetupError, match=rf"function_tool\({name}=\.\.\.\): expected"):
        function_tool(**option)(lambda: None)


def test_a_field_that_is_set_later_is_checked_as_well() -> None:
    @function_tool
    def look() -> str:
        """Look."""
        return ""

    with pytest.raises(SetupError, match=r"FunctionTool\(timeout_seconds=\.\.\.\)"):
        look.timeout_seconds = -1
