"""Raw arguments become keyword arguments: fast if they are right, patiently if not.

The fast path is one call into Rust, straight from the text. Whatever it does not accept, and the
few things it accepts though JSON forbids or doubts them, goes the slow way: strict parse, mending
by the coercion table, validation again, and an error that names every field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from toolwright.call.coerce import Coercion, coerce, is_final
from toolwright.call.parse import (
    needs_strict_check,
    normalise,
    parse_arguments,
)
from toolwright.call.partial import PartialArguments, PartialValue
from toolwright.call.step import Handler
from toolwright.context import ToolContext
from toolwright.define.canonical import canonical
from toolwright.define.explain import invalid_arguments
from toolwright.define.secret import Mask
from toolwright.define.subschemas import accepts
from toolwright.define.tool import AnyTool, Prepared
from toolwright.errors import CallError, InvalidArguments, MalformedArguments, TruncatedCall
from toolwright.messages import ToolCall
from toolwright.record import maker
from toolwright.redact import MASK

_prepared = maker(Prepared)


def prepare(call: ToolCall, tool: AnyTool) -> Prepared:
    """Validate a call's arguments.

    Raises:
        TruncatedCall: the turn was cut off before the call ended.
        MalformedArguments: they are not one JSON object.
        InvalidArguments: they do not fit the tool's parameters.
    """
    if not call.complete:
        raise TruncatedCall(
            f"The call of {tool.name!r} was cut off before it was complete, so it did not run. "
            "Send a smaller payload, or split it into several calls."
        )
    text = call.arguments if type(call.arguments) is str else _text(call, tool)
    arguments = tool.arguments
    try:
        values = arguments.validate(text)
    except ValueError as error:
        return _mend(call, tool, text, error)
    # Most calls hold no objects within objects: what costs a frame is asked of the others alone.
    flat = not arguments.loose and text.count(":") == len(values)
    if (not flat or "NaN" in text or "Infinity" in text) and needs_strict_check(
        text, values, None, arguments.nested, arguments.loose
    ):
        return _mend(call, tool, text)
    if arguments.fill is not None:
        arguments.fill(values)
    return _prepared(call, tool, values)


def _text(call: ToolCall, tool: AnyTool) -> str:
    """Arguments that did not come as text.

    Raises:
        TruncatedCall: they are a preview of arguments that still arrive.
        MalformedArguments: they are no JSON object.
    """
    arguments: object = call.arguments
    if isinstance(arguments, PartialValue | PartialArguments):
        raise TruncatedCall(
            f"The call of {tool.name!r} did not run: its arguments are only a part of what was sent."
        )
    return normalise(arguments)


def _mend(call: ToolCall, tool: AnyTool, text: str, error: ValueError | None = None) -> Prepared:
    """The patient way; `error` is what the fast one said, if it said no."""
    mask = tool.arguments.mask
    if mask is None:
        values, repairs, changes = _mended(tool, text, error)
    else:
        try:
            values, repairs, changes = _mended(tool, text, error)
        except (MalformedArguments, InvalidArguments) as told:
            raise _masked(told, mask, tool.name) from None
        changes = tuple(
            replace(change, before=MASK, after=MASK) if mask.hides(change.path) else change
            for change in changes
        )
    if tool.arguments.fill is not None:
        tool.arguments.fill(values)
    return Prepared(call, tool, values, (*repairs, *map(str, changes)))


def _mended(
    tool: AnyTool, text: str, error: ValueError | None
) -> tuple[dict[str, object], tuple[str, ...], tuple[Coercion, ...]]:
    """Valid arguments, and how they became so: repairs of the text, changes of values.

    Raises:
        MalformedArguments, InvalidArguments: they did not.
    """
    parsed, arguments = parse_arguments(text), tool.arguments
    schema, extra = arguments.schema, tool.extra
    # Of the same values validation would only say again what it said of the text.
    explain = arguments.explain if error is not None and not parsed.repairs else None
    if explain is None or not parsed.value:
        mended = coerce(parsed.value, schema, extra=extra)
    else:
        told = explain(error, lambda errors: is_final(errors, schema, extra))
        if told is not None:
            raise told from None
        mended = coerce(parsed.value, schema, extra=extra)
        if mended.value is parsed.value and (told := explain(error)) is not None:
            raise told from None
    return tool.arguments.check(mended.value), parsed.repairs, mended.changes


def _masked(error: CallError, mask: Mask, name: str) -> CallError:
    """The same failure without a word of what the model sent where a secret can be."""
    if isinstance(error, InvalidArguments):
        fields = [
            replace(field, got=MASK) if field.got and mask.hides(field.path) else field
            for field in error.errors
        ]
        return invalid_arguments(name, fields)
    position = error.details.get("position")
    where = f" at character {position}" if position is not None else ""
    return MalformedArguments(
        f"The arguments are not one valid JSON object{where}; they are not shown, since they may "
        f"hold a secret. Send one valid JSON object.",
        {} if position is None else {"position": position},
    )


def revalidate(prepared: Prepared) -> Prepared:
    """Validate arguments that a step has changed.

    Raises:
        InvalidArguments: they no longer fit the tool's parameters.
    """
    return from_shown(prepared, as_json(prepared))


def renewing(last: Handler) -> Handler:
    """`last`, each time with arguments of its own: a try before may have changed them."""

    async def renewed(prepared: Prepared, context: ToolContext[Any]) -> object:
        return await last(revalidate(prepared), context)

    return renewed


def from_shown(prepared: Prepared, shown: dict[str, object]) -> Prepared:
    """The call with arguments made anew from their canonical form.

    Raises:
        InvalidArguments: they do not fit the tool's parameters.
    """
    arguments = prepared.tool.arguments
    values = arguments.check(_without_nulls(shown, prepared.tool.parameters))
    if arguments.fill is not None:
        arguments.fill(values)
    return Prepared(prepared.call, prepared.tool, values, prepared.changes)


def _without_nulls(shown: dict[str, object], schema: Mapping[str, object]) -> dict[str, object]:
    """Less the nulls that stand for "not given": defaults of None that were filled in before."""
    properties, required = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, Mapping) else {}
    needed = required if isinstance(required, list) else []
    return {
        name: value
        for name, value in shown.items()
        if value is not None
        or name in needed
        or name not in known
        or accepts(None, known[name], schema)
    }


def as_json(prepared: Prepared) -> dict[str, object]:
    """The validated arguments as the JSON the model could have sent: the call's canonical form."""
    return canonical(prepared.arguments, prepared.tool.arguments.keys)


def effective(prepared: Prepared) -> dict[str, object]:
    """The same, with the advertised defaults of what the model left out."""
    properties = prepared.tool.parameters.get("properties")
    schemas = properties if isinstance(properties, Mapping) else {}
    defaults = {
        name: schema["default"]
        for name, schema in schemas.items()
        if isinstance(schema, Mapping) and "default" in schema
    }
    return {**defaults, **as_json(prepared)}
