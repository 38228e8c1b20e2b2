"""The error of refused arguments: with what was sent, the coercions before it, and secrets masked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from toolkeel._common.redact_secrets import MASK
from toolkeel.call.arguments.coerce import Coerced, Coercion
from toolkeel.define.explain.validation_errors import (
    UNKNOWN_KEY,
    UNSENT,
    invalid_arguments,
    value_at,
)
from toolkeel.define.explain.value_phrases import describe_value
from toolkeel.define.secret import Mask
from toolkeel.define.tool import AnyTool
from toolkeel.errors import CallError, InvalidArguments, MalformedArguments


def with_nulls(
    error: InvalidArguments, tool: AnyTool, mended: Coerced
) -> tuple[InvalidArguments, tuple[Coercion, ...]]:
    """Put back dropped nulls that refused objects need, and return the error and changes that result.

    Beside ``anyOf: [{"required": ["a"]}, …]`` a null for ``a`` is a wrong value, not one to be unset. If
    nothing is to be put back, or the arguments are then valid, return both as they were.
    """
    refused = {field.path for field in error.errors}
    back = [
        each for each in mended.changes if each.rule == "null_dropped" and each.path[:-1] in refused
    ]
    if not back:
        return error, mended.changes
    value: Any = mended.value
    for change in back:
        value = _put_null(value, change.path)
    try:
        tool.arguments.validate_value(value)
    except InvalidArguments as failure:
        return failure, tuple(each for each in mended.changes if each not in back)
    return error, mended.changes


def _put_null(value: Any, path: tuple[str | int, ...]) -> Any:
    """Return a copy of JSON data with null at a path."""
    if not path:
        return None
    copied, key = value.copy(), path[0]
    copied[key] = _put_null(value.get(key) if isinstance(value, dict) else value[key], path[1:])
    return copied


def as_sent(
    error: InvalidArguments, tool: AnyTool, sent: dict[str, object], changes: tuple[Coercion, ...]
) -> InvalidArguments:
    """Return the error with values as sent instead of coerced ones, and the coercions before it.

    Secrets are masked in the coercions, but not in the values: see `mask_error`.

    Args:
        error: The error about the coerced arguments.
        tool: The tool.
        sent: The arguments before coercion.
        changes: All coercions.
    """
    dropped = {change.path for change in changes if not change.after}
    fields = []
    for field in error.errors:
        value = value_at(sent, field.path)
        shown = (field.got and field.got != UNKNOWN_KEY) or field.path in dropped
        known = shown and value is not UNSENT
        fields.append(replace(field, got=describe_value(value)) if known else field)
    mask = tool.arguments.mask
    reported = changes if mask is None else mask_changes(changes, mask)
    return invalid_arguments(tool.name, fields, [str(each) for each in reported])


def mask_changes(changes: tuple[Coercion, ...], mask: Mask) -> tuple[Coercion, ...]:
    """Return the changes, with both values of a change to a secret argument masked."""
    return tuple(
        replace(change, before=MASK, after=MASK) if mask.is_secret(change.path) else change
        for change in changes
    )


def coercions_of(error: BaseException) -> tuple[str, ...]:
    """Return the coercions of a refused call, each as a phrase; none for any other error."""
    found = error.details.get("coerced", ()) if isinstance(error, InvalidArguments) else ()
    return tuple(map(str, found)) if isinstance(found, tuple) else ()


def mask_error(error: CallError, mask: Mask, name: str) -> CallError:
    """Return an error with sent values masked: those of secret fields; of malformed JSON, the text."""
    if isinstance(error, InvalidArguments):
        fields = [
            replace(field, got=MASK)
            if field.got not in ("", UNKNOWN_KEY) and mask.is_secret(field.path)
            else field
            for field in error.errors
        ]
        return invalid_arguments(name, fields, coercions_of(error))
    position = error.details.get("position")
    where = f" at character {position}" if position is not None else ""
    return MalformedArguments(
        f"The arguments are not one valid JSON object{where}; they are not shown, since they may "
        f"hold a secret. Send one valid JSON object.",
        {} if position is None else {"position": position},
    )
