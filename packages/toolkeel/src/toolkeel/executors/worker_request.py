"""A call as an order for another process: the tool by its import path, the arguments as JSON.

Nothing is pickled: the other side imports the module, takes the tool by its name there, and validates
the arguments again. An answer is a value, a message, or what went wrong; see `toolkeel.executors.worker`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from toolkeel._records.messages_json import load_message
from toolkeel.call.arguments.validate import as_json, drop_defaults
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Prepared, Tool
from toolkeel.errors import (
    Cancelled,
    Crashed,
    InvalidOutput,
    LimitReached,
    SetupError,
    TimedOut,
    ToolError,
)
from toolkeel.executors.frames import MOST, Message
from toolkeel.executors.worker import FAULT, LOADING, SCRIPT, TOO_LARGE
from toolkeel.messages import ToolMessage

DIED = "died"
"""Kind of an answer that says the body's process ended before it had a result."""


class ProcessError(Exception):
    """What a body raised in another process: the traceback from there."""


def check_sendable(tool: AnyTool, executor: str) -> None:
    """See that another process will find the tool, and can be given all it needs.

    Args:
        tool: The tool.
        executor: As the program wrote it, for the message.

    Raises:
        SetupError: naming what is in the way.
    """
    place_of(tool)
    for parameter in tool.injected:
        if not parameter.marker.crosses:
            raise SetupError(
                f"{tool.name}: {parameter.name} is injected, which a process of its own "
                f"cannot be given; leave it out, or leave out executor={executor}"
            )


def place_of(tool: AnyTool) -> tuple[str, str, str]:
    """Module, file and attribute where another process finds a tool.

    Raises:
        SetupError: it stands nowhere that can be named.
    """
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


def order_of(prepared: Prepared, context: ToolContext) -> Message:
    """What another process needs to run a call; plain JSON."""
    tool = prepared.tool
    module, file, attribute = place_of(tool)
    if hasattr(sys.modules.get(SCRIPT), LOADING):
        raise SetupError(
            f"{os.path.basename(file)} calls {tool.name} while a process of its own loads it to find "
            'its tools; put what it runs under  if __name__ == "__main__":'
        )
    if tool.timeout is not None:
        context.set_deadline(tool.timeout)
    return {
        "module": module,
        "file": file,
        "attribute": attribute,
        "name": tool.name,
        "id": context.call.id,
        "run": context.run.id,
        "key": context.idempotency_key,
        "seconds": context.time_left,
        "arguments": drop_defaults(as_json(prepared), tool),
    }


def tell(message: Message, context: ToolContext) -> None:
    """Pass on what a body reported from there: its progress, or a value."""
    if "emit" in message:
        context.emit(message["emit"])
    elif "progress" in message:
        context.progress(*message["progress"])


def value_of(tool: AnyTool, outcome: Message) -> object:
    """What a body gave, of the answer that came back.

    Args:
        tool: Which.
        outcome: See `toolkeel.executors.worker`; with what the body printed, as ``said``.

    Raises:
        CallError: as the body's own failures are told.
        SetupError: the other process cannot find or serve the tool.
    """
    if outcome.get("kind") == DIED:
        return unknown(tool, outcome["text"], outcome["details"])
    if "kind" in outcome:
        raise _error(tool, outcome, outcome.get("said", ""))
    return load_message(outcome["message"]) if "message" in outcome else outcome["value"]


def unknown(tool: AnyTool, how: str, details: dict[str, object]) -> ToolMessage:
    """What is told of a call whose process is gone.

    Args:
        tool: Which.
        how: What became of the process, as the end of a sentence about it.
        details: For the program.
    """
    text = (
        f"The process that ran {tool.name!r} {how} before it had a result. Whether it took effect "
        "is not known: look before you call it again."
    )
    return ToolMessage(text, "", tool.name, "error", "unknown_outcome", details=details)


def _error(tool: AnyTool, outcome: Message, said: str) -> Exception:
    kind: str = outcome["kind"]
    details: dict[str, object] = outcome.get("details") or {}
    if kind == FAULT:
        return SetupError(f"{tool.name}: {outcome['text']}")
    if kind == TOO_LARGE:
        return InvalidOutput(
            f"{tool.name!r} gave more than {MOST:,} bytes and was ended. This is a fault of "
            "the tool, not of the call; ask it for less."
        )
    for told in (ToolError, InvalidOutput, LimitReached, TimedOut, Cancelled):
        if kind == told.kind:
            return told(outcome["text"], details)
    crash = Crashed(outcome["text"], {**details, "stderr": said} if said else details)
    crash.__cause__ = ProcessError(f"{outcome['text']}\n\n{outcome['trace']}")
    return crash
