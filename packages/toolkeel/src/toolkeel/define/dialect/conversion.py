"""One schema on its way into one dialect: where it is, what it lost, what it cannot say."""

from __future__ import annotations

import json
from collections.abc import Mapping

from toolkeel._records.record import record
from toolkeel.define.dialect.normal_form import (
    ROOT,
    Node,
    Schema,
    Where,
    extend_place,
    place_pointer,
)
from toolkeel.define.dialect.provider_facts import Dialect, Loss
from toolkeel.define.subschemas import recursive_definitions

_LONGEST_NOTE = 400
_UNTOLD = frozenset({"title", "discriminator", "$ref", "nullable"})
"""Dropped keywords that would tell a model nothing."""

_SAID_ALREADY = [
    ("additionalProperties", False),
    ("additionalProperties", True),
    ("unevaluatedProperties", False),
    ("default", None),
]
"""Dropped keywords whose value tells no more than the list of properties does."""


@record
class SchemaPlace:
    """Where in the original schema a node comes from.

    Args:
        where: The keys that lead to it.
        inside: The definitions put in place around it, outermost first.
        root: True if it is the tool's parameters themselves.
    """

    where: Where
    inside: tuple[str, ...] = ()
    root: bool = False

    @property
    def path(self) -> str:
        """Its JSON Pointer."""
        return place_pointer(self.where)

    def child(self, *keys: str | int) -> SchemaPlace:
        """Return the place of a schema inside this one."""
        return SchemaPlace(extend_place(self.where, keys), self.inside)

    def in_definition(self, name: str) -> SchemaPlace:
        """Return the place of definition `name`, expanded at this place."""
        return SchemaPlace(((ROOT, "$defs"), name), (*self.inside, name), self.root)


class Conversion:
    """State of one schema's conversion to one dialect: facts and report so far.

    Args:
        dialect: The target's facts.
        defs: The definitions of the schema.
    """

    def __init__(self, dialect: Dialect, defs: Mapping[str, Schema]) -> None:
        self.dialect = dialect
        self.defs = defs
        self.recursive = recursive_definitions(defs)
        self.losses: dict[Loss, None] = {}
        self.refusals: dict[Loss, None] = {}
        self.nodes = 0

    def report_loss(self, place: SchemaPlace, what: str, why: str) -> None:
        """Add a loss to the report: the provider's form cannot express `what`."""
        self.losses[Loss(place.path, what, why)] = None

    def refuse_strict(self, place: SchemaPlace, what: str, why: str) -> None:
        """Mark this schema as unfit for strict mode; report a loss if there is no other mode."""
        if self.dialect.fallback is None:
            self.report_loss(place, what, why)
        else:
            self.refusals[Loss(place.path, what, why)] = None

    def drop_keyword(self, node: Node, keyword: str, place: SchemaPlace) -> Node:
        """Return `node` without `keyword`, which the description shows, unless it tells a model nothing.

        Report a loss, or refuse strict mode for a keyword in the dialect's `refused`.
        """
        untold = keyword in _UNTOLD or (keyword, node[keyword]) in _SAID_ALREADY
        message = "" if untold else "; it is in the description"
        why = f"{self.dialect.provider} does not take {keyword}{message}"
        if keyword in self.dialect.refused:
            self.refuse_strict(place, keyword, why)
        else:
            self.report_loss(place, keyword, why)
        rest = {key: value for key, value in node.items() if key != keyword}
        return rest if untold else add_note(rest, keyword, node[keyword])


def add_note(node: Node, keyword: str, value: object) -> Node:
    """Return `node` with ``keyword: value`` at the end of its description, the value cut to 400 characters.

    >>> add_note({"description": "A name."}, "minLength", 2)
    {'description': 'A name. (minLength: 2)'}
    """
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > _LONGEST_NOTE:
        text = text[: _LONGEST_NOTE - 1] + "…"
    before = node.get("description", "")
    added = f"({keyword}: {text})"
    return {**node, "description": f"{before} {added}" if before else added}
