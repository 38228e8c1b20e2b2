"""Random parameters, typed and as JSON Schema, and arguments to try on them: right, mutated and wrong."""

from __future__ import annotations

import datetime as dt
import enum
import itertools
import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import make_dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

from hypothesis import strategies as st
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model
from typing_extensions import TypedDict

from toolkeel import Tool, tool

Json = Any
NAMES = ["a", "b", "kind", "when", "名称"]
_COUNTER = itertools.count()


class Unit(enum.Enum):
    """Texts."""

    METER = "m"
    MILE = "mi"


class Level(enum.IntEnum):
    """Numbers."""

    LOW = 1
    HIGH = 2


# — annotations —

_LEAVES: list[Any] = [
    int, float, bool, str, Decimal, dt.datetime, dt.date, dt.time, dt.timedelta, UUID, Unit, Level,
    Literal[1, 2], Literal["x", "y"], Literal[1, "x", None], Literal[True], Literal[1, "1", True], Literal[0.5, 2],
    Annotated[int, Field(ge=1, le=9)], Annotated[float, Field(gt=0)],
    Annotated[str, Field(min_length=2, max_length=4)], Annotated[str, Field(pattern="^[a-c]+$")],
    Annotated[Decimal, Field(ge=0)], Annotated[Decimal, Field(gt=0)], Annotated[Decimal, Field(lt=0)],
    Literal[Unit.METER, "x"], bytes, tuple[int, ...], deque[int], Iterable[int], dt.date | str, set[int], set[str], frozenset[bool], dict[int, str],
    dict[bool, int], dict[Decimal, int], dict[dt.date, int], list[dt.datetime], list[Level],
]  # fmt: skip


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        inner.map(lambda each: list[each]),  # type: ignore[valid-type]
        inner.map(lambda each: dict[str, each]),  # type: ignore[valid-type]
        inner.map(lambda each: each | None),
        st.tuples(inner, inner).map(lambda two: tuple[two[0], two[1]]),  # type: ignore[valid-type]
        st.tuples(inner, inner).map(lambda two: two[0] | two[1]),
        st.builds(
            _model,
            st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=3),
            st.booleans(),
        ),
        st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=2).map(_typed_dict),
        st.tuples(
            *[st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=2)] * 2
        ).map(lambda two: _model(two[0]) | _model(two[1])),
        st.tuples(inner, inner).map(_tagged),
        st.dictionaries(st.sampled_from(NAMES[:4]), inner, min_size=1, max_size=2).map(
            _named_tuple
        ),
        st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=2).map(_dataclass),
        inner.map(lambda each: Annotated[each, BeforeValidator(_unchanged)]),
        st.tuples(inner, inner).map(lambda two: _open_model(two[0]) | _model({"a": two[1]})),
    )


def _unchanged(value: Any) -> Any:
    return value


def _named_tuple(fields: Mapping[str, Any]) -> Any:
    make: Any = NamedTuple
    return make(f"N{next(_COUNTER)}", [*fields.items()])


def _dataclass(fields: Mapping[str, Any]) -> Any:
    return make_dataclass(f"R{next(_COUNTER)}", [*fields.items()])


def _open_model(kind: Any) -> type[BaseModel]:
    """A model that allows other keys."""
    config = ConfigDict(extra="allow")
    made: Any = create_model(f"O{next(_COUNTER)}", __config__=config, b=(kind, ...))
    return made  # type: ignore[no-any-return]


def _model(fields: Mapping[str, Any], optional: bool = False) -> type[BaseModel]:
    """A model of these fields, the last of them with a default of None."""
    last = list(fields)[-1] if optional else None
    made: Any = create_model(
        f"M{next(_COUNTER)}",
        **{name: (kind, None if name == last else ...) for name, kind in fields.items()},
    )
    return made  # type: ignore[no-any-return]


def _typed_dict(fields: Mapping[str, Any]) -> Any:
    make: Any = TypedDict
    return make(f"D{next(_COUNTER)}", dict(fields))


def _tagged(two: tuple[Any, Any]) -> Any:
    one = create_model(f"T{next(_COUNTER)}", kind=(Literal["one"], ...), value=(two[0], ...))
    other = create_model(f"T{next(_COUNTER)}", kind=(Literal["other"], ...), value=(two[1], ...))
    return Annotated[one | other, Field(discriminator="kind")]


ANNOTATIONS = st.recursive(st.sampled_from(_LEAVES), _containers, max_leaves=4)


def typed_tool(annotations: Mapping[str, Any], optional: bool) -> Tool[..., Any]:
    """A tool of these parameters, the last of them with a default of None."""

    def take(**_: object) -> str:
        return "taken"

    import inspect

    parameters = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=kind,
            **({"default": None} if optional and name == list(annotations)[-1] else {}),
        )
        for name, kind in annotations.items()
    ]  # fmt: skip
    take.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    take.__annotations__ = dict(annotations)
    return tool(description="Take it.")(take)


TYPED = st.builds(
    typed_tool,
    st.dictionaries(st.sampled_from(NAMES), ANNOTATIONS, min_size=1, max_size=2),
    st.booleans(),
)


# — JSON Schemas —

_PLAIN: list[Json] = [
    {"type": "integer"}, {"type": "number"}, {"type": "boolean"}, {"type": "string"},
    {"type": "null"}, {"type": "integer", "minimum": 1, "maximum": 9},
    {"type": "number", "exclusiveMinimum": 0}, {"type": "integer", "multipleOf": 3},
    {"type": "string", "minLength": 2}, {"type": "string", "pattern": "^[a-c]+$"},
    {"type": ["integer", "null"]}, {"type": ["string", "number"], "minimum": 3},
    {"enum": [1, "x", None]}, {"const": 1}, {"const": "x"}, {"enum": ["x", "y"]},
    {"type": "string", "enum": [1, "x"]}, {"type": "integer", "enum": [1, 2.5, 2]},
    {"type": "integer", "const": 2}, {"enum": [3, 8], "minimum": 5}, {"const": {"a": 1}},
    {"$ref": "#/$defs/Count"}, {"$ref": "#/$defs/Node"}, {"$ref": "#/$defs/Count", "minimum": 5},
    {"anyOf": [{"type": "string"}, {"type": "integer"}], "minLength": 3, "minimum": 3},
    {"minimum": 3}, {"minLength": 3}, {"required": ["a"]}, {"minItems": 1},
    {"not": {"type": "string"}}, {}, {"type": "array"}, {"type": "object"},
    {"type": "object", "minProperties": 1}, {"type": "object", "maxProperties": 1},
    {"type": "array", "uniqueItems": True}, {"type": "array", "contains": {"type": "integer"}},
    {"type": "array", "contains": {"type": "string"}, "minContains": 2},
    {"type": "array", "items": {"type": "string"}, "contains": {"const": "c"}},
    {"type": "object", "propertyNames": {"pattern": "^[a-b]$"}},
    {"type": "object", "dependentRequired": {"a": ["b"]}, "properties": {"b": {"type": "integer"}}},
    {"type": "object", "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
     "then": {"required": ["b"]}, "properties": {"b": {"type": "integer"}}},
    {"if": {"required": ["a"]}, "then": {"type": "integer"}, "else": {"type": "object"}},
    {"if": {"type": "integer"}, "then": {"minimum": 3}, "else": {"type": "string"}},
    {"allOf": [{"type": "object", "properties": {"a": {"$ref": "#/$defs/Count"}}}, {"properties": {"b": {}}}],
     "unevaluatedProperties": False},
    {"type": "object", "patternProperties": {"^k": {"type": "string"}}, "additionalProperties": False},
]  # fmt: skip


@st.composite
def _holding(draw: st.DrawFn, inner: st.SearchStrategy[Json]) -> Json:
    kind = draw(
        st.sampled_from(["list", "tuple", "object", "map", "union", "one", "all", "beside"])
    )
    if kind == "list":
        sizes = draw(st.sampled_from([{}, {"minItems": 1}, {"maxItems": 1}, {"minItems": 2}]))
        return {"type": "array", "items": draw(inner), **sizes}
    if kind == "tuple":
        first = draw(st.lists(inner, min_size=1, max_size=2))
        more = draw(
            st.sampled_from(
                [{}, {"minItems": 3}, {"minItems": 1}, {"items": False}, {"maxItems": 1}]
            )
        )
        return {"type": "array", "prefixItems": first, **more}
    if kind == "object":
        return draw(_object(inner))
    if kind == "map":
        return {"type": "object", "additionalProperties": draw(inner)}
    if kind in ("union", "one"):
        branches = draw(st.lists(inner, min_size=1, max_size=3, unique_by=repr))
        return {"anyOf" if kind == "union" else "oneOf": branches}
    if kind == "all":  # of what can hold together
        first = draw(inner)
        more = st.sampled_from(
            [{"minItems": 1}, {"minimum": 2}, {"minLength": 2}, {"maxProperties": 3}]
        )
        fixed = "enum" in repr(first) or "const" in repr(first)
        return {"allOf": [first, *draw(st.lists(more, max_size=0 if fixed else 2))]}
    more = draw(st.sampled_from([{"minItems": 2}, {"minimum": 4}, {"minLength": 2}]))
    return {"anyOf": draw(st.lists(inner, min_size=2, max_size=2)), **more}


@st.composite
def _object(draw: st.DrawFn, inner: st.SearchStrategy[Json]) -> Json:
    properties = draw(st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=3))
    required = [name for name in properties if draw(st.booleans())]
    closed = draw(st.sampled_from([{}, {"additionalProperties": False}]))
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        **closed,
    }


SCHEMAS = st.recursive(st.sampled_from(_PLAIN), lambda inner: _holding(inner), max_leaves=4)


DEFINITIONS: Json = {
    "Count": {"type": "integer", "minimum": 1},
    "Node": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/$defs/Node"}},
        "required": ["a"],
        "additionalProperties": False,
    },
}


@st.composite
def _tool_schema(draw: st.DrawFn) -> Json:
    root = draw(_object(SCHEMAS))
    root["$defs"] = DEFINITIONS
    return root


def described_tool(schema: Json) -> Tool[..., Any]:
    """A tool whose parameters a JSON Schema describes."""

    return Tool.from_schema("take", "Take it.", schema, lambda _context, _arguments: "taken")


DESCRIBED = _tool_schema().map(described_tool)


# — values —

_ANY = st.recursive(
    st.sampled_from(
        [
            None, True, False, 0, 1, 2, 5, -3, 12, 0.5, 1.0, 2.0, 1e20, -0.0, "", "a", "abc", "x", "m",
            "2026", "5", "1.5", "1_000", " 1 ", "true", "null", "[1, 2]", '{"a": 1}', "2026-01-02",
            "2026-01-02T03:04:05Z", "03:04:05", "PT5S", "12345678-1234-5678-1234-567812345678",
            "4111111111111111", "one", "other", 10**30, "1 day", "1:02:03", 2.0**53, 2**53 + 1,
            "12345678123456781234567812345678", '["x", "2"]',
        ]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*NAMES, "value", "1", "01", "true", "2026"]), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
_BY_FORMAT = {
    "date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05",
    "duration": "PT5S", "uuid": "12345678-1234-5678-1234-567812345678",
}  # fmt: skip


def _target(reference: str, root: Json) -> Json:
    target = root
    for part in reference.removeprefix("#/").split("/"):
        target = target[part]
    return target


@st.composite
def right_values(draw: st.DrawFn, schema: Json, root: Json, depth: int = 0) -> Json:
    """A value that mostly fits."""
    if not isinstance(schema, dict) or depth > 8:
        return draw(_ANY)
    if "$ref" in schema:
        return draw(right_values(_target(schema["$ref"], root), root, depth + 1))
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return draw(right_values(draw(st.sampled_from(schema[word])), root, depth + 1))
    kind = schema.get("type")
    kind = draw(st.sampled_from(kind)) if isinstance(kind, list) else kind
    make = _MAKERS.get(kind)
    return draw(_ANY) if make is None else draw(make(schema, root, depth))


def _strings(schema: Json, root: Json, depth: int) -> st.SearchStrategy[Json]:
    if schema.get("format") in _BY_FORMAT:
        return st.just(_BY_FORMAT[schema["format"]])
    if "pattern" in schema:
        return st.sampled_from(["a", "1.5", "ab"])
    return st.sampled_from(["ab", "abc", "x", ""])


@st.composite
def _arrays(draw: st.DrawFn, schema: Json, root: Json, depth: int) -> Json:
    first = [draw(right_values(each, root, depth + 1)) for each in schema.get("prefixItems", ())]
    items = schema.get("items", True)
    if items is False:
        return first
    rest = st.lists(right_values(items, root, depth + 1), max_size=2)
    return [*first, *draw(rest)][: schema.get("maxItems", 9)]


@st.composite
def _objects(draw: st.DrawFn, schema: Json, root: Json, depth: int) -> Json:
    made = {}
    for name, each in schema.get("properties", {}).items():
        if name in schema.get("required", ()) or (depth < 4 and draw(st.booleans())):
            made[name] = draw(right_values(each, root, depth + 1))
    if isinstance(more := schema.get("additionalProperties"), dict):
        names = st.sampled_from(["1", "a", "true", "2026-01-02", "1.5"])
        made |= draw(st.dictionaries(names, right_values(more, root, depth + 1), max_size=2))
    return made


_MAKERS: Mapping[Any, Callable[..., st.SearchStrategy[Json]]] = {
    "string": _strings,
    "array": _arrays,
    "object": _objects,
    "integer": lambda *_: st.sampled_from([1, 2, 6, 0, 9]),
    "number": lambda *_: st.sampled_from([1, 0.5, 2.0, -1.5]),
    "boolean": lambda *_: st.booleans(),
    "null": lambda *_: st.none(),
}


@st.composite
def _mutated(draw: st.DrawFn, value: Json) -> Json:
    """A value with one place replaced, dropped or added."""
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(list(value)))
        how = draw(st.sampled_from(["within", "within", "drop", "add"]))
        if how == "drop":
            return {name: each for name, each in value.items() if name != key}
        if how == "add":
            return {**value, draw(st.sampled_from(["more", "kinds", "b"])): draw(_ANY)}
        return {**value, key: draw(_mutated(value[key]))}
    if isinstance(value, list) and value and draw(st.integers(0, 3)):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], draw(_mutated(value[at])), *value[at + 1 :]]
    return draw(_ANY)


def _as_text(value: Json) -> Json:
    """The value with each number and boolean in it as text."""
    if isinstance(value, dict | list):
        return _within(value, _as_text)
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def _nested_text(value: Json) -> Json:
    """The value with each object and list in it as JSON text, and in that text each integer as text."""
    if isinstance(value, dict | list):
        return json.dumps(_within(value, _nested_text), ensure_ascii=False)
    return str(value) if type(value) is int else value


def _with_fractions(value: Json) -> Json:
    """The value with each integer in it as a float."""
    if isinstance(value, dict | list):
        return _within(value, _with_fractions)
    return float(value) if type(value) is int else value


def _within(value: Json, change: Callable[[Json], Json]) -> Json:
    """An object or a list with its members changed."""
    if isinstance(value, dict):
        return {name: change(each) for name, each in value.items()}
    return list(map(change, value))


def _alike(value: Json) -> Json:
    """The value with what lenient readers take for the same: true for 1, seconds for a date, 1_000."""
    if isinstance(value, dict | list):
        return _within(value, _alike)
    if isinstance(value, bool) or value in (0, 1):
        return int(value) if isinstance(value, bool) else bool(value)
    return "2026" if value in _BY_FORMAT.values() else "1_000" if value == "1.5" else value


_SPELLINGS = (_as_text, _nested_text, _with_fractions, _alike)


@st.composite
def argument_values(draw: st.DrawFn, schema: Json) -> Json:
    """Arguments for a schema: right, right in another spelling, mutated, or anything."""
    value = draw(right_values(schema, schema))
    if isinstance(value, dict):
        if not draw(st.integers(0, 3)):  # null for each parameter that is not sent
            value = {**dict.fromkeys(schema.get("properties", ())), **value}
        spell = draw(st.sampled_from([*_SPELLINGS, *[None] * 5]))
        value = _within(value, spell) if spell else value
    for _ in range(draw(st.integers(0, 2))):
        value = draw(_mutated(value))
    return value if isinstance(value, dict) else {"a": value}


@st.composite
def calls(draw: st.DrawFn, tools: st.SearchStrategy[Tool[..., Any]]) -> tuple[Tool[..., Any], Json]:
    """A tool and arguments to call it with."""
    chosen = draw(tools)
    return chosen, draw(argument_values(chosen.parameters))
