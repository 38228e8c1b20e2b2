"""One call as a client sends it, and as its server gets it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from toolkeel._records.record import record
from toolkeel_studio.gateway.routes import Route

_OWN_META = ("progressToken",)
_PROTOCOL = "io.modelcontextprotocol/"


@record
class Call:
    """One call.

    Args:
        client: Who calls.
        tool: The public name.
        route: Where it leads.
        params: As they came.
    """

    client: str
    tool: str
    route: Route
    params: Mapping[str, Any]

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of the call.

        Raises:
            MCPError: it is no object, so no rule could be about it.
        """
        arguments = self.params.get("arguments") or {}
        if not isinstance(arguments, Mapping):
            raise MCPError(types.INVALID_PARAMS, "arguments: one JSON object is needed")
        return arguments

    @property
    def judged_arguments(self) -> Mapping[str, Any]:
        """The arguments that rules are about: as they came and, of a transformed tool, as sent."""
        transformed = self.route.transformed
        if transformed is None or self.argument_error:
            return self.arguments
        return {**transformed.to_original(self.arguments), **self.arguments}

    @property
    def argument_error(self) -> str:
        """What is wrong with the arguments of a transformed tool; empty if nothing is."""
        check = self.route.check
        return check.find_error(self.arguments) if check is not None else ""

    @property
    def sent_params(self) -> dict[str, Any]:
        """The parameters for the server: its own names, and nothing of this connection."""
        params, transformed = {**self.params, "name": self.route.name}, self.route.transformed
        if transformed is not None:
            params["arguments"] = transformed.to_original(self.arguments)
        return forwarded_params(params)


def with_translation(call: Call, result: dict[str, Any]) -> dict[str, Any]:
    """Return an error result with a sentence on names that the client of a transformed tool does not know."""
    blocks = result.get("content")
    if call.route.transformed is None or not isinstance(blocks, list):
        return result
    texts = [str(each.get("text", "")) for each in blocks if isinstance(each, dict)]
    note = call.route.transformed.translation("\n".join(texts))
    return {**result, "content": [*blocks, {"type": "text", "text": note}]} if note else result


def forwarded_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters without what is between the client and the gateway.

    >>> forwarded_params({"name": "x", "_meta": {"progressToken": 1, "trace": "t"}})
    {'name': 'x', '_meta': {'trace': 't'}}
    """
    meta = params.get("_meta")
    if not isinstance(meta, Mapping):
        return dict(params)
    passed = end_to_end_meta(meta)
    rest = {key: value for key, value in params.items() if key != "_meta"}
    return {**rest, "_meta": passed} if passed else rest


def end_to_end_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a ``_meta`` that may pass through the gateway."""
    ours = [key for key in meta if key in _OWN_META or key.startswith(_PROTOCOL)]
    return {key: value for key, value in meta.items() if key not in ours}
