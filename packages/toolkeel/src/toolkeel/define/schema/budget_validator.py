"""Validator of a tool's arguments: pydantic first, and the advertised schema for what it lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from toolkeel.define.explain.cut_value import cut_value
from toolkeel.define.explain.error_budget import LARGE, MAX_ERRORS, BoundedValidator, Path
from toolkeel.define.explain.validation_errors import invalid_arguments
from toolkeel.define.reading.parameter import Values
from toolkeel.define.schema.closed_objects import SchemaFacts
from toolkeel.define.schema.gaps import Gaps
from toolkeel.define.subschemas import all_subschemas, properties_of
from toolkeel.errors import FieldError, InvalidArguments

When = Callable[[Sequence[Mapping[str, Any]]], bool]


class BudgetValidator:
    """Validator of arguments by pydantic that reports all errors in the model's words.

    Args:
        title: The tool's name.
        schema: Schema of all arguments.
        validate: pydantic's validator.
        facts: About the schema.
        gaps: Checker for what pydantic accepts beyond the schema, if there is any.
        bounded: Validator by the schema, for what pydantic does not check or takes too long for.
    """

    __slots__ = ("_facts", "_gaps", "_names", "_schema", "_title", "_validate", "bounded")

    def __init__(
        self,
        title: str,
        schema: Mapping[str, object],
        validate: Callable[..., Values],
        facts: SchemaFacts,
        gaps: Gaps | None,
        bounded: BoundedValidator,
    ) -> None:
        self._gaps = gaps
        self.bounded = bounded
        self._names: set[str] | None = None
        self._title = title
        self._schema = schema
        self._validate = validate
        self._facts = facts

    def validate(self, text: str | bytes) -> Values:
        """Return the values of JSON text, or raise `ValueError` if any check refuses them."""
        judged = self.bounded.runs_before_pydantic(len(text))
        gaps = self._gaps
        if not judged and (gaps is None or not gaps.has_loose_keywords):
            values = self._validate(text)
            if gaps is not None and gaps.has_decimals:
                self.exact(text if isinstance(text, str) else text.decode())
            return values
        try:
            sent = from_json(text, cache_strings="none")
        except TypeError:  # half a surrogate pair: reported as wrong by the validator
            return self._validate(text)
        if judged and self.bounded.refuses(text, sent):
            raise ValueError(self._title)
        if judged and (found := self._refused_items(text, sent)):
            raise _RefusedItems(found)
        values = self._validate(text)
        if self._gaps is None:
            return values
        if self._gaps.has_loose_keywords and self._gaps.errors(sent, 1):
            raise ValueError(self._title)
        if self._gaps.has_decimals:
            self.exact(text if isinstance(text, str) else text.decode())
        return values

    def exact(self, text: str) -> None:
        """Raise for decimals that lose digits on their way through JSON numbers.

        Raises:
            InvalidArguments: naming them.
        """
        if self._gaps is not None and (wrong := self._gaps.find_lost_digits(text)):
            raise invalid_arguments(self._title, wrong)

    def explain(
        self, error: ValueError, value: object, when: When | None = None
    ) -> InvalidArguments | None:
        """Return the error for the model from pydantic's; None if it is not about fields.

        Args:
            error: The error.
            value: The arguments.
            when: If it returns False for pydantic's errors, or there are more than `MAX_ERRORS`,
                None is returned.
        """
        if isinstance(error, _RefusedItems) and when is None:
            return invalid_arguments(self._title, error.errors)
        if not isinstance(error, ValidationError):
            return None
        if error.error_count() > MAX_ERRORS:
            return (
                None if when else invalid_arguments(self._title, self._first_errors(error, value))
            )
        found = error.errors(include_url=False)
        if not found or found[0]["type"] == "json_invalid" or (when and not when(found)):
            return None
        from toolkeel.define.explain.pydantic_errors import refused_fields  # late: for mistakes

        return invalid_arguments(self._title, refused_fields(found, self._schema, value))

    def check(self, value: Values) -> Values:
        """Return the values of a parsed object.

        Raises:
            InvalidArguments: naming each invalid field.
        """
        schema = self._schema
        text = to_json(value)
        if self.bounded.runs_before_pydantic(len(text)) and self.bounded.refuses(text, value):
            raise invalid_arguments(self._title, self.bounded.errors(value))
        if found := self._refused_items(text, value):
            raise invalid_arguments(self._title, found)
        try:
            values = self._validate(text)
        except ValidationError as error:
            from toolkeel.define.explain.pydantic_errors import pydantic_errors

            many = error.error_count() > MAX_ERRORS
            message = (
                self._first_errors(error, value) if many else pydantic_errors(error, schema, value)
            )
            raise invalid_arguments(self._title, message) from None
        if self._gaps is not None and (wrong := self._gaps.errors(value)):
            raise invalid_arguments(self._title, wrong)
        return values

    def _first_errors(self, error: ValidationError, value: object) -> list[FieldError]:
        """Return the first of many errors, with work that does not grow with their number."""
        if found := self.bounded.errors(value):
            return found
        found, cuts = self._cut_errors(value)
        if found := [each for each in found if each.path not in cuts]:
            return found
        from toolkeel.define.explain.pydantic_errors import refused_fields

        first = error.errors(include_url=False)[:MAX_ERRORS]
        return refused_fields(first, self._schema, value)

    def _refused_items(self, text: str | bytes, value: object) -> list[FieldError]:
        """Return errors of the first items of long lists, or none if they are valid.

        The time for that does not grow with the lists. An item is judged by itself: its errors are
        those of the value, unless code of a type reads the list before.
        """
        if len(text) <= LARGE or self._facts.has_parsers:
            return []
        found, cuts = self._cut_errors(value)
        return [each for each in found if _is_of_an_item(each.path, cuts)]

    def _cut_errors(self, value: object) -> tuple[list[FieldError], set[Path]]:
        """Return the first errors of a value whose long lists are cut, and the cuts' places; none if none is."""
        if self._names is None:
            parts = all_subschemas(self._schema)
            self._names = {name for each in parts for name in properties_of(each)}
        shorter, cuts = cut_value(value, self._names)
        if not cuts:
            return [], cuts
        try:
            self._validate(to_json(shorter))
        except ValidationError as error:
            from toolkeel.define.explain.pydantic_errors import refused_fields

            first = error.errors(include_url=False)[:MAX_ERRORS]
            return refused_fields(first, self._schema, shorter), cuts
        return [], cuts


class _RefusedItems(ValueError):
    """Raised for a text whose first items are refused, with their errors."""

    def __init__(self, errors: list[FieldError]) -> None:
        self.errors = errors


def _is_of_an_item(path: Path, cuts: set[Path]) -> bool:
    """Return True if a place is within an item of a list or object that was cut, and is itself uncut."""
    within = any(path[:length] in cuts for length in range(len(path)))
    return within and not any(cut[: len(path)] == path for cut in cuts)
