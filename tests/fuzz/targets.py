"""What is fuzzed: each target takes any text and raises only if something is wrong with us."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, SecretStr

from tests.fuzz.parts import PARTS
from toolkeel import RunState, SetupError, Tool, ToolCall, tool
from toolkeel.call.arguments.canonical_arguments import as_json, fill_defaults, revalidate
from toolkeel.call.arguments.parse import parse_arguments
from toolkeel.call.arguments.partial import PartialArguments
from toolkeel.call.arguments.validate import prepare
from toolkeel.define.tool import AnyTool
from toolkeel.errors import (
    CallError,
    DefinitionError,
    InvalidArguments,
    MalformedArguments,
    TruncatedCall,
)

LONGEST = 11_000


def parse(text: str) -> None:
    """The strict parse agrees with the standard library's, the preview with it, and both end well."""
    try:
        strict = parse_arguments(text)
    except MalformedArguments as error:
        _check_told(error)
        strict = None
    preview = PartialArguments()
    size = len(text) % 7 + 1
    for at in range(0, len(text), size):
        preview.feed(text[at : at + size])
        if at % 3 == 0:
            preview.value()
    if strict is None or strict.repairs:
        return
    if not text.strip() or text.strip() == "null":
        assert strict.value == {}
        return
    assert strict.value == json.loads(text), "the standard library reads it differently"
    assert preview.complete and not preview.error, preview.error
    assert preview.value() == strict.value


class Item(BaseModel):
    id: int
    tags: list[str] = []
    price: float | None = None
    next: Item | None = None


class Login(BaseModel):
    user: str
    password: SecretStr


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: Annotated[int, Field(ge=0, le=9)]


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


def plain(a: int, b: float = 0.5, c: str = "x", d: bool = False, e: None = None) -> None:
    """Take plain values."""


def deep(item: Item, items: list[Item], by_name: dict[str, Item]) -> None:
    """Take models."""


def unions(
    pet: Annotated[Cat | Dog, Field(discriminator="kind")], either: int | str | list[int], day: date
) -> None:
    """Take one or the other."""


def secret(login: Login, n: int = 0) -> None:
    """Take secrets."""


def anything(first: Any, **rest: Any) -> None:
    """Take anything."""


def positions(x: int, /, *xs: int, flag: bool = True) -> None:
    """Take values by position."""


SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 0, "default": 3},
        "s": {"type": "string", "pattern": "^[a-z北]*$", "maxLength": 8},
        "list": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 5},
        "enum": {"enum": [1, "1", None, {"a": 1}]},
    },
    "required": ["s"],
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"child": {"$ref": "#/$defs/node"}, "v": {"type": ["number", "null"]}},
            "additionalProperties": False,
        }
    },
}

TOOLS: list[AnyTool] = [
    *(tool(function) for function in (plain, deep, unions, secret, anything)),
    tool(unknown_keys="ignore")(positions),
    Tool.from_schema("schema", "", SCHEMA, lambda context, arguments: None),
]


def validate(text: str) -> None:
    """Arguments are refused with every field named, or are values that are valid again."""
    for each in TOOLS:
        try:
            prepared = prepare(ToolCall("1", each.name, text), each)
        except (MalformedArguments, InvalidArguments) as error:
            _check_told(error)
            continue
        again = revalidate(prepared)
        assert as_json(again) == as_json(prepared), each.name
        assert again.arguments == fill_defaults(prepared).arguments, each.name


def schema(text: str) -> None:
    """A schema is refused when the tool is defined, or judges any arguments."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return
    try:
        made = Tool.from_schema("made", "", given, lambda context, arguments: None)
    except DefinitionError:
        return
    for arguments in ("{}", '{"a": 1}', '{"a": {"b": [1, "x"]}, "c": null}', text):
        try:
            prepare(ToolCall("1", "made", arguments), made)
        except (MalformedArguments, InvalidArguments, TruncatedCall) as error:
            _check_told(error)


def state(text: str) -> None:
    """A saved run is read, or refused."""
    try:
        read = RunState.from_json(text)
    except SetupError:
        return
    assert RunState.from_json(read.to_json()) == read


def _check_told(error: CallError) -> None:
    assert 0 < len(error.text) < LONGEST
    error.text.encode()


TARGETS: dict[str, Callable[[str], None]] = {
    "parse": parse,
    "validate": validate,
    "schema": schema,
    "state": state,
    **PARTS,
}
