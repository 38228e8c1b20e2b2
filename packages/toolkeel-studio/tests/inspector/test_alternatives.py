"""What a schema says beside its alternatives holds for each of them, and what it refers to for it."""

from __future__ import annotations

from toolkeel_studio.inspector.alternatives import split_alternatives
from toolkeel_studio.inspector.forms import build_form, submitted_value

TEXT = {"type": "string"}


def test_null_is_no_alternative_and_one_alone_is_no_choice() -> None:
    assert split_alternatives({"anyOf": [TEXT, {"type": "null"}], "title": "Name"}, {}) == (
        {"type": "string", "title": "Name"},
        [],
        True,
    )
    assert split_alternatives({"oneOf": [TEXT, {"type": "integer"}]}, {})[1:] == (
        [TEXT, {"type": "integer"}],
        False,
    )


def test_what_is_referred_to_is_read_and_what_leads_nowhere_says_nothing() -> None:
    root = {
        "$defs": {"a/b": {"$ref": "#/$defs/c"}, "c": TEXT, "d": {"allOf": [{"$ref": "#/$defs/d"}]}}
    }
    assert split_alternatives({"$ref": "#/$defs/a~1b"}, root)[0] == TEXT
    assert split_alternatives({"$ref": "#/none", "title": "x"}, root)[0] == {"title": "x"}
    assert split_alternatives({"$ref": "#/$defs/d"}, root)[1] == [] and split_alternatives(
        7, root
    ) == ({}, [], False)


def test_alternatives_beside_fields_are_whole_or_only_checked() -> None:
    one, two = ({"properties": {key: {"type": "string"}}, "required": [key]} for key in "ab")
    both = {"type": "object", "properties": {"c": {"type": "integer"}}, "required": ["c"]}
    made = build_form({**both, "anyOf": [one, two]}, {})
    typed = {"?": "1", "|1/b": "x", "|1/c": "3"}
    assert [[each.label for each in part.fields] for part in made.fields] == [
        ["c", "a"],
        ["c", "b"],
    ]
    assert submitted_value(build_form({**both, "anyOf": [one, two]}, typed), typed) == {
        "b": "x",
        "c": 3,
    }
    told = build_form({**both, "anyOf": [{"required": ["c"]}, {"required": ["d"]}]}, {})
    assert [each.label for each in told.fields] == ["c"]
    joined = build_form({"allOf": [both, {"$ref": "#/$defs/a"}], "$defs": {"a": one}}, {})
    assert [(each.label, each.required) for each in joined.fields] == [("a", True), ("c", True)]


def test_an_alternative_without_a_title_is_called_by_what_tells_it_from_the_others() -> None:
    nested = {"type": "array", "items": {"type": "array", "items": TEXT}}
    objects = [
        {"type": "object", "properties": dict.fromkeys(keys, TEXT)} for keys in ("ab", "cdef")
    ]
    made = build_form({"anyOf": [*objects, nested, {"const": 7}, {}]}, {})
    assert [each.label for each in made.fields] == [
        "a, b",
        "c, d, e, …",
        "array: array: string",
        "7",
        "5",
    ]
