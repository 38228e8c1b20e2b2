"""Explaining what is wrong within a budget, where pydantic would report a million faults.

For each branch of each union on the way down pydantic tries the value and reports its faults, so
that one wrong leaf of a recursive type makes a number of them that doubles with each level, and
takes as long. Deep values of such types, and values with many faults, are judged by the JSON Schema
that is advertised, whose validator does each place once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolkeel.define.subschemas import Schema, all_subschemas, list_of, recursive_definitions
from toolkeel.errors import DefinitionError, FieldError

if TYPE_CHECKING:
    from toolkeel.define.explain.mismatch import Mismatches

Path = tuple[str | int, ...]
MAX_ERRORS = 100
"""Faults of pydantic's that are reported one by one."""
LARGE, LONG = 20_000, 1_000_000
"""Characters from which on what has a union of lists or objects, and any text, is not given to pydantic
alone: a fault costs it half a kilobyte, for each branch of a union."""
SHALLOW = 8
"""Objects and lists of a text up to which pydantic alone judges a recursive type."""


class BoundedValidator:
    """Validator by the advertised schema with bounded cost, compiled at its first use.

    Args:
        schema: Schema of all arguments.
        judges_all: True if every call is judged here first. The schema is then compiled at once.
        title: The tool's name, for messages.

    Raises:
        DefinitionError: a schema that is compiled at once does not compile.
    """

    __slots__ = ("_mismatches", "_schema", "is_recursive", "is_wide", "judges_all")

    def __init__(self, schema: Schema, judges_all: bool = False, title: str = "") -> None:
        self._schema = schema
        self._mismatches: Mismatches | None = None
        defs = schema.get("$defs")
        self.is_recursive = isinstance(defs, Mapping) and bool(recursive_definitions(defs))
        unions = "Of'" in repr(schema)  # which most have not, and a look at each part is dear
        self.is_wide = unions and any(map(_is_wide, all_subschemas(schema)))
        self.judges_all = judges_all
        if judges_all:
            try:
                self._judge()
            except ValueError as error:
                raise DefinitionError(
                    f"{title}: a keyword that json_schema_extra or WithJsonSchema added is no valid JSON "
                    f"Schema ({error!s:.200}); correct or remove it"
                ) from error

    def runs_before_pydantic(self, size: int) -> bool:
        """Return True if a text of `size` characters is judged here before pydantic sees it."""
        return self.judges_all or self.is_recursive or size > (LARGE if self.is_wide else LONG)

    def refuses(self, text: str | bytes, value: object) -> bool:
        """Return True if a value that pydantic may take long to refuse does not fit.

        Only texts of more than `LARGE` characters or `SHALLOW` brackets are judged, all if
        `judges_all`; False for any other, without a check.

        Args:
            text: As it was sent.
            value: Its parsed value.
        """
        count = (
            text.count(b"{") + text.count(b"[")
            if isinstance(text, bytes)
            else (text.count("{") + text.count("["))
        )
        judged = self.judges_all or count > SHALLOW or len(text) > LARGE
        return judged and not self._judge().validator.is_valid(value)

    def errors(self, value: object) -> list[FieldError]:
        """Return at most `MAX_ERRORS` errors, or an empty list if only the type's code refuses."""
        return self._judge().errors(value)

    def wrong_places(self, value: object) -> set[Path] | None:
        """Return the places that break the schema; None if they may be many, or are unknown."""
        return self._judge().wrong_places(value)

    def _judge(self) -> Mismatches:
        """Return the object that explains mismatches, compiled and stored at the first use.

        Raises:
            ValueError: the schema does not compile.
        """
        if self._mismatches is None:
            import jsonschema_rs  # late, both: for what is wrong alone

            from toolkeel.define.explain.mismatch import Mismatches

            engine = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)
            plain = dict(self._schema)
            validator = jsonschema_rs.Draft202012Validator(
                plain, offline=True, validate_formats=False, pattern_options=engine
            )
            self._mismatches = Mismatches(plain, validator, {}, engine)
        return self._mismatches


def _is_wide(part: Schema) -> bool:
    """Return True if a schema is a union with several branches that are no scalars."""
    branches = list_of(part, "anyOf") or list_of(part, "oneOf")
    holding = [b for b in branches if "$ref" in b or b.get("type") in ("array", "object")]
    return len(holding) > 1
