"""JSON Schemas as pydantic and people write them, and values to try on them."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote
from uuid import UUID

import jsonschema_rs
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from typing_extensions import TypedDict

from toolkeel.define.dialect import Target, compile_schema

Json = Any
NAMES = ["a", "b", "名称", "kind"]

# — real models —


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Size(enum.IntEnum):
    SMALL = 1
    MEDIUM = 2
    HUGE = 9


class Tree(BaseModel):
    """A tree of numbers."""

    value: int = Field(ge=0, description="What this node holds.")
    children: list[Tree] = Field(default_factory=list)
    parent: Tree | None = Field(default=None, description="Where it hangs.")


class Cat(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["cat"]
    lives: int = Field(default=9, ge=1, le=9)


class Dog(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["dog"]
    name: str | None = None


class Address(BaseModel):
    """A postal address."""

    model_config = ConfigDict(extra="forbid")
    street: str = Field(min_length=1)
    zip: Annotated[str, Field(pattern=r"^\d{5}$")]
    country: Literal["NO", "CN"] = "NO"


class Point(TypedDict):
    x: float
    y: float


@dataclass
class Window:
    start: datetime
    minutes: int = 30


class Shipment(BaseModel):
    """Everything at once."""

    model_config = ConfigDict(extra="forbid")
    城市: str = Field(description="目的地")
    to: Address = Field(description="Where it goes.")
    pet: Cat | Dog = Field(discriminator="kind")
    route: tuple[Point, Point]
    label: tuple[int, str] = (0, "")
    tags: set[str] = set()
    colour: Colour = Colour.RED
    size: Size | None = None
    weight: Decimal | None = Field(default=None, gt=0)
    when: Window | None = None
    id: UUID | None = None
    extra: dict[str, int] = {}
    anything: Any = None


class Ticket(BaseModel):
    """What strict mode can say."""

    model_config = ConfigDict(extra="forbid")
    title: str
    pet: Cat | Dog = Field(discriminator="kind")
    colour: Colour | None = None
    size: Size = Size.SMALL
    address: Address | None = Field(default=None, description="Where.")
    notes: list[str] = Field(default_factory=list, max_length=3)
    ratio: float = Field(default=0.5, gt=0, lt=1)


place = create_model("地址", __doc__="邮政地址。", 街道=str, 邮编=(str, "100000"))
order = create_model("订单", 收货=(place, Field(description="寄到哪里")), 退货=(place | None, None))


class Deep(BaseModel):
    root: Tree
    other: Tree = Field(description="Another one.")


MODELS: list[type[BaseModel]] = [Tree, Cat, Address, Shipment, Ticket, Deep, order]
MODEL_SCHEMAS: dict[str, dict[str, Json]] = {m.__name__: m.model_json_schema() for m in MODELS}
# a class name goes into $ref as it is, where only ASCII may stand
MODEL_SCHEMAS["订单"] = json.loads(
    json.dumps(MODEL_SCHEMAS["订单"], ensure_ascii=False).replace(
        "#/$defs/地址", "#/$defs/" + quote("地址")
    )
)
MODEL_SCHEMAS["Point"] = TypeAdapter(Point).json_schema()
MODEL_SCHEMAS["Window"] = TypeAdapter(Window).json_schema()


# — generated schemas —

_TEXTS = st.sampled_from(["", "a", "red", "北京", "a long enough text"])
_NUMBERS = st.one_of(st.integers(-3, 12), st.sampled_from([0.5, 2.0, -1.5]))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=4,
)


@st.composite
def _strings(draw: st.DrawFn) -> Json:
    return draw(
        st.sampled_from(
            [
                {"type": "string"},
                {"type": "string", "minLength": 1},
                {"type": "string", "maxLength": 3},
                {"type": "string", "enum": ["a", "red"]},
                {"type": "string", "const": "red"},
                {"enum": ["a", "北京"]},
                {"const": "a"},
                {"type": ["string", "null"]},
                {"type": "string", "format": "date-time"},
                {"type": "string", "pattern": "^a"},
                {"enum": ["a", None]},
            ]
        )
    )


@st.composite
def _others(draw: st.DrawFn) -> Json:
    return draw(
        st.sampled_from(
            [
                {"type": "integer"},
                {"type": "integer", "minimum": 0, "maximum": 9},
                {"type": "integer", "exclusiveMinimum": 0},
                {"type": "integer", "enum": [1, 2, 3]},
                {"type": "integer", "enum": [1, 5]},
                {"type": "number", "exclusiveMaximum": 2},
                {"type": "number", "multipleOf": 0.5},
                {"type": ["integer", "string"], "minimum": 1, "minLength": 1},
                {"type": "boolean"},
                {"enum": [True, False]},
                {"type": "null"},
                {"enum": ["a", 1, None]},
                {},
            ]
        )
    )


def _annotated(schema: Json, draw: st.DrawFn) -> Json:
    return {**schema, **draw(st.sampled_from([{}, {"description": "什么"}, {"title": "T"}]))}


@st.composite
def _compound(draw: st.DrawFn, inner: st.SearchStrategy[Json]) -> Json:
    kind = draw(st.sampled_from(["array", "tuple", "map", "object", "any", "null", "all", "set"]))
    if kind == "array":
        return {"type": "array", "items": draw(inner), **draw(_sizes("Items"))}
    if kind == "set":
        return {"type": "array", "items": draw(inner), "uniqueItems": True}
    if kind == "tuple":
        prefix = draw(st.lists(inner, min_size=1, max_size=2))
        rest = draw(st.sampled_from([{}, {"maxItems": len(prefix)}, {"items": False}]))
        return {"type": "array", "prefixItems": prefix, "minItems": len(prefix), **rest}
    if kind == "map":
        return {"type": "object", "additionalProperties": draw(inner)}
    if kind == "object":
        return draw(objects(inner))
    if kind == "any":
        return {
            draw(st.sampled_from(["anyOf", "oneOf"])): draw(st.lists(inner, min_size=1, max_size=3))
        }
    if kind == "all":
        return {"allOf": draw(st.lists(inner, min_size=1, max_size=2)), "description": "both"}
    return {"anyOf": [draw(inner), {"type": "null"}], "default": None}


def _sizes(what: str) -> st.SearchStrategy[Json]:
    return st.sampled_from([{}, {f"min{what}": 1}, {f"max{what}": 2}])


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Json]) -> Json:
    properties = draw(st.dictionaries(st.sampled_from(NAMES), inner, max_size=3))
    required = [name for name in properties if draw(st.booleans())]
    schema: Json = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {**schema, **draw(st.sampled_from([{}, {"additionalProperties": False}]))}


@st.composite
def tool_schemas(draw: st.DrawFn) -> Json:
    """The parameters of a tool, with definitions that may refer to each other and themselves."""
    references = st.sampled_from(["One", "Two"]).map(lambda name: {"$ref": f"#/$defs/{name}"})
    leaves = st.one_of(_strings(), _others(), references)
    schemas = st.recursive(leaves, _compound, max_leaves=5)
    annotated = st.builds(
        lambda s, extra: {**s, **extra},
        schemas,
        st.sampled_from([{}, {"description": "什么"}, {"title": "T"}, {"default": None}]),
    )
    root = draw(objects(annotated))
    root["$defs"] = {"One": draw(objects(annotated)), "Two": draw(st.one_of(_strings(), _others()))}
    return root


# — one schema, one target —


def parameters(**properties: Json) -> Json:
    """A closed object schema with these optional properties."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


def sent(schema: Json, target: Target) -> Json:
    """The property ``it`` as `target` gets it."""
    return compile_schema(parameters(it=schema), target).schema["properties"]["it"]


def report(schema: Json, target: Target) -> list[tuple[str, str]]:
    """Path and subject of each loss."""
    return [(loss.path, loss.what) for loss in compile_schema(schema, target).losses]


# — values —


def is_valid(schema: Json, value: Json) -> bool:
    """What the validator says; formats are descriptions, as in the 2020-12 standard."""
    return jsonschema_rs.Draft202012Validator(schema).is_valid(value)


@st.composite
def values_of(draw: st.DrawFn, schema: Json, root: Json, depth: int = 0) -> Json:
    """A value that mostly fits `schema` and sometimes does not."""
    if isinstance(schema, bool) or draw(st.integers(0, 24)) == 0 or depth > 6:
        return draw(JSON_VALUES)
    if "$ref" in schema:
        target: Json = root
        for part in unquote(schema["$ref"]).removeprefix("#/").split("/"):
            target = target[part]
        return draw(values_of(target, root, depth + 1))
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return draw(values_of(draw(st.sampled_from(schema[word])), root, depth + 1))
    kind = schema.get("type")
    kind = draw(st.sampled_from(kind)) if isinstance(kind, list) else kind
    return draw(_of_type(kind, schema, root, depth))


@st.composite
def _of_type(draw: st.DrawFn, kind: str | None, schema: Json, root: Json, depth: int) -> Json:
    if kind == "object":
        return draw(_object(schema, root, depth))
    if kind == "array":
        prefix = [draw(values_of(s, root, depth + 1)) for s in schema.get("prefixItems", ())]
        items = schema.get("items", "prefixItems" not in schema)
        if items is False or (depth > 3 and not schema.get("minItems")):
            return prefix
        most = schema.get("maxItems", 3) - len(prefix)
        rest = st.lists(values_of(items, root, depth + 1), max_size=max(0, min(most, 2)))
        return [*prefix, *draw(rest)]
    if kind == "integer":
        return draw(st.integers(-1, 10))
    simple: dict[str | None, st.SearchStrategy[Json]] = {
        "string": _TEXTS,
        "number": _NUMBERS,
        "boolean": st.booleans(),
        "null": st.none(),
    }
    return draw(simple.get(kind, JSON_VALUES))


@st.composite
def _object(draw: st.DrawFn, schema: Json, root: Json, depth: int) -> Json:
    result = {}
    for name, child in schema.get("properties", {}).items():
        if name in schema.get("required", ()) or (depth < 4 and draw(st.booleans())):
            result[name] = draw(values_of(child, root, depth + 1))
    more = schema.get("additionalProperties", {})
    if more is not False and depth < 4 and draw(st.integers(0, 2)) == 0:
        result[draw(st.sampled_from(["more", "b"]))] = draw(values_of(more, root, depth + 1))
    return result


# — strict mode's way of saying "not set" —


def resolve(schema: Json, root: Json) -> Json:
    """`schema`, or what it refers to."""
    while isinstance(schema, Mapping) and "$ref" in schema:
        schema = root["$defs"][unquote(schema["$ref"]).removeprefix("#/$defs/")]
    return schema


def fill_unset(value: Json, schema: Json, root: Json) -> Json:
    """`value` with null for each property that is missing, as strict mode sends it."""
    schema = _fitting(resolve(schema, root), value, root)
    if isinstance(schema, bool):
        return value
    for branch in schema.get("allOf", ()):
        value = fill_unset(value, branch, root)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        filled = {k: fill_unset(v, known.get(k, {}), root) for k, v in value.items()}
        return {**{name: None for name in known if name not in value}, **filled}
    if isinstance(value, list):
        prefix = schema.get("prefixItems", ())
        return [
            fill_unset(v, prefix[i] if i < len(prefix) else schema.get("items", {}), root)
            for i, v in enumerate(value)
        ]
    return value


def _fitting(schema: Json, value: Json, root: Json) -> Json:
    """The branch of a union that holds `value`."""
    while isinstance(schema, dict) and (union := schema.get("anyOf") or schema.get("oneOf")):
        fits = [b for b in union if is_valid({**_of(b), "$defs": root.get("$defs", {})}, value)]
        if not fits:
            return schema
        schema = resolve(fits[0], root)
    return schema


def _of(schema: Json) -> Json:
    return schema if isinstance(schema, dict) else ({} if schema else {"not": {}})


def finite(value: Json) -> bool:
    """Whether every number in `value` is one JSON can hold."""
    return not isinstance(value, float) or math.isfinite(value)
