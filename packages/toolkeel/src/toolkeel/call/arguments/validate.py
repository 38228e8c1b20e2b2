"""Validating raw arguments into keyword arguments: a fast path, and a slow one for all else.

The fast path is one call into Rust, straight from the text. Whatever it does not accept, and the few
things it accepts though JSON forbids or leaves them open, takes the slow path: strict parse, coercion
by the table, validation again, and an error that names every field.
"""

from __future__ import annotations

from toolkeel.call.arguments.argument_errors import as_sent, mask_changes, mask_error, with_nulls
from toolkeel.call.arguments.coerce import MAX_CHANGES, Coercion, coerce, is_final
from toolkeel.call.arguments.inexact_numbers import find_inexact_numbers
from toolkeel.call.arguments.parse import MAX_SIZE, object_to_text, parse_arguments, too_large
from toolkeel.call.arguments.partial import PartialArguments
from toolkeel.call.arguments.partial_value import PartialValue
from toolkeel.call.arguments.strict_reparse import needs_strict_check
from toolkeel.call.arguments.wrong_places import find_wrong_places
from toolkeel.define.explain.error_budget import LARGE, LONG
from toolkeel.define.subschemas import text_parameter_of
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import InvalidArguments, MalformedArguments, TruncatedCall
from toolkeel.messages import ToolCall


def is_large(text: str, tool: AnyTool | None = None) -> bool:
    """Return True if validating a text would hold up the event loop.

    Args:
        text: The arguments.
        tool: Their tool, if known. Each item of a text can be compared with each branch of a union,
            so that a text for a wide union is large sooner.
    """
    if tool is None or not _SHORT < len(text) <= LARGE:
        return len(text) > LARGE
    return len(text) * tool.arguments.widest_union() > LARGE


def argument_text(call: ToolCall, tool: AnyTool) -> str:
    """Return a call's arguments as text; freeform text as the value of the tool's one text parameter.

    Text is not checked to be JSON.

    Raises:
        TruncatedCall: the call was cut off before it ended, or its arguments are a preview.
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


_SHORT = 200
"""Characters up to which a text is not large for any union."""
_LONG_NUMBER = 20
"""Characters of arguments below which they hold no number that a float cannot hold."""


FREEFORM = "custom"
"""Value of ``type`` in a call's ``provider_options`` whose arguments are a text of any form (OpenAI)."""


def _freeform_text(text: str, tool: AnyTool) -> str:
    """Return JSON that has a freeform text as the tool's one text parameter; the text itself if there is no such parameter."""
    name = text_parameter_of(tool.parameters)
    return object_to_text({name: text}) if name else text


def prepare(call: ToolCall, tool: AnyTool, text: str | None = None) -> Prepared:
    """Validate a call's arguments, repaired and coerced if necessary, and return them with the call.

    Args:
        call: The call.
        tool: The tool that it calls.
        text: The result of `argument_text`, if the caller has it; computed by default.

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
    inexact = len(text) > _LONG_NUMBER
    changes = find_inexact_numbers(text, values, arguments.mask) if inexact else ()
    if arguments.fill_defaults is not None:
        arguments.fill_defaults(values)
    return Prepared(call, tool, values, changes)


def _repair(call: ToolCall, tool: AnyTool, text: str, error: ValueError | None = None) -> Prepared:
    """Prepare arguments on the slow path: repair, coerce, and list what was changed.

    Secrets are masked in errors and in the list of changes. `error` is what the fast path raised, or
    None if it accepted the text.

    Raises:
        MalformedArguments, InvalidArguments: the arguments cannot be made valid.
    """
    mask = tool.arguments.mask
    if mask is None:
        values, repairs, changes = _repair_values(tool, text, error)
    else:
        try:
            values, repairs, changes = _repair_values(tool, text, error)
        except (MalformedArguments, InvalidArguments) as failure:
            raise mask_error(failure, mask, tool.name) from None
        changes = mask_changes(changes, mask)
    inexact = () if repairs else find_inexact_numbers(text, values, mask)
    if tool.arguments.fill_defaults is not None:
        tool.arguments.fill_defaults(values)
    return Prepared(call, tool, values, (*repairs, *map(str, changes), *inexact))


def _repair_values(
    tool: AnyTool, text: str, error: ValueError | None
) -> tuple[dict[str, object], tuple[str, ...], tuple[Coercion, ...]]:
    """Return valid arguments, with the repairs of the text and the changes of values.

    `error` is what the fast path raised, or None if it accepted the text.

    Raises:
        MalformedArguments, InvalidArguments: the arguments cannot be made valid.
    """
    parsed, arguments = parse_arguments(text), tool.arguments
    schema, unknown = arguments.schema, tool.unknown_keys
    written = None if parsed.repairs else text
    places = find_wrong_places(tool, text, parsed.value)
    if arguments.check_digits is not None and not parsed.repairs:
        arguments.check_digits(text)
    # Of the same values validation would only repeat what it reported for the text.
    explain = arguments.explain if error is not None and not parsed.repairs else None
    if explain is None or not parsed.value:
        mended = coerce(parsed.value, schema, unknown_keys=unknown, text=written, places=places)
    else:
        failure = explain(error, parsed.value, lambda errors: is_final(errors, schema, unknown))
        if failure is not None:
            raise failure from None
        mended = coerce(parsed.value, schema, unknown_keys=unknown, text=written, places=places)
        if mended.value is parsed.value and (failure := explain(error, parsed.value)) is not None:
            raise failure from None
    if len(mended.changes) > MAX_CHANGES:  # refused, and reported by the first errors
        arguments.validate_value(parsed.value)
    try:
        values = arguments.validate_value(mended.value)
    except InvalidArguments as failure:
        if not mended.changes:
            raise
        failure, changes = with_nulls(failure, tool, mended)
        raise as_sent(failure, tool, parsed.value, changes) from None
    return values, parsed.repairs, mended.changes
