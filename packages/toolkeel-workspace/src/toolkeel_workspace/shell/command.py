"""Running a shell command for a model: live output, bounded text, and nothing left behind."""

from __future__ import annotations

import asyncio
import copy
import functools
import os
from collections.abc import Callable

from toolkeel.call.body.stop_errors import stop_error
from toolkeel.context import ToolContext
from toolkeel.effects import Effects, Resource
from toolkeel.errors import Cancelled, ToolError
from toolkeel.executors.process_tree import Finished, NotStarted
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.line_window import human
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.sandbox.secret_files import SecretFiles
from toolkeel_workspace.shell.git_identity import git_identity
from toolkeel_workspace.shell.output_tail import Tail

TIMEOUT = 120.0
"""Seconds a command may take unless it is said otherwise."""
MAX_TIMEOUT = 600.0
"""Most seconds that may be asked for."""
PLAIN = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat"}
"""Variables that tell programs there is no terminal."""
MAX_OUTPUT = 64 << 20
"""Bytes of output after which a command is ended."""


def without_terminal(sandbox: Sandbox) -> Sandbox:
    """The same sandbox, whose commands know that nobody looks at colours, and who commits."""
    made = copy.copy(sandbox)
    who = git_identity(sandbox.roots[0]) if sandbox.backend != "none" else {}
    made.env = {**PLAIN, **who, **sandbox.env}
    return made


async def run_command(
    sandbox: Sandbox,
    words: list[str],
    *,
    timeout: float | None = None,
    cwd: str | None = None,
    tail: Tail | None = None,
    context: ToolContext | None = None,
) -> ToolOutput:
    """Run a command to its end and say what came of it.

    Args:
        sandbox: What it may do.
        words: The command.
        timeout: Seconds; `TIMEOUT` by default, `MAX_TIMEOUT` at most.
        cwd: Where it starts.
        tail: What takes its output.
        context: The call's; else what came until it is cancelled is told to nobody.

    Raises:
        ToolError: if it failed, was killed, or took too long: its output first, then why.
        Cancelled: if the run was: likewise.
    """
    allowed = min(TIMEOUT if timeout is None else timeout, MAX_TIMEOUT)
    if allowed <= 0:
        raise ToolError("timeout counts from 1, in seconds.")
    tail = tail or Tail(lambda text: None)
    read = _reading(sandbox, words, context)
    try:
        finished = await without_terminal(sandbox).run(
            words, timeout=allowed, cwd=cwd, sink=tail.add, max_output=MAX_OUTPUT
        )
    except NotStarted as error:
        raise ToolError(f"The command could not be started: {error.strerror}.") from None
    except asyncio.CancelledError:
        if context is None or not context.cancel.cancelled:
            raise
        raise _cancelled(tail, context, read) from None
    finally:
        tail.close()
    text, notice = tail.text()
    why = _why(finished, allowed)
    parts = [text, f"[{notice}]" if notice else "", why]
    shown = "\n\n".join(part for part in parts if part)
    details = {**_details(finished, tail, bool(notice), sandbox), **read(shown)}
    if why:
        raise ToolError(shown, details)
    return ToolOutput(shown or "(no output)", details=details)


def _reading(
    sandbox: Sandbox, words: list[str], context: ToolContext | None
) -> Callable[[str], dict[str, object]]:
    """What tells, of what a command said, which files with secrets it has read."""
    line = words[-1] if _TELLING in words else " ".join(words)
    name = context.tool_name if context else ""
    return functools.partial(SecretFiles.below(*sandbox.roots).read_by, line, tool=name)


def _cancelled(
    tail: Tail, context: ToolContext, read: Callable[[str], dict[str, object]]
) -> Cancelled:
    """What is told of a command that was cancelled: its output so far first."""
    tail.close()
    text, notice = tail.text()
    stopped = stop_error(context, "cancelled", None, "stopped")
    shown = "\n\n".join(filter(None, [text, notice and f"[{notice}]", stopped.text]))
    kept = {"truncated": bool(notice), "full_output_path": tail.path or None}
    return Cancelled(shown, {**stopped.details, **kept, **read(shown)})


def _details(
    finished: Finished, tail: Tail, truncated: bool, sandbox: Sandbox
) -> dict[str, object]:
    return {
        "exit_code": finished.code,
        "signal": finished.signal or None,
        "ended": finished.ended,
        "seconds": round(finished.seconds, 3),
        "total_bytes": tail.bytes,
        "total_lines": tail.lines,
        "truncated": truncated,
        "full_output_path": tail.path or None,
        "sandbox": sandbox.backend,
    }


def _why(finished: Finished, allowed: float) -> str:
    """Why it counts as failed; empty if it does not."""
    if finished.ended == "timeout":
        return f"Command timed out after {allowed:g} seconds; it and all it started were killed."
    if finished.ended == "output":
        return f"Command was killed after {human(MAX_OUTPUT)} of output."
    if finished.ended == "memory":
        return "Command was killed: its processes took more memory than they may have together."
    if finished.signal:
        return f"Command was killed by {finished.signal} (exit code {finished.code})."
    return f"Command exited with code {finished.code}." if finished.code else ""


def command_effects(sandbox: Sandbox) -> Effects:
    """What a command in a sandbox can do: it writes all of the roots, or reads them.

    Without walls it may touch any file. With a network it may bring anybody's text.
    """
    walls = sandbox.backend != "none"
    roots = tuple(Resource(f"file:{root}") for root in sandbox.roots)
    reads = sandbox.mode == "read-only" and not sandbox.network
    outside = bool(sandbox.network) or not walls
    files = roots if walls else ("file:",)
    return Effects(read_only=reads, open_world=outside, resources=files, stranger=outside)


def described(sandbox: Sandbox) -> str:
    """What a command has there, for the description of the tool that runs it."""
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
        f"TMPDIR are an empty folder that is gone when the command has ended. {network}"
    )


_TELLING = """exec 3>&2 2>/dev/null
"$0" -c "$1" 2>&3 3>&-
code=$? left=
for each in /proc/[0-9]*; do
  pid=${each#/proc/}
  [ "$pid" = 1 ] || [ "$pid" = $$ ] || {
    read -r state < "$each/stat" && read -r name < "$each/comm" || continue
    case $state in *") Z "*) ;; *) left="$left${left:+, }$name" ;; esac
  }
done
[ -z "$left" ] || printf '\\n[Still running when it had ended, and killed: %s]\\n' "$left"
exit $code
"""


def shell_words(command: str) -> list[str]:
    """The words that run a line of shell: in bash where there is one."""
    bash = next((path for path in ("/bin/bash", "/usr/bin/bash") if os.path.exists(path)), "")
    return [bash or "/bin/sh", "-c", command]


def telling_words(sandbox: Sandbox, command: str) -> list[str]:
    """The same, by a shell that says at the end what the command has left running.

    That can be told only where the command's processes are by themselves.
    """
    shell, option, line = shell_words(command)
    if sandbox.backend != "bubblewrap":
        return [shell, option, line]
    return [shell, option, _TELLING, shell, line]
