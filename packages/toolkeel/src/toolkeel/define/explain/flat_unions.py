"""A JSON Schema whose unions report themselves without their branches.

The schema that `mismatch` collects faults with: the same schema, except that each `anyOf` and `oneOf` is
behind a double negation. That takes the same values, but its fault is one and carries nothing.
"""

from __future__ import annotations

from toolkeel.define.subschemas import (
    Location,
    Schema,
    all_subschemas,
    json_pointer,
    list_of,
    subschemas,
)


class UnionFreeSchema:
    """A schema with each union behind a double negation.

    Args:
        root: The schema; never changed.
        has_documents: True if it may refer to other documents.

    Attributes:
        schema: That form; None if it cannot be made, and the schema's faults may multiply.
        origin: By location in the form, the schema as written there.
        unions: By location of the double negation, the union's keyword and its branches.
    """

    def __init__(self, root: Schema, has_documents: bool) -> None:
        self.origin: dict[Location, Schema] = {}
        self.unions: dict[Location, tuple[str, list[object]]] = {}
        self._moved: list[tuple[str, str]] = []
        self._references: list[dict[str, object]] = []
        every = list(all_subschemas(root))
        has = {keyword for each in every for keyword in each}
        # With schemas of their own address within, locations no longer count from the root.
        elsewhere = has_documents or any("$id" in each or "id" in each for each in every[1:])
        self._dropped = has & {"unevaluatedProperties", "unevaluatedItems"}
        # A double negation hides from `unevaluated…` what the union has looked at. Where
        # nothing is referred to nothing multiplies, and unions may stay as they are.
        self._hides = not elsewhere and not (self._dropped and "$ref" not in has)
        form = self._without_unions(root, (), ())
        for holder in self._references:
            holder["$ref"] = self._redirected(str(holder["$ref"]))
        multiplies = elsewhere and "$ref" in has and has & {"anyOf", "oneOf"}
        self.schema = None if multiplies else form
        if elsewhere:
            self.origin.clear()

    def _without_unions(self, schema: Schema, old: Location, new: Location) -> dict[str, object]:
        """Copy a schema with its unions hidden at every level, and record their places."""
        self.origin[new] = schema
        copy = {keyword: _copied(stored) for keyword, stored in schema.items()}
        places = self._hide(copy, old, new) if self._hides else {}
        for where, each in subschemas(schema):
            if where[0] in places or where[0] in copy:
                place = (*places.get(where[0], where[:1]), *where[1:])
                _put(copy, place, self._without_unions(each, (*old, *where), (*new, *place)))
        if str(copy.get("$ref", "")).startswith("#/"):
            self._references.append(copy)
        return copy

    def _hide(
        self, copy: dict[str, object], old: Location, new: Location
    ) -> dict[str | int, Location]:
        """Replace a copy's own unions by a double negation, and drop ``unevaluated…``, in place. Return their new places."""
        for keyword in self._dropped:
            copy.pop(keyword, None)
        places: dict[str | int, Location] = {}
        parts = list_of(copy, "allOf")
        for keyword in ("anyOf", "oneOf"):
            branches = copy.get(keyword)
            if not isinstance(branches, list):
                continue
            del copy[keyword]
            place: Location = ("allOf", len(parts))
            parts.append({"not": {"not": {keyword: branches}}})
            copy["allOf"] = parts
            self.unions[(*new, *place)] = (keyword, list(branches))
            places[keyword] = (*place, "not", "not", keyword)
            self._moved.append(
                (json_pointer((*old, keyword)), json_pointer((*new, *places[keyword])))
            )
        return places

    def _redirected(self, reference: str) -> str:
        """Return a reference with the new place of the union it leads into; unchanged if it leads into none."""
        inside = [pair for pair in self._moved if reference.startswith(f"{pair[0]}/")]
        if not inside:
            return reference
        old, new = max(inside, key=lambda pair: len(pair[0]))
        return new + reference[len(old) :]


def _copied(held: object) -> object:
    """Return a shallow copy of a list or dict; any other value itself."""
    return list(held) if isinstance(held, list) else dict(held) if isinstance(held, dict) else held


def _put(holder: object, place: Location, value: object) -> None:
    """Set the value at a place in nested containers."""
    for part in place[:-1]:
        holder = holder[part]  # type: ignore[index]
    holder[place[-1]] = value  # type: ignore[index]
