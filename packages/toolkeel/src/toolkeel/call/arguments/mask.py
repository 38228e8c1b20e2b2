"""Keeping secrets out of a run's events, its tickets and the results of its failures.

What a schema marks as secret is masked by its place. After that, its exact text is masked wherever it
occurs in the same run: in an exception of a body, in progress, in another tool's result. A run whose
tools have no secrets has no `SecretMask`.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from toolkeel._common.redact_secrets import MASK, Redactor, redact_in_logs
from toolkeel._records.record import NOTHING
from toolkeel.call.arguments.canonical_arguments import as_json
from toolkeel.call.arguments.parse import parse_arguments
from toolkeel.call.steps.compose import Handler
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.secret import Mask
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import MalformedArguments
from toolkeel.events import Event, Replied, Streamed, ToolStarted, TurnStarted
from toolkeel.messages import AssistantMessage, ToolCall
from toolkeel.model_interface import CallDelta

log = logging.getLogger("toolkeel")

T = TypeVar("T")
EVERYTHING = Mask({"writeOnly": True})
"""For calls of unknown tools, whose names may be misspelt."""


class SecretMask:
    """The secrets of one run, and how they are masked in events and results; in `RunContext.mask`."""

    def __init__(self) -> None:
        self._masks: dict[str, Mask | None] = {}
        self._known = Redactor()
        self._names: dict[int, str] = {}

    def add_tools(self, tools: Iterable[AnyTool], aliases: Mapping[str, str]) -> None:
        """Add tools, also by their wire names, whose secret arguments are masked in events."""
        for tool in tools:
            for name in (tool.name, aliases.get(tool.name, tool.name)):
                self._masks[name] = tool.arguments.mask or self._masks.get(name)

    def add_secrets(self, secrets: Iterable[str]) -> None:
        """Mask these texts, unless too short for `Redactor.add`, in events and values of this run from now on."""
        self._known.add(secrets)

    def mask_value(self, value: T) -> T:
        """Return `value` with ``***`` for known secrets in its texts, containers and records."""
        masked: T = self._known.redact(value) if self._known else value
        return masked

    def mask_event(self, event: Event) -> Event:
        """Return an event with secret arguments and known secrets masked, for listeners.

        Remember the secrets and the names of streamed calls; a new turn forgets the names.
        """
        match event:
            case TurnStarted():
                self._names.clear()
            case Streamed(delta=CallDelta() as delta):
                event = dataclasses.replace(event, delta=self._delta(delta))
            case Replied(message=message):
                event = dataclasses.replace(event, message=self._reply(message))
            case ToolStarted(call=call):
                event = dataclasses.replace(event, call=self._call(call))
            case _:
                pass
        return self.mask_value(event)

    def _mask(self, name: str) -> Mask | None:
        """Return a tool's mask: None if it has no secrets; an unknown tool's hides everything."""
        return self._masks.get(name, EVERYTHING)

    def _delta(self, delta: CallDelta) -> CallDelta:
        """Return a delta without arguments if its tool has secret ones; record its tool's name."""
        name = self._names[delta.index] = delta.name or self._names.get(delta.index, "")
        if self._mask(name) is None:
            return delta
        return CallDelta(delta.index, delta.id, delta.name)

    def _reply(self, reply: AssistantMessage) -> AssistantMessage:
        """Return the reply, or a copy with masked calls and without provider options."""
        calls = tuple(map(self._call, reply.tool_calls))
        if all(new is old for new, old in zip(calls, reply.tool_calls, strict=True)):
            return reply
        # What else the provider sent may hold the arguments once more.
        return dataclasses.replace(reply, tool_calls=calls, provider_options=NOTHING)

    def _call(self, call: ToolCall) -> ToolCall:
        """Return the call, or a copy with secrets masked, which are remembered.

        Arguments that cannot be parsed are masked entirely.
        """
        mask = self._mask(call.name)
        if mask is None:
            return call
        value = _parsed(call)
        if value is None:
            return ToolCall(call.id, call.name, MASK if call.arguments else "", call.complete)
        self.add_secrets(mask.secret_texts(value))
        masked = mask.apply(value)
        if isinstance(call.arguments, str):
            masked = json.dumps(masked, ensure_ascii=False)
        return ToolCall(call.id, call.name, masked, call.complete)


def mask_tools(
    run: RunContext, tools: Iterable[AnyTool], aliases: Mapping[str, str], calls: Iterable[ToolCall]
) -> None:
    """Make a run mask the secret arguments of these tools from now on.

    Args:
        run: The run; it gets a `SecretMask` if it has none.
        tools: All callable tools.
        aliases: Wire names by tool name, where they differ or not.
        calls: Calls whose secrets are masked in logs at once.
    """
    masking = run.mask
    if not isinstance(masking, SecretMask):
        run.mask = masking = SecretMask()
    known = list(tools)
    masking.add_tools(known, aliases)
    masks = {tool.name: tool.arguments.mask for tool in known}
    for call in calls:
        mask = masks.get(call.name)
        if mask is not None:
            _learn(run, mask.secret_texts(_parsed(call)))


def collect_secrets(mask: Mask, last: Handler) -> Handler:
    """Return a handler that masks a call's secrets in the run and in logs before the body runs."""

    async def learned(prepared: Prepared, context: ToolContext) -> object:
        """Mask the call's secrets in the run and in logs, and run `last`."""
        _learn(context.run, mask.secret_texts(as_json(prepared)))
        return await last(prepared, context)

    return learned


def _learn(run: RunContext, secrets: list[str]) -> None:
    """Add texts to the secrets hidden in logs and in this run's events."""
    redact_in_logs(secrets)
    if isinstance(run.mask, SecretMask):
        run.mask.add_secrets(secrets)


def _parsed(call: ToolCall) -> dict[str, Any] | None:
    """Return a call's arguments as a dict, or None if they cannot be parsed."""
    arguments = call.arguments
    if not isinstance(arguments, str):
        return dict(arguments) if isinstance(arguments, Mapping) else None
    try:
        return dict(parse_arguments(arguments).value)
    except MalformedArguments:
        return None
