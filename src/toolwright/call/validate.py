"""Raw arguments become keyword arguments: fast if they are right, patiently if not.

The fast path is one call into Rust, straight from the text. Whatever it does not accept, and the
few things it accepts though JSON forbids or doubts them, goes the slow way: strict parse, mending
by the coercion table, validation again, and an error that names every field.
"""

from __future__ import annotations

from pydantic_core import from_json, to_json

from toolwright.call.coerce import coerce
from toolwright.call.parse import needs_strict_check, normalise, overflows, parse_arguments
from toolwright.define.old_model import plain
from toolwright.define.tool import AnyTool, Prepared
from toolwright.errors import TruncatedCall
from toolwright.messages import ToolCall


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
    text = call.arguments if type(call.arguments) is str else normalise(call.arguments)
    arguments = tool.arguments
    try:
        values = arguments.validate(text)
    except ValueError:
        return _mend(call, tool, text)
    if needs_strict_check(text, values) or (arguments.loose and overflows(text)):
        return _mend(call, tool, text)
    if arguments.fill is not None:
        arguments.fill(values)
    return Prepared(call, tool, values)


def _mend(call: ToolCall, tool: AnyTool, text: str) -> Prepared:
    parsed = parse_arguments(text)
    mended = coerce(parsed.value, tool.parameters, extra=tool.extra)
    values = tool.arguments.check(mended.value)
    if tool.arguments.fill is not None:
        tool.arguments.fill(values)
    changes = (*parsed.repairs, *map(str, mended.changes))
    return Prepared(call, tool, values, changes)


def revalidate(prepared: Prepared) -> Prepared:
    """Validate arguments that a step has changed.

    Raises:
        InvalidArguments: they no longer fit the tool's parameters.
    """
    return from_shown(prepared, as_json(prepared))


def from_shown(prepared: Prepared, shown: dict[str, object]) -> Prepared:
    """The call with arguments made anew from their canonical form.

    Raises:
        InvalidArguments: they do not fit the tool's parameters.
    """
    arguments = prepared.tool.arguments
    values = arguments.check(shown)
    if arguments.fill is not None:
        arguments.fill(values)
    return Prepared(prepared.call, prepared.tool, values, prepared.changes)


def as_json(prepared: Prepared) -> dict[str, object]:
    """The validated arguments as the JSON the model could have sent: the call's canonical form."""
    aliases = prepared.tool.arguments.aliases
    shown = {aliases.get(name, name): value for name, value in prepared.arguments.items()}
    return dict(from_json(to_json(shown, by_alias=True, fallback=plain)))
