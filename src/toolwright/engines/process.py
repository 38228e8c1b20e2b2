"""Tools whose body runs in a process of its own, so that its deadline truly ends it.

::

    @tool(executor=Process(), timeout=10)
    def crunch(data: str) -> str: ...

A body in a thread can only be left behind when its time is up: Python has no way to end a thread
that is inside of C code, such as a regular expression without end. A process is killed, with all
that it started. It costs the start of a Python, some tenths of a second, and what the body may be
given: arguments and results cross as JSON, never pickled, and nothing is injected but the call's id.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from toolwright.agent.saved import load_message
from toolwright.call.validate import as_json
from toolwright.context import ToolContext
from toolwright.define.inject import InjectedToolCallId
from toolwright.define.tool import AnyTool, Prepared, Tool
from toolwright.engines.running import Finished
from toolwright.engines.sandbox import Limits, Sandbox
from toolwright.engines.worker import FAULT
from toolwright.errors import CallError, Crashed, InvalidOutput, SetupError, ToolError
from toolwright.messages import ToolMessage

WIDTH = 8
MAX_ANSWER = 64 << 20
"""Bytes of result and prints together."""
_START = "import sys; sys.path = sys.argv[1:]; from toolwright.engines.worker import main; main()"
_LIBRARY = Path(__file__).parents[2]


class ProcessError(Exception):
    """What a body raised in its process: the traceback from there."""


class Process:
    """An executor: a process for each call.

    The tool must be a name at the top of a module or script, where the process finds it again.

    Args:
        sandbox: What confines the process; by default nothing but `limits` does. Files of the
            library and of the tool can be read in it, too.
        limits: What it may use at most; for a process without a sandbox.
        width: How many processes may run at once; further calls wait, under their deadline.

    Raises:
        SetupError: if there is no way here to start such processes (on Windows).

    >>> from toolwright import tool
    >>> @tool(executor=Process(), timeout=10)
    ... def crunch(data: str) -> str:
    ...     "Work hard."
    """

    def __init__(
        self, sandbox: Sandbox | None = None, *, limits: Limits | None = None, width: int = WIDTH
    ) -> None:
        self._bare = sandbox is None or sandbox.mode == "off"
        self._sandbox = sandbox or Sandbox("off", [_LIBRARY], limits=limits)
        self._width = width
        self._rooms: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]
        self._rooms = WeakKeyDictionary()

    def check_tool(self, tool: AnyTool) -> None:
        """See that a process will find the tool and can be given all it needs.

        Raises:
            SetupError: naming what is in the way.
        """
        _place(tool)
        for parameter in tool.injected:
            if not isinstance(parameter.marker, InjectedToolCallId):
                raise SetupError(
                    f"{tool.name}: {parameter.name} is injected, which a process of its own "
                    "cannot be given; leave it out, or leave out executor=Process()"
                )

    async def __call__(self, prepared: Prepared, context: ToolContext[Any]) -> object:
        """Run the body; when this is cancelled, the process is killed before it ends."""
        tool = prepared.tool
        module, file, attribute = _place(tool)
        order = {
            "module": module,
            "file": file,
            "attribute": attribute,
            "name": tool.name,
            "id": context.call.id,
            "arguments": as_json(prepared),
        }
        sandbox = (
            self._sandbox if self._bare else self._sandbox.reading(_LIBRARY, Path(file).parent)
        )
        room = self._rooms.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._width))
        async with room:
            finished = await sandbox.run(
                [sys.executable, "-I", "-c", _START, *map(os.path.abspath, sys.path)],
                cwd=os.getcwd() if self._bare else None,
                stdin=json.dumps(order).encode(),
                max_output=MAX_ANSWER,
            )
        return _result(tool, finished)


def _place(tool: AnyTool) -> tuple[str, str, str]:
    """Module, file and attribute where a process finds a tool."""
    function: Any = tool.function
    name = getattr(function, "__module__", None) or ""
    module = sys.modules.get(name)
    file = os.path.abspath(getattr(module, "__file__", None) or "")
    spec = getattr(module, "__spec__", None)
    if name == "__main__" and spec is not None:  # started by python -m
        name = spec.name
    for attribute, value in vars(module).items() if module is not None else ():
        if isinstance(value, Tool) and value.function is function:
            if not os.path.isfile(file):
                break
            return name, file, attribute
    raise SetupError(
        f"{tool.name}: a process of its own cannot find it; define it with @tool at the top of a "
        "module or script, not inside of a function, a class or a notebook"
    )


def _result(tool: AnyTool, finished: Finished) -> object:
    said = finished.stderr[-20_000:].decode("utf-8", "replace")
    if finished.ended == "output":
        raise InvalidOutput(
            f"{tool.name!r} gave more than {MAX_ANSWER:,} bytes and was ended. This is a fault of "
            "the tool, not of the call; ask it for less."
        )
    try:
        answer = json.loads(finished.stdout)
    except ValueError:
        return _died(tool, finished, said)
    if "kind" in answer:
        raise _error(tool, answer, said)
    return load_message(answer["message"]) if "message" in answer else answer["value"]


def _died(tool: AnyTool, finished: Finished, said: str) -> ToolMessage:
    how = f"was killed by {finished.signal}" if finished.signal else f"exited ({finished.code})"
    text = (
        f"The process that ran {tool.name!r} {how} before it had a result. Whether it took effect "
        "is not known: look before you call it again."
    )
    details = {"exit_code": finished.code, "signal": finished.signal, "stderr": said}
    return ToolMessage(text, "", tool.name, "error", "unknown_outcome", details=details)


def _error(tool: AnyTool, answer: dict[str, Any], said: str) -> Exception:
    kind: str = answer["kind"]
    details: dict[str, object] = answer.get("details") or {}
    if kind == FAULT:
        return SetupError(f"{tool.name}: its process cannot load it: {answer['text']}")
    told: dict[str, type[CallError]] = {"tool_error": ToolError, "invalid_output": InvalidOutput}
    if kind in told:
        return told[kind](answer["text"], details)
    crash = Crashed(answer["text"], {**details, "stderr": said} if said else details)
    crash.__cause__ = ProcessError(f"{answer['text']}\n\n{answer['trace']}")
    return crash
