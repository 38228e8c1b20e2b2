"""A server's tool as a tool of ours: approved, pinned, called, and its result validated.

The gate stands at three places of a call. Before approval it notes which definition the server has
now. The approval asks if nobody has approved that one, with the difference. The body runs only if
the definition is still the one that was noted, and then pins it.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Awaitable, Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

import mcp_types as types

from toolkeel._records.deferred import deferred
from toolkeel._records.record import NOTHING, record
from toolkeel._records.taint_sources import UNREAD
from toolkeel.call.steps.label_sources import ORIGIN, WORDS
from toolkeel.call.steps.taint import OWN_RESULTS, is_server_approved
from toolkeel.context import ToolContext
from toolkeel.define.names import check_name
from toolkeel.define.returns import OutputSchema
from toolkeel.define.tool import AnyTool, Prepared, Proceed, Tool, ToolOptions
from toolkeel.effects import Effects, Resource, Shared
from toolkeel.errors import DefinitionError, Kind
from toolkeel.mcp.client.results import check_result, translate_error
from toolkeel.mcp.content import from_definition, from_result
from toolkeel.mcp.hidden_text import HiddenCharacters, clean_definition
from toolkeel.mcp.pins import Pin, Pins, definition_diff, make_origin, make_pin
from toolkeel.mcp.tool_schemas import ToolSchemas
from toolkeel.mcp.transforms import ToolTransform, TransformedTool, transform_tool
from toolkeel.messages import ToolMessage

log = logging.getLogger("toolkeel.mcp")
Trust: TypeAlias = bool | Literal["pinned"]
Send: TypeAlias = Callable[[str, dict[str, Any], ToolContext[Any]], Awaitable[types.CallToolResult]]


class CallFailed(Exception):
    """Raised if a call ended without a result; `message` is the failed result, with this kind, text and details."""

    def __init__(self, kind: Kind, text: str, **details: object) -> None:
        super().__init__(text)
        self.message = ToolMessage(text, status="error", kind=kind, details=details)


@record
class ToolServerPeer:
    """Facts and functions of a server that its tools need.

    Args:
        name: Its name for people.
        identity: Identity that approvals are bound to.
        trust: True if its tools run without asking, and its annotations are believed.
        pins: The approved definitions.
        current: Returns the current definition of a tool; None if it is gone.
        send: Calls a tool.
        timeout: Seconds of a call.
        effects: What its tools do, by patterns of their names, as the operator declares it.
        is_ours: True if no stranger writes what its results say.
    """

    name: str
    identity: str
    trust: Trust
    pins: Pins
    current: Callable[[str], Awaitable[Pin | None]]
    send: Send
    timeout: float | None
    effects: Mapping[str, Effects] = NOTHING  # type: ignore[assignment]
    is_ours: bool = False

    @property
    def origin(self) -> str:
        """The server, as sources of labels name it."""
        return make_origin(self.identity)

    @property
    def metadata(self) -> dict[str, object]:
        """Metadata of the server's tools: the origin of results, and True if a trusted one's are its own."""
        return {ORIGIN: self.origin, OWN_RESULTS: self.trust is True}

    def effects_of(self, tool: str, stated: Effects | None) -> Effects:
        """Return the effects of a tool: those that the operator declares, else those that it states.

        An untrusted server's statements never make a tool less restricted. Results are private, and
        a stranger's unless they are declared ours.

        Args:
            tool: The server's own name of it.
            stated: What the server states, if anything.
        """
        declared = next(
            (each for name, each in self.effects.items() if fnmatchcase(tool, name)), None
        )
        found = declared or (stated if self.trust is True else None) or Effects()
        stranger = not self.is_ours if declared is None else declared.stranger or not self.is_ours
        return _of_results(found, stranger)


@functools.lru_cache
def _of_results(effects: Effects, stranger: bool) -> Effects:
    """Return effects whose results are private, and a stranger's or not."""
    return dataclasses.replace(effects, private=True, stranger=stranger)


@functools.lru_cache
def _with_place(effects: Effects, server: str, reads: bool) -> Effects:
    """Return effects that keep a server's calls in order (with `reads` only after writes), or declared ones."""
    place = (Shared if reads else Resource)(f"mcp:{server}")
    return dataclasses.replace(effects, resources=effects.resources or (place,))


@record
class PinState:
    """The approval state of a tool's definition.

    Args:
        server: Name of its server.
        identity: Identity that approvals are bound to.
        state: ``approved``, ``new`` if nobody has seen it yet, or ``changed`` since.
        difference: The changes, as a diff.
    """

    server: str
    identity: str
    state: Literal["approved", "new", "changed"]
    difference: str = ""


class DefinitionGate:
    """Check that runs calls of a tool only with an approved definition.

    Args:
        peer: The server.
        tool: The server's own name of the tool.
        pin: The definition that the model was shown.
    """

    def __init__(self, peer: ToolServerPeer, tool: str, pin: Pin) -> None:
        self._peer = peer
        self._tool = tool
        self._now: Pin | None = pin
        self._noted: dict[ToolContext[Any], Pin | None] = {}

    async def step(self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        """Record the server's current definition of the tool, then proceed (a step).

        Raises:
            ToolError: the server cannot be reached.
        """
        self._now = self._noted[context] = await self._peer.current(self._tool)
        try:
            return await proceed(prepared)
        finally:
            del self._noted[context]

    step.step_timeout = None  # type: ignore[attr-defined]  # the server has timeouts of its own

    def pin_state(self) -> PinState:
        """Return the approval state of the last known definition; a tool that is gone keeps its approval."""
        peer, now = self._peer, self._now
        pinned = peer.pins.get(peer.identity, self._tool)
        if pinned is None:
            return PinState(peer.name, peer.identity, "new")
        if now is None or pinned.digest == now.digest:
            return PinState(peer.name, peer.identity, "approved")
        changes = definition_diff(pinned.definition, now.definition)
        return PinState(peer.name, peer.identity, "changed", changes)

    def despite_rules(self, arguments: Mapping[str, object]) -> str:
        """Return why to ask although a rule allows the call.

        Empty unless the definition changed.
        """
        changes = self.pin_state().difference
        server = self._peer.name
        return (
            changes
            and f"the server {server} has changed this tool since it was approved:\n{changes}"
        )

    def __call__(self, arguments: Mapping[str, object], context: ToolContext[Any]) -> bool | str:
        """Return True or the reason if a person must approve the call, else False."""
        if text := self.despite_rules(arguments):
            return text
        if self._peer.trust is True or is_server_approved(context.run, self._peer.origin):
            return False
        pinned = self._peer.pins.get(self._peer.identity, self._tool)
        if self._peer.trust == "pinned" and pinned is not None:
            return False
        why = "its definition was not approved yet" if self._peer.trust else "not trusted"
        return f"a tool of the server {self._peer.name} ({why})"

    def unapproved_words(self) -> str:
        """Return the server's name while its texts are neither trusted nor approved; else empty."""
        trusted = self._peer.trust is True or self.pin_state().state == "approved"
        return "" if trusted else self._peer.name

    async def verify_definition(self, context: ToolContext[Any]) -> None:
        """Ask for the tool's current definition, and pin it if it is the one noted when the call began.

        So it is for each call, whether or not a person was asked.

        Raises:
            CallFailed: the definition changed again meanwhile, or the tool is gone.
            ToolError: the server cannot be reached.
        """
        noted = self._noted.get(context, self._now)
        now = await self._peer.current(self._tool)
        if noted is None or now is None:
            text = f"The server {self._peer.name} has no tool {self._tool!r} any more."
            raise CallFailed("tool_error", text, **{UNREAD: True})
        if noted.digest != now.digest:
            raise CallFailed(
                "denied",
                f"The server {self._peer.name} changed {self._tool!r} while the call was waiting; "
                "it did not run. Call it again if it is still wanted.",
                **{UNREAD: True},
            )
        self._peer.pins.set(self._peer.identity, self._tool, noted)


@record
class CompiledTool:
    """A server's tool, whose schemas are compiled when they are first used.

    Args:
        tool: The tool.
        hidden: Invisible characters that were removed from its definition.
        find_problems: Returns its problems; compiles the schemas.
    """

    tool: AnyTool
    hidden: tuple[HiddenCharacters, ...]
    find_problems: Callable[[], tuple[str, ...]]

    @property
    def problems(self) -> tuple[str, ...]:
        """The parts of its definition that are not used or not checked."""
        return self.find_problems()


def compile_server_tool(
    peer: ToolServerPeer, listed: types.Tool, name: str = "", change: ToolTransform | None = None
) -> CompiledTool:
    """Compile a server's definition to a tool.

    Args:
        peer: The server.
        listed: Its definition.
        name: Its name here; the server's own by default.
        change: The user's transform of it, if any; its pin stays that of the server's definition.

    Raises:
        DefinitionError: nothing can be made of its schema, or the change does not fit it.
    """
    raw = listed.model_dump(mode="json", by_alias=True, exclude_none=True)
    cleaned, hidden = clean_definition(raw)
    transformed = transform_tool(cleaned, change) if change else None
    if transformed:
        cleaned = dict(transformed.definition)
        types.Tool.model_validate(cleaned)
    name = check_name(name or cleaned["name"])
    schemas = ToolSchemas(name, cleaned)
    output = None if cleaned.get("outputSchema") is None else deferred(schemas.output_schema)
    gate = DefinitionGate(peer, listed.name, deferred(lambda: make_pin(peer.identity, raw)))
    call = _call_function(peer, listed.name, gate, output, transformed)
    options: dict[str, Any] = {**_tool_options(peer, listed.name, cleaned, gate)}
    made = dataclasses.replace(
        _blank_tool(), name=name, description=schemas.description, function=call,
        arguments=deferred(schemas.argument_schema), output=output, **options,
    )  # fmt: skip
    return CompiledTool(made, hidden, schemas.problems)


class ToolCompiler:
    """Compiles the tools of a server, each definition once, and records what is wrong with them.

    Args:
        server: The server's name, for the log.

    Attributes:
        hidden: Hidden characters that were removed from the definitions of the last listing.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._known: dict[tuple[object, ...], CompiledTool] = {}
        self._left_out: dict[str, str] = {}
        self._compiled: list[tuple[str, CompiledTool]] = []
        self.hidden: dict[str, tuple[HiddenCharacters, ...]] = {}

    @property
    def problems(self) -> dict[str, str]:
        """The problems of the last listing, by the server's names; compiles the schemas of its tools."""
        found = dict(self._left_out)
        for name, made in self._compiled:
            if problems := made.problems:
                found[name] = "; ".join([*filter(None, [found.get(name)]), *problems])
        return found

    def start(self, problems: Mapping[str, str], count: int) -> None:
        """Start a new listing, and forget the tools and problems of the last one.

        Args:
            problems: What is known of its problems, by the server's names.
            count: Number of its tools. Compiled tools are cached up to twice as many.
        """
        self._left_out, self._compiled, self.hidden = dict(problems), [], {}
        if len(self._known) > 2 * count:
            self._known.clear()

    def compile(
        self, peer: ToolServerPeer, listed: types.Tool, name: str, change: ToolTransform | None
    ) -> AnyTool | None:
        """Return a tool of the listing; None if it cannot be used. Log and record what is wrong with it.

        The arguments are those of `compile_server_tool`.
        """
        try:  # one that is as it was is not made anew for each run
            key = (name, peer.trust, peer.pins, listed.model_dump_json())
            made = self._known[key] = self._known.get(key) or compile_server_tool(
                peer, listed, name, change
            )
        except (DefinitionError, ValueError) as error:
            self._left_out[listed.name] = f"left out: {error}"
            log.warning("%s: the tool %r is left out: %s", self._server, listed.name, error)
            return None
        self._compiled.append((listed.name, made))
        if made.hidden:
            self.hidden[listed.name] = made.hidden
            found = "; ".join(map(str, made.hidden))
            log.warning("%s: the tool %r hides characters: %s", self._server, listed.name, found)
        return made.tool


@functools.cache
def _blank_tool() -> AnyTool:
    """Return the one template for tools of servers, since reading a function's signature is slow."""

    async def run(context: ToolContext[Any], arguments: dict[str, Any]) -> ToolMessage:
        """Raise: the template's body is replaced in each tool."""
        raise NotImplementedError

    return Tool.from_schema("blank", "", {"type": "object"}, run, unknown_keys="allow")


def _call_function(
    peer: ToolServerPeer,
    tool: str,
    gate: DefinitionGate,
    output: OutputSchema | None,
    transformed: TransformedTool | None,
) -> Callable[..., Awaitable[ToolMessage]]:
    """Return the function that verifies the definition, calls the tool and checks its result against `output`, if any."""

    async def run(context: ToolContext[Any], arguments: dict[str, Any]) -> ToolMessage:
        """Verify the definition, call the tool, and return its checked result, or the message of its failure."""
        try:
            await gate.verify_definition(context)
            sent = transformed.to_original(arguments) if transformed else arguments
            result = await peer.send(tool, sent, context)
            message = check_result(from_result(result), output, peer.name)
            return translate_error(message, transformed) if transformed else message
        except CallFailed as failed:
            return failed.message

    def call(_tool_context: ToolContext[Any], /, **arguments: Any) -> Awaitable[ToolMessage]:
        """Pass the arguments as one dict."""
        return run(_tool_context, arguments)

    return call


def _tool_options(
    peer: ToolServerPeer, tool: str, shown: Mapping[str, Any], gate: DefinitionGate
) -> ToolOptions:
    """Build the options of a server's tool: effects, timeout, approval step, metadata and tags."""
    options = from_definition(shown)
    effects = peer.effects_of(tool, options.get("effects"))
    # What an untrusted server says of order is taken.
    if (reads := (shown.get("annotations") or {}).get("readOnlyHint")) is not None:
        effects = _with_place(effects, peer.name, reads)
    options["effects"] = effects
    options["timeout"], options["approval"] = peer.timeout, gate
    options["steps"] = (gate.step,)
    options["metadata"] = {
        "mcp": {"server": peer.name, "tool": tool},
        WORDS: gate.unapproved_words,
        **peer.metadata,
    }
    options["tags"] = ("mcp", peer.name)
    return options
