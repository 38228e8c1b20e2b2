"""A tool that runs Python the model writes: computing, files, plots, and calls of other tools.

By default the code runs in pydantic-monty, a Python without access to the machine and with limits built
in. With ``python="sandbox"`` it runs in a real Python with its packages, and only in a sandbox: without
one, nothing runs.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Literal

from toolkeel._common.checked_arguments import checked
from toolkeel.call.body.start_thread import run_beside
from toolkeel.call.failure_message import TEXT_LIMIT
from toolkeel.call.toolset import Toolish, Toolset
from toolkeel.call.truncate import shorten
from toolkeel.content import Block, Image, Text
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.effects import LABELS, Effects
from toolkeel.errors import SetupError, ToolError
from toolkeel.hosted import Hosted, Native, Where
from toolkeel.messages import ToolOutput
from toolkeel_workspace.code.code_limits import (
    MAX_CODE_CHARS,
    CodeLimits,
    ExecutionResult,
    Interpreter,
)
from toolkeel_workspace.code.folder import CodeFolder, FileSource, WrittenFile
from toolkeel_workspace.code.tools import CodeTools
from toolkeel_workspace.sandbox.confine import Network
from toolkeel_workspace.sandbox.secret_files import SecretFiles

Python = Literal["monty", "sandbox"]
_INTERPRETERS: Mapping[Python, str] = {
    "monty": "toolkeel_workspace.code.monty:MontyInterpreter",
    "sandbox": "toolkeel_workspace.code.kernel:KernelInterpreter",
}
_NATIVE = {"type": "code_interpreter", "container": {"type": "auto"}}


SANDBOX_LIMITS = CodeLimits(compute_seconds=60.0, total_seconds=300.0, memory_bytes=4 << 30)
"""Default limits with real Python, whose packages need memory."""


@checked
class CodeInterpreterTool:
    """Runs Python. Later calls of the same run find what earlier ones defined.

    Args:
        tools: Tools that the code can call as functions, each call through their pipeline; only with
            ``python="monty"``.
        python: ``monty``: a small Python of its own, without packages. ``sandbox``: the real one,
            with the installed packages.
        limits: Limits on code.
        files: Initial files of its folder: a name, and bytes or the path of a file to copy.
        folder: Where code works; by default a temporary folder, removed with the run.
        network: What real Python can reach, as for `Sandbox`.
        where: Who runs the code if the provider can: by default it runs here. Tools and files are
            only available here.

    Raises:
        SetupError: real Python is combined with tools, or a file is missing.
    """

    def __init__(
        self,
        tools: Toolset | Iterable[Toolish] = (),
        *,
        python: Python = "monty",
        limits: CodeLimits | None = None,
        files: Mapping[str, FileSource] | None = None,
        folder: str | os.PathLike[str] | None = None,
        network: Network = False,
        where: Where = "local",
    ) -> None:
        if python not in ("monty", "sandbox"):
            raise SetupError(f"CodeInterpreterTool: python is 'monty' or 'sandbox', not {python!r}")
        self._tools = CodeTools(tools)
        if self._tools and python != "monty":
            raise SetupError(
                "CodeInterpreterTool: code calls tools with python='monty' only; leave tools out"
            )
        self.python: Python = python
        self.limits = limits or (CodeLimits() if python == "monty" else SANDBOX_LIMITS)
        self.where: Where = where
        self._files = dict(files or {})
        self._folder = folder
        self._network = network
        self._sessions: dict[str, _Session] = {}
        _import_interpreter(python)  # a missing package raises now

    def __repr__(self) -> str:
        return f"CodeInterpreterTool(python={self.python!r})"

    @functools.cached_property
    def tool(self) -> AnyTool:
        """The tool, and its hosted counterparts of providers that run code themselves."""
        natives: dict[Any, Native] = {
            "openai-responses": Native(_NATIVE, include=("code_interpreter_call.outputs",)),
            "anthropic": Native({"type": "code_execution_20250825", "name": "code_execution"}),
            "gemini": Native({"code_execution": {}}),
        }
        return tool(
            "code_interpreter",
            description=self._describe(),
            # Tools that code calls are judged one by one; without a network it has no other way out.
            effects=Effects(
                open_world=bool(self._network),
                private=self._folder is not None or bool(self._files),
                stranger=bool(self._network),
                safe_after=() if self._network else LABELS,
            ),
            timeout=self.limits.total_seconds,
            sequential=True,
            hosted=Hosted(natives, self.where),
            max_output=None,
        )(self._run_code)

    async def aclose(self) -> None:
        """End all interpreters; an agent's run ends its own."""
        for session in list(self._sessions.values()):
            await session.aclose()
        self._sessions.clear()

    async def __aenter__(self) -> CodeInterpreterTool:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _describe(self) -> str:
        parts = [
            "Run Python. What you define stays for later calls. The value of the last line and "
            "whatever is printed are shown."
        ]
        if self.python == "monty":
            parts.append(
                "It is a small Python: no third-party packages, no network, and of the standard "
                "library only the likes of math, json, re, datetime, random, asyncio, pathlib."
            )
        else:
            parts.append("Plots made with matplotlib are shown.")
        parts.append("Files are in the working folder.")
        if self._files:
            parts.append(f"There at first: {', '.join(sorted(self._files))}.")
        if self._tools:
            parts.append(
                "The code can call these functions, as they are, without await:\n"
                + self._tools.describe()
            )
        return " ".join(parts)

    async def _run_code(self, code: str, context: ToolContext) -> ToolOutput:
        """Run Python.

        Args:
            code: The program.
        """
        if len(code) > MAX_CODE_CHARS:
            raise ToolError(f"The code has {len(code):,} characters; {MAX_CODE_CHARS:,} are taken.")
        session = self._get_session(context.run)
        async with session.lock:
            secrets = await run_beside(SecretFiles.find_below, session.folder.path)
            ran = await session.interpreter.run(code, context)
            written = await run_beside(session.folder.take_changes)
            images = await run_beside(self._collect_pictures, session.folder, ran, written)
        text = _format_result(ran, written)
        read = secrets.label_reads(code, text, "code_interpreter")
        if ran.error:
            files = [one.path for one in written]
            text = shorten(text, TEXT_LIMIT)
            raise ToolError(text, {"error": ran.error, "files": files, **read})
        outputs = [{"type": "logs", "logs": ran.text}] if ran.text else []
        item: dict[str, Any] = {"type": "code_interpreter_call", "id": context.tool_call_id}
        item |= {"status": "completed", "code": code, "outputs": outputs, **read}
        item["files"] = [str(session.folder.path / one.path) for one in written]
        content: list[Block] = [Text(text), *images]
        return ToolOutput(tuple(content) if images else text, item)

    def _collect_pictures(
        self, folder: CodeFolder, ran: ExecutionResult, written: list[WrittenFile]
    ) -> list[Image]:
        saved = [folder.read_picture(one.path) for one in written]
        shown = [*ran.images, *(one for one in saved if one is not None)]
        return shown[: self.limits.max_images]

    def _get_session(self, run: RunContext) -> _Session:
        session = self._sessions.get(run.id)
        if session is None:
            folder = CodeFolder(self._folder, self._files)
            session = self._sessions[run.id] = _Session(folder, self._make_interpreter(folder))

            async def end() -> None:
                ended = self._sessions.pop(run.id, None)
                if ended is not None:
                    await ended.aclose()

            run.loop_state.cleanups.append(end)
        return session

    def _make_interpreter(self, folder: CodeFolder) -> Interpreter:
        made = _import_interpreter(self.python)
        if self.python == "monty":
            return made(self.limits, self._tools, folder.path)
        return made(self.limits, folder.path, network=self._network)


class _Session:
    """One run's interpreter and folder."""

    def __init__(self, folder: CodeFolder, interpreter: Interpreter) -> None:
        self.folder = folder
        self.interpreter = interpreter
        self.lock = asyncio.Lock()

    async def aclose(self) -> None:
        await self.interpreter.aclose()
        self.folder.close()


def _import_interpreter(python: Python) -> Callable[..., Interpreter]:
    """Import an interpreter on demand: each needs packages that the other does not."""
    module, _, name = _INTERPRETERS[python].partition(":")
    made: Callable[..., Interpreter] = getattr(import_module(module), name)
    return made


def tools(**options: Any) -> tuple[AnyTool, ...]:
    """Return the tools of this file. See `CodeInterpreterTool`."""
    return (CodeInterpreterTool(**options).tool,)


def _format_result(ran: ExecutionResult, written: list[WrittenFile]) -> str:
    parts = [ran.text.rstrip("\n"), ran.error.rstrip("\n")]
    if written:
        parts.append("Files written: " + ", ".join(f"{w.path} ({w.size:,} bytes)" for w in written))
    if ran.restart_reason:
        parts.append(
            f"The interpreter was restarted because {ran.restart_reason}: what earlier code defined is "
            "lost. Files are still there."
        )
    return "\n".join(part for part in parts if part) or "(nothing was printed)"
