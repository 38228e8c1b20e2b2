"""Validated arguments as the JSON that a model could have sent, and back.

Steps may change arguments; approvals, caches and events look at their canonical form. Defaults of the
function are part of it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterator, Mapping

from toolkeel.call.steps.compose import Handler
from toolkeel.context import ToolContext
from toolkeel.define.schema.canonical import canonical_json
from toolkeel.define.subschemas import accepts, properties_of, required_of
from toolkeel.define.tool import AnyTool, Prepared


def revalidate(prepared: Prepared) -> Prepared:
    """Validate arguments that a step has changed, and return the call with the valid ones.

    Raises:
        InvalidArguments: the arguments no longer fit the tool's parameters.
    """
    return from_canonical(prepared, as_json(prepared))


def revalidate_each_try(last: Handler) -> Handler:
    """Return a handler that runs `last` with copies of the current arguments, validated anew.

    A try that changes them in place does not affect the next one. Changes by earlier steps stay.
    """

    async def renewed(prepared: Prepared, context: ToolContext) -> object:
        """Validate the arguments again, or raise `InvalidArguments`, and run `last`."""
        return await last(revalidate(prepared), context)

    return renewed


def from_canonical(prepared: Prepared, canonical: dict[str, object]) -> Prepared:
    """Return the call with arguments rebuilt from their canonical form, defaults filled in.

    A value equal to the function's default is not validated: it need not be anything
    that a model could send.

    Raises:
        InvalidArguments: the arguments do not fit the tool's parameters.
    """
    arguments = prepared.tool.arguments
    sent = drop_defaults(canonical, prepared.tool)
    values = arguments.validate_value(_drop_nulls(sent, prepared.tool.parameters))
    if arguments.fill_defaults is not None:
        arguments.fill_defaults(values)
    return fill_defaults(Prepared(prepared.call, prepared.tool, values, prepared.changes))


def drop_defaults(shown: dict[str, object], tool: AnyTool) -> dict[str, object]:
    """Return canonical arguments without those equal to the function's defaults.

    Args:
        shown: Canonical arguments, as of `as_json`.
        tool: The tool.
    """
    arguments = tool.arguments
    if not arguments.defaults:
        return shown
    own = canonical_json(arguments.defaults, arguments.aliases, arguments.encode)
    return {
        key: value
        for key, value in shown.items()
        if key not in own or json.dumps(own[key]) != json.dumps(value)
    }


def _drop_nulls(shown: dict[str, object], schema: Mapping[str, object]) -> dict[str, object]:
    """Return arguments without nulls of optional parameters that do not take null: they mean "not sent"."""
    known, needed = properties_of(schema), required_of(schema)
    return {
        name: value
        for name, value in shown.items()
        if value is not None
        or name in needed
        or name not in known
        or accepts(None, known[name], schema)
    }


def fill_defaults(prepared: Prepared) -> Prepared:
    """Return the call with the function's defaults for absent arguments, as it will run.

    Steps see these arguments. A body without steps fills in its defaults itself.
    """
    defaults, arguments = prepared.tool.arguments.defaults, prepared.arguments
    absent = {name: default for name, default in defaults.items() if name not in arguments}
    if not absent:
        return prepared
    return Prepared(prepared.call, prepared.tool, {**arguments, **absent}, prepared.changes)


def with_defaults(inner: Handler) -> Handler:
    """Return a handler that fills in the function's defaults before `inner` sees the call."""

    def handler(prepared: Prepared, context: ToolContext) -> Awaitable[object]:
        """Fill in the function's defaults and run `inner`."""
        return inner(fill_defaults(prepared), context)

    return handler


def as_json(prepared: Prepared) -> dict[str, object]:
    """Return the effective arguments as canonical JSON that the model could have sent.

    Defaults are filled in; injected values are not there.
    """
    arguments = prepared.tool.arguments
    return canonical_json(fill_defaults(prepared).arguments, arguments.aliases, arguments.encode)


class ArgumentsView(Mapping[str, object]):
    """A lazy `as_json`: each argument is converted when it is read.

    Arguments can be read by their advertised names and by the function's own; iteration and `in` know
    the advertised names alone.
    """

    __slots__ = ("_arguments", "_encode", "_keys")

    def __init__(self, prepared: Prepared) -> None:
        aliases, values = prepared.tool.arguments.aliases, fill_defaults(prepared).arguments
        self._keys, self._encode = aliases, prepared.tool.arguments.encode
        self._arguments = {aliases.get(name, name): (name, value) for name, value in values.items()}

    def __getitem__(self, key: str) -> object:
        key = key if key in self._arguments else self._keys[key]
        name, value = self._arguments[key]
        return canonical_json({name: value}, self._keys, self._encode)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arguments)

    def __len__(self) -> int:
        return len(self._arguments)

    def __contains__(self, key: object) -> bool:
        return key in self._arguments


def masked_json(prepared: Prepared) -> dict[str, object]:
    """Return the effective arguments as JSON with secrets masked."""
    shown, mask = as_json(prepared), prepared.tool.arguments.mask
    masked: dict[str, object] = shown if mask is None else mask.apply(shown)
    return masked
