"""The schema of a reply admits every call and answer that it should, and nothing without an end."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from toolkeel import tool
from toolkeel.messages import UserMessage
from toolkeel.model_interface import ModelRequest, OutputFormat, Settings
from toolkeel.providers.constrained.reply_schema import MAX_CHARS, MAX_ITEMS, reply_schema
from toolkeel.providers.grammar import Grammar, schema_grammar


class Stop(BaseModel):
    name: str
    next: Stop | None = None


@tool(name="trip.plan")
def plan(stops: list[Stop], tags: list[str], kind: Literal["bus", "rail"] = "bus") -> str:
    """Plan a trip."""
    return "ok"


@tool
def add(a: int, b: int = 0) -> int:
    """Add."""
    return a + b


TOOLS = [plan, add]


def request(**settings: Any) -> ModelRequest:
    return ModelRequest([UserMessage("hi")], TOOLS, Settings(**settings))


def grammar(**settings: Any) -> Grammar:
    return schema_grammar(reply_schema(request(**settings)))


def call(name: str, **arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


GOOD = call("trip_plan", stops=[{"name": "北京", "next": {"name": "x", "next": None}}], tags=["a"])


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6))
def test_every_call_is_admitted(a: int, b: int) -> None:
    assert grammar().admits(call("add", a=a, b=b))


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x7f"), max_size=40))
def test_every_answer_is_admitted(text: str) -> None:
    assert grammar().admits(call("answer", text=text))


def test_a_call_must_fit_the_schema_of_its_own_tool() -> None:
    admits = grammar().admits
    assert admits(GOOD)
    assert not admits(call("trip_plan", a=1))
    assert not admits(call("add", a="1"))
    assert not admits(call("rm", path="/"))
    assert not admits('{"name": "answer", "arguments": {"text": "a"}, "a": 1}')


@pytest.mark.parametrize(
    ("choice", "answers", "adds", "plans"),
    [
        ("auto", True, True, True),
        (None, True, True, True),
        ("required", False, True, True),
        ("add", False, True, False),
        ("trip.plan", False, False, True),
    ],
)
def test_the_tool_choice_decides_what_a_reply_may_be(
    choice: str | None, answers: bool, adds: bool, plans: bool
) -> None:
    admits = grammar(tool_choice=choice).admits
    found = admits(call("answer", text="hi")), admits(call("add", a=1)), admits(GOOD)
    assert found == (answers, adds, plans)


def test_an_answer_has_the_form_that_is_required() -> None:
    output = OutputFormat("city", {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}},
        "required": ["n"], "additionalProperties": False, "$defs": {"N": {"type": "integer"}}})  # fmt: skip
    admits = grammar(output=output).admits
    assert admits(call("answer", value={"n": 3}))
    assert not admits(call("answer", value={"n": "3"}))
    assert admits(GOOD)


def test_an_answer_s_definitions_replace_none_of_a_tool_that_is_called_answer() -> None:
    class N(BaseModel):
        text: str

    @tool(name="answer")
    def note(n: N) -> None:
        """Note."""

    form = {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}, "required": ["n"],
        "$defs": {"N": {"type": "integer"}}}  # fmt: skip
    settings = Settings(output=OutputFormat("city", form))
    schema = reply_schema(ModelRequest([UserMessage("hi")], [note], settings))
    admits = schema_grammar(schema).admits
    assert admits(call("answer", n={"text": "x"}))
    assert admits(call("answer_", value={"n": 3}))
    assert not admits(call("answer", n=3))


def test_lists_and_texts_have_an_end() -> None:
    admits = grammar().admits
    one = {"stops": [], "tags": ["x"]}
    assert admits(call("trip_plan", **one | {"tags": ["x"] * MAX_ITEMS}))
    assert not admits(call("trip_plan", **one | {"tags": ["x"] * (MAX_ITEMS + 1)}))
    assert admits(call("trip_plan", **one | {"tags": ["x" * MAX_CHARS]}))
    assert not admits(call("trip_plan", **one | {"tags": ["x" * (MAX_CHARS + 1)]}))


def test_what_a_grammar_cannot_say_is_left_to_the_tool() -> None:
    class Odd:
        name, description, provider_options = "odd", "", {}
        parameters: dict[str, Any] = {
            "type": "object",
            "properties": {
                "a": {"type": "array", "uniqueItems": True, "minItems": 40},
                "b": {"type": "string", "format": "hostname", "title": "B"},
                "c": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
                "title": {"type": "string"},
            },
            "required": ["a"],
        }

    schema = reply_schema(ModelRequest([], [Odd()], Settings(tool_choice="required")))
    properties = schema["properties"]["arguments"]["properties"]
    assert properties["a"]["maxItems"] == 40
    assert properties["b"] == {"type": "string", "maxLength": MAX_CHARS}
    assert properties["c"] == {"anyOf": [{"type": "integer"}, {"type": "number"}]}
    assert "title" in properties
