"""What jobs and shells belong to, and what the transcript says of earlier ones."""

from __future__ import annotations

import asyncio
from typing import Any

from toolkeel import Agent, RunContext, ToolContext, ToolMessage, tool
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call
from toolkeel_workspace.shell.lifetime import (
    SHELL,
    ends_with_run,
    find_highest_number,
    find_owner,
    has_earlier_shell,
    list_earlier_jobs,
)


def result(**details: object) -> ToolMessage:
    return ToolMessage("", "c", "job", details=details)


def test_without_an_agent_nothing_ends_with_the_run() -> None:
    assert find_owner(RunContext(), "run") == find_owner(RunContext(), "session") == ""
    assert not ends_with_run("")


def test_runs_of_one_session_have_one_owner_and_others_have_their_own() -> None:
    owners: list[tuple[str, str]] = []

    @tool
    def note(context: ToolContext) -> str:
        """Note."""
        owners.append((find_owner(context.run, "run"), find_owner(context.run, "session")))
        return "done"

    sessions = Sessions(":memory:")

    async def main() -> None:
        for name in ("a", "a", "b", ""):
            more: dict[str, Any] = {"session": sessions[name]} if name else {}
            await Agent(Scripted([call("note"), "Done."]), [note]).run("go", **more)

    asyncio.run(main())
    short, long = zip(*owners, strict=True)
    assert len(set(short)) == 4 and all(map(ends_with_run, short))
    assert long[0] == long[1] != long[2] and not ends_with_run(long[0])
    assert long[3] == short[3]


def test_the_last_word_about_each_job_counts() -> None:
    run = RunContext()
    run.transcript.extend([
        result(job="job-1", running=True), result(job="job-2", running=True), result(exit_code=0),
        result(job="job-1", running=False),
    ])  # fmt: skip
    assert list_earlier_jobs(run) == {"job-1": False, "job-2": True}
    assert find_highest_number(list_earlier_jobs(run)) == 2
    assert find_highest_number({}) == find_highest_number({"odd": True}) == 0


def test_only_a_persistent_shell_is_remembered_as_one() -> None:
    run = RunContext()
    run.transcript.append(result(exit_code=0, shell="bash"))
    assert not has_earlier_shell(run)
    run.transcript.append(result(**{SHELL: True}))
    assert has_earlier_shell(run)
