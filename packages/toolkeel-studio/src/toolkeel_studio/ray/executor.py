"""Tools whose body runs on a node of a Ray cluster, wherever there is what it needs.

::

    @tool(executor=Ray(resources={"num_gpus": 1}, queue_timeout=30), timeout=600)
    def render(scene: str) -> str: ...

Ray finds the node; there the body runs in a process of its own, which is killed at the call's deadline,
by a cancel, and when the program that called dies. What crosses is the tool's import path and JSON, so
the library, and the module the tool is in, must be there too.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from collections.abc import Sequence
from typing import Literal

from toolkeel._common.checked_arguments import checked
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import LimitReached, SetupError
from toolkeel.executors.command_limits import Limits
from toolkeel.executors.executor import Capabilities
from toolkeel.executors.frames import Message, is_outcome
from toolkeel.executors.warm_pool import Room, no_room
from toolkeel.executors.worker_request import DIED, check_sendable, order_of, tell, value_of
from toolkeel_studio.ray import cluster

WIDTH = 64
_Body = Literal["", "runs", "again", "done"]


@checked
class Ray:
    """An executor: bodies on the nodes of a Ray cluster.

    The program is connected at the first call, unless it called ``ray.init`` itself. A cluster that
    asks for no token, and that other machines reach, is refused.

    Args:
        address: Of the cluster's head, as ``"host:port"``; by default that of this machine, or of
            ``RAY_ADDRESS``.
        resources: What a body needs: ``num_cpus`` (1 if not said), ``num_gpus``, ``memory`` in bytes,
            and whatever the nodes were given names for. What no node has is refused at once.
        width: How many calls may be with Ray at once; further ones wait, under their deadline.
        queue_timeout: Seconds a call may wait until its body begins; then it is refused, and has not
            started.
        max_retries: How often a call is run again whose process or node died; only of tools whose
            effects are declared `read_only` or `idempotent`. All others run once.
        limits: What a body's process may use at most.

    Raises:
        MissingExtraError: Ray is not installed.
    """

    capabilities = Capabilities(
        kills=True, streams=True, isolates=True, queues=True, resources=True, remote=True
    )

    def __init__(
        self,
        address: str | None = None,
        *,
        resources: cluster.Resources | None = None,
        width: int = WIDTH,
        queue_timeout: float | None = None,
        max_retries: int = 0,
        limits: Limits | None = None,
    ) -> None:
        if width < 1:
            raise SetupError(f"Ray(width={width}) has room for no call; give 1 or more")
        if (address or "").startswith("ray://"):
            raise SetupError(
                f"Ray({address!r}) is Ray's client, which cannot stop what it began; give the "
                "address of the head's control port, and run the program on a node"
            )
        self._address = address
        self._needs = {"num_cpus": 1, **(resources or {})}
        self._options = cluster.options_of(self._needs)
        self._limits = None if limits is None else dataclasses.asdict(limits)
        self._queue_timeout = queue_timeout
        self._max_retries = max_retries
        self._room = Room(width)

    def check_tool(self, tool: AnyTool) -> None:
        """See `Executor`."""
        check_sendable(tool, "Ray()")

    async def __call__(self, prepared: Prepared, context: ToolContext) -> object:
        """Run the body; when this is cancelled, it is ended before this ends."""
        tool, since = prepared.tool, time.monotonic()
        body, context.body_state = (
            context.body_state,
            "" if context.body_state == "runs" else context.body_state,
        )
        await self._room.enter_within(self._queue_timeout, tool.name)
        try:
            if not cluster.ready(self._needs):
                await asyncio.to_thread(self._find_place, tool)
            packed = json.dumps({**order_of(prepared, context), "limits": self._limits}).encode()
            call = _Call(context, body, packed, self._streams(tool))
            tries = 1 + (self._max_retries if tool.effects.repeatable else 0)
            while True:
                tries -= 1
                answer = await self._ask(call, since)
                if answer.get("kind") != DIED or not tries:
                    return value_of(tool, answer)
        finally:
            self._room.leave()

    def _find_place(self, tool: AnyTool) -> None:
        cluster.connect(self._address)
        if not cluster.is_there(self._needs):
            needs = ", ".join(f"{name}={number:g}" for name, number in self._needs.items())
            raise LimitReached(
                f"{tool.name!r} has not started: no node of the cluster has what it needs ({needs}). "
                "Waiting will not help."
            )

    def _streams(self, tool: AnyTool) -> bool:
        """Whether anything of its calls is to be told before they end."""
        reports = bool(tool.injected) or tool.body in ("generator", "async_generator")
        return reports or self._queue_timeout is not None

    async def _ask(self, call: _Call, since: float) -> Message:
        """Have a call's order carried out once."""
        seconds = self._queue_timeout
        left = None if seconds is None else seconds - (time.monotonic() - since)
        sent = cluster.Sent(call.packed, self._options, call.streams)
        try:
            async with asyncio.timeout(left) as waits:
                while True:
                    messages = await sent.next_messages()
                    if not waits.expired():
                        waits.reschedule(None)
                    if call.hear(messages):
                        return messages[-1]
        except cluster.Lost as lost:
            call.begun()
            return {"kind": DIED, "text": str(lost), "details": {}}
        except TimeoutError:
            if await asyncio.shield(asyncio.ensure_future(sent.stop())):
                call.begun()
                text = "was ended, since it began too late,"
                return {"kind": DIED, "text": text, "details": {}}
            raise no_room(call.context.tool_name, seconds or 0.0) from None
        except asyncio.CancelledError:
            if await asyncio.shield(asyncio.ensure_future(sent.stop())):
                call.begun()
            raise


class _Call:
    """A call on its way.

    Args:
        context: Its.
        body: How far it says that the body is, once it has begun.
        packed: Its order.
        streams: Whether what its body reports is told at once.
    """

    def __init__(self, context: ToolContext, body: _Body, packed: bytes, streams: bool) -> None:
        self.context, self.packed, self.streams = context, packed, streams
        self._body: _Body = body

    def begun(self) -> None:
        """Say that the body has begun."""
        self.context.body_state = self._body

    def hear(self, messages: Sequence[Message]) -> bool:
        """Pass on what its body reported; whether the last is its answer."""
        self.begun()
        for message in messages:
            tell(message, self.context)
        return is_outcome(messages[-1])
