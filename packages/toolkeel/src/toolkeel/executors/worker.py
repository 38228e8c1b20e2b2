"""The process that runs bodies: it reads an order, runs it, and answers what became of it.

Orders come in over one socket, one after the other; answers go back the same way, and before each what
the body reports (its progress, values it emits). What a body prints goes to a file of the pool. Nothing
is pickled either way: arguments are validated here again, and results cross as JSON values, or as a
saved conversation holds them.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.machinery
import importlib.util
import math
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import NoReturn
from weakref import WeakKeyDictionary

from pydantic_core import from_json, to_json

from toolkeel._records.messages_json import dump_message
from toolkeel.call.arguments.validate import prepare
from toolkeel.call.body.run_body import invoke
from toolkeel.call.result_message import render
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import AnyTool
from toolkeel.errors import CallError, Crashed, SetupError, describe
from toolkeel.executors.frames import Message, TooLarge, pack, receive
from toolkeel.executors.local import moved, run_by_hand
from toolkeel.messages import ToolCall

FAULT = "fault"
"""Kind of an answer that says the tool itself could not be found, or asks for what is not here."""
TOO_LARGE = "too_large"
"""Kind of an answer that says there is too much of it."""
SCRIPT, LOADING = "__toolkeel_main__", "__toolkeel_loading__"
"""What the program's script is called here, and what stands in it while it is loaded."""
IDLE = 60.0
"""Seconds after which a worker leaves that nobody asks for anything."""
_TOO_LONG: int = 10**sys.int_info.default_max_str_digits
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
Tell = Callable[[Message], object]

_tools: WeakKeyDictionary[AnyTool, AnyTool] = WeakKeyDictionary()


def main() -> None:
    """Serve orders from the socket at standard input until it ends, or nobody asks any more."""
    line = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)  # a body that reads shall find nothing
    _adopt_orphans()
    lock = threading.Lock()

    def send(message: Message) -> None:
        data = pack(message)
        with lock:  # a body may report from several threads
            line.sendall(data)

    line.settimeout(IDLE)
    while (order := receive(line)) is not None:
        line.settimeout(None)
        for stream in (1, 2):
            os.ftruncate(stream, 0)
            os.lseek(stream, 0, os.SEEK_SET)
        os.chdir(order["folder"])
        outcome = _run_order(order, send)
        sys.stdout.flush()
        sys.stderr.flush()
        outcome["spent"] = _spent()
        try:
            send(outcome)
        except TooLarge:
            send({"kind": TOO_LARGE, "spent": True})
        line.settimeout(IDLE)


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _spent() -> bool:
    """Whether this process must not serve another call: something of the last one lives on in it,
    or it has used up half of its processor time.
    """
    import resource  # late: Windows has none

    most = resource.getrlimit(resource.RLIMIT_CPU)[0]
    if most != resource.RLIM_INFINITY and time.process_time() > most / 2:
        return True
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def run_order(order: Message) -> Message:
    """Carry out an order in whatever process this is; what the body reports is in the answer."""
    reported: list[Message] = []
    return {**_run_order(order, reported.append), "reported": reported}


def _run_order(order: Message, tell: Tell) -> Message:
    """Carry out an order.

    Args:
        order: See `toolkeel.executors.worker_request.order_of`.
        tell: Takes what the body reports; first of all that it begins.
    """
    try:
        tool = getattr(_module(order["module"], order["file"]), order["attribute"])
    except BaseException as error:
        text = f"its process cannot load it: {describe(error)}"
        return {"kind": FAULT, "text": text, "trace": _trace_of(error)}
    tell({"begun": True})
    try:
        return _run(tool, order, tell)
    except BaseException as error:
        return _failure(error)


def _module(name: str, file: str) -> ModuleType:
    """The module a tool is defined in: by its name if that leads to its file, else by the file.

    Another machine may have it in another place: where there is no such file, its name is enough.
    """
    by_name = name != "__main__" and not os.path.exists(file)
    loaded = sys.modules.get(SCRIPT if name == "__main__" else name)
    if loaded is not None and (by_name or getattr(loaded, "__file__", None) == file):
        return loaded
    spec = None if name == "__main__" else _spec(name)
    if spec is not None and (by_name or spec.origin == file):
        return importlib.import_module(name)
    name = SCRIPT if name == "__main__" else name
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no file of Python")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    vars(module)[LOADING] = True
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    del vars(module)[LOADING]
    return module


def _spec(name: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


class AwayContext(ToolContext):
    """What a body in another process may see of its call; the rest stays with the run.

    Args:
        call: The call.
        order: It came with.
        tell: Takes what is reported.
    """

    __slots__ = ("_key", "_tell")

    def __init__(self, call: ToolCall, order: Message, tell: Tell) -> None:
        run: RunContext = RunContext()
        run.id = order["run"]
        super().__init__(call, call.name, run)
        self._key: str = order["key"]
        self._tell = tell
        if order["seconds"] is not None:
            self.set_deadline(order["seconds"])

    @property
    def idempotency_key(self) -> str:
        """See `ToolContext`."""
        return self._key

    def progress(
        self, message: str = "", done: float | None = None, total: float | None = None
    ) -> None:
        """See `ToolContext`."""
        self._tell({"progress": [message, done, total]})

    def emit(self, value: object) -> None:
        """See `ToolContext`; the value crosses as JSON.

        Raises:
            SetupError: it has no JSON form.
        """
        if not _is_json(value):
            raise SetupError(f"emit({value!r:.80}) in another process: give it plain JSON data")
        self._tell({"emit": value})


def _stays(context: ToolContext) -> NoReturn:
    raise SetupError(
        "a body in another process has of its context the call, progress, emit, time_left and "
        "idempotency_key; the rest stays with the run: give it as arguments, or leave out executor="
    )


for _name in ("deps", "state", "update", "messages", "store", "agent", "usage"):
    setattr(AwayContext, _name, property(_stays))


def _run(tool: AnyTool, order: Message, tell: Tell) -> Message:
    here = _tools.get(tool)
    if here is None or here.name != order["name"]:
        here = _tools[tool] = moved(tool, name=order["name"])
    call = ToolCall(order["id"], order["name"], order["arguments"])
    prepared = prepare(call, here)
    context = AwayContext(call, order, tell)
    if here.body in ("async", "async_generator"):
        value = asyncio.run(invoke(prepared, context))
    else:
        value = run_by_hand(prepared, context)
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
    if type(value) is int:
        return abs(value) < _TOO_LONG
    return value is None or type(value) in (str, bool)


def _failure(error: BaseException) -> Message:
    cause = error.__cause__
    if isinstance(error, SetupError):
        return {"kind": FAULT, "text": str(error), "trace": _trace_of(error)}
    if isinstance(error, Crashed) and cause is not None:
        error = cause
    elif isinstance(error, CallError):
        details = from_json(to_json(dict(error.details), fallback=str, inf_nan_mode="strings"))
        return {"kind": error.kind, "text": error.text, "trace": "", "details": details}
    return {"kind": "crashed", "text": describe(error), "trace": _trace_of(error)}


def _trace_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-20_000:]
