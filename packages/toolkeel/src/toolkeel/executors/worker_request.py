"""A call as a request for another process: the tool by import path, the arguments as JSON.

Nothing is pickled: the other process imports the module, finds the tool by its name and validates the
arguments again. An outcome is a value, a message, or an error; see `toolkeel.executors.worker`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from toolkeel._records.messages_json import load_message
from toolkeel._records.taint_sources import dump_sources
from toolkeel.call.arguments.canonical_arguments import as_json, drop_defaults
from toolkeel.call.steps.label_sources import record_stated
from toolkeel.call.stored_labels import labels_to_store
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
from toolkeel.executors.frames import MAX_MESSAGE_BYTES, Message
from toolkeel.executors.worker import LOADING_FLAG, SCRIPT_MODULE, SETUP_ERROR, TOO_LARGE
from toolkeel.messages import ToolMessage

DIED = "died"
"""Kind of an outcome: the body's process ended before it had a result."""


class ProcessError(Exception):
    """Error with the traceback from another process; the cause of a `Crashed`."""


def check_sendable(tool: AnyTool, executor: str, *, is_local: bool = False) -> None:
    """Check that another process can find a tool and receive all it needs.

    Args:
        tool: The tool.
        executor: The executor as source code, for the message.
        is_local: The body runs in a thread of this process, which has the tool.

    Raises:
        SetupError: naming the obstacle.
    """
    if not is_local:
        locate_tool(tool)
    for parameter in tool.injected:
        if not parameter.marker.crosses_processes:
            raise SetupError(
                f"{tool.name}: {parameter.name} is injected, which is not possible in "
                f"another process; remove the parameter, or remove executor={executor}"
            )


def locate_tool(tool: AnyTool) -> tuple[str, str, str]:
    """Return the module, file and attribute where another process finds a tool.

    Raises:
        SetupError: if the tool is no attribute of an importable module.
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
    archive = getattr(getattr(spec, "loader", None), "archive", "")
    if archive:
        raise SetupError(
            f"{tool.name}: its module {name} was imported from the archive {archive}, where another "
            "process cannot find it; install the module in a folder"
        )
    raise SetupError(
        f"{tool.name}: another process cannot find it; define it with @tool at the top level of a "
        "module or script, not inside a function, a class or a notebook"
    )


def make_request(prepared: Prepared, context: ToolContext, *, is_local: bool = False) -> Message:
    """Return a call as plain JSON, for another process. Its deadline starts now.

    Args:
        prepared: The call.
        context: Its context.
        is_local: See `check_sendable`. The request then does not say where the tool is.

    Raises:
        SetupError: this process is itself importing the script to find its tools.
    """
    tool = prepared.tool
    module, file, attribute = ("", "", "") if is_local else locate_tool(tool)
    if hasattr(sys.modules.get(SCRIPT_MODULE), LOADING_FLAG):
        raise SetupError(
            f"{os.path.basename(file)} calls {tool.name} while another process imports it to find "
            'its tools; put the code it runs under  if __name__ == "__main__":'
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
        "taint": dump_sources(labels_to_store()),
    }


def forward_report(message: Message, context: ToolContext) -> None:
    """Pass a report of the body (progress, a value, what it has read) to the call's context; ignore others."""
    if "taint" in message:
        record_stated(message, context)
    elif "emit" in message:
        context.emit(message["emit"])
    elif "progress" in message:
        context.progress(*message["progress"])


def read_outcome(tool: AnyTool, outcome: Message) -> object:
    """Return the body's value from a worker's outcome.

    Args:
        tool: The tool.
        outcome: See `toolkeel.executors.worker`; ``printed`` is what the body printed.

    Returns:
        The value; or a `ToolMessage` if the process died and the outcome is unknown.

    Raises:
        CallError: the body failed.
        SetupError: the other process cannot find or serve the tool.
    """
    if outcome.get("kind") == DIED:
        return make_unknown_outcome(tool, outcome["text"], outcome["details"])
    if "kind" in outcome:
        raise _make_error(tool, outcome, outcome.get("printed", ""))
    return load_message(outcome["message"]) if "message" in outcome else outcome["value"]


def make_unknown_outcome(tool: AnyTool, how: str, details: dict[str, object]) -> ToolMessage:
    """Build the result for a call whose process died.

    Args:
        tool: The tool.
        how: What happened to the process, as a verb phrase: ``exited (1)``.
        details: For the program.
    """
    text = (
        f"The process that ran {tool.name!r} {how} before it had a result. It is not known "
        "if it took effect: check before you call it again."
    )
    return ToolMessage(text, "", tool.name, "error", "unknown_outcome", details=details)


def _make_error(tool: AnyTool, outcome: Message, printed: str) -> Exception:
    """Build the exception that a worker's outcome describes; a crash has its traceback in its cause."""
    kind: str = outcome["kind"]
    details: dict[str, object] = outcome.get("details") or {}
    if kind == SETUP_ERROR:
        return SetupError(f"{tool.name}: {outcome['text']}")
    if kind == TOO_LARGE:
        return InvalidOutput(
            f"{tool.name!r} returned more than {MAX_MESSAGE_BYTES:,} bytes and was ended. This is an error of "
            "the tool, not of the call; ask it for less."
        )
    for error_type in (ToolError, InvalidOutput, LimitReached, TimedOut, Cancelled):
        if kind == error_type.kind:
            return error_type(outcome["text"], details)
    crash = Crashed(outcome["text"], {**details, "stderr": printed} if printed else details)
    crash.__cause__ = ProcessError(f"{outcome['text']}\n\n{outcome['trace']}")
    return crash
