"""The shell tools of OpenAI's models, run here, with any model.

``local_shell`` takes an argv; ``shell`` takes lines of shell and returns standard output, standard error
and outcome of each. Their parameters and results have the form of the provider's own calls (``action``,
``output``), so that code written for one works with the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from toolkeel._records.record import NOTHING
from toolkeel._records.result_store import RESULTS
from toolkeel.content import Data
from toolkeel.context import ToolContext
from toolkeel.define.decorator import tool
from toolkeel.define.folder_tools import movable
from toolkeel.define.tool import AnyTool
from toolkeel.errors import ToolError
from toolkeel.executors.process_tree import CommandResult
from toolkeel.hosted import Hosted, Native, Where, Wire
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.line_window import MAX_BYTES
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.sandbox.secret_files import SecretFiles
from toolkeel_workspace.shell.command import (
    MAX_TIMEOUT,
    TIMEOUT,
    Command,
    derive_effects,
    make_shell_argv,
    run_command,
    without_terminal,
)
from toolkeel_workspace.shell.escape_codes import TerminalOutput
from toolkeel_workspace.shell.output_tail import OutputTail

WIRE: Wire = "openai-responses"
"""The wire with hosted counterparts of these tools."""


def _action_arguments(arguments: Mapping[str, Any]) -> Mapping[str, object]:
    """Convert a native call's action to arguments, without the user, which a sandbox does not have."""
    return {key: value for key, value in _without_none(arguments).items() if key != "user"}


def _without_none(arguments: Mapping[str, Any]) -> Mapping[str, object]:
    return {key: value for key, value in arguments.items() if value is not None}


LOCAL_SHELL = Native({"type": "local_shell"}, to_tool_arguments=_action_arguments, runs_here=True)
SHELL = Native(
    {"type": "shell", "environment": {"type": "local"}},
    to_tool_arguments=_without_none,
    runs_here=True,
)


def _make_decorator(
    native: Native, sandbox: Sandbox, where: Where
) -> Callable[[Callable[..., Any]], AnyTool]:
    """Return the decorator for a body that runs commands in a sandbox."""
    asks: dict[str, Any] = {"approval": True} if sandbox.backend == "none" else {}
    return tool(
        name=native.type,
        hosted=Hosted({WIRE: native}, where),
        effects=derive_effects(sandbox),
        timeout=MAX_TIMEOUT + 60,
        max_output=None,
        **asks,
    )


def local_shell(sandbox: Sandbox, where: Where = "auto") -> AnyTool:
    """Create the tool ``local_shell``, which runs one command by its argv.

    Args:
        sandbox: What the command may do. With ``mode="off"`` every call needs approval.
        where: ``local`` sends it as a function even where the provider has a form of its own for
            it; it runs here in any case.
    """

    @_make_decorator(LOCAL_SHELL, sandbox, where)
    async def run(
        command: list[str],
        timeout_ms: float | None = None,
        working_directory: str | None = None,
        env: dict[str, str] | None = None,
        *,
        context: ToolContext,
    ) -> ToolOutput:
        """Run a command, without a shell, and tell its output.

        Args:
            command: The program and its arguments, each a text of its own.
            timeout_ms: Milliseconds it may take.
            working_directory: Where it starts, relative to the root.
            env: More environment variables.
        """
        if not command:
            raise ToolError("command is empty: give the program and its arguments.")
        assignments = [f"{name}={value}" for name, value in (env or {}).items()]
        words = ["env", "--", *assignments, *command] if assignments else command
        return await run_command(
            sandbox,
            Command(" ".join(words), words, _resolve_folder(sandbox, working_directory)),
            timeout=timeout_ms / 1000 if timeout_ms else None,
            tail=OutputTail(context.progress),
            context=context,
        )

    return movable(run, lambda folder: local_shell(sandbox.with_roots(folder), where))


def shell(sandbox: Sandbox, where: Where = "auto") -> AnyTool:
    """Create the tool ``shell``, which runs lines of shell, one after the other.

    Args:
        sandbox: What the commands may do. With ``mode="off"`` every call needs approval.
        where: ``local`` sends it as a function even where the provider has a form of its own for
            it; it runs here in any case.
    """

    @_make_decorator(SHELL, sandbox, where)
    async def run(
        commands: list[str],
        timeout_ms: float | None = None,
        max_output_length: int | None = None,
        *,
        context: ToolContext,
    ) -> ToolOutput:
        """Run lines of shell in order; tells standard output, standard error and outcome of each.

        Args:
            commands: The lines; each runs in a shell of its own.
            timeout_ms: Milliseconds each may take.
            max_output_length: Most characters of each output to tell.
        """
        secrets, ended = SecretFiles.find_below(*sandbox.roots), []
        for number, line in enumerate(commands, 1):
            context.progress(line, done=number, total=len(commands))
            ended.append(await run_line(sandbox, line, timeout_ms))
        read = partial(secrets.label_reads, "\n".join(commands), tool="shell")
        return make_shell_output(commands, ended, max_output_length, read)

    return movable(run, lambda folder: shell(sandbox.with_roots(folder), where))


def make_shell_output(
    lines: Iterable[str],
    results: Iterable[CommandResult],
    max_length: int | None = None,
    read: Callable[[str], Mapping[str, object]] = lambda _: NOTHING,
) -> ToolOutput:
    """Build the result of lines of shell, in the form of ``shell_call_output``.

    Args:
        lines: The lines.
        results: How each ended.
        max_length: Characters of each output.
        read: Returns further details for the text.
    """
    output = [make_output_item(one, max_length) for one in results]
    text = "\n\n".join(
        _format_transcript(line, one) for line, one in zip(lines, output, strict=True)
    )
    details = {"output": output, "max_output_length": max_length, **read(text)}
    return ToolOutput((Data(output, text or "(no commands)"),), details=details)


async def run_line(sandbox: Sandbox, line: str, timeout_ms: float | None) -> CommandResult:
    """Run one line of shell, with standard output and error separate."""
    timeout = min(timeout_ms / 1000 if timeout_ms else TIMEOUT, MAX_TIMEOUT)
    return await without_terminal(sandbox).run(make_shell_argv(line), timeout=timeout)


def make_output_item(result: CommandResult, max_length: int | None = None) -> dict[str, Any]:
    """Convert a command's result to an item of ``shell_call_output``.

    Args:
        result: How it ended.
        max_length: Characters of each output; the middle is left out.
    """
    outcome: dict[str, object] = {"type": "exit", "exit_code": result.exit_code}
    if result.end_reason == "timeout":
        outcome = {"type": "timeout"}
    return {
        "stdout": _shorten(result.stdout, max_length),
        "stderr": _shorten(result.stderr, max_length),
        "outcome": outcome,
    }


def _shorten(data: bytes, max_chars: int | None) -> str:
    plain = TerminalOutput()
    data = plain.feed(data) + plain.flush()
    text = data.decode("utf-8", "replace")
    removed = plain.describe_removed()
    notice = f"\n[{removed}]" if removed else ""
    max_chars = MAX_BYTES if max_chars is None or max_chars < 0 else max_chars
    if len(text) <= max_chars:
        return text + notice
    name = RESULTS.save(data)
    saved = f'; all of it is kept: path="{name}"' if name else ""
    left = f"\n[... {len(text) - max_chars} characters left out{saved} ...]\n"
    head = max_chars // 2
    return text[:head] + left + text[len(text) - (max_chars - head) :] + notice


def _format_transcript(line: str, output: Mapping[str, Any]) -> str:
    outcome = output["outcome"]
    ended = "timed out" if outcome["type"] == "timeout" else f"exit code {outcome['exit_code']}"
    parts = [f"$ {line}", output["stdout"].rstrip("\n")]
    if output["stderr"]:
        parts.append(f"stderr:\n{output['stderr']}".rstrip("\n"))
    return "\n".join(part for part in [*parts, f"[{ended}]"] if part)


def _resolve_folder(sandbox: Sandbox, folder: str | None) -> str | None:
    """Resolve a working directory below the sandbox's roots.

    Raises:
        ToolError: it is not below any of them, or does not exist.
    """
    if not folder:
        return None
    place = (sandbox.roots[0] / folder).resolve()
    if not place.is_dir() or not any(map(place.is_relative_to, sandbox.roots)):
        raise ToolError(f"{folder!r} is no folder below the root.")
    return str(place)
