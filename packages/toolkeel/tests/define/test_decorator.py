"""The first front door, in all its forms, and what it says of mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import tool
from toolkeel.errors import DefinitionError


def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (tool(add), "add"),
        (tool()(add), "add"),
        (tool("sum")(add), "sum"),
        (tool(name="sum")(add), "sum"),
        (tool("加法")(add), "加法"),
        (tool(description="Other.", timeout=None)(add), "add"),
    ],
)
def test_every_form_of_the_decorator_makes_the_same_tool(made: Any, name: str) -> None:
    assert made.name == name
    assert made.invoke({"a": 2}) == 3
    assert made.parameters["properties"]["a"]["description"] == "The first."


def test_the_description_is_what_was_given_or_the_docstring_or_the_name() -> None:
    def no_docstring_here() -> None: ...

    assert tool(add).description == "Add two numbers."
    assert tool(description="Other.")(add).description == "Other."
    assert tool(no_docstring_here).description == "no docstring here"


def test_the_docstring_may_be_left_whole() -> None:
    made = tool(docstring="plain")(add)
    assert "Args:" in made.description
    assert "description" not in made.parameters["properties"]["a"]  # type: ignore[index]


def test_a_docstring_that_describes_unknown_parameters_is_refused_if_wanted() -> None:
    def wrong(a: int) -> None:
        """Do.

        Args:
            a: Known.
            z: Unknown.
        """

    assert tool(wrong).name == "wrong"
    with pytest.raises(DefinitionError, match=r"wrong: its docstring: .*'z'"):
        tool(docstring="strict")(wrong)


def test_options_arrive_in_the_record() -> None:
    async def step(prepared: Any, context: Any, proceed: Any) -> object:
        return await proceed(prepared)

    made = tool(
        timeout=1.5,
        inline=True,
        sequential=True,
        ends_run=True,
        max_output=None,
        steps=[step],
        tags=["a", "b"],
        metadata={"owner": "me"},
        provider_options={"cache_control": {"type": "ephemeral"}},
    )(add)
    assert (made.timeout, made.inline, made.sequential, made.ends_run) == (
        1.5,
        True,
        True,
        True,
    )
    assert (made.max_output, made.steps, made.tags) == (None, (step,), ("a", "b"))
    assert made.metadata == {"owner": "me"}
    assert made.provider_options == {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: tool(timeot=3)(add), r"add: there is no option 'timeot'; did you mean 'timeout'"),
        (lambda: tool(tool(add)), r"add: it is a tool already"),
        (lambda: tool("a b")(add), r"'a b' contains ' '; use 'a_b'"),
        (lambda: tool("")(add), r"needs a name"),
        (lambda: tool("x" * 200)(add), r"200 characters"),
        (lambda: tool(parameters=5)(add), r"parameters is 5; give a pydantic model"),
        (lambda: tool(parameters={"type": "array"})(add), r"object"),
        (lambda: tool(parameters={"type": "object", "properties": {"a": {"type": "nothing"}}})(add),
         r"add"),
        (lambda: tool(parameters={"type": "object", "properties": {"a": {}}})(add),
         r"the function needs 'a', but parameters does not always give it"),
        (lambda: tool(parameters={"type": "object", "properties": {"a": {}, "z": {}},
                                   "required": ["a"]})(add),
         r"parameters has 'z', which the function does not take"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_when_the_tool_is_defined(given: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        given()
