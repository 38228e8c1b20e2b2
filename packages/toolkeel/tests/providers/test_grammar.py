"""Grammars of tools, proved both ways: what they admit is accepted, and what is right they admit."""

from __future__ import annotations

import asyncio
import datetime
import enum
import inspect
import random
import re
import uuid
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher
from pydantic import BaseModel, Field, TypeAdapter

from toolkeel import AssistantMessage, Tool, ToolCall, Toolset, tool
from toolkeel.define.tool import AnyTool
from toolkeel.errors import DefinitionError
from toolkeel.providers.grammar import (
    Grammar,
    arguments_grammar,
    byte_tokenizer,
    call_grammar,
    schema_grammar,
)
from toolkeel.providers.text_calls import find_calls


class Colour(enum.Enum):
    RED = "red"
    CAT = "猫"


class Point(BaseModel):
    x: int
    y: float = 0.5


class Node(BaseModel):
    name: str = Field(max_length=4)
    below: list[Node] = Field(default=[], max_length=2)


FINITE = {"allow_nan": False, "allow_infinity": False}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
POINTS = st.builds(Point, x=st.integers(), y=st.floats(**FINITE))
NODES = st.recursive(
    st.builds(Node, name=st.text("ab", max_size=4), below=st.just([])),
    lambda inner: st.builds(
        Node, name=st.text("ab", max_size=4), below=st.lists(inner, max_size=2)
    ),
    max_leaves=4,
)
KINDS: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(),
    Annotated[int, Field(ge=3, le=17)]: st.integers(3, 17),
    Annotated[int, Field(gt=-5, multiple_of=3)]: st.integers(-1, 99).map(lambda n: 3 * n),
    float: st.floats(**FINITE),
    bool: st.booleans(),
    str: TEXT,
    Annotated[str, Field(min_length=2, max_length=4)]: st.text("aé猫", min_size=2, max_size=4),
    Annotated[str, Field(pattern=r"^[a-z]{2}-[0-9]+$")]: st.from_regex(
        r"[a-z]{2}-[0-9]{1,5}", fullmatch=True
    ),
    Literal["a", 1, True]: st.sampled_from(["a", 1, True]),
    Colour: st.sampled_from(Colour),
    int | None: st.none() | st.integers(),
    int | list[str]: st.integers() | st.lists(TEXT, max_size=2),
    dict[str, int]: st.dictionaries(TEXT, st.integers(), max_size=3),
    Annotated[list[int], Field(min_length=1, max_length=3)]: st.lists(
        st.integers(), min_size=1, max_size=3
    ),
    tuple[int, str]: st.tuples(st.integers(), TEXT),
    datetime.date: st.dates(),
    datetime.datetime: st.datetimes() | st.datetimes(timezones=st.just(datetime.UTC)),
    datetime.time: st.times(),
    uuid.UUID: st.uuids(),
    Point: POINTS,
    Node: NODES,
}
INDEXES = st.lists(st.integers(0, len(KINDS) - 1), min_size=1, max_size=3)


def tool_of(kinds: list[Any]) -> AnyTool:
    """A tool with a parameter of each kind."""

    async def take(**given: Any) -> str:
        return "accepted"

    names = [f"p{n}" for n in range(len(kinds))]
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind)
        for name, kind in zip(names, kinds, strict=True)
    ]
    take.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    take.__annotations__ = {**dict(zip(names, kinds, strict=True)), "return": str}
    return Tool.from_function(take, name="take", description="Take it.")


def walked(grammar: Grammar, seed: int) -> str:
    """A text the grammar admits, found byte by byte; it closes what is open after a while."""
    choose, matcher, found = random.Random(seed), grammar.matcher(byte_tokenizer()), bytearray()
    enough = choose.randint(0, 120)
    for step in range(4000):
        mask = matcher.compute_bitmask()
        allowed = [n for n in range(257) if mask[n // 8] >> (n % 8) & 1]
        if 256 in allowed and (len(allowed) == 1 or step > enough or choose.random() < 0.2):
            return found.decode()
        closing = [n for n in allowed if n in b'"}]']
        likely = [n for n in allowed if n in b'a{}[]",:-.0123456789eE']
        pool = closing if closing and step > enough else likely if choose.random() < 0.8 else []
        token = choose.choice([n for n in pool or allowed if n != 256])
        assert matcher.consume_token(token)
        found.append(token)
    raise AssertionError(f"it does not end: {bytes(found[:200])!r}")


def accepted(tool: AnyTool, text: str) -> str:
    """What the tool says of arguments as a text."""
    [message] = asyncio.run(Toolset([tool]).run([ToolCall("1", tool.name, text)]))
    return message.text


@settings(deadline=None)
@given(INDEXES, st.integers(0, 2**32))
def test_every_text_the_grammar_admits_is_accepted_by_the_tool(
    chosen: list[int], seed: int
) -> None:
    kinds = list(KINDS)
    made = tool_of([kinds[n] for n in chosen])
    grammar = arguments_grammar(made)
    assert grammar.problems == ()
    text = walked(grammar, seed)
    said = accepted(made, text)
    beyond = re.search(r"[eE]\+?[0-9]{3}", text) and "a number is too large" in said
    assert said == "accepted" or beyond, text


@settings(deadline=None)
@given(INDEXES, st.data())
def test_every_right_call_is_admitted_by_the_grammar(
    chosen: list[int], data: st.DataObject
) -> None:
    kinds = [list(KINDS)[n] for n in chosen]
    made = tool_of(kinds)
    parts = []
    for number, kind in enumerate(kinds):
        value = data.draw(KINDS[kind])
        parts.append(f'"p{number}": {TypeAdapter(kind).dump_json(value).decode()}')
    text = "{" + ", ".join(parts).replace("\x7f", "\\u007f") + "}"
    assert arguments_grammar(made).admits(text), text
    assert accepted(made, text) == "accepted", text


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ({"type": "array", "uniqueItems": True}, "$.a: uniqueItems"),
        ({"type": "string", "pattern": "^(?!x)"}, "$.a: pattern '^(?!x)'"),
        ({"type": "string", "format": "email"}, "$.a: format 'email'"),
        ({"not": {"type": "string"}}, "$.a: not"),
    ],
)
def test_what_no_grammar_can_say_is_named_and_left_to_the_tool(kind: Any, problem: str) -> None:
    schema = {"type": "object", "properties": {"a": kind}}
    grammar = schema_grammar(schema)
    assert grammar.problems == (problem.replace("$.a", "$.properties.a"),)
    assert grammar.admits('{"a": []}') or grammar.admits('{"a": "y"}')


def test_words_of_a_schema_that_are_names_of_properties_are_kept() -> None:
    schema = {"type": "object", "properties": {"not": {"const": 1}, "format": {"const": "x"}}}
    grammar = schema_grammar({**schema, "required": ["not", "format"]})
    assert grammar.problems == ()
    assert grammar.admits('{"not": 1, "format": "x"}') and not grammar.admits("{}")


def test_a_schema_of_which_there_is_no_grammar_is_refused_with_the_reason() -> None:
    with pytest.raises(DefinitionError, match="no grammar can be made of the schema"):
        schema_grammar({"$ref": "https://example.com/elsewhere"})
    with pytest.raises(DefinitionError, match="needs a tool"):
        call_grammar([])


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_a_call_written_by_the_grammar_is_found_in_the_reply_and_runs(seed: int) -> None:
    @tool
    def add(a: int, b: Node) -> str:
        "Add."
        return "added"

    @tool(name="cats-list")
    def cats(near: Node | None = None) -> str:
        "List cats."
        return "cats"

    text = walked(call_grammar([add, cats]), seed)
    assert LLMatcher.validate_grammar(call_grammar([add, cats]).text) == ""
    found = find_calls(AssistantMessage(text), [add, cats])
    [message] = asyncio.run(Toolset([add, cats]).run(list(found.tool_calls)))
    assert message.text in ("added", "cats"), text
