"""A server's tool as one of ours: asked about, pinned, called, and its result checked.

The gate stands at three places of a call. Before approval it notes which definition the server has
now. The approval asks if nobody has approved that one, with the difference. The body runs only if
the definition is still the one that was noted, and then pins it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

import mcp_types as types

from toolwright.content import Content, Text
from toolwright.context import ToolContext
from toolwright.define.output import Output
from toolwright.define.tool import AnyTool, Prepared, Proceed, Tool
from toolwright.effects import UNKNOWN
from toolwright.errors import CallError, InvalidOutput, Kind
from toolwright.mcp.content import from_definition, from_result, output_of
from toolwright.mcp.hidden import Hidden, clean_definition
from toolwright.mcp.pins import Pin, Pins, difference, pin_of
from toolwright.messages import ToolMessage
from toolwright.record import record

Trust: TypeAlias = bool | Literal["pinned"]
Send: TypeAlias = Callable[[str, dict[str, Any], ToolContext[Any]], Awaitable[types.CallToolResult]]


class Failed(Exception):
    """A call ended without a result; its message says how."""

    def __init__(self, kind: Kind, text: str, **details: object) -> None:
        super().__init__(text)
        self.message = ToolMessage(text, status="error", kind=kind, details=details)


@record
class Peer:
    """What tools need of their server.

    Args:
        name: What people call it.
        identity: What approvals are bound to.
        trust: Whether its tools run without asking, and its annotations are believed.
        pins: The approved definitions.
        current: Gives the definition a tool has now; None if it is gone.
        send: Calls a tool.
        timeout: Seconds of a call.
    """

    name: str
    identity: str
    trust: Trust
    pins: Pins
    current: Callable[[str], Awaitable[Pin | None]]
    send: Send
    timeout: float | None


class Gate:
    """Lets calls of one tool through only as far as somebody approved its definition.

    Args:
        peer: The server.
        tool: The server's own name of the tool.
        pin: Its definition, as the model was told of it.
    """

    def __init__(self, peer: Peer, tool: str, pin: Pin) -> None:
        self._peer = peer
        self._tool = tool
        self._now: Pin | None = pin
        self._noted: dict[ToolContext[Any], Pin | None] = {}

    async def __call__(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        """Note what the server says of the tool now: the step around the call.

        Raises:
            ToolError: the server cannot be reached.
        """
        self._now = self._noted[context] = await self._peer.current(self._tool)
        try:
            return await proceed(prepared)
        finally:
            del self._noted[context]

    def changed(self) -> str:
        """How the definition differs from the approved one; empty if it does not."""
        pinned = self._peer.pins.get(self._peer.identity, self._tool)
        if pinned is None or self._now is None or pinned.digest == self._now.digest:
            return ""
        return (
            f"the server {self._peer.name} has changed this tool since it was approved:\n"
            + difference(pinned.definition, self._now.definition)
        )

    def needs(self, arguments: Mapping[str, object]) -> bool | str:
        """Whether a person must approve the call, or why."""
        if text := self.changed():
            return text
        if self._peer.trust is True:
            return False
        pinned = self._peer.pins.get(self._peer.identity, self._tool)
        if self._peer.trust == "pinned" and pinned is not None:
            return False
        why = "its definition was not approved yet" if self._peer.trust else "not trusted"
        return f"a tool of the server {self._peer.name} ({why})"

    async def pass_on(self, context: ToolContext[Any]) -> None:
        """Pin what this call was let through with.

        Raises:
            Failed: the definition changed again while somebody was asked, or the tool is gone.
            ToolError: the server cannot be reached.
        """
        noted = self._noted.get(context, self._now)
        now = await self._peer.current(self._tool)
        if noted is None or now is None:
            text = f"The server {self._peer.name} has no tool {self._tool!r} any more."
            raise Failed("tool_error", text)
        if noted.digest != now.digest:
            raise Failed(
                "denied",
                f"The server {self._peer.name} changed {self._tool!r} while the call was waiting; "
                "it did not run. Call it again if it is still wanted.",
            )
        self._peer.pins.set(self._peer.identity, self._tool, noted)


class Needs:
    """The approval of a gate's tool; what a rule allows is still asked about if it has changed."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def __call__(self, arguments: Mapping[str, object]) -> bool | str:
        return self._gate.needs(arguments)

    def despite_rules(self, arguments: Mapping[str, object]) -> bool | str:
        """Why to ask although a rule allows the call."""
        return self._gate.changed()


def tool_of(peer: Peer, listed: types.Tool) -> tuple[AnyTool, tuple[Hidden, ...]]:
    """A server's tool as one of ours, and what was hidden in its definition.

    Raises:
        DefinitionError: one of its schemas does not compile.
    """
    raw = listed.model_dump(mode="json", by_alias=True, exclude_none=True)
    pin = pin_of(peer.identity, raw)
    cleaned, hidden = clean_definition(raw)
    shown = types.Tool.model_validate(cleaned)
    output = output_of(shown)
    gate = Gate(peer, listed.name, pin)

    async def run(context: ToolContext[Any], arguments: dict[str, Any]) -> ToolMessage:
        try:
            await gate.pass_on(context)
            result = await peer.send(listed.name, arguments, context)
            return _checked(from_result(result), output, peer.name)
        except Failed as failed:
            return failed.message
        except InvalidOutput as error:
            return _failed(error)

    options = from_definition(shown)
    if peer.trust is not True:
        options["effects"] = UNKNOWN  # what an untrusted server says never lowers the bar
    options["timeout"] = peer.timeout
    options["approval"] = Needs(gate)
    options["steps"] = (gate,)
    options["metadata"] = {"mcp": {"server": peer.name, "tool": listed.name}}
    options["tags"] = ("mcp", peer.name)
    made = Tool.from_schema(
        shown.name, shown.description or shown.title or "", cleaned["inputSchema"], run, **options
    )
    return dataclasses.replace(made, output=output), hidden


def _failed(error: CallError) -> ToolMessage:
    return ToolMessage(error.text, status="error", kind=error.kind, details=error.details)


def _checked(message: ToolMessage, output: Output | None, server: str) -> ToolMessage:
    """The result as the model may see it, if it keeps the tool's promise.

    Raises:
        InvalidOutput: it does not.
    """
    if output is not None and not message.failed:
        try:
            output.check(message.artifact)
        except ValueError as error:
            raise InvalidOutput(
                f"The server {server} returned a result that does not fit what its tool promises. "
                "This is a fault of the server, not of the call.",
                {"error": str(error), "artifact": message.artifact},
            ) from error
    content, apart = for_model(message.content)
    details = {**message.details, "for_user": apart} if apart else message.details
    return dataclasses.replace(message, content=content, details=details)


def for_model(content: Content) -> tuple[Content, tuple[str, ...]]:
    """What of a result is for the model, and the texts of what is for the person alone."""
    if isinstance(content, str):
        return content, ()
    kept = tuple(block for block in content if _is_for_model(block.extra))
    apart = tuple(
        block.text if isinstance(block, Text) else f"[{type(block).__name__}]"
        for block in content
        if not _is_for_model(block.extra)
    )
    if apart and not kept:
        return "(the result is for the person, not for you)", apart
    return kept, apart


def _is_for_model(extra: Mapping[str, object]) -> bool:
    annotations = extra.get("annotations")
    audience = annotations.get("audience") if isinstance(annotations, Mapping) else None
    return not audience or (isinstance(audience, list) and "assistant" in audience)
