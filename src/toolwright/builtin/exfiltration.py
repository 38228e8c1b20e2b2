"""Keeping private data in: once it was read, what reaches out must be approved.

Private data, text of strangers and a way out are together what an attacker needs. A page or a
file can tell the model to send what it has read to some address; so once a run has read private
data, a call of a tool that reaches out asks a person first, unless it goes to hosts that are
trusted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from toolwright.builtin.addresses import is_below
from toolwright.call.approve import Approval
from toolwright.context import Run, ToolContext
from toolwright.define.tool import AnyTool, Prepared, Proceed
from toolwright.errors import Denied, Suspend
from toolwright.events import ExfiltrationBlocked
from toolwright.messages import ToolMessage

PRIVATE = "private"
"""The tag of a tool that reads private data; tools that read ``file:`` resources have no need of it."""


class NoExfiltration:
    """A step around tools that read private data and tools that reach out.

    `fetch` and `web_search` have one of their own. Given to a toolset or an agent, it covers all
    tools: what reads private data is known by its effects (a resource ``file:...`` or ``db:...``)
    or by the tag ``private``, what reaches out by ``open_world`` in its effects.

    Args:
        trusted: Hosts that may be told anything, such as ``docs.example.org`` or
            ``*.example.org``. A call goes to them if every address in its arguments does.
    """

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        self._trusted = tuple(host.lower() for host in trusted)

    async def __call__(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        run, tool = context.run, prepared.tool
        if not tool.effects.open_world or self._goes_home(prepared.arguments):
            value = await proceed(prepared)
            if is_private(tool):
                run.notes[NoExfiltration] = tool.name
            return value
        source = private_source(run)
        if not source:
            return await proceed(prepared)
        return await self._asked(prepared, context, proceed, source)

    async def _asked(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed, source: str
    ) -> object:
        async def go(agreed: Prepared, _: ToolContext[Any]) -> object:
            return await proceed(agreed)

        try:
            return await Approval(True, None, ()).around(go)(prepared, context)
        except Suspend:
            _tell(prepared, context, source)
            raise
        except Denied as error:
            _tell(prepared, context, source)
            raise Denied(
                f"{error.text} This run has read private data ({source}); what reaches out "
                "now needs a person's approval, or a host that is trusted.",
                {**error.details, "event": ExfiltrationBlocked.type, "source": source},
            ) from None

    def _goes_home(self, arguments: Mapping[str, object]) -> bool:
        """Whether all addresses in the arguments are of trusted hosts, and there is one."""
        hosts = _hosts(arguments)
        return bool(hosts) and all(
            any(is_below(host, pattern) for pattern in self._trusted) for host in hosts
        )


def _tell(prepared: Prepared, context: ToolContext[Any], source: str) -> None:
    run, hosts = context.run, tuple(dict.fromkeys(_hosts(prepared.arguments)))
    if run.listeners:
        name, call_id = prepared.tool.name, context.call.id
        run.emit(ExfiltrationBlocked(*run.next(), call_id, name, source, hosts))


def is_private(tool: AnyTool) -> bool:
    """Whether what a tool reads is private."""
    reads = any(key.startswith(("file:", "db:")) for key in tool.effects.resources)
    return reads or PRIVATE in tool.tags


def private_source(run: Run[Any]) -> str:
    """Which tool has read private data in a run so far; empty if none has.

    By what the steps have seen, and by the transcript, which outlives them.
    """
    noted = run.notes.get(NoExfiltration)
    if isinstance(noted, str):
        return noted
    messages, tools = run.state.get("messages"), getattr(run.agent, "tools", ())
    private = {tool.name for tool in tools if is_private(tool)}
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, ToolMessage) and message.name in private and not message.failed:
            return message.name
    return ""


def _hosts(arguments: Mapping[str, object]) -> list[str]:
    """The host of each address in some arguments; empty for an address without one."""
    return [_host(text) for text in _urls(arguments)]


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:  # such as a bracket without its other half
        return ""


def _urls(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip().lower().startswith(("http://", "https://")):
            yield value.strip()
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _urls(item)
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for item in value:
            yield from _urls(item)


def guarded(tool: AnyTool, trusted: Iterable[str] = ()) -> AnyTool:
    """A tool that asks once private data was read."""
    return dataclasses.replace(tool, steps=(NoExfiltration(trusted), *tool.steps))
