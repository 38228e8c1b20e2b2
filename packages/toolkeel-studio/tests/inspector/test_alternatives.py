"""What a schema says beside its alternatives holds for each of them, and what it refers to for it."""

from __future__ import annotations

from toolkeel_studio.inspector.alternatives import parted
from toolkeel_studio.inspector.forms import form_of, value_of

TEXT = {"type": "string"}


def test_null_is_no_alternative_and_one_alone_is_no_choice() -> None:
    assert parted({"anyOf": [TEXT, {"type": "null"}], "title": "Name"}, {}) == (
        {"type": "string", "title": "Name"},
        [],
        True,
    )
    assert parted({"oneOf": [TEXT, {"type": "integer"}]}, {})[1:] == (
        [TEXT, {"type": "integer"}],
        False,
    )


def test_what_is_referred_to_is_read_and_what_leads_nowhere_says_nothing() -> None:
    root = {
        "$defs": {"a/b": {"$ref": "#/$defs/c"}, "c": TEXT, "d": {"allOf": [{"$ref": "#/$defs/d"}]}}
    }
    assert parted({"$ref": "#/$defs/a~1b"}, root)[0] == TEXT
    assert parted({"$ref": "#/none", "title": "x"}, root)[0] == {"title": "x"}
    assert parted({"$ref": "#/$defs/d"}, root)[1] == [] and parted(7, root) == ({}, [], False)


def test_alternatives_beside_fields_are_whole_or_only_checked() -> None:
    one, two = ({"properties": {key: {"type": "string"}}, "required": [key]} for key in "ab")
    both = {"type": "object", "properties": {"c": {"type": "integer"}}, "required": ["c"]}
    made = form_of({**both, "anyOf": [one, two]}, {})
    typed = {"?": "1", "|1/b": "x", "|1/c": "3"}
    assert [[each.label for each in part.fields] for part in made.fields] == [
        ["c", "a"],
        ["c", "b"],
    ]
    assert value_of(form_of({**both, "anyOf": [one, two]}, typed), typed) == {"b": "x", "c": 3}
    told = form_of({**both, "anyOf": [{"required": ["c"]}, {"required": ["d"]}]}, {})
    assert [each.label for each in told.fields] == ["c"]
    joined = form_of({"allOf": [both, {"$ref": "#/$defs/a"}], "$defs": {"a": one}}, {})
    assert [(each.label, each.required) for each in joined.fields] == [("a", True), ("c", True)]


def test_an_alternative_without_a_title_is_called_by_what_tells_it_from_the_others() -> None:
    nested = {"type": "array", "items": {"type": "array", "items": TEXT}}
    objects = [
        {"type": "object", "properties": dict.fromkeys(keys, TEXT)} for keys in ("ab", "cdef")
    ]
    made = form_of({"anyOf": [*objects, nested, {"const": 7}, {}]}, {})
    assert [each.label for each in made.fields] == [
        "a, b",
        "c, d, e, …",
        "array: array: string",
        "7",
        "5",
    ]
