"""The tool ``job``: what a model does with a command that runs in the background."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace as but
from functools import partial
from pathlib import Path

from toolkeel.call.body.start_thread import run_beside
from toolkeel.call.steps.rules import RULED_AS
from toolkeel.call.steps.taint import visible_labels
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.effects import LABELS, Effects
from toolkeel.errors import ToolError
from toolkeel.messages import ToolOutput
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.shell.background import FIRST_LOOK, REST_OF_ANSWER, Job, Jobs
from toolkeel_workspace.shell.command import MAX_TIMEOUT, derive_effects, make_read_detector
from toolkeel_workspace.shell.lifetime import Lifetime
from toolkeel_workspace.shell.protected_changes import ProtectedChanges

_LASTING_SHELL = 'For a shell that lasts, start the command "bash" and send it lines.'
_ENDS = {
    "run": "Every job is stopped when the agent has finished or waits for a person, after one hour "
    "at the latest.",
    "session": "A job runs on when the agent has finished, for the next turn of this conversation, but "
    "for one hour at most, and not longer than the program that runs it.",
}
_NO_CONNECTION = re.compile(
    r"connection refused|ECONNREFUSED|(?:failed|could not|couldn't|unable) to connect|could not connect",
    re.IGNORECASE,
)
_THIS_MACHINE = re.compile(r"\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0)\b|\[::1?\]")
_APART = (
    "Ports of background jobs ({}) cannot be reached from here: each job has a sandbox of its own. "
    'Start the command "bash" in the background, and send it both the server, with &, and the requests.'
)
_OWN_PORTS = " No other command reaches a port that one of them opens: use that shell for both."


class JobTool:
    """Background commands of one workspace.

    Args:
        sandbox: What the commands may do.
        root: The folder that they work in.
        lifetime: How long they last.

    Attributes:
        jobs: The commands.
    """

    def __init__(self, sandbox: Sandbox, root: Path, lifetime: Lifetime = "run") -> None:
        self._sandbox = sandbox
        self._root = root
        self.jobs = Jobs(lifetime)

    def make_tool(self) -> AnyTool:
        """Return the tool, with the effects of the sandbox. A look needs no approval, input may."""
        effects = but(derive_effects(self._sandbox), safe_after=LABELS)
        ports = _OWN_PORTS if self._has_own_ports else ""
        ends = _ENDS[self.jobs.lifetime]
        description = f"{self.job.description}\n\n{ends} {_LASTING_SHELL}{ports}"
        return but(
            self.job, description=description, effects=effects, approval=self._needs_approval
        )

    @property
    def _has_own_ports(self) -> bool:
        return self._sandbox.backend == "bubblewrap" and self._sandbox.network != "machine"

    def explain(self, run: RunContext, command: str, output: str) -> list[str]:
        """Return what the model must know of jobs after another command, as texts that may be empty.

        Args:
            run: The run.
            command: The other command, which may name this machine.
            output: What it printed.
        """
        said = [self.jobs.describe_lost(run)]
        running = self.jobs.list_running(run)
        asks = _NO_CONNECTION.search(output) or _THIS_MACHINE.search(command)
        if running and self._has_own_ports and asks:
            said.append(_APART.format(", ".join(running)))
        return said

    def _needs_approval(self, arguments: Mapping[str, object], context: ToolContext) -> bool:
        """Return True for input that may be a command and reach the outside."""
        if not arguments.get("input"):
            return False
        is_tainted = bool(self._sandbox.network and visible_labels(context.run))
        return self._sandbox.backend == "none" or is_tainted

    async def start(
        self,
        command: tuple[str, list[str]],
        timeout: float | None,
        changes: ProtectedChanges,
        context: ToolContext,
    ) -> ToolOutput:
        """Start a command in the background, and return its id and first output.

        Args:
            command: The line of shell, and its argv.
            timeout: Seconds it may take; one hour by default.
            changes: Protected files as they were before.
            context: The call.

        Raises:
            ToolError: it cannot be started, or has failed already.
        """
        started = await self.jobs.start(context.run, self._sandbox, command, timeout)
        started.on_end = partial(changes.report, context)
        return await self._show(started, context, "Started in the background. ")

    @tool(
        effects=Effects(),
        timeout=MAX_TIMEOUT + 60,
        max_output=None,
        approval=True,
        metadata={RULED_AS: {"input": ("bash", "command")}},
    )
    async def job(
        self,
        id: str,
        input: str = "",
        wait: float = 0,
        stop: bool = False,
        *,
        context: ToolContext,
    ) -> ToolOutput:
        """Look at a background job: its output since the last look, and its state.

        Args:
            id: What bash returned, such as "job-1".
            input: A line for its standard input.
            wait: Seconds to wait for its end before looking, 600 at most.
            stop: End it, with all that it started.
        """
        found = self.jobs.find(context.run, id)
        if input:
            await found.send(input if input.endswith("\n") else f"{input}\n")
            await found.wait(FIRST_LOOK, for_end=False)
            await found.wait(REST_OF_ANSWER)
        if stop:
            await found.stop()
        elif wait > 0:
            await found.wait(min(wait, MAX_TIMEOUT))
        return await self._show(found, context)

    async def _show(self, shown: Job, context: ToolContext, before: str = "") -> ToolOutput:
        """Return a job's output since the last look, with the protected files it has changed.

        Raises:
            ToolError: it has failed; with the same text.
        """
        lost = self.jobs.describe_lost(context.run)
        text = before + shown.look() + (f"\n\n[{lost}]" if lost else "")
        if shown.on_end is not None:
            text += str(await shown.on_end())
        changes = await run_beside(ProtectedChanges, self._root)
        shown.on_end = partial(changes.report, context)
        labels = make_read_detector(self._sandbox, shown.command, context)(text)
        details = {"job": shown.id, "running": shown.is_running, **labels}
        if shown.failure and not shown.is_stopped:
            raise ToolError(text, details)
        return ToolOutput(text, details=details)
