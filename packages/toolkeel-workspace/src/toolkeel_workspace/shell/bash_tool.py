"""The tools ``bash`` and ``job`` of a workspace."""

from __future__ import annotations

from dataclasses import replace as but
from pathlib import Path
from typing import Literal, TypeAlias

from toolkeel.call.body.start_thread import run_beside
from toolkeel.context import ToolContext
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.errors import Cancelled, ToolError
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.changed_since_read import FileSnapshots
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.shell.background import Jobs
from toolkeel_workspace.shell.command import (
    MAX_TIMEOUT,
    Command,
    derive_effects,
    describe_sandbox,
    make_shell_argv,
    run_command,
)
from toolkeel_workspace.shell.job_tool import JobTool
from toolkeel_workspace.shell.lifetime import Lifetime
from toolkeel_workspace.shell.persistent import PersistentShell, ShellCall, ShellPredicate
from toolkeel_workspace.shell.protected_changes import ProtectedChanges, list_names

Shell: TypeAlias = Literal["new", "persistent"]
"""What a command starts with: nothing, or the folder, variables and functions of the one before."""
_SHELLS: dict[Shell, str] = {
    "new": "Each call is a new shell: cd, export and activated environments do not last.",
    "persistent": (
        "cd, umask, variables, functions and activated environments last from call to call; shell options, "
        "aliases, traps, open descriptors, the stack of pushd and processes started with & do not. A background "
        "command starts like the others, and changes nothing for them."
    ),
}


class CommandTools:
    """The tools that run commands in one folder.

    Args:
        sandbox: What commands may do; the folder is its first root.
        root: The folder.
        snapshots: The files of the folder that were read.
        shell: What a command starts with.
        lifetime: How long jobs and a persistent shell last.

    Raises:
        SetupError: this machine has no bash that can be persistent.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        root: Path,
        snapshots: FileSnapshots,
        shell: Shell = "new",
        lifetime: Lifetime = "run",
    ) -> None:
        self._sandbox = sandbox
        self._root = root
        self._snapshots = snapshots
        self._kind: Shell = shell
        self._jobs = JobTool(sandbox, root, lifetime)
        self._shell = PersistentShell(sandbox, lifetime) if shell == "persistent" else None

    @property
    def jobs(self) -> Jobs:
        """The background commands."""
        return self._jobs.jobs

    def make_tools(self) -> list[AnyTool]:
        """Return ``bash`` and ``job``, with the effects and the description of the sandbox."""
        parts = [self.bash.description, _SHELLS[self._kind], describe_sandbox(self._sandbox)]
        asks = self._sandbox.backend == "none" or None
        bash = but(
            self.bash,
            description="\n\n".join(parts),
            effects=derive_effects(self._sandbox),
            approval=asks if self._shell is None else ShellPredicate(self._shell),
        )
        return [bash, self._jobs.make_tool()]

    @tool(
        effects=Effects(),
        timeout=MAX_TIMEOUT + 60,
        max_output=None,
        approval=True,
        metadata={"shell": "command"},
    )
    async def bash(
        self,
        command: str,
        timeout: float | None = None,
        background: bool = False,
        *,
        context: ToolContext,
    ) -> ToolOutput:
        """Run a shell command in the root folder; tells its output and whether it failed.

        Nothing keeps running when it has ended, unless background is true. There is no terminal and no
        input.

        Args:
            command: The command, as typed into bash.
            timeout: Seconds it may take: 120 by default, 600 at most; in the background 3600.
            background: Let it run on, such as a server, and return an id for the tool job.
        """
        watch = await run_beside(ProtectedChanges, self._root)
        run, shell = context.run, self._shell
        if background:
            line = command if shell is None else shell.restore(run, command)
            words = make_shell_argv(line)
            return await self._jobs.start((command, words), timeout, watch, context)
        call = shell.begin(run, context.progress) if shell else ShellCall(context.progress)
        words = make_shell_argv(call.make_line(command))
        unchanged = self._snapshots.list_unchanged()

        async def describe(output: object) -> str:
            changed = self._snapshots.update_changed(unchanged)
            read = f"Changed while it ran, of the files you have read: {list_names(changed)}"
            jobs = self._jobs.explain(run, command, str(output))
            said = [*call.finish(), *jobs, read if changed else ""]
            text = "".join(f"\n\n[{each}]" for each in said if each)
            return f"{output}{text}{await watch.report(context)}"

        try:
            output = await run_command(
                self._sandbox,
                Command(command, words),
                timeout=timeout,
                tail=call.tail,
                context=context,
            )
        except (ToolError, Cancelled) as error:
            details = {**error.details, **call.details}
            raise type(error)(await describe(error.text), details) from None
        details = {**output.details, **call.details}
        return but(output, content=await describe(output.content), details=details)
