"""Validating raw arguments into keyword arguments: a fast path, and a slow one for all else.

The fast path is one call into Rust, straight from the text. Whatever it does not accept, and the few
things it accepts though JSON forbids or leaves them open, takes the slow path: strict parse, coercion
by the table, validation again, and an error that names every field.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from toolkeel._common.redact_secrets import MASK
from toolkeel.call.arguments.coerce import MAX_CHANGES, Coerced, Coercion, coerce, is_final
from toolkeel.call.arguments.inexact_numbers import find_inexact_numbers
from toolkeel.call.arguments.parse import MAX_SIZE, object_to_text, parse_arguments, too_large
from toolkeel.call.arguments.partial import PartialArguments
from toolkeel.call.arguments.partial_value import PartialValue
from toolkeel.call.arguments.strict_reparse import needs_strict_check
from toolkeel.define.explain.error_budget import LARGE, LONG
from toolkeel.define.explain.validation_errors import (
    UNKNOWN_KEY,
    UNSENT,
    invalid_arguments,
    value_at,
)
from toolkeel.define.explain.value_phrases import describe_value
from toolkeel.define.secret import Mask
from toolkeel.define.subschemas import text_parameter_of
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import CallError, InvalidArguments, MalformedArguments, TruncatedCall
from toolkeel.messages import ToolCall


def is_large(text: str) -> bool:
    """Return True if validating so long a text would hold up the event loop."""
    return len(text) > LARGE


def argument_text(call: ToolCall, tool: AnyTool) -> str:
    """Return a call's arguments as text; text is not checked to be JSON.

    Raises:
        TruncatedCall: the turn was cut off before the call ended.
        MalformedArguments: the arguments are neither text nor a mapping that JSON can represent.
    """
    arguments: object = call.arguments
    if not call.complete:
        raise TruncatedCall(
            f"The call of {tool.name!r} was cut off before it was complete, so it did not run. "
            "Send a smaller payload, or split it into several calls."
        )
    if type(arguments) is str:
        if call.provider_options and call.provider_options.get("type") == FREEFORM:
            return _freeform_text(arguments, tool)
        return arguments
    if isinstance(arguments, PartialValue | PartialArguments):
        raise TruncatedCall(
            f"The call of {tool.name!r} did not run: its arguments are only a part of what was sent."
        )
    return object_to_text(arguments)


_LONG_NUMBER = 20
"""Characters of arguments below which they hold no number that a float cannot hold."""


FREEFORM = "custom"
"""Value of ``type`` in a call's ``provider_options`` whose arguments are a text of any form (OpenAI)."""


def _freeform_text(text: str, tool: AnyTool) -> str:
    """Return a freeform text as the value of the tool's one text parameter; as it is without one."""
    name = text_parameter_of(tool.parameters)
    return object_to_text({name: text}) if name else text


def prepare(call: ToolCall, tool: AnyTool, text: str | None = None) -> Prepared:
    """Validate a call's arguments, repaired and coerced if necessary, and return them with the call.

    Args:
        call: The call.
        tool: The tool that it calls.
        text: The arguments as text, if that is known (`argument_text`).

    Raises:
        TruncatedCall: the turn was cut off before the call ended.
        MalformedArguments: the arguments are not one JSON object.
        InvalidArguments: the arguments do not fit the tool's parameters.
    """
    if text is None:
        text = argument_text(call, tool)
    arguments = tool.arguments
    validate = arguments.validate
    if len(text) > LONG:
        if len(text) > MAX_SIZE:
            raise too_large(len(text))
        validate = arguments.validate_long or validate
    try:
        values = validate(text)
    except ValueError as error:
        return _repair(call, tool, text, error)
    # Most calls hold no objects within objects: what costs a frame is asked of the others alone.
    flat = not arguments.has_untyped_values and text.count(":") == len(values)
    if (not flat or "NaN" in text or "Infinity" in text) and needs_strict_check(
        text, values, None, arguments.nested_properties, arguments.has_untyped_values
    ):
        return _repair(call, tool, text)
    changes = find_inexact_numbers(text, values) if len(text) > _LONG_NUMBER else ()
    if arguments.fill_defaults is not None:
        arguments.fill_defaults(values)
    return Prepared(call, tool, values, changes)


def _repair(call: ToolCall, tool: AnyTool, text: str, error: ValueError | None = None) -> Prepared:
    """Prepare arguments on the slow path: repair, coerce, and list what was changed.

    Secrets are masked in errors and in the list of changes.

    Raises:
        CallError: the arguments cannot be repaired; `error` is the fast path's, if it refused them.
    """
    mask = tool.arguments.mask
    if mask is None:
        values, repairs, changes = _repair_values(tool, text, error)
    else:
        try:
            values, repairs, changes = _repair_values(tool, text, error)
        except (MalformedArguments, InvalidArguments) as failure:
            raise _mask_error(failure, mask, tool.name) from None
        changes = _mask_changes(changes, mask)
    inexact = () if repairs or mask is not None else find_inexact_numbers(text, values)
    if tool.arguments.fill_defaults is not None:
        tool.arguments.fill_defaults(values)
    return Prepared(call, tool, values, (*repairs, *map(str, changes), *inexact))


def _repair_values(
    tool: AnyTool, text: str, error: ValueError | None
) -> tuple[dict[str, object], tuple[str, ...], tuple[Coercion, ...]]:
    """Return valid arguments, with the repairs of the text and the changes of values.

    Raises:
        MalformedArguments, InvalidArguments: the arguments cannot be made valid.
    """
    parsed, arguments = parse_arguments(text), tool.arguments
    schema, unknown = arguments.schema, tool.unknown_keys
    written = None if parsed.repairs else text
    if arguments.check_digits is not None and not parsed.repairs:
        arguments.check_digits(text)
    # Of the same values validation would only repeat what it reported for the text.
    explain = arguments.explain if error is not None and not parsed.repairs else None
    if explain is None or not parsed.value:
        mended = coerce(parsed.value, schema, unknown_keys=unknown, text=written)
    else:
        failure = explain(error, parsed.value, lambda errors: is_final(errors, schema, unknown))
        if failure is not None:
            raise failure from None
        mended = coerce(parsed.value, schema, unknown_keys=unknown, text=written)
        if mended.value is parsed.value and (failure := explain(error, parsed.value)) is not None:
            raise failure from None
    if len(mended.changes) > MAX_CHANGES:  # refused, and reported by the first errors
        arguments.validate_value(parsed.value)
    try:
        values = arguments.validate_value(mended.value)
    except InvalidArguments as failure:
        if not mended.changes:
            raise
        failure, changes = _with_nulls(failure, tool, mended)
        raise _as_sent(failure, tool, parsed.value, changes) from None
    return values, parsed.repairs, mended.changes


def _with_nulls(
    error: InvalidArguments, tool: AnyTool, mended: Coerced
) -> tuple[InvalidArguments, tuple[Coercion, ...]]:
    """Return the error, and the changes before it, without dropped nulls of keys that their object needs.

    Beside ``anyOf: [{"required": ["a"]}, …]`` a null for ``a`` is a wrong value, not one to be unset.
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


def _as_sent(
    error: InvalidArguments, tool: AnyTool, sent: dict[str, object], changes: tuple[Coercion, ...]
) -> InvalidArguments:
    """Return the error with the values that were sent, and the coercions that came before.

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
    reported = changes if mask is None else _mask_changes(changes, mask)
    return invalid_arguments(tool.name, fields, [str(each) for each in reported])


def _mask_changes(changes: tuple[Coercion, ...], mask: Mask) -> tuple[Coercion, ...]:
    """Return the changes, with both values of a change to a secret argument masked."""
    return tuple(
        replace(change, before=MASK, after=MASK) if mask.is_secret(change.path) else change
        for change in changes
    )


def coercions_of(error: BaseException) -> tuple[str, ...]:
    """Return the coercions of a refused call, each as a phrase; none for any other error."""
    found = error.details.get("coerced", ()) if isinstance(error, InvalidArguments) else ()
    return tuple(map(str, found)) if isinstance(found, tuple) else ()


def _mask_error(error: CallError, mask: Mask, name: str) -> CallError:
    """Return the same error without anything the model sent where a secret can be."""
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
