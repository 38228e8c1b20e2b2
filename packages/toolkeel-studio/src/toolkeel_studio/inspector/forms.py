"""An HTML form generated from a JSON Schema, and the arguments that it submits.

A field's name is the JSON pointer to its value, so an error at a path is an error of that field. The
server owns the value: text that cannot be read as the schema's type is passed on as typed, and validation
reports it. Absent, empty and null are three different values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from toolkeel.observe.wording import title_of
from toolkeel_studio.inspector.alternatives import Schema, split_alternatives

Typed: TypeAlias = Mapping[str, str]
"""Submitted texts by field name."""
DEPTH = 4
"""Values nested deeper than this are one JSON field."""
FIELDS = 2000
"""Maximum number of fields in a form; further groups become JSON fields, since a schema can expand exponentially."""
AREA = 200
"""Strings whose ``maxLength`` exceeds this get a text area."""
ABSENT: Any = object()
GROUPS = ("union", "object", "list", "map")
COUNT, PICK, NULL, EMPTY, KEY = "#", "?", "~null", "~empty", "~key"
"""Suffixes of a field name: item count, chosen alternative, null, send an empty value, key of a map."""


@dataclass
class Field:
    """One field, or a group of them.

    Args:
        name: JSON pointer to the value, with ``|n`` at each alternative, and the row number instead of
            a map's key.
        label: Displayed name.
        pointer: JSON pointer to the value.
        kind: ``text``, ``area``, ``number``, ``boolean``, ``choice``, ``constant``, ``object``,
            ``list``, ``map``, ``union`` or ``json``.
        schema: Schema of the value.
        required: True if the value must be sent.
        nullable: True if null is allowed.
        description: Description from the schema.
        default: The default as text; empty if there is none.
        options: Allowed values as JSON.
        fields: Properties of an object, items of a list, rows of a map, or alternatives of a union.
        filled: True if anything inside was filled in; for an alternative, True if it was chosen.
    """

    name: str
    label: str
    pointer: str
    kind: str
    schema: Schema
    required: bool = False
    nullable: bool = False
    description: str = ""
    default: str = ""
    options: tuple[str, ...] = ()
    fields: list[Field] = field(default_factory=list)
    filled: bool = False


class _FormBuilder:
    """The state of building a form: the schema, the submitted fields, and the number of fields left."""

    def __init__(self, root: Schema, typed: Typed, left: int = FIELDS) -> None:
        self.root = root
        self.typed = typed
        self.left = left

    def kind(self, schema: Schema, name: str, union: bool) -> str:
        """Return the kind of a value's field, limited by the room for nested fields."""
        self.left -= 1
        kind = "union" if union and name.count("|") < DEPTH else _kind(schema, name)
        return "json" if self.left < 0 and kind in GROUPS else kind


def build_form(schema: Schema, typed: Typed) -> Field:
    """Build the form for the arguments of a tool.

    Args:
        schema: Schema of the arguments.
        typed: Submitted fields, which include the number of items of each list.
    """
    return _arguments_field(schema, _FormBuilder(schema, typed))


def _arguments_field(schema: Schema, builder: _FormBuilder) -> Field:
    """Build the field of all arguments; an empty one if a server's schema is invalid, so the page still opens."""
    try:
        return _field(schema, builder, ("", "", ""), True)
    except (TypeError, ValueError, AttributeError, OverflowError):
        return Field("", "", "", "object", {}, required=True)


def _field(
    schema: Any, builder: _FormBuilder, called: tuple[str, str, str], required: bool
) -> Field:
    """Build the field for one value; `called` is its name, label and pointer."""
    own, some, nullable = split_alternatives(schema if builder.left > 0 else {}, builder.root)
    builder.left -= len(some) // 4  # each has been read, also if it becomes no field
    kinds = own.get("type")
    if isinstance(kinds, list) and "null" in kinds:
        nullable = True
        rest = [kind for kind in kinds if kind != "null"]
        own = {**own, "type": rest[0] if len(rest) == 1 else rest}
    made = Field(
        *called,
        builder.kind(own, called[0], bool(some)),
        own,
        required,
        nullable,
        str(own.get("description", "")),
        json.dumps(own["default"], ensure_ascii=False) if "default" in own else "",
    )
    if made.kind == "choice":
        values = [value for value in own["enum"] if value is not None]
        made.nullable = nullable or len(values) < len(own["enum"])
        made.options = tuple(json.dumps(value, ensure_ascii=False) for value in values)
    made.fields = _fields(made, some, builder)
    made.filled = _has_input(made, builder.typed)
    return made


def _has_input(made: Field, typed: Typed) -> bool:
    """Return True if a value, or a part of one, was entered."""
    if any(typed.get(made.name + box) == "on" for box in (NULL, EMPTY)):
        return True
    if made.kind == "union":
        return bool(typed.get(made.name + PICK))
    if made.kind in ("object", "list", "map"):
        return any(_has_input(each, typed) for each in made.fields)
    return made.kind != "constant" and bool(typed.get(made.name))


def _kind(schema: Schema, name: str) -> str:
    """Return the kind of a value's field."""
    if "const" in schema:
        return "constant"
    if "enum" in schema:
        return "choice"
    kind = schema.get("type")
    if kind in ("object", "array"):
        return _group(schema, name) if name.count("/") < DEPTH else "json"
    if kind == "string":
        long = schema.get("format") in ("textarea", "markdown")
        return "area" if long or schema.get("maxLength", 0) > AREA else "text"
    return {"integer": "number", "number": "number", "boolean": "boolean"}.get(str(kind), "json")


def _group(schema: Schema, name: str) -> str:
    """Return the kind of field for a value with parts."""
    if schema["type"] == "array":
        return "list" if isinstance(schema.get("items"), Mapping) else "json"
    rest = schema.get("additionalProperties")
    if schema.get("properties"):
        return "object"
    return "map" if isinstance(rest, Mapping) and rest else "json" if name else "object"


def _fields(made: Field, some: list[Schema], builder: _FormBuilder) -> list[Field]:
    """Build the fields inside a field."""
    if made.kind == "union":
        named = [
            (f"{made.name}|{n}", title_of(each) or f"{n + 1}", made.pointer)
            for n, each in enumerate(some)
        ]
        branches = [
            _field(each, builder, called, True) for called, each in zip(named, some, strict=True)
        ]
        for number, branch in enumerate(branches):
            branch.filled = builder.typed.get(made.name + PICK) == str(number)
        return branches
    if made.kind in ("list", "map"):
        return list(_items(made, builder))
    if made.kind == "object":
        needed = made.schema.get("required", ())
        return [
            _field(each, builder, (made.name + at, key, made.pointer + at), key in needed)
            for key, each in made.schema.get("properties", {}).items()
            for at in [f"/{_escape_key(key)}"]
        ]
    return []


def _items(made: Field, builder: _FormBuilder) -> Iterator[Field]:
    """Yield the items of a list, or the rows of a map."""
    is_map = made.kind == "map"
    least = int(made.schema.get("minItems", 0)) if made.required else 0
    schema = made.schema["additionalProperties" if is_map else "items"]
    for n in range(min(_count(made.name, builder.typed, least), 200)):
        name = f"{made.name}/{n}"
        key = builder.typed.get(name + KEY, "") if is_map else f"{n}"
        label = key if is_map else f"{n + 1}"
        yield _field(schema, builder, (name, label, f"{made.pointer}/{_escape_key(key)}"), True)


def _count(name: str, typed: Typed, least: int = 0) -> int:
    """Count the submitted items of a list."""
    number = number_of(typed.get(name + COUNT, ""))
    return least if number is None else number


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def pointer_of(path: tuple[str | int, ...]) -> str:
    """Format a path as a JSON pointer.

    >>> pointer_of(("a/b", 0))
    '/a~1b/0'
    """
    return "".join(f"/{_escape_key(str(part))}" for part in path)


def name_at(made: Field, pointer: str) -> str:
    """Return the name of the field at a JSON pointer in the chosen alternatives; empty if there is none."""
    if made.pointer == pointer:
        return made.name
    there = [each for each in made.fields if made.kind != "union" or each.filled]
    return next(filter(None, (name_at(each, pointer) for each in there)), "")


# — in —


def submitted_value(made: Field, typed: Typed) -> Any:
    """Return the value of a submitted field; `ABSENT` if it is not sent."""
    if typed.get(made.name + NULL) == "on":
        return None
    if made.kind == "constant":
        return made.schema["const"]
    if made.kind == "object":
        return _object_value(made, typed) if made.required or _has_input(made, typed) else ABSENT
    if made.kind in ("list", "map"):
        sent = _list_value(made, typed)
        return sent if sent or made.required or typed.get(made.name + EMPTY) == "on" else ABSENT
    if made.kind == "union":
        branches = {str(number): each for number, each in enumerate(made.fields)}
        return _required_value(branches.get(typed.get(made.name + PICK, "")), typed)
    return _scalar_value(made, typed.get(made.name, ""), typed)


def _list_value(made: Field, typed: Typed) -> list[Any] | dict[str, Any]:
    """Return the items of a list or the filled rows of a map; pairs if a key occurs twice."""
    if made.kind == "list":
        return [_required_value(each, typed) for each in made.fields]
    used = [each for each in made.fields if each.label or _has_input(each, typed)]
    rows = [(each.label, _required_value(each, typed)) for each in used]
    return dict(rows) if len(dict(rows)) == len(rows) else [list(row) for row in rows]


def _object_value(made: Field, typed: Typed) -> dict[str, Any]:
    found = [(each.label, submitted_value(each, typed)) for each in made.fields]
    return {key: item for key, item in found if item is not ABSENT}


def _required_value(made: Field | None, typed: Typed) -> Any:
    """Return the value of an item or a picked alternative, which is sent even if blank."""
    value = ABSENT if made is None else submitted_value(made, typed)
    return "" if made is not None and value is ABSENT else value


def _scalar_value(made: Field, text: str, typed: Typed) -> Any:
    if made.kind in ("text", "area"):
        text = text.replace("\r\n", "\n")
        return text if text or typed.get(made.name + EMPTY) == "on" else ABSENT
    if not text.strip():
        return ABSENT
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def fields_for_value(schema: Schema, value: Any) -> dict[str, str]:
    """Return the fields that a form would submit for a value.

    Args:
        schema: Schema of the arguments.
        value: The value; parts that do not fit the schema are skipped.
    """
    found: dict[str, str] = {}
    builder = _FormBuilder(schema, found, 10 * FIELDS)
    _fill(_arguments_field(schema, builder), value, builder, found)
    return found


def _fill(made: Field, value: Any, builder: _FormBuilder, found: dict[str, str]) -> None:
    """Add the fields of a value to `found`, which the builder reads as submitted fields."""
    name, kind = made.name, made.kind
    if value is None and made.nullable:
        found[name + NULL] = "on"
    elif kind in ("text", "area", "list", "map", "object") and value in ("", [], {}):
        found[name + EMPTY] = "on"
    elif kind == "union":
        _pick_alternative(made, value, builder, found)
    elif kind == "object" and isinstance(value, Mapping):
        for each in made.fields:
            if each.label in value:
                _fill(each, value[each.label], builder, found)
    elif (kind, type(value)) in (("list", list), ("map", dict)):
        _fill_items(made, value, builder, found)
    elif kind in ("text", "area") and isinstance(value, str):
        found[name] = value
    else:
        found[name] = json.dumps(value, ensure_ascii=False)


def _fill_items(made: Field, value: Any, builder: _FormBuilder, found: dict[str, str]) -> None:
    """Fill in the items of a list, or the keys and values of a map."""
    found[made.name + COUNT] = str(len(value))
    if made.kind == "map":
        found.update({f"{made.name}/{n}{KEY}": key for n, key in enumerate(value)})
        value = value.values()
    for each, item in zip(_items(made, builder), value, strict=False):
        _fill(each, item, builder, found)


def _pick_alternative(
    made: Field, value: Any, builder: _FormBuilder, found: dict[str, str]
) -> None:
    """Pick the first alternative that can express the value."""
    for number, each in enumerate(made.fields):
        there: dict[str, str] = {}
        tried = _FormBuilder(builder.root, there, builder.left)
        _fill(each, value, tried, there)
        again = _field(each.schema, tried, (each.name, each.label, each.pointer), True)
        builder.left = tried.left  # alternatives within alternatives multiply
        if expresses(submitted_value(again, there), value):
            found.update(there)
            found[made.name + PICK] = str(number)
            return


def expresses(sent: Any, value: Any) -> bool:
    """Return True if a form would send this value; constants are ignored, since a form always sends them."""
    if isinstance(sent, Mapping) and isinstance(value, Mapping):
        return all(key in sent and expresses(sent[key], item) for key, item in value.items())
    if isinstance(sent, list) and isinstance(value, list) and len(sent) == len(value):
        return all(map(expresses, sent, value))
    return bool(sent == value)


def number_of(text: str) -> int | None:
    """Return the integer that was submitted, or None for anything else or too many digits."""
    return int(text) if text.isdecimal() and len(text) < 10 else None


def apply_button(typed: Typed, what: str) -> dict[str, str]:
    """Apply one of the form's buttons: ``add:/items`` or ``remove:/items/2``.

    >>> apply_button({"/a#": "2", "/a/0": "x", "/a/1": "y"}, "remove:/a/0")
    {'/a#': '1', '/a/0': 'y'}
    """
    verb, _, name = what.partition(":")
    found = dict(typed)
    if verb == "add":
        return {**found, name + COUNT: str(_count(name, found) + 1)}
    group, _, last = name.rpartition("/")
    place, number = number_of(last), _count(group, found)
    if place is None or place >= number:
        return found
    found[group + COUNT] = str(number - 1)
    moved: dict[str, str] = {}
    item = re.compile(re.escape(group) + r"/(\d{1,9})(?=[/|#?~]|$)")
    for key, text in found.items():
        match = item.match(key)
        if match is None or int(match[1]) < place:
            moved[key] = text
        elif int(match[1]) > place:
            moved[f"{group}/{int(match[1]) - 1}{key[match.end() :]}"] = text
    return moved
