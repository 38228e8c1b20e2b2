"""The worker process: it reads requests from a socket, runs tool bodies, and answers with outcomes.

Requests arrive one at a time over one socket. Responses go back over it, and before each of them the
body's reports (progress and emitted values). What a body prints goes to a file of the pool. Nothing is
pickled: arguments are validated again here, and results travel as JSON values or saved messages.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import NoReturn
from weakref import WeakKeyDictionary

from pydantic_core import from_json, to_json

from toolkeel._records.messages_json import dump_message
from toolkeel._records.taint_sources import dump_sources, load_sources
from toolkeel.call.arguments.validate import prepare
from toolkeel.call.body.run_body import invoke
from toolkeel.call.result_message import render
from toolkeel.call.steps.label_sources import as_read_by_others, collect_sources
from toolkeel.context import ENCLOSING, RunContext, ToolContext
from toolkeel.define.tool import AnyTool
from toolkeel.errors import CallError, Crashed, SetupError, describe_error
from toolkeel.executors.frames import Message, MessageTooLarge, pack_message, receive_message
from toolkeel.executors.local import run_without_loop, without_executor
from toolkeel.messages import ToolCall

SETUP_ERROR = "setup_error"
"""Kind of an outcome: the tool was not found, or uses something that is not available here."""
TOO_LARGE = "too_large"
"""Kind of an outcome: it is too large to send."""
SCRIPT_MODULE, LOADING_FLAG = "__toolkeel_main__", "__toolkeel_loading__"
"""Module name of the program's script here, and a flag set in it while it is imported."""
IDLE_SECONDS = 60.0
"""Seconds without a request after which a worker exits."""
_MAX_JSON_INT: int = 10**sys.int_info.default_max_str_digits
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
Report = Callable[[Message], object]

_local_tools: WeakKeyDictionary[AnyTool, AnyTool] = WeakKeyDictionary()


def main() -> None:
    """Serve requests from the socket at standard input until it closes, or none comes for `IDLE_SECONDS`.

    Bodies read an empty standard input. Each request sets the working folder, and empties the files
    that are standard output and standard error.
    """
    line = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)  # a body that reads standard input gets an end of file
    _adopt_orphans()
    lock = threading.Lock()

    def send(message: Message) -> None:
        """Send a message to the parent process, from any thread."""
        data = pack_message(message)
        with lock:  # a body may report from several threads
            line.sendall(data)

    line.settimeout(IDLE_SECONDS)
    while (request := receive_message(line)) is not None:
        line.settimeout(None)
        for stream in (1, 2):
            os.ftruncate(stream, 0)
            os.lseek(stream, 0, os.SEEK_SET)
        os.chdir(request["folder"])
        outcome = _run_reporting(request, send)
        sys.stdout.flush()
        sys.stderr.flush()
        outcome["retire"] = _must_retire()
        try:
            send(outcome)
        except MessageTooLarge:
            send({"kind": TOO_LARGE, "retire": True})
        line.settimeout(IDLE_SECONDS)


def _adopt_orphans() -> None:
    """Become the parent of orphaned descendants, on Linux."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _must_retire() -> bool:
    """Return true if this process must not serve another call.

    That is so if the last body left child processes, or half of the processor time is used up.
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


def run_request(request: Message, tool: AnyTool | None = None) -> Message:
    """Run a request in this process. Return its outcome, with the body's reports in it.

    Args:
        request: See `toolkeel.executors.worker_request.make_request`.
        tool: The tool, if the request comes from this process and does not say where to import it;
            else it is imported.
    """
    reported: list[Message] = []
    return {**_run_reporting(request, reported.append, tool), "reported": reported}


def _run_reporting(request: Message, report: Report, tool: AnyTool | None = None) -> Message:
    """Run a request, and return its outcome: a value, a message, or why it failed. Nothing is raised.

    Args:
        request: See `toolkeel.executors.worker_request.make_request`.
        report: Called with each report of the body; the first says that the body starts.
        tool: See `run_request`.
    """
    try:
        found: AnyTool = tool or getattr(
            _load_module(request["module"], request["file"]), request["attribute"]
        )
    except BaseException as error:
        text = f"its process cannot import it: {describe_error(error)}"
        return {"kind": SETUP_ERROR, "text": text, "trace": _format_traceback(error)}
    report({"started": True})
    try:
        return _run_body(found, request, report)
    except BaseException as error:
        return _describe_failure(error)


def _load_module(name: str, file: str) -> ModuleType:
    """Import the module a tool is defined in: by name if the name leads to its file, else by file.

    Another machine may have the module elsewhere: where the file does not exist, the name is enough.

    Raises `ImportError` for a file that is not Python, and what the module itself raises.
    """
    by_name = name != "__main__" and not os.path.exists(file)
    loaded = sys.modules.get(SCRIPT_MODULE if name == "__main__" else name)
    if loaded is not None and (by_name or getattr(loaded, "__file__", None) == file):
        return loaded
    spec = None if name == "__main__" else _find_spec(name)
    if spec is not None and (by_name or spec.origin == file):
        return importlib.import_module(name)
    name = SCRIPT_MODULE if name == "__main__" else name
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no file of Python")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    vars(module)[LOADING_FLAG] = True
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    del vars(module)[LOADING_FLAG]
    return module


def _find_spec(name: str) -> importlib.machinery.ModuleSpec | None:
    """Return a module's import spec, or None if it, or a package around it, cannot be found; import these packages."""
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


class RemoteContext(ToolContext):
    """The part of a call's context that a body in another process can use; other parts raise `SetupError`.

    Args:
        call: The call.
        request: The request it came in.
        report: Called with each report.
    """

    __slots__ = ("_idempotency_key", "_send_report")

    def __init__(self, call: ToolCall, request: Message, report: Report) -> None:
        run: RunContext = RunContext()
        run.id = request["run"]
        for source in load_sources(request):
            run.get_taint().add(source)
        super().__init__(call, call.name, run)
        self._idempotency_key: str = request["key"]
        self._send_report = report
        if request["seconds"] is not None:
            self.set_deadline(request["seconds"])

    @property
    def idempotency_key(self) -> str:
        """See `ToolContext`."""
        return self._idempotency_key

    def progress(
        self, message: str = "", done: float | None = None, total: float | None = None
    ) -> None:
        """Report progress. See `ToolContext`."""
        self._send_report({"progress": [message, done, total]})

    def emit(self, value: object) -> None:
        """Emit a value. See `ToolContext`. It is sent as JSON.

        Raises:
            SetupError: if the value has no JSON form.
        """
        if not _is_json(value):
            raise SetupError(f"emit({value!r:.80}) in another process: pass plain JSON data")
        self._send_report({"emit": value})


def _raise_unavailable(context: ToolContext) -> NoReturn:
    """Raise `SetupError`: this part of the context does not exist in another process."""
    raise SetupError(
        "in another process, a context has only the call, progress, emit, time_left and "
        "idempotency_key: pass the rest as arguments, or remove executor="
    )


for _name in ("deps", "state", "update", "messages", "store", "agent", "usage"):
    setattr(RemoteContext, _name, property(_raise_unavailable))


def _run_body(tool: AnyTool, request: Message, report: Report) -> Message:
    """Run the body of a request; return its value, or the rendered message if it is not JSON.

    Raises as `prepare`, `invoke` and `render`.
    """
    here = _local_tools.get(tool)
    if here is None or here.name != request["name"]:
        here = _local_tools[tool] = without_executor(tool, name=request["name"])
    call = ToolCall(request["id"], request["name"], request["arguments"])
    prepared = prepare(call, here)
    context = RemoteContext(call, request, report)
    with _forward_sources(context, report):
        if here.body in ("async", "async_generator"):
            value = asyncio.run(invoke(prepared, context))
        else:
            value = run_without_loop(prepared, context)
    if _is_json(value):
        return {"value": value}
    return {"message": dump_message(render(prepared, value, 0.0))}


@contextmanager
def _forward_sources(context: RemoteContext, report: Report) -> Iterator[None]:
    """Make a call the enclosing one of a block, unless there is one, then report what the block has read."""
    enclosing = ENCLOSING.get()
    if enclosing is None:
        ENCLOSING.set(context)
    with collect_sources() as read:
        try:
            yield
        finally:
            ENCLOSING.set(enclosing)
            context.end()
            if read:
                report({"taint": dump_sources(as_read_by_others(read))})


def _is_json(value: object, depth: int = 50) -> bool:
    """Return True if JSON restores exactly this value, and it is nested at most `depth` levels."""
    if type(value) is list:
        return depth > 0 and all(_is_json(item, depth - 1) for item in value)
    if type(value) is dict:
        keys = all(type(key) is str for key in value)
        return depth > 0 and keys and all(_is_json(item, depth - 1) for item in value.values())
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is int:
        return abs(value) < _MAX_JSON_INT
    return value is None or type(value) in (str, bool)


def _describe_failure(error: BaseException) -> Message:
    """Return an exception as an outcome: kind, text, traceback and details."""
    cause = error.__cause__
    if isinstance(error, SetupError):
        return {"kind": SETUP_ERROR, "text": str(error), "trace": _format_traceback(error)}
    if isinstance(error, Crashed) and cause is not None:
        error = cause
    elif isinstance(error, CallError):
        details = from_json(to_json(dict(error.details), fallback=str, inf_nan_mode="strings"))
        return {"kind": error.kind, "text": error.text, "trace": "", "details": details}
    return {"kind": "crashed", "text": describe_error(error), "trace": _format_traceback(error)}


def _format_traceback(error: BaseException) -> str:
    """Return the last 20,000 characters of an exception's traceback."""
    return "".join(traceback.format_exception(error))[-20_000:]
