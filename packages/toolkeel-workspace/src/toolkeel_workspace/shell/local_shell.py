"""The shell tools of OpenAI's models, run here, on any model.

``local_shell`` takes the words of one command; ``shell`` takes lines of shell and tells standard
output, standard error and outcome of each. Their parameters and results have the form of the
provider's own calls (``action``, ``output``), so that what is written for one works with the other.
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
from toolkeel.define.tool import AnyTool
from toolkeel.errors import ToolError
from toolkeel.executors.process_tree import Finished
from toolkeel.hosted import Hosted, Native, Where, Wire
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.line_window import MAX_BYTES
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.sandbox.secret_files import SecretFiles
from toolkeel_workspace.shell.command import (
    MAX_TIMEOUT,
    TIMEOUT,
    command_effects,
    run_command,
    shell_words,
    without_terminal,
)
from toolkeel_workspace.shell.escape_codes import TerminalOutput
from toolkeel_workspace.shell.output_tail import Tail

WIRE: Wire = "openai-responses"
"""The wire whose own tools these are."""


def _action_arguments(arguments: Mapping[str, Any]) -> Mapping[str, object]:
    """A native call's action as arguments: without the user, which a sandbox has none of."""
    return {key: value for key, value in _set(arguments).items() if key != "user"}


def _set(arguments: Mapping[str, Any]) -> Mapping[str, object]:
    return {key: value for key, value in arguments.items() if value is not None}


LOCAL_SHELL = Native({"type": "local_shell"}, inward=_action_arguments, here=True)
SHELL = Native({"type": "shell", "environment": {"type": "local"}}, inward=_set, here=True)


def _running(
    native: Native, sandbox: Sandbox, where: Where
) -> Callable[[Callable[..., Any]], AnyTool]:
    """What makes a tool of a body that runs commands in a sandbox."""
    return tool(
        name=native.type,
        hosted=Hosted({WIRE: native}, where),
        effects=command_effects(sandbox),
        timeout=MAX_TIMEOUT + 60,
        max_output=None,
        approval=sandbox.backend == "none",
    )


def local_shell(sandbox: Sandbox, where: Where = "auto") -> AnyTool:
    """The tool ``local_shell``: one command by its words.

    Args:
        sandbox: What the command may do. With ``mode="off"`` every call asks first.
        where: ``local`` sends it as a function even where the provider has a form of its own for
            it; it runs here in any case.
    """

    @_running(LOCAL_SHELL, sandbox, where)
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
            words,
            timeout=timeout_ms / 1000 if timeout_ms else None,
            cwd=_below(sandbox, working_directory),
            tail=Tail(context.progress),
            context=context,
        )

    return run


def shell(sandbox: Sandbox, where: Where = "auto") -> AnyTool:
    """The tool ``shell``: lines of shell, one after the other.

    Args:
        sandbox: What the commands may do. With ``mode="off"`` every call asks first.
        where: ``local`` sends it as a function even where the provider has a form of its own for
            it; it runs here in any case.
    """

    @_running(SHELL, sandbox, where)
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
        secrets, ended = SecretFiles.below(*sandbox.roots), []
        for number, line in enumerate(commands, 1):
            context.progress(line, done=number, total=len(commands))
            ended.append(await run_line(sandbox, line, timeout_ms))
        read = partial(secrets.read_by, "\n".join(commands), tool="shell")
        return shell_output(commands, ended, max_output_length, read)

    return run


def shell_output(
    lines: Iterable[str],
    ended: Iterable[Finished],
    max_length: int | None = None,
    read: Callable[[str], Mapping[str, object]] = lambda _: NOTHING,
) -> ToolOutput:
    """What came of lines of shell, in the form of ``shell_call_output``.

    Args:
        lines: What was run.
        ended: How each ended.
        max_length: Most characters of each output to tell.
        read: Gives further details by what was said.
    """
    output = [as_output(one, max_length) for one in ended]
    text = "\n\n".join(_transcript(line, one) for line, one in zip(lines, output, strict=True))
    details = {"output": output, "max_output_length": max_length, **read(text)}
    return ToolOutput((Data(output, text or "(no commands)"),), details=details)


async def run_line(sandbox: Sandbox, line: str, timeout_ms: float | None) -> Finished:
    """Run one line of shell, its two outputs kept apart."""
    timeout = min(timeout_ms / 1000 if timeout_ms else TIMEOUT, MAX_TIMEOUT)
    return await without_terminal(sandbox).run(shell_words(line), timeout=timeout)


def as_output(finished: Finished, max_length: int | None = None) -> dict[str, Any]:
    """How a command ended, in the form of an item of ``shell_call_output``.

    Args:
        finished: How it ended.
        max_length: Most characters of each output; what is in the middle goes.
    """
    outcome: dict[str, object] = {"type": "exit", "exit_code": finished.code}
    if finished.ended == "timeout":
        outcome = {"type": "timeout"}
    return {
        "stdout": _shortened(finished.stdout, max_length),
        "stderr": _shortened(finished.stderr, max_length),
        "outcome": outcome,
    }


def _shortened(data: bytes, most: int | None) -> str:
    plain = TerminalOutput()
    data = plain.feed(data) + plain.end()
    text = data.decode("utf-8", "replace")
    most = MAX_BYTES if most is None or most < 0 else most
    if len(text) <= most:
        return text
    name = RESULTS.save(data)
    whole = f'; all of it is kept: path="{name}"' if name else ""
    left = f"\n[... {len(text) - most} characters left out{whole} ...]\n"
    head = most // 2
    return text[:head] + left + text[len(text) - (most - head) :]


def _transcript(line: str, output: Mapping[str, Any]) -> str:
    outcome = output["outcome"]
    ended = "timed out" if outcome["type"] == "timeout" else f"exit code {outcome['exit_code']}"
    parts = [f"$ {line}", output["stdout"].rstrip("\n")]
    if output["stderr"]:
        parts.append(f"stderr:\n{output['stderr']}".rstrip("\n"))
    return "\n".join(part for part in [*parts, f"[{ended}]"] if part)


def _below(sandbox: Sandbox, folder: str | None) -> str | None:
    """A working directory inside of the sandbox's roots.

    Raises:
        ToolError: it is not below any of them, or not there.
    """
    if not folder:
        return None
    place = (sandbox.roots[0] / folder).resolve()
    if not place.is_dir() or not any(map(place.is_relative_to, sandbox.roots)):
        raise ToolError(f"{folder!r} is no folder below the root.")
    return str(place)
