"""Tools given as JSON Schema: compiled within bounds, judged by the specification."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.call.arguments.test_parse import JSON
from tests.shared import shared_file
from toolkeel.define.schema.json_schema_validator import JsonSchemaValidator, compile_json_schema
from toolkeel.errors import DefinitionError

# — the specification's own tests —

CORE = "https://json-schema.org/draft/2020-12/meta/core"
VOCABULARY = "https://json-schema.org/draft/2020-12/vocab"
LOCAL = "http://localhost:1234/draft2020-12/metaschema"


def _metaschema(name: str, vocabularies: dict[str, bool], part: str) -> dict[str, object]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": name,
        "$vocabulary": vocabularies,
        "$dynamicAnchor": "meta",
        "allOf": [{"$ref": CORE}, {"$ref": f"https://json-schema.org/draft/2020-12/meta/{part}"}],
    }


# Two groups of the suite are written in dialects of their own, which a user would hand over too.
DIALECTS = {
    f"{LOCAL}-no-validation.json": _metaschema(
        f"{LOCAL}-no-validation.json",
        {f"{VOCABULARY}/core": True, f"{VOCABULARY}/applicator": True},
        "applicator",
    ),
    f"{LOCAL}-optional-vocabulary.json": _metaschema(
        f"{LOCAL}-optional-vocabulary.json",
        {
            f"{VOCABULARY}/core": True,
            f"{VOCABULARY}/validation": True,
            "http://localhost:1234/draft/2020-12/vocab/custom": False,
        },
        "validation",
    ),
}


def valid(schema: Any, instance: object) -> bool:
    """For the suite's own driver: `--validator tests.define.schema.test_json_schema_validator:valid`."""
    return compile_json_schema(schema, documents=DIALECTS).is_valid(instance)


def _reaches_out(part: object) -> bool:
    """Whether a schema refers to another document, or is written in another draft."""
    if isinstance(part, dict):
        reference, dialect = part.get("$ref"), part.get("$schema")
        if isinstance(reference, str) and (reference.startswith("http") or ".json" in reference):
            return True
        if isinstance(dialect, str) and "2020-12" not in dialect:
            return True
        return any(_reaches_out(each) for each in part.values())
    return isinstance(part, list) and any(_reaches_out(each) for each in part)


def test_every_required_test_of_the_suite_about_self_contained_schemas_passes() -> None:
    folder = shared_file("data/json-schema-test-suite/tests/draft2020-12")
    wrong: list[str] = []
    tried = 0
    for path in sorted(folder.glob("*.json")):
        for group in json.loads(path.read_text("utf-8")):
            if path.name == "refRemote.json" or _reaches_out(group["schema"]):
                continue
            validator = compile_json_schema(group["schema"], documents=DIALECTS)
            for case in group["tests"]:
                tried += 1
                title = f"{path.name}: {group['description']}: {case['description']}"
                if validator.is_valid(case["data"]) is not case["valid"]:
                    wrong.append(title)
                # What is refused is explained, and nothing else is.
                if bool(validator.errors(case["data"])) is case["valid"]:
                    wrong.append(f"{title} (errors)")
    assert wrong == []
    assert tried > 1200


# — dialects —


@pytest.mark.parametrize(
    "dialect",
    [
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft-07/schema#",
    ],
)
def test_draft_07_is_chosen_by_the_schema(dialect: str) -> None:
    pair = {"items": [{"type": "string"}], "additionalItems": False}
    validator = compile_json_schema({"$schema": dialect, **pair})
    assert validator.is_valid(["x"])
    assert not validator.is_valid(["x", 1])
    assert [str(e) for e in validator.errors([1])] == ["[0]: expected a string, got 1 (an integer)"]
    assert [e.expected for e in validator.errors(["x", 1])] == ["a list of at most 1 item"]


@pytest.mark.parametrize("dialect", ["https://json-schema.org/schema", None])
def test_the_current_dialect_is_taken_where_none_is_named(dialect: str | None) -> None:
    schema: dict[str, Any] = {"prefixItems": [{"type": "string"}]}
    validator = compile_json_schema({**schema, "$schema": dialect} if dialect else schema)
    assert not validator.is_valid([1])


def test_formats_are_not_asserted() -> None:
    assert compile_json_schema({"type": "string", "format": "date"}).is_valid("no date")


def test_documents_given_along_may_be_referred_to() -> None:
    city = {"$id": "https://example.com/city", "type": "string"}
    schema = {"properties": {"city": {"$ref": "https://example.com/city"}}}
    validator = compile_json_schema(schema, documents={"https://example.com/city": city})
    assert validator.is_valid({"city": "Paris"})
    assert [str(e) for e in validator.errors({"city": 5})] == [
        "city: expected a string, got 5 (an integer)"
    ]


# — what does not compile —


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "dict"}, 'at #/type: "dict" is not a JSON Schema type; write "object"'),
        ({"properties": {"a": {"type": "float"}}}, '#/properties/a/type: "float" is not a JSON Schema type; write "number"'),
        ({"items": {"type": "any"}}, '"any" is not a JSON Schema type; leave it out to take any value'),
        ({"required": "a"}, '#/required: "a" is not of type "array"'),
        ({"properties": {"a": {"minimum": "1"}}}, '#/properties/a/minimum: "1" is not of type "number"'),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "'/$defs/b' does not exist"),
        ({"pattern": "(?=a"}, 'the pattern "(?=a" is no regular expression'),
        ({"pattern": "(a{1000}){1000}"}, "does not compile"),
        ({"$ref": "http://127.0.0.1:9/a.json"}, "'http://127.0.0.1:9/a.json' lies outside the schema, and nothing is fetched"),
        ({"items": {"$ref": "file:///etc/passwd"}}, "'file:///etc/passwd' lies outside"),
        ({"$ref": "other.json"}, "'other.json' lies outside"),
        ({"$schema": "https://example.com/mine"}, "dialect 'https://example.com/mine', which is not supported"),
        ({"default": float("nan")}, "holds NaN"),
        ({"default": object()}, "not JSON data"),
        ({"default": "\ud83d"}, "not JSON data"),
        (5, "is an object, true or false, not 5"),
        ([], "is an object, true or false"),
    ],
)  # fmt: skip
def test_a_schema_that_does_not_compile_is_refused_by_place_and_fix(schema: Any, says: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        compile_json_schema(schema)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_reference_to_a_server_is_refused_without_asking_it() -> None:
    asked: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    with HTTPServer(("127.0.0.1", 0), Listener) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        uri = f"http://127.0.0.1:{server.server_port}/schema.json"
        for schema in ({"$ref": uri}, {"$schema": uri}, {"$id": uri, "$ref": "b.json"}):
            with pytest.raises(DefinitionError):
                compile_json_schema(schema)
        server.shutdown()
    assert asked == []


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


def _ladder(steps: int, keyword: str) -> dict[str, Any]:
    """Each step refers twice to the one below: small to write, endless to try."""
    rungs: dict[str, Any] = {"a0": {"type": "string"}}
    for step in range(1, steps):
        below = {"$ref": f"#/$defs/a{step - 1}"}
        rungs[f"a{step}"] = {keyword: [below, below]}
    return {"$defs": rungs, "$ref": f"#/$defs/a{steps - 1}"}


BOMBS: dict[str, tuple[dict[str, Any], str]] = {
    "deep": (_nested(1000), "nested more than 64 levels"),
    "large": ({"description": "x" * 1_000_001}, "too large: 1,000,0"),
    "branches": ({"oneOf": [{"type": "string"}] * 5000}, "5,000 alternatives"),
    "allOf ladder": (_ladder(40, "allOf"), "multiply"),
    "anyOf ladder": (_ladder(40, "anyOf"), "multiply"),
    "chain": (
        {"$defs": {f"a{i}": {"$ref": f"#/$defs/a{i + 1}"} for i in range(20_000)}, "$ref": "#/$defs/a0"},
        "too long a chain",
    ),
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_schema_that_would_cost_too_much_is_refused_quickly(bomb: str) -> None:
    schema, says = BOMBS[bomb]
    started = time.perf_counter()
    with pytest.raises(DefinitionError, match=says):
        compile_json_schema(schema)
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"anyOf": [{"type": "null"}, {"$ref": "#"}]}],
)
def test_a_schema_that_refers_to_itself_ends(schema: dict[str, Any]) -> None:
    validator = compile_json_schema(schema)
    assert validator.is_valid("x") == (not validator.errors("x"))


def test_a_pattern_that_would_backtrack_for_ever_answers_at_once() -> None:
    validator = compile_json_schema({"type": "string", "pattern": "^(a+)+$"})
    started = time.perf_counter()
    assert not validator.is_valid("a" * 5000 + "!")
    assert time.perf_counter() - started < 10


# — the validator —

TOOL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "days": {"type": "array", "items": {"$ref": "#/$defs/day"}, "default": []},
        "day": {"$ref": "#/$defs/day"},
        "place": {"anyOf": [{"properties": {"x": {"default": 1}}}, {"type": "null"}]},
        "wrong": {"type": "string", "default": None},
        "named": {"additionalProperties": {"properties": {"n": {"default": 0}}}},
    },
    "required": ["city"],
    "$defs": {"day": {"type": "object", "properties": {"hour": {"type": "integer", "default": 12}}}},
}  # fmt: skip


def test_defaults_are_filled_in_at_every_level_but_within_unions() -> None:
    sent = {"city": "Paris", "day": {}, "place": {}, "named": {"a": {}}}
    filled = compile_json_schema(TOOL).with_defaults(sent)
    assert filled == {
        "city": "Paris",
        "unit": "celsius",
        "days": [],
        "day": {"hour": 12},
        "place": {},
        "named": {"a": {"n": 0}},
    }
    assert sent == {"city": "Paris", "day": {}, "place": {}, "named": {"a": {}}}


def test_defaults_are_filled_into_the_items_of_a_list() -> None:
    sent = {"city": "x", "unit": "celsius", "days": [{}, {"hour": 3}]}
    filled = compile_json_schema(TOOL).with_defaults(sent)
    assert filled["days"] == [{"hour": 12}, {"hour": 3}]
    assert sent["days"] == [{}, {"hour": 3}]


def test_a_default_is_a_new_object_for_every_call() -> None:
    validator = compile_json_schema(TOOL)
    first = validator.with_defaults({"city": "x"})["days"]
    assert isinstance(first, list)
    first.append("changed")
    assert validator.with_defaults({"city": "x"})["days"] == []


def test_a_value_that_lacks_nothing_comes_back_itself() -> None:
    sent: dict[str, object] = {"city": "x"}
    assert compile_json_schema({"properties": {"city": {}}}).with_defaults(sent) is sent
    assert compile_json_schema(True).with_defaults(sent) is sent


def test_later_changes_to_the_schema_given_change_nothing() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"type": "string"}}}
    validator = compile_json_schema(MappingProxyType({**schema, "x": MappingProxyType({})}))
    schema["properties"]["a"]["type"] = "integer"
    assert validator.schema == {"properties": {"a": {"type": "string"}}, "x": {}}
    assert validator.is_valid({"a": "x"})


def test_what_is_not_json_is_never_valid() -> None:
    validator = compile_json_schema(True)
    for value in (object(), "\ud83d"):
        assert not validator.is_valid(value)
        assert [e.path for e in validator.errors(value)] == [()]


def test_values_nested_far_too_deep_do_not_end_the_process() -> None:
    nested = {"type": "array", "items": {"$ref": "#/$defs/list"}}
    validator = compile_json_schema({"$defs": {"list": nested}, "$ref": "#/$defs/list"})
    deep: object = 5
    for _ in range(2000):
        deep = [deep]
    assert not validator.is_valid(deep)
    assert len(validator.errors(deep)) == 1


# — tools —


# — any schema, any value —

SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {"type": "string", "minLength": 2}, {"type": "integer", "maximum": 3}, {"type": "null"},
            {"enum": [1, "a", None]}, {"const": {"a": 1}}, {"type": "boolean"}, {}, True, False,
            {"not": {"type": "string"}}, {"contains": {"type": "integer"}}, {"$ref": "#/$defs/x"},
            {"propertyNames": {"maxLength": 1}}, {"minProperties": 1}, {"uniqueItems": True},
        ]
    ),
    lambda inner: (
        st.builds(lambda key, each: {key: each}, st.sampled_from(["items", "not", "additionalProperties"]), inner)
        | st.builds(lambda key, each: {key: each}, st.sampled_from(["anyOf", "oneOf", "allOf"]), st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda a, b: {"type": "object", "properties": {"a": a, "b": b}, "required": ["a"], "additionalProperties": False}, inner, inner)
        | st.builds(lambda a, b: {"anyOf": [a, b], "oneOf": [b], "not": {"const": 5}, "allOf": [a]}, inner, inner)
    ),
    max_leaves=8,
)  # fmt: skip


@given(SCHEMAS, SCHEMAS, JSON | st.fixed_dictionaries({"a": JSON}, optional={"b": JSON}))
def test_a_value_has_errors_exactly_if_it_is_not_valid(
    schema: object, shared: object, value: object
) -> None:
    root: Any = {"$defs": {"x": shared}, "allOf": [schema]}
    try:
        validator: JsonSchemaValidator = compile_json_schema(root)
    except DefinitionError as refused:
        assume("lead back" not in str(refused))
        raise
    errors = validator.errors(value)
    assert bool(errors) is not validator.is_valid(value)
    for error in errors:
        str(error).encode()
        here: Any = value
        for part in error.path[:-1]:
            here = here[part]


def test_patterns_that_look_around_are_run_within_a_bound_and_that_is_told_apart() -> None:
    """As zod writes them for addresses; a text that keeps the engine busy is no mismatch."""
    email = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
    validator = compile_json_schema({"type": "string", "pattern": email})
    assert validator.is_valid("ada@example.com") and not validator.is_valid("a..b@example.com")
    assert validator.errors("a..b@example.com")[0].expected.startswith("a string matching")
    busy = compile_json_schema({"properties": {"a": {"pattern": "(x+x+)+y(?!z)"}}})
    assert busy.is_valid({"a": "xxxy"}) and not busy.is_valid({"a": "xxxyz"})
    [error] = busy.errors({"a": "x" * 60})
    assert "cannot be checked" in error.expected


# — patterns that give up —

BUSY = "^(a|a|aa)+(?=c)$"
"""Keeps the engine beyond its limit when it is asked of `LONG`."""
LONG = "a" * 40 + "b"
MATCHES, MATCHES_NOT = "^a{40}b$", "(?!)"


def _holding(part: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas that ask one more thing of `part`, or of what it is of."""
    counts, names = st.integers(0, 2), st.sampled_from(["x", LONG])
    return st.one_of(
        st.builds(lambda a: {"not": a}, part),
        st.builds(lambda how, a: {how: a}, st.sampled_from(["anyOf", "oneOf", "allOf"]), st.lists(part, min_size=1, max_size=3)),
        st.builds(lambda a, b, c: {"if": a, "then": b, "else": c}, part, part, part),
        st.builds(lambda a, least, most: {"contains": a, "minContains": least, "maxContains": most}, part, counts, counts),
        st.builds(lambda a, b: {"prefixItems": [a], "items": b}, part, part),
        st.builds(lambda a, b: {"contains": a, "unevaluatedItems": b}, part, part),
        st.builds(lambda a: {"propertyNames": a}, part),
        st.builds(lambda name, a, b: {"properties": {name: a}, "additionalProperties": b}, names, part, part),
        st.builds(lambda a, b: {"patternProperties": {BUSY: a}, "additionalProperties": b}, part, part),
        st.builds(lambda a, b: {"patternProperties": {BUSY: a}, "unevaluatedProperties": b}, part, part),
        st.builds(lambda a, b: {"anyOf": [a, {"properties": {"x": True}}], "unevaluatedProperties": b}, part, part),
        st.builds(lambda name, a: {"dependentSchemas": {name: a}}, names, part),
    )  # fmt: skip


def _with_pattern(schema: object, pattern: str) -> Any:
    return json.loads(json.dumps(schema).replace(json.dumps(BUSY), json.dumps(pattern)))


@pytest.mark.parametrize("draft", ["2020-12", "2019-09"])
@given(
    schema=st.recursive(
        st.just({"pattern": BUSY})
        | st.sampled_from([True, False, {"type": "string"}, {"type": "array"}]),
        _holding,
        max_leaves=5,
    ).filter(lambda schema: BUSY in json.dumps(schema)),
    value=st.recursive(
        st.sampled_from([LONG, 1]),
        lambda v: st.lists(v, max_size=2) | st.dictionaries(st.sampled_from(["x", LONG]), v),
        max_leaves=4,
    ),
)
def test_what_a_pattern_cannot_decide_lets_no_value_through_wherever_it_stands(
    draft: str, schema: Any, value: Any
) -> None:
    """Only what fits whether the pattern matches or not is taken; the rest is told what is wrong."""
    schema = {"$schema": f"https://json-schema.org/draft/{draft}/schema", "allOf": [schema]}
    validator = compile_json_schema(schema)
    taken = validator.is_valid(value)
    fits = [
        compile_json_schema(_with_pattern(schema, pattern)).is_valid(value)
        for pattern in (MATCHES, MATCHES_NOT)
    ]
    assert all(fits) if taken else validator.errors(value)
