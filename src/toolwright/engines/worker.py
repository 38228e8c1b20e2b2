"""The process that runs one body: it reads an order, runs it, and writes what became of it.

The order is one JSON object on standard input, the answer one on standard output; what the body
prints goes to standard error. Nothing is pickled either way: arguments are validated here again,
and results cross as JSON values, or as a saved conversation holds them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import importlib.machinery
import importlib.util
import json
import math
import os
import sys
import traceback
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from pydantic_core import from_json, to_json

from toolwright.agent.saved import dump_message
from toolwright.call.invoke import invoke
from toolwright.call.render import render
from toolwright.call.validate import prepare
from toolwright.context import Run, ToolContext
from toolwright.errors import CallError, Crashed, describe
from toolwright.messages import ToolCall

FAULT = "fault"
"""Kind of an answer that says the tool itself could not be found."""


def main() -> None:
    """Run the order."""
    order = json.load(sys.stdin.buffer)
    answers = os.dup(1)
    os.dup2(2, 1)  # prints, also those of libraries in C, shall not look like an answer
    answer = json.dumps(_answer(order)).encode()  # what no UTF-8 can carry is escaped
    sys.stdout.flush()
    with os.fdopen(answers, "wb") as file:
        file.write(answer)


def _answer(order: Mapping[str, Any]) -> dict[str, object]:
    try:
        tool = getattr(_module(order["module"], order["file"]), order["attribute"])
    except BaseException as error:
        return {"kind": FAULT, "text": describe(error), "trace": _trace_of(error)}
    try:
        return _run(tool, order)
    except BaseException as error:
        return _told(error)


def _module(name: str, file: str) -> ModuleType:
    """The module a tool is defined in: by its name if that leads to its file, else by the file."""
    spec = None if name == "__main__" else _spec(name)
    if spec is not None and (not file or spec.origin == file):
        return importlib.import_module(name)
    name = "__toolwright_main__" if name == "__main__" else name
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no file of Python")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _spec(name: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def _run(tool: Any, order: Mapping[str, Any]) -> dict[str, object]:
    here = dataclasses.replace(tool, name=order["name"], executor=None, timeout=None)
    call = ToolCall(order["id"], order["name"], order["arguments"])
    prepared = prepare(call, here)
    context: ToolContext[Any] = ToolContext(call, here.name, Run())
    value = asyncio.run(invoke(prepared, context))
    if _is_json(value):
        return {"value": value}
    return {"message": dump_message(render(prepared, value, 0.0))}


def _is_json(value: object, depth: int = 50) -> bool:
    """Whether JSON brings exactly this back."""
    if type(value) is list:
        return depth > 0 and all(_is_json(item, depth - 1) for item in value)
    if type(value) is dict:
        keys = all(type(key) is str for key in value)
        return depth > 0 and keys and all(_is_json(item, depth - 1) for item in value.values())
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in (str, int, bool)


def _told(error: BaseException) -> dict[str, object]:
    cause = error.__cause__
    if isinstance(error, Crashed) and cause is not None:
        error = cause
    elif isinstance(error, CallError):
        details = from_json(to_json(dict(error.details), fallback=str, inf_nan_mode="strings"))
        return {"kind": error.kind, "text": error.text, "trace": "", "details": details}
    return {"kind": "crashed", "text": describe(error), "trace": _trace_of(error)}


def _trace_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-20_000:]
