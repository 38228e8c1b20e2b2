"""The coercion table: what is also accepted where a schema advertises a type.

======================  ==========================  =============================
advertised              also accepted               never
======================  ==========================  =============================
integer                 ``"5"``, ``5.0``            ``true``, ``5.5``, ``""``
number                  ``"1.5"``                   ``true``, NaN
boolean                 ``"true"``, ``"false"``     ``0``, ``1``, ``"yes"``
array, object           JSON text of that kind      ``"x"`` to ``["x"]``
optional, not nullable  ``null``: as if not sent    ``null`` to 0, "", false
======================  ==========================  =============================

Nothing is changed that the schema takes as it is, and nothing where two readings are possible.
It never refuses: what it leaves alone, validation judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolkeel._records.record import record
from toolkeel.call.arguments.convert import EXACT, NOTHING, WrittenNumbers, convert, kinds_of
from toolkeel.call.arguments.wrong_places import WrongPlaces
from toolkeel.define.explain.value_phrases import short_json
from toolkeel.define.schema.argument_schema import UnknownKeys
from toolkeel.define.subschemas import (
    COMPOSED,
    Schema,
    accepts,
    applicable_schemas,
    is_allowed_value,
    json_equal,
    json_type,
    list_of,
    matches_type,
    properties_of,
    required_of,
    resolve,
)
from toolkeel.errors import FieldError

Path = tuple[str | int, ...]
MAX_CHANGES = 1000
"""Values of one call that are mended; what holds more is refused."""
MAX_WRONG = 100
MAX_TRIED = 2000
"""Schemas that lead back to each other, tried for one call; what is left then stays as it is."""


@record
class Coercion:
    """One change made to the arguments.

    Args:
        path: Keys and indexes to the value.
        before: The value sent, as short JSON.
        after: The value used, as short JSON; empty if it was dropped.
        rule: "integer_from_string", "integer_from_number", "number_from_string",
            "boolean_from_string", "array_from_string", "object_from_string",
            "null_dropped" or "unknown_key_dropped".
    """

    path: Path
    before: str
    after: str
    rule: str

    def __str__(self) -> str:
        where = FieldError(self.path, "").where
        done = f"was taken as {self.after}" if self.after else "was dropped"
        return f"{where}: {self.before} {done} ({self.rule})"


@record
class Coerced:
    """Arguments after coercion. If nothing changed, `value` is the object that was passed in."""

    value: dict[str, object]
    changes: tuple[Coercion, ...] = ()


def coerce(
    value: dict[str, object],
    schema: Schema,
    *,
    unknown_keys: UnknownKeys = "forbid",
    text: str | None = None,
    places: WrongPlaces | None = None,
) -> Coerced:
    """Return the arguments with values of wrong types converted where the table allows it. Never raises.

    Args:
        value: Parsed arguments; not changed in place.
        schema: The advertised JSON Schema, draft 2020-12 or draft-07, local references only.
        unknown_keys: "ignore" drops keys of the root that the schema does not name; the others leave
            them to validation.
        text: The JSON text that was parsed, to read numbers that a float cannot represent exactly.
        places: Where alone values are converted; everywhere if None.

    >>> coerce({"n": "5"}, {"properties": {"n": {"type": "integer"}}}).value
    {'n': 5}
    """
    run = _Coercer(schema, written=None if text is None else WrittenNumbers(text))
    run.places = places
    try:
        plain = schema.get("type") == "object" and _BEYOND_OBJECT.isdisjoint(schema)
        result = (
            run.coerce_members(value, schema, ()) if plain else run.coerce_at(value, schema, (), ())
        )
    except RecursionError:  # the caller's stack is nearly used up
        return Coerced(value)
    if unknown_keys == "ignore" and isinstance(result, dict):
        result = run.drop_unknown(result)
    if not run.changes or not isinstance(result, dict):
        return Coerced(value)
    return Coerced(result, tuple(run.changes))


def is_final(
    errors: Sequence[Mapping[str, Any]], schema: Schema, unknown_keys: UnknownKeys
) -> bool:
    """Return True if `coerce` certainly cannot correct any of these errors, so that it need not run.

    Args:
        errors: Errors as pydantic lists them.
        schema: The advertised JSON Schema.
        unknown_keys: As in `coerce`.
    """
    properties = schema.get("properties")
    for error in errors:
        location, kind = error["loc"], error["type"]
        if len(location) != 1:
            return False
        if kind == "missing" or (kind == "extra_forbidden" and unknown_keys == "forbid"):
            continue
        if not isinstance(properties, dict):
            return False
        sent = error["input"]
        if type(sent) is not str or not _is_hopeless(sent, properties.get(location[0])):
            return False
    return True


class _Coercer:
    """One pass of coercion over the arguments of a call, with the changes made so far."""

    def __init__(
        self,
        root: Schema,
        left: Iterator[int] | None = None,
        written: WrittenNumbers | None = None,
    ) -> None:
        self.root = root
        self.written = written
        self.left = left or iter(range(MAX_TRIED))
        self.changes: list[Coercion] = []
        self.places: WrongPlaces | None = None
        self.wrong = 0  # values that nothing mends: with many of them the call is refused anyway

    def coerce_at(
        self, value: object, schema: object, path: Path, within: tuple[int, ...]
    ) -> object:
        """Return a value, and what is inside it, coerced by a schema.

        Args:
            within: Identities of the schemas passed for this same value: a reference that
                leads back to one of them adds nothing.
        """
        if not isinstance(schema, (dict, Mapping)) or id(schema) in within:
            return value
        if not COMPOSED.isdisjoint(schema):
            if len(within) > 4 and next(self.left, None) is None:
                return value
            value = self._coerce_composed(value, schema, path, (*within, id(schema)))
        if not _TYPED.isdisjoint(schema):
            value = self._coerce_typed(value, schema, path)
        if isinstance(value, dict):
            return self.coerce_members(value, schema, path)
        return self._coerce_array(value, schema, path) if isinstance(value, list) else value

    def _coerce_composed(
        self, value: object, schema: Schema, path: Path, within: tuple[int, ...]
    ) -> object:
        """Return the value coerced by ``$ref``, each of ``allOf``, and a branch of ``anyOf`` and ``oneOf``."""
        if "$ref" in schema:
            value = self.coerce_at(value, resolve(schema["$ref"], self.root), path, within)
        for part in list_of(schema, "allOf"):
            value = self.coerce_at(value, part, path, within)
        for keyword in ("anyOf", "oneOf"):
            if branches := list_of(schema, keyword):
                value = self._coerce_union(value, branches, path, within)
        return value

    def _coerce_union(
        self, value: object, branches: Sequence[object], path: Path, within: tuple[int, ...]
    ) -> object:
        """Coerce by the one branch that accepts the value; if none does, by a branch's only change.

        Objects and lists that several branches accept only get 5.0 as 5; other values stay.
        """
        branches = [each for each in branches if id(self._target(each)) not in within]
        taking = [branch for branch in branches if accepts(value, branch, self.root)]
        if not taking:
            return self._changed_for(value, branches, path, within)
        if len(taking) > 1 and isinstance(value, dict):
            taking = [branch for branch in taking if self._fits(value, branch)]
        if len(taking) > 1 and isinstance(value, (dict, list)):
            return self._mend_integers(value, taking, path, within)
        self.wrong += not taking
        return self.coerce_at(value, taking[0], path, within) if len(taking) == 1 else value

    def _mend_integers(
        self, value: object, branches: Sequence[object], path: Path, within: tuple[int, ...]
    ) -> object:
        """Return the value with 5.0 as 5, and record that, if exactly one branch then fits; else unchanged."""
        fitting: list[tuple[object, list[Coercion]]] = []
        for branch in branches:
            if next(self.left, None) is None:
                return value
            attempt = _Coercer(self.root, self.left, self.written)
            changed = attempt.coerce_at(value, branch, path, within)
            if not attempt.wrong:
                fitting.append((changed, attempt.changes))
        if len(fitting) != 1 or any(c.rule != "integer_from_number" for c in fitting[0][1]):
            return value
        self.changes += fitting[0][1]
        return fitting[0][0]

    def _changed_for(
        self, value: object, branches: Sequence[object], path: Path, within: tuple[int, ...]
    ) -> object:
        """Return the value coerced by the branches that accept it, and add the changes, if all agree.

        Otherwise count the value as wrong, and return it unchanged.
        """
        tried: list[tuple[object, list[Coercion]]] = []
        for branch in branches:
            attempt = _Coercer(self.root, self.left, self.written)
            changed = attempt.coerce_at(value, branch, path, within)
            known = any(_identical(changed, other) for other, _ in tried)
            if accepts(changed, branch, self.root) and not known:
                tried.append((changed, attempt.changes))
        if len(tried) != 1:
            self.wrong += 1
            return value
        self.changes += tried[0][1]
        return tried[0][0]

    def _fits(self, value: dict[str, object], branch: object) -> bool:
        """Return True if an object has a branch's required keys and fixed values, or the branch is True."""
        branch = self._target(branch)
        if not isinstance(branch, Mapping):
            return True
        return all(name in value for name in required_of(branch)) and all(
            is_allowed_value(value[name], each)
            for name, each in properties_of(branch).items()
            if name in value and isinstance(each, Mapping)
        )

    def _target(self, branch: object) -> object:
        """Return the schema that a branch refers to, through eight references at most; a branch without ``$ref`` itself."""
        for _ in range(8):
            if not isinstance(branch, Mapping) or "$ref" not in branch:
                break
            branch = resolve(branch["$ref"], self.root)
        return branch

    def _coerce_typed(self, value: object, schema: Schema, path: Path) -> object:
        """Return the value converted to the schema's type; unchanged unless one conversion fits.

        Record the conversion in `changes`, or count the unchanged value in `wrong`.
        """
        wanted = schema.get("type")
        if matches_type(value, wanted) and is_allowed_value(value, schema):
            return value
        found: list[tuple[object, str]] = []
        for kind in kinds_of(schema):
            converted = convert(value, kind)
            if type(value) is float and kind == "integer" and abs(value) >= EXACT and self.written:
                converted = self.written.integer_at(path)
            if converted is NOTHING or not is_allowed_value(converted, schema):
                continue
            if not any(_identical(converted, other) for other, _ in found):
                found.append((converted, f"{kind}_from_{json_type(value)}"))
        if len(found) != 1:
            self.wrong += 1
            return value
        self.changes.append(Coercion(path, short_json(value), short_json(found[0][0]), found[0][1]))
        return found[0][0]

    def coerce_members(
        self, value: dict[str, object], schema: Schema, path: Path
    ) -> dict[str, object]:
        """Return an object with its members coerced, without nulls for optional members.

        A changed object is a copy. Changes are recorded in `changes`, hopeless texts counted in
        `wrong`; beyond the limits on both, further members stay as they are.
        """
        properties = properties_of(schema)
        others = schema.get("additionalProperties")
        if not properties and not isinstance(others, (dict, Mapping)):
            return value
        changed = value
        for name, item in value.items():
            if self.wrong > MAX_WRONG or len(self.changes) > MAX_CHANGES:
                break
            if self.places and self.places.is_right((*path, name)):
                continue
            each = properties.get(name, others)
            if isinstance(each, dict) and each.get("type") == _SCALARS.get(type(item), NOTHING):
                continue  # most values are of the very type advertised
            if type(item) is str and _is_hopeless(item, each):
                self.wrong += 1
                continue
            if item is None and name in properties and not accepts(None, each, self.root):
                if name in required_of(schema):
                    continue
                changed = dict(value) if changed is value else changed
                del changed[name]
                self.changes.append(Coercion((*path, name), "null", "", "null_dropped"))
                continue
            after = self.coerce_at(item, each, (*path, name), ())
            if after is not item:
                changed = dict(value) if changed is value else changed
                changed[name] = after
        return changed

    def _coerce_array(self, value: list[object], schema: Schema, path: Path) -> list[object]:
        """Return a list with its items coerced by the schemas of their positions; if changed, a copy."""
        first = list_of(schema, "prefixItems") or list_of(schema, "items")
        rest = schema.get("additionalItems" if list_of(schema, "items") else "items")
        if not first and not isinstance(rest, Mapping):
            return value
        changed = value
        for index, item in enumerate(value):
            if self.places and self.places.is_right((*path, index)):
                continue
            each = first[index] if index < len(first) else rest
            if isinstance(each, dict) and each.get("type") == _SCALARS.get(type(item), NOTHING):
                continue  # of the very type advertised; a choice is looked at by validation
            if self.wrong > MAX_WRONG or len(self.changes) > MAX_CHANGES:
                break
            after = self.coerce_at(item, each, (*path, index), ())
            if after is not item:
                changed = list(value) if changed is value else changed
                changed[index] = after
        return changed

    def drop_unknown(self, value: dict[str, object]) -> dict[str, object]:
        """Drop the keys that no property of the root names, and record each as a change.

        A root that takes any key is returned as it is.
        """
        known = _known(self.root)
        unknown = [name for name in value if known is not None and name not in known]
        for name in unknown:
            self.changes.append(
                Coercion((name,), short_json(value[name]), "", "unknown_key_dropped")
            )
        return {k: v for k, v in value.items() if k not in unknown} if unknown else value


_BEYOND_OBJECT = frozenset({*COMPOSED, "enum", "const"})
_TYPED = frozenset({"type", "enum", "const"})
_SCALARS: Mapping[type, object] = {str: "string", int: "integer", bool: "boolean"}


def _identical(one: object, other: object) -> bool:
    """Return True if two JSON values are equal and of the same type, so that 1 is not true."""
    return json_equal(one, other) and json_type(one) == json_type(other)


def _is_hopeless(text: str, schema: object) -> bool:
    """Return True if no coercion of a text can fit a plain schema of booleans or numbers."""
    if not isinstance(schema, dict) or not _BEYOND_OBJECT.isdisjoint(schema):
        return False
    kind = schema.get("type")
    if kind == "boolean":
        return text not in ("true", "false")
    return kind in ("integer", "number") and not (text[:1] == "-" or text[:1].isdecimal())


def _known(root: Schema) -> frozenset[str] | None:
    """Return the names of the root's properties, or None if it takes any."""
    names: set[str] = set()
    closed = False
    for schema in applicable_schemas([root], root):
        if not isinstance(schema, (dict, Mapping)):
            continue
        if "patternProperties" in schema or schema.get("additionalProperties") not in (None, False):
            return None
        closed = closed or "properties" in schema
        names.update(properties_of(schema))
    return frozenset(names) if closed else None
