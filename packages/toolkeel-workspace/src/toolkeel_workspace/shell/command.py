"""Run a shell command for a model: live output, limited text, and no processes left."""

from __future__ import annotations

import asyncio
import copy
import errno
import functools
import os
from collections.abc import Callable

from toolkeel._records.record import record
from toolkeel.call.body.stop_errors import stop_error
from toolkeel.context import ToolContext
from toolkeel.effects import Effects, Resource
from toolkeel.errors import Cancelled, ToolError
from toolkeel.executors.process_tree import CommandNotStarted, CommandResult
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.line_window import format_size
from toolkeel_workspace.files.relative_path import explain_unencodable
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.sandbox.secret_files import SecretFiles
from toolkeel_workspace.shell.git_identity import explain_git, make_git_config
from toolkeel_workspace.shell.output_tail import OutputTail
from toolkeel_workspace.shell.prompts import explain_no_input

TIMEOUT = 120.0
"""Default timeout of a command, in seconds."""
MAX_TIMEOUT = 600.0
"""Highest timeout, in seconds."""
NO_TERMINAL_ENV = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat"}
"""Variables that tell programs there is no terminal."""
NO_UPDATES_ENV = {"npm_config_update_notifier": "false", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
"""Variables that keep programs from looking for newer versions of themselves."""
NO_NETWORK_ENV = {"npm_config_fetch_retries": "0", "PIP_RETRIES": "0"}
"""Variables by which package managers fail at once where there is no network, and not after minutes."""
MAX_OUTPUT = 64 << 20
"""Bytes of output after which a command is ended."""


def without_terminal(sandbox: Sandbox) -> Sandbox:
    """Return a copy of a sandbox for commands of a model.

    They print no colors, do not wait for a network that is not there, have a git identity, and report
    the processes that they leave running.
    """
    made = copy.copy(sandbox)
    is_offline = made.backend != "none" and not made.network
    made.env = (
        NO_TERMINAL_ENV | NO_UPDATES_ENV | (NO_NETWORK_ENV if is_offline else {}) | sandbox.env
    )
    if made.backend == "landlock":  # git fails if it may not read /etc/gitconfig
        made.env = {"GIT_CONFIG_NOSYSTEM": "1", **made.env}
    made.home_files = {".gitconfig": make_git_config()}
    made.report_leftovers = True
    return made


@record
class Command:
    """A command of a model.

    Args:
        line: What the model wrote, as a line of shell.
        argv: What runs.
        cwd: Where it starts; the first root by default.
    """

    line: str
    argv: list[str]
    cwd: str | None = None


async def run_command(
    sandbox: Sandbox,
    command: Command,
    *,
    timeout: float | None = None,
    tail: OutputTail | None = None,
    context: ToolContext | None = None,
) -> ToolOutput:
    """Run a command to its end and return its output.

    Args:
        sandbox: What it may do.
        command: The command.
        timeout: Seconds; `TIMEOUT` by default, `MAX_TIMEOUT` at most.
        tail: Receives its output.
        context: The call's; without it, the output of a cancelled command is lost.

    Raises:
        ToolError: if it failed, was killed, or took too long: its output first, then why.
        Cancelled: if the run was: likewise.
    """
    allowed = check_command(command.argv, timeout)
    tail = tail or OutputTail(lambda text: None)
    read = make_read_detector(sandbox, command.line, context)
    try:
        finished = await without_terminal(sandbox).run(
            command.argv,
            timeout=allowed,
            cwd=command.cwd,
            sink=tail.add,
            max_output=MAX_OUTPUT,
        )
    except CommandNotStarted as error:
        raise ToolError(explain_not_started(error)) from None
    except asyncio.CancelledError:
        if context is None or not context.cancel.cancelled:
            raise
        raise _make_cancelled(tail, context, read) from None
    finally:
        tail.close()
    why = describe_failure(finished, allowed)
    shown, is_cut = _describe_output(sandbox, command.line, tail, why)
    details = {**_make_details(finished, tail, is_cut, sandbox), **read(shown)}
    if why:
        raise ToolError(shown, details)
    return ToolOutput(shown or "(no output)", details=details)


def _describe_output(sandbox: Sandbox, line: str, tail: OutputTail, why: str) -> tuple[str, bool]:
    """Return output with the notices about it, and True if it was cut.

    Args:
        sandbox: What the command could do.
        line: The command.
        tail: Its output, closed.
        why: Why it failed; empty if it did not.
    """
    text, notice = tail.render()
    walls = sandbox.backend != "none"
    said = (
        notice,
        *tail.describe_changes(),
        explain_git(line, text, sandbox.roots[0]) if walls else "",
        explain_no_input(line, text + "\n" * (tail.last == b"\n"), bool(why)),
    )
    parts = [text, *(f"[{each}]" for each in said if each), why]
    return "\n\n".join(part for part in parts if part), bool(notice)


def check_command(
    argv: list[str],
    timeout: float | None,
    *,
    default: float = TIMEOUT,
    highest: float = MAX_TIMEOUT,
) -> float:
    """Return the seconds that a command may take.

    Args:
        argv: The command.
        timeout: The seconds that were asked for.
        default: Seconds if none were.
        highest: Most seconds.

    Raises:
        ToolError: there are none, or the command contains a NUL.
    """
    allowed = min(default if timeout is None else timeout, highest)
    if allowed <= 0:
        raise ToolError("timeout counts from 1, in seconds.")
    if any("\0" in word for word in argv):
        raise ToolError("The command contains a NUL character, which no program can be given.")
    if why := explain_unencodable("".join(argv)):
        raise ToolError(f"The command cannot be given to a program: it {why}.")
    return allowed


def make_read_detector(
    sandbox: Sandbox, line: str, context: ToolContext | None
) -> Callable[[str], dict[str, object]]:
    """Return a function that labels which files with secrets a command's output shows.

    Args:
        sandbox: What the command may do.
        line: The command.
        context: The call whose result shows the output.
    """
    name = context.tool_name if context else ""
    return functools.partial(SecretFiles.find_below(*sandbox.roots).label_reads, line, tool=name)


def _make_cancelled(
    tail: OutputTail, context: ToolContext, read: Callable[[str], dict[str, object]]
) -> Cancelled:
    """Build the error of a cancelled command: its output so far first."""
    tail.close()
    text, notice = tail.render()
    stopped = stop_error(context, "cancelled", None, "stopped")
    said = [f"[{each}]" for each in (notice, *tail.describe_changes()) if each]
    shown = "\n\n".join(filter(None, [text, *said, stopped.text]))
    details = {"truncated": bool(notice), "full_output_path": tail.path or None}
    return Cancelled(shown, {**stopped.details, **details, **read(shown)})


def _make_details(
    finished: CommandResult, tail: OutputTail, truncated: bool, sandbox: Sandbox
) -> dict[str, object]:
    return {
        "exit_code": finished.exit_code,
        "signal": finished.signal or None,
        "ended": finished.end_reason,
        "seconds": round(finished.seconds, 3),
        "total_bytes": tail.bytes,
        "total_lines": tail.lines,
        "truncated": truncated,
        "full_output_path": tail.path or None,
        "sandbox": sandbox.backend,
    }


def explain_not_started(error: OSError) -> str:
    """Return why a command could not be started, and what to do if the system has no room for it."""
    full = (
        " The machine or container has no process or thread left: wait until others have ended, stop "
        "jobs that are not needed, or ask a person to raise its limit."
    )
    return (
        f"The command could not be started: {error.strerror}.{full * (error.errno == errno.EAGAIN)}"
    )


def describe_failure(finished: CommandResult, allowed: float) -> str:
    """Return why a command counts as failed, or an empty string if it does not."""
    if finished.end_reason == "timeout":
        return f"Command timed out after {allowed:g} seconds; it and all it started were killed."
    if finished.end_reason == "output":
        return f"Command was killed after {format_size(MAX_OUTPUT)} of output."
    if finished.end_reason == "memory":
        return "Command was killed: its processes took more memory than they may have together."
    if finished.signal:
        return f"Command was killed by {finished.signal} (exit code {finished.exit_code})."
    if name := finished.possible_signal:
        return (
            f"Command exited with code {finished.exit_code}, which is also what a shell returns when "
            f"{name} has ended its last program."
        )
    return f"Command exited with code {finished.exit_code}." if finished.exit_code else ""


def derive_effects(sandbox: Sandbox) -> Effects:
    """Derive a command's effects from its sandbox: it writes all of the roots, or reads them.

    Without confinement it may change any file. With a network its output may be anyone's text.
    """
    walls = sandbox.backend != "none"
    roots = tuple(Resource(f"file:{root}") for root in sandbox.roots)
    reads = sandbox.mode == "read-only" and not sandbox.network
    outside = bool(sandbox.network) or not walls
    files = roots if walls else ("file:",)
    return Effects(read_only=reads, open_world=outside, resources=files, stranger=outside)


def describe_sandbox(sandbox: Sandbox) -> str:
    """Describe the command's environment, for the description of the tool that runs it."""
    if sandbox.backend == "none":
        return "It runs without a sandbox, with the person's own files and network."
    changes = "can be changed" if sandbox.mode == "workspace" else "can be read, not changed"
    roots = " and ".join(str(root) for root in sandbox.roots)
    network = "There is no network."
    if sandbox.network == "machine":
        network = "The network can be used."
    elif sandbox.network:
        hosts = "public hosts" if sandbox.network is True else ", ".join(sandbox.network)
        network = f"Over http and https, by the proxy in HTTPS_PROXY, it reaches {hosts}."
    return (
        f"It runs in a sandbox: {roots} {changes}, the system's programs can be run. HOME and "
        f"TMPDIR are a new folder that is deleted when the command ends. {network}"
    )


def make_shell_argv(command: str) -> list[str]:
    """Return the argv that runs a line of shell, in bash if it is installed."""
    bash = next((path for path in ("/bin/bash", "/usr/bin/bash") if os.path.exists(path)), "")
    return [bash or "/bin/sh", "-c", command]
