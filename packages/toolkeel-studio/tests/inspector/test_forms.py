"""A form says every value that its schema allows, and tells absent, empty and null apart."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tests.inspector.serving import draw, search
from toolkeel import tool
from toolkeel_studio.inspector import forms
from toolkeel_studio.inspector.alternatives import TOGETHER, split_alternatives
from toolkeel_studio.inspector.forms import (
    ABSENT,
    apply_button,
    build_form,
    expresses,
    fields_for_value,
    name_at,
    pointer_of,
    submitted_value,
)

TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r"), max_size=8)


def leaves() -> st.SearchStrategy[tuple[dict[str, Any], Any]]:
    """A schema and a value of it."""
    return st.one_of(
        TEXT.map(lambda v: ({"type": "string"}, v)),
        st.integers().map(lambda v: ({"type": "integer"}, v)),
        st.floats(allow_nan=False, allow_infinity=False).map(lambda v: ({"type": "number"}, v)),
        st.booleans().map(lambda v: ({"type": "boolean"}, v)),
        st.sampled_from(["a", "猫", 3, True]).map(lambda v: ({"enum": ["a", "猫", 3, True]}, v)),
        TEXT.map(lambda v: ({"anyOf": [{"type": "string"}, {"type": "null"}]}, v or None)),
        st.dictionaries(TEXT, st.integers(), min_size=1).map(lambda v: ({"type": "object"}, v)),
    )


def grown(inner: st.SearchStrategy[tuple[dict[str, Any], Any]]) -> st.SearchStrategy[Any]:
    objects = st.dictionaries(TEXT, inner, min_size=1, max_size=3).map(
        lambda made: (
            {"type": "object", "properties": {key: schema for key, (schema, _) in made.items()}},
            {key: value for key, (_, value) in made.items()},
        )
    )
    lists = st.lists(st.integers(), max_size=3).map(
        lambda v: ({"type": "array", "items": {"type": "integer"}}, v)
    )
    values = st.dictionaries(TEXT.filter(bool), inner, max_size=3).map(
        lambda made: (
            {"type": "object", "additionalProperties": next(iter(made.values()), ({},))[0] or True},
            {key: next(iter(made.values()))[1] for key in made},
        )
    )
    return objects | lists | values


@given(TEXT, st.recursive(leaves(), grown, max_leaves=6))
def test_a_value_survives_the_way_into_a_form_and_back(key: str, made: tuple[Any, Any]) -> None:
    schema, value = made
    whole = {"type": "object", "properties": {key: schema}, "required": [key]}
    typed = fields_for_value(whole, {key: value})
    assert submitted_value(build_form(whole, typed), typed) == {key: value}


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ({}, {}),
        ({"/query~empty": "on"}, {"query": ""}),
        ({"/query": "keel", "/limit": "7"}, {"query": "keel", "limit": 7}),
        ({"/query": "3", "/limit": "seven"}, {"query": "3", "limit": "seven"}),
        ({"/query": "a\r\nb", "/kind": '"news"'}, {"query": "a\nb", "kind": "news"}),
        ({"/tags#": "2", "/tags/0": "x"}, {"tags": ["x", ""]}),
        ({"/tags#": "0", "/tags~empty": "on"}, {"tags": []}),
    ],
)
def test_what_is_typed_is_what_is_sent(typed: dict[str, str], sent: dict[str, Any]) -> None:
    assert submitted_value(build_form(search.parameters, typed), typed) == sent


def test_absent_null_and_empty_are_three_things() -> None:
    circle = {"/shape?": "0", "/shape|0/radius": "2"}
    sent = [
        submitted_value(build_form(draw.parameters, typed), typed)
        for typed in (circle, {**circle, "/title~null": "on"}, {**circle, "/title~empty": "on"})
    ]
    shape = {"kind": "circle", "radius": 2}
    assert sent == [
        {"shape": shape},
        {"shape": shape, "title": None},
        {"shape": shape, "title": ""},
    ]


class Address(BaseModel):
    street: str
    kind: Literal["home"] = "home"
    lines: Annotated[list[str], Field(min_length=1)] | None = None


class Colour(Enum):
    RED = "red"


@tool
def deliver(
    to: Address | None = None, by: Address | int | str = 3, paint: Colour | None = None
) -> str:
    """Deliver it."""
    return f"{to} {by} {paint}"


def test_an_optional_group_that_nobody_touched_is_not_sent() -> None:
    def sent(**typed: str) -> Any:
        named = {f"/{key}": text for key, text in typed.items()}
        return submitted_value(build_form(deliver.parameters, named), named)

    assert sent() == {} and sent(**{"by?": ""}) == {}
    assert sent(**{"to/street": "Kai 1"}) == {"to": {"street": "Kai 1", "kind": "home"}}
    assert sent(**{"to~empty": "on"}) == {"to": {"kind": "home"}}
    assert sent(**{"to~null": "on", "to/street": "x"}) == {"to": None}
    assert sent(**{"by?": "1"}) == {"by": ""}  # picked, so it is sent, and told what is wrong


@pytest.mark.parametrize(
    "value",
    [
        {"to": {"street": "", "lines": ["a", "b"]}, "by": "3"},
        {"to": None, "by": 7, "paint": "red"},
        {"by": {"street": "Kai", "kind": "home", "lines": None}, "paint": None},
    ],
)
def test_alternatives_references_and_null_survive_the_way_into_a_form(value: Any) -> None:
    typed = fields_for_value(deliver.parameters, value)
    made = build_form(deliver.parameters, typed)
    sent = submitted_value(made, typed)
    assert expresses(sent, value) and sent.keys() == value.keys()
    assert not expresses(value, {**value, "other": 1}) and not expresses([1], [1, 2])
    assert "/paint" not in typed or typed["/paint"] in made.fields[2].options


def test_an_error_in_an_alternative_leads_to_its_field() -> None:
    typed = {"/shape?": "1", "/shape|1/points#": "1"}
    made = build_form(draw.parameters, typed)
    assert name_at(made, "/shape/points/0/x") == "/shape|1/points/0/x"
    assert name_at(made, "/shape") == "/shape" and name_at(made, "/shape/radius") == ""


RATES = {"type": "object", "additionalProperties": {"$ref": "#/$defs/N"}}
WHOLE = {"type": "object", "properties": {"rates": RATES}, "$defs": {"N": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("rows", "sent"),
    [
        ({}, {}),
        ({"0~key": "EUR", "0": "2", "1~key": "a/b", "1": "x"}, {"rates": {"EUR": 2, "a/b": "x"}}),
        ({"0": "2", "1": ""}, {"rates": {"": 2}}),
        ({"0~key": "", "1~key": "EUR"}, {"rates": {"EUR": ""}}),
        ({"0~key": "a", "0": "1", "1~key": "a", "1": "2"}, {"rates": [["a", 1], ["a", 2]]}),
    ],
)
def test_a_map_has_a_row_for_each_key(rows: dict[str, str], sent: dict[str, Any]) -> None:
    typed = {"/rates#": "2", **{f"/rates/{name}": text for name, text in rows.items()}}
    made = build_form(WHOLE, typed)
    assert made.fields[0].kind == "map" and submitted_value(made, typed) == sent
    assert "a/b" not in str(rows) or name_at(made, "/rates/a~1b") == "/rates/1"
    less = apply_button(typed, "remove:/rates/0")
    assert less["/rates#"] == "1" and less.get("/rates/0~key") == rows.get("1~key")
    alone = fields_for_value(RATES, {"EUR": 2})  # all arguments may be one
    assert submitted_value(build_form(RATES, alone), alone) == {"EUR": 2}


def test_no_count_that_was_sent_is_too_long_for_a_number() -> None:
    many = {"/tags#": "9" * 5000, "/tags/0": "x"}
    assert submitted_value(build_form(search.parameters, many), many) == {}
    assert apply_button(many, "add:/tags")["/tags#"] == "1"
    assert apply_button({"/a#": "3"}, "remove:/a/" + "9" * 5000) == {"/a#": "3"}


def test_the_alternative_that_was_picked_is_sent_alone() -> None:
    typed = {
        "/shape?": "1",
        "/shape|0/radius": "2",
        "/shape|1/points#": "1",
        "/shape|1/points/0/x": "5",
    }
    made = build_form(draw.parameters, typed)
    assert submitted_value(made, typed) == {"shape": {"kind": "path", "points": [{"x": 5}]}}
    assert submitted_value(made, {}) == {}
    [points] = [f for f in made.fields[0].fields[1].fields if f.kind == "list"]
    assert (points.name, points.pointer) == ("/shape|1/points", "/shape/points")


def test_a_schema_that_refers_to_itself_ends_in_a_field_of_json() -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#"}}}
    made = build_form(tree, {})
    kinds = []
    while made.fields:
        made = made.fields[0]
        kinds.append(made.kind)
    assert kinds == ["object", "object", "object", "json"]
    assert submitted_value(build_form(tree, {}), {"/child": "x"}) == {}


def test_items_are_added_and_removed_where_the_button_was() -> None:
    typed = {"/a#": "3", "/a/0": "x", "/a/1/b": "y", "/a/2~null": "on", "/other": "z"}
    assert apply_button(typed, "add:/a")["/a#"] == "4"
    gone = apply_button(typed, "remove:/a/1")
    assert gone == {"/a#": "2", "/a/0": "x", "/a/1~null": "on", "/other": "z"}
    assert apply_button(typed, "remove:/a/9") == typed
    assert apply_button({"/a#": "x"}, "add:/a") == {"/a#": "1"}


@given(st.lists(TEXT | st.integers(0, 9), max_size=4), st.dictionaries(TEXT, TEXT))
def test_no_form_and_no_path_breaks_it(path: list[str | int], typed: dict[str, str]) -> None:
    assert pointer_of(tuple(path)).count("/") == len(path)
    for parameters in (search.parameters, draw.parameters):
        assert submitted_value(build_form(parameters, typed), typed) is not ABSENT


@pytest.mark.parametrize("kind", ["list", "object", "union", "itself"])
def test_a_schema_that_multiplies_gives_a_form_that_is_bounded(kind: str) -> None:
    defs: dict[str, Any] = {"a5": {"type": "string"}}
    for level in range(5):
        below = {"$ref": f"#/$defs/a{level + 1}"}
        defs[f"a{level}"] = {
            "list": {"type": "array", "minItems": 200, "items": below},
            "object": {"type": "object", "properties": {f"p{n}": below for n in range(200)}},
            "union": {"anyOf": [below] * 200},
            "itself": {"anyOf": [{"$ref": f"#/$defs/a{level}"}, {"type": "string"}]},
        }[kind]
    first = {"$ref": "#/$defs/a0"}
    made = build_form({"type": "object", "properties": {"x": first}, "$defs": defs}, {})

    def count(field: Any) -> int:
        return 1 + sum(map(count, field.fields))

    assert count(made) < 4000


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "array", "items": {}, "minItems": "x"},
        {"type": "array", "items": {}, "minItems": float("inf")},
        {"type": "string", "maxLength": "x"},
        {"enum": 5},
        {"anyOf": 5},
        {"type": "object", "properties": [1]},
    ],
)
def test_a_form_of_a_server_that_is_none_has_no_fields(wrong: dict[str, object]) -> None:
    schema = {"type": "object", "properties": {"a": wrong}, "required": ["a"]}
    assert build_form(schema, {}).fields == []
    assert fields_for_value(schema, {"a": 1}) == {}


def test_alternatives_that_multiply_are_not_all_tried() -> None:
    schema: dict[str, object] = {"type": "string"}
    value: object = 5  # which none of them says: it took minutes to find that out
    for _ in range(3):
        schema = {"anyOf": [{"type": "array", "items": schema}] * 12}
        value = [value] * 12
    whole = {"type": "object", "properties": {"a": schema}}
    assert fields_for_value(whole, {"a": value}) == {}
    parts = [{"properties": {f"p{n}": {}}} for n in range(3000)]
    assert len(build_form({"type": "object", "allOf": parts}, {}).fields) == TOGETHER


def test_alternatives_are_read_no_more_once_a_form_has_all_its_fields(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []

    def counted(schema: Any, root: Any) -> tuple[Any, list[Any], bool]:
        found = split_alternatives(schema, root)
        read.append(len(found[1]))
        return found

    monkeypatch.setattr(forms, "split_alternatives", counted)
    defs: dict[str, Any] = {"a5": {"type": "string"}}
    defs |= {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 200} for n in range(5)}
    build_form({"type": "object", "properties": {"x": defs["a0"]}, "$defs": defs}, {})
    assert sum(read) < 20_000
