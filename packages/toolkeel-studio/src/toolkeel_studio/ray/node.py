"""What runs on a node for a call: the request, handed to a worker process, and its reports.

This code runs in a worker of Ray's and uses nothing of Ray. The body runs in a process below it, as with
`toolkeel.executors.Process`: so it ends, with all its children, when the call is cancelled, when it is
overdue, and when its parent dies.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from functools import cache

from toolkeel.executors.command_limits import Limits
from toolkeel.executors.frames import Message, MessageTooLarge, pack_message
from toolkeel.executors.process import Process
from toolkeel.executors.worker import TOO_LARGE
from toolkeel.executors.worker_request import DIED

_BATCH_SECONDS = 0.02  # seconds of reports sent in one batch
_GRACE_SECONDS = 2.0  # seconds after its deadline at which a body is ended here


def stream_request(packed: bytes) -> Iterator[bytes]:
    """Run a request. Yield the body's reports in batches, and its outcome last.

    Args:
        packed: As JSON: from `toolkeel.executors.worker_request.make_request`, with ``limits``.
    """
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # Ray cancels by SIGINT, which may be ignored by default
    request = json.loads(packed)
    reports: list[Message] = []
    process = _get_process(json.dumps(request.pop("limits")))
    runner = _get_runner()
    task = runner.get_loop().create_task(_run_in_process(process, request, reports))
    try:
        while not runner.run(_wait_for_reports(task, reports)):
            batch, reports[:] = b"".join(map(pack_message, reports)), []
            yield batch
    except BaseException:
        task.cancel()
        runner.run(asyncio.wait((task,)))
        raise
    yield b"".join([*map(pack_message, reports), _pack_outcome(task)])


def run_request(packed: bytes) -> bytes:
    """Run a request. Return the body's reports and its outcome together."""
    return b"".join(stream_request(packed))


async def _run_in_process(process: Process, request: Message, reports: list[Message]) -> Message:
    seconds = request["seconds"]
    async with asyncio.timeout(None if seconds is None else seconds + _GRACE_SECONDS):
        return await process.run_request(request, 1, reports.append)


async def _wait_for_reports(task: asyncio.Task[Message], reports: list[Message]) -> bool:
    """Wait until the task is done or has reports. Return true if it is done."""
    while not task.done():
        await asyncio.wait((task,), timeout=_BATCH_SECONDS)
        if reports:
            break
    return task.done()


def _pack_outcome(task: asyncio.Task[Message]) -> bytes:
    try:
        return pack_message(task.result())
    except MessageTooLarge:
        return pack_message({"kind": TOO_LARGE})
    except TimeoutError:
        return pack_message({"kind": DIED, "text": "was ended at its deadline", "details": {}})


@cache
def _get_runner() -> asyncio.Runner:
    """Return the event loop of this process of Ray's, which runs one request at a time."""
    return asyncio.Runner()


@cache
def _get_process(limits: str) -> Process:
    """Return the executor with these limits."""
    values = json.loads(limits)
    return Process(limits=None if values is None else Limits(**values))
