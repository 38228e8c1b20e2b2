"""An executor for a Ray cluster: bodies run on a node that has the resources they need.

::

    @tool(executor=Ray(resources={"num_gpus": 1}, queue_timeout=30), timeout=600)
    def render(scene: str) -> str: ...

Ray chooses the node. There the body runs in a process of its own, which is killed at the call's
deadline, by a cancel, and when the calling program dies. What crosses is the tool's import path and
JSON, so toolkeel and the tool's module must be installed on the nodes.
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
from toolkeel.executors.warm_pool import CrossLoopSemaphore, make_queue_timeout
from toolkeel.executors.worker_request import (
    DIED,
    check_sendable,
    forward_report,
    make_request,
    read_outcome,
)
from toolkeel_studio.ray import cluster

MAX_CONCURRENCY = 64
_Body = Literal["", "runs", "again", "done"]


@checked
class Ray:
    """An executor: bodies on the nodes of a Ray cluster.

    The program connects at the first call, unless it called ``ray.init`` itself. A cluster that requires no
    token and that other machines can reach is refused.

    Args:
        address: The cluster's head, as ``"host:port"``; by default that of this machine, or of
            ``RAY_ADDRESS``.
        resources: What a body needs: ``num_cpus`` (default 1), ``num_gpus``, ``memory`` in bytes, and
            names the nodes define. What no node has is refused at once.
        max_concurrency: Calls submitted to Ray at once; further ones wait, within their deadline.
        queue_timeout: Seconds a call may wait until its body starts; then it is refused, and has not
            started.
        max_retries: How often to repeat a call whose process or node died; only for tools whose effects
            are declared `read_only` or `idempotent`. All others run once.
        limits: Resource limits of a body's process.

    Raises:
        MissingExtraError: Ray is not installed.
    """

    capabilities = Capabilities(
        can_kill=True,
        can_stream=True,
        is_isolated=True,
        has_queue_timeout=True,
        has_resources=True,
        is_remote=True,
    )

    def __init__(
        self,
        address: str | None = None,
        *,
        resources: cluster.Resources | None = None,
        max_concurrency: int = MAX_CONCURRENCY,
        queue_timeout: float | None = None,
        max_retries: int = 0,
        limits: Limits | None = None,
    ) -> None:
        if max_concurrency < 1:
            raise SetupError(f"Ray(max_concurrency={max_concurrency}): it must be 1 or more")
        if (address or "").startswith("ray://"):
            raise SetupError(
                f"Ray({address!r}) is Ray's client mode, which cannot stop a task; pass the "
                "address of the head's control port, and run the program on a node"
            )
        self._address = address
        self._resources = {"num_cpus": 1, **(resources or {})}
        self._options = cluster.make_options(self._resources)
        self._limits = None if limits is None else dataclasses.asdict(limits)
        self._queue_timeout = queue_timeout
        self._max_retries = max_retries
        self._slots = CrossLoopSemaphore(max_concurrency)

    def check_tool(self, tool: AnyTool) -> None:
        """Check that a node can find and run the tool. See `Executor`."""
        check_sendable(tool, "Ray()")

    async def __call__(self, prepared: Prepared, context: ToolContext) -> object:
        """Run the body on a node; a cancel ends the body first."""
        tool, since = prepared.tool, time.monotonic()
        body, context.body_state = (
            context.body_state,
            "" if context.body_state == "runs" else context.body_state,
        )
        await self._slots.acquire_within(self._queue_timeout, tool.name)
        try:
            if not cluster.is_ready(self._resources):
                await asyncio.to_thread(self._check_cluster, tool)
            packed = json.dumps(
                {**make_request(prepared, context), "limits": self._limits}
            ).encode()
            call = _RayCall(context, body, packed, self._needs_stream(tool))
            tries = 1 + (self._max_retries if tool.effects.repeatable else 0)
            while True:
                tries -= 1
                answer = await self._run_once(call, since)
                if answer.get("kind") != DIED or not tries:
                    return read_outcome(tool, answer)
        finally:
            self._slots.release()

    def _check_cluster(self, tool: AnyTool) -> None:
        cluster.connect(self._address)
        if not cluster.has_node_with(self._resources):
            needs = ", ".join(f"{name}={number:g}" for name, number in self._resources.items())
            raise LimitReached(
                f"{tool.name!r} has not started: no node of the cluster has the resources it needs ({needs}). "
                "Waiting will not help."
            )

    def _needs_stream(self, tool: AnyTool) -> bool:
        """Return true if something must arrive before the call ends: reports, or the start."""
        reports = bool(tool.injected) or tool.body in ("generator", "async_generator")
        return reports or self._queue_timeout is not None

    async def _run_once(self, call: _RayCall, started_at: float) -> Message:
        """Submit a call's request once and return its outcome."""
        seconds = self._queue_timeout
        left = None if seconds is None else seconds - (time.monotonic() - started_at)
        sent = cluster.SubmittedTask(call.packed, self._options, call.is_streamed)
        try:
            async with asyncio.timeout(left) as waits:
                while True:
                    messages = await sent.next_messages()
                    if not waits.expired():
                        waits.reschedule(None)
                    if call.forward_reports(messages):
                        return messages[-1]
        except cluster.NodeLost as lost:
            call.mark_started()
            return {"kind": DIED, "text": str(lost), "details": {}}
        except TimeoutError:
            if await asyncio.shield(asyncio.ensure_future(sent.stop())):
                call.mark_started()
                text = "was ended, since it began too late,"
                return {"kind": DIED, "text": text, "details": {}}
            raise make_queue_timeout(call.context.tool_name, seconds or 0.0) from None
        except asyncio.CancelledError:
            if await asyncio.shield(asyncio.ensure_future(sent.stop())):
                call.mark_started()
            raise


class _RayCall:
    """A call being run by Ray.

    Args:
        context: The call's context.
        body: The context's `body` state once the body has started.
        packed: The request.
        is_streamed: Send the body's reports while it runs.
    """

    def __init__(self, context: ToolContext, body: _Body, packed: bytes, is_streamed: bool) -> None:
        self.context, self.packed, self.is_streamed = context, packed, is_streamed
        self._body: _Body = body

    def mark_started(self) -> None:
        """Record in the context that the body has started."""
        self.context.body_state = self._body

    def forward_reports(self, messages: Sequence[Message]) -> bool:
        """Pass the body's reports on. Return true if the last message is its outcome."""
        self.mark_started()
        for message in messages:
            forward_report(message, self.context)
        return is_outcome(messages[-1])
