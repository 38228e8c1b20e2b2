"""A mistake in a tool's options is told where the tool is defined, with the option and the fix."""

from __future__ import annotations

import functools
import math
from typing import Any

import pytest

from toolwright import BaseTool, Effects, Tool, Toolset, tool
from toolwright.define.options import CHECKS
from toolwright.define.tool import ToolOptions
from toolwright.errors import DefinitionError
from toolwright.hosted import Hosted

GOOD: dict[str, list[Any]] = {
    "effects": [Effects()],
    "timeout": [None, 1, 0.5, math.inf],
    "inline": [True, False],
    "executor": [None, print],
    "sequential": [True, False],
    "return_direct": [True],
    "response_format": ["content", "content_and_artifact"],
    "extra": ["forbid", "ignore"],
    "handle_tool_error": [True, False, "a text", str, None],
    "handle_validation_error": [True, "a text", str],
    "handle_crash": [True, "a text", str],
    "max_output": [None, 1, 0],
    "approval": [True, len],
    "enabled": [False, bool],
    "steps": [[], [print], (step for step in (print,))],
    "tags": [[], ["a"], ("a", "b"), {"a"}],
    "metadata": [{"a": 1}],
    "extras": [{"cache_control": {}}],
    "hosted": [None, Hosted()],
    "parse_docstring": [False],
    "error_on_invalid_docstring": [False],
}
BAD: dict[str, list[Any]] = {
    "effects": [None, {"read_only": True}, Effects],
    "timeout": [0, -1, "5", True, math.nan, []],
    "inline": [None, 1, "yes"],
    "executor": ["process", True, Effects],
    "sequential": [0],
    "return_direct": ["no"],
    "response_format": ["artifact", None, []],
    "extra": ["deny", True],
    "handle_tool_error": [5, []],
    "handle_validation_error": [object()],
    "handle_crash": [1.5],
    "max_output": [-5, 10.5, "10", True],
    "approval": ["always", None, 1],
    "enabled": ["yes", None],
    "steps": [print, ["log"], None, "log"],
    "tags": ["web", [1], None, 5],
    "metadata": [[("a", 1)], "a"],
    "extras": [["a"]],
    "hosted": [{}, "gemini"],
    "parse_docstring": ["google"],
    "error_on_invalid_docstring": [None],
}


def work(n: int) -> str:
    """Work."""
    return str(n)


def test_every_option_is_checked() -> None:
    assert set(CHECKS) == set(GOOD) == set(BAD) == set(ToolOptions.__annotations__)


@pytest.mark.parametrize("option", GOOD)
def test_an_option_takes_what_it_says(option: str) -> None:
    for value in GOOD[option]:
        options: Any = {option: value}
        assert tool(**options)(work).name == "work"


@pytest.mark.parametrize(("option", "value"), [(o, v) for o, values in BAD.items() for v in values])
def test_what_an_option_cannot_be_is_refused_with_the_fix(option: str, value: Any) -> None:
    options: Any = {option: value}
    with pytest.raises(DefinitionError, match=rf"work: {option} is .*; give it "):
        tool(**options)(work)
    with pytest.raises(DefinitionError, match=rf"{option} is .*; give it "):
        Tool.from_schema("work", "", {}, lambda context, arguments: "", **options)


def test_a_class_is_held_to_the_same() -> None:
    class Work(BaseTool):
        """Work."""

        name = "work"
        timeout = "5"  # type: ignore[assignment]

        def _run(self, n: int) -> str:
            return str(n)

    with pytest.raises(DefinitionError, match="timeout is '5'; give it a number of seconds"):
        Toolset([Work()])


def test_an_option_there_is_not_is_refused_with_the_nearest() -> None:
    with pytest.raises(DefinitionError, match=r"no option 'timeot'; did you mean 'timeout'"):
        tool(timeot=5)(work)  # type: ignore[call-overload]
    with pytest.raises(DefinitionError, match=r"no option 'zzz'$"):
        tool(zzz=5)(work)  # type: ignore[call-overload]


@pytest.mark.parametrize("given", [{"name": 5}, {"description": 5}, {"description": ["a"]}])
def test_a_name_and_a_description_are_texts(given: Any) -> None:
    with pytest.raises(DefinitionError, match=r"the (name|description) of a tool is a text, not"):
        tool(**given)(work)


def takes_one(arguments: object) -> str:
    return ""


def takes_names(*, context: object, arguments: object) -> str:
    return ""


@pytest.mark.parametrize("function", [takes_one, takes_names, None, lambda: 1])
def test_a_function_for_a_schema_takes_context_and_arguments(function: Any) -> None:
    with pytest.raises(DefinitionError, match=r"work: on_invoke (takes|is) "):
        Tool.from_schema("work", "", {}, function)


@pytest.mark.parametrize(
    "function", [lambda *both: 1, lambda c, a, more=1: 1, functools.partial(max, 1), max]
)
def test_any_way_to_take_both_will_do(function: Any) -> None:
    assert Tool.from_schema("work", "", {}, function).name == "work"
