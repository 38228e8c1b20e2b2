"""What a node does for a call: it has the order carried out by a worker process, and tells of it.

This runs in a worker of Ray's, and needs nothing of Ray. The body runs below it, in a process as of
`toolkeel.executors.Process`: so it ends, with all that it started, when the call is cancelled, when it is
overdue, and when whatever stands above it dies.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from functools import cache

from toolkeel.executors.command_limits import Limits
from toolkeel.executors.frames import Message, TooLarge, pack
from toolkeel.executors.process import Process
from toolkeel.executors.worker import TOO_LARGE
from toolkeel.executors.worker_request import DIED

_BEAT = 0.02  # seconds for which what a body reports is gathered
_LATE = 2.0  # seconds after its deadline when a body is ended that nobody else has ended


def serve(packed: bytes) -> Iterator[bytes]:
    """Carry out an order; gives what the body reports, gathered, and its answer as the last.

    Args:
        packed: The order as JSON: as `toolkeel.executors.worker_request.order_of` makes it, with ``limits``.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # how Ray cancels; it may be ignored
    order = json.loads(packed)
    heard: list[Message] = []
    process = _process_of(json.dumps(order.pop("limits")))
    runner = _runner()
    going = runner.get_loop().create_task(_carry_out(process, order, heard))
    try:
        while not runner.run(_wait(going, heard)):
            batch, heard[:] = b"".join(map(pack, heard)), []
            yield batch
    except BaseException:
        going.cancel()
        runner.run(asyncio.wait((going,)))
        raise
    yield b"".join([*map(pack, heard), _outcome_frame(going)])


def serve_at_once(packed: bytes) -> bytes:
    """The same; what the body reports comes with its answer."""
    return b"".join(serve(packed))


async def _carry_out(process: Process, order: Message, heard: list[Message]) -> Message:
    seconds = order["seconds"]
    async with asyncio.timeout(None if seconds is None else seconds + _LATE):
        return await process.carry_out(order, 1, heard.append)


async def _wait(going: asyncio.Task[Message], heard: list[Message]) -> bool:
    """Wait until it has ended, or there is something to be told; whether it has ended."""
    while not going.done():
        await asyncio.wait((going,), timeout=_BEAT)
        if heard:
            break
    return going.done()


def _outcome_frame(going: asyncio.Task[Message]) -> bytes:
    try:
        return pack(going.result())
    except TooLarge:
        return pack({"kind": TOO_LARGE})
    except TimeoutError:
        return pack({"kind": DIED, "text": "was ended at its deadline", "details": {}})


@cache
def _runner() -> asyncio.Runner:
    """The event loop of this process of Ray's, which has one order at a time."""
    return asyncio.Runner()


@cache
def _process_of(limits: str) -> Process:
    """Workers of these limits, as many as Ray gives this process calls."""
    values = json.loads(limits)
    return Process(limits=None if values is None else Limits(**values))
