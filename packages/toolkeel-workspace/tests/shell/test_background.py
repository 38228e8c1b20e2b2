"""Commands in the background: they run on, answer, stop, and end with their run."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.walls import need
from tests.shell.background_caller import Caller
from tests.waiting import until
from toolkeel import Agent, Rules, RunResult, Toolset, tool
from toolkeel.approvals import Ticket
from toolkeel.messages import ToolMessage
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call
from toolkeel_workspace.files.workspace import Workspace
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.shell.background import MAX_JOBS, _count_partial_bytes
from toolkeel_workspace.shell.lifetime import Lifetime


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_a_command_runs_on_between_calls_and_each_look_shows_what_is_new(tmp_path: Path) -> None:
    async def main() -> None:
        caller = Caller(tmp_path)
        command = "echo first; until [ -e go ]; do sleep 0.02; done; echo second; exit 0"
        started = await caller.start(command)
        assert started.text == "Started in the background. first\n\n[job-1 is running.]"
        assert started.details["running"] is True
        assert (await caller.call("job", id="job-1")).text == (
            "(no new output)\n\n[job-1 is running.]"
        )
        await caller.call("write", path="go", content="")
        ended = await caller.call("job", id="job-1", wait=60)
        assert ended.text == "second\n\n[job-1 has ended. Command exited with code 0.]"

    asyncio.run(main())


def test_a_command_that_fails_at_once_fails_the_call(tmp_path: Path) -> None:
    message = asyncio.run(Caller(tmp_path).start("echo no such module; exit 3"))
    assert message.failed
    assert message.text.endswith("no such module\n\n[job-1 has ended. Command exited with code 3.]")


def test_a_prompt_is_reported_and_answered(tmp_path: Path) -> None:
    async def main() -> None:
        caller = Caller(tmp_path)
        command = 'printf "Name? "; read -r name; printf "größe of %s: " "$name"; read -r x; exit 1'
        started = await caller.start(command)
        assert "[job-1 is running. It seems to wait for input: 'Name?'.]" in started.text
        await caller.call("job", id="job-1", input="Ада")
        text = await caller.look_until("job-1", lambda text: "running. It" in text)
        assert "waits" not in text
        ended = await caller.call("job", id="job-1", input="5", wait=60)
        assert ended.failed and "Command exited with code 1." in ended.text
        refused = await caller.call("job", id="job-1", input="6")
        assert refused.failed and "job-1 has ended, so it takes no input." in refused.text

    asyncio.run(main())


def test_input_for_a_command_that_closed_it_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        caller = Caller(tmp_path)
        await caller.start("exec 0<&-; echo ready; sleep 600")
        await caller.look_until("job-1", lambda text: "running" in text)
        refused = await caller.call("job", id="job-1", input="5")
        assert refused.failed and refused.text == "job-1 has closed its input."
        await caller.call("job", id="job-1", stop=True)

    asyncio.run(main())


def test_a_silent_wait_for_input_is_reported_and_a_wait_for_time_is_not(tmp_path: Path) -> None:
    async def main() -> None:
        caller = Caller(tmp_path)
        command = "read -p 'Name: ' x; printf 'colour of %s >>' \"$x\"; read -s y; exec sleep 60"
        await caller.start(command)
        asks = "[job-1 is running. It seems to wait for input.]"
        await caller.look_until("job-1", lambda text: asks in text)
        await caller.call("job", id="job-1", input="Ada")
        asks = "It seems to wait for input: 'colour of Ada >>'."
        await caller.look_until("job-1", lambda text: asks in text)
        await caller.call("job", id="job-1", input="red")
        await caller.look_until("job-1", lambda text: text.endswith("[job-1 is running.]"))
        await caller.call("job", id="job-1", stop=True)

    asyncio.run(main())


def test_stop_ends_a_command_with_all_that_it_started(tmp_path: Path) -> None:
    async def main() -> None:
        caller = Caller(tmp_path)
        await caller.start("sleep 600 & echo $! > pid; wait")
        await until(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
        pid = int((tmp_path / "pid").read_text())
        stopped = await caller.call("job", id="job-1", stop=True)
        assert "[job-1 was stopped.]" in stopped.text and not stopped.failed
        assert not is_alive(pid)

    asyncio.run(main())


def test_the_end_of_a_run_ends_its_jobs(tmp_path: Path) -> None:
    model = Scripted(
        [
            call("bash", {"command": "echo $$ > pid; exec sleep 600", "background": True}),
            call("job", {"id": "job-1"}),
            "Done.",
        ]
    )
    workspace = Workspace(tmp_path, "off")
    result = Agent(model, tools=workspace.tools).run_sync("go", approver=lambda ticket: True)
    assert "[job-1 is running.]" in result.messages[-2].text
    pid = int((tmp_path / "pid").read_text())
    assert not is_alive(pid)
    model = Scripted([call("job", {"id": "job-1"}), "Done."])
    later = Agent(model, tools=workspace.tools).run_sync("go")
    assert "There is no job 'job-1'. Jobs: none." in later.messages[-2].text


def test_jobs_are_bounded_in_number_and_in_time(tmp_path: Path) -> None:
    async def main() -> None:
        caller = Caller(tmp_path)
        starts = [
            caller.call("bash", command="sleep 600", background=True) for _ in range(MAX_JOBS)
        ]
        await asyncio.gather(*starts)
        refused = await caller.start("sleep 600")
        assert refused.failed and f"{MAX_JOBS} jobs run already (job-1, job-2" in refused.text
        assert refused.text.endswith("; stop one first.")
        await caller.call("job", id="job-1", stop=True)
        short = await caller.call("bash", command="sleep 600", background=True, timeout=0.2)
        assert "Command timed out after 0.2 seconds" in short.text

    asyncio.run(main())


def test_a_server_in_the_sandbox_answers_a_later_look(tmp_path: Path) -> None:
    need("bubblewrap")

    async def main() -> None:
        caller = Caller(tmp_path, "workspace")
        await caller.start('while read -r line; do echo "got $line"; done')
        await caller.call("job", id="job-1", input="one")
        await caller.call("job", id="job-1", input="two")
        stopped = await caller.call("job", id="job-1", stop=True)
        assert "was stopped" in stopped.text

    asyncio.run(main())


def test_a_protected_file_of_a_job_is_reported_at_the_next_look(tmp_path: Path) -> None:
    async def main() -> None:
        caller = Caller(tmp_path)
        await caller.start("until [ -e go ]; do sleep 0.02; done; echo x > .mcp.json")
        await caller.call("write", path="go", content="")
        seen = await caller.call("job", id="job-1", wait=60)
        assert "[For a person to look at: the command made protected files: .mcp.json]" in seen.text

    asyncio.run(main())


@pytest.mark.parametrize("text", ["", "a", "ü", "€", "😀", "aü€😀"])
def test_a_character_is_never_split_between_two_looks(text: str) -> None:
    data = text.encode()
    for cut in range(len(data) + 1):
        head = data[:cut]
        rest = _count_partial_bytes(head)
        assert (
            head[: len(head) - rest].decode() + (head[len(head) - rest :] + data[cut:]).decode()
            == text
        )


def test_a_command_that_cannot_start_leaves_no_job(tmp_path: Path) -> None:
    class Shut(Sandbox):
        def build_command(self, *args: object, **more: object) -> Any:
            raise OSError(errno.EMFILE, "no")

    async def main() -> None:
        caller = Caller(tmp_path, Shut("off", [tmp_path]))
        refused = await caller.call("bash", command="true", background=True)
        assert refused.text == "The command could not be started: no."
        assert (await caller.call("bash", command="a\0b", background=True)).failed
        assert "Jobs: none" in (await caller.call("job", id="job-1")).text

    asyncio.run(main())


@tool(approval=True)
def deploy() -> str:
    """Deploy."""
    return "deployed"


SERVE = call("bash", {"command": "echo $$ > pid; exec sleep 600", "background": True})


def make_agent(workspace: Workspace, *turns: Any) -> Agent[Any, Any]:
    rules = Rules(allow=["bash", "job"])
    tools = Toolset([deploy, *workspace.tools], rules=rules)
    return Agent(Scripted([*turns, "Done."]), tools=tools)


def results(result: RunResult[Any]) -> list[str]:
    return [m.text for m in result.messages if isinstance(m, ToolMessage)]


@pytest.mark.parametrize("lifetime", ["run", "session"])
def test_a_job_ends_with_a_run_that_waits_or_lasts_with_the_session_and_that_is_said(
    tmp_path: Path, lifetime: Lifetime
) -> None:
    workspace = Workspace(tmp_path, "off", lifetime=lifetime)
    look = call("job", {"id": "job-1"})

    async def main() -> tuple[list[str], bool, bool]:
        session = Sessions(":memory:")["a"]
        first = await make_agent(workspace, SERVE, call("deploy")).run("go", session=session)
        assert first.reason == "waiting"
        lives = is_alive(int((tmp_path / "pid").read_text()))
        [ticket] = first.pending
        agent = make_agent(workspace, call("bash", {"command": "echo on"}), look)
        second = await agent.run(None, session=session, decisions=[ticket.approve()])
        third = await make_agent(workspace, look).run("look", session=session)
        await workspace.close()
        lives_on = is_alive(int((tmp_path / "pid").read_text()))
        return results(second)[-2:] + results(third)[-1:], lives, lives_on

    (bash, looked, later), lives, lives_on = asyncio.run(main())
    assert lives is (lifetime == "session") and not lives_on
    if lifetime == "session":
        assert "Stopped meanwhile" not in bash
        assert "[job-1 is running.]" in looked and "[job-1 is running.]" in later
    else:
        assert bash.endswith(
            "[Stopped meanwhile: job-1. Jobs end when the agent has finished or waits for a person. "
            "Start it again if it is needed.]"
        )
        assert "'job-1' does not exist any more. Jobs end when" in looked and "Jobs: none" in later


def test_another_program_says_that_a_sessions_jobs_ended_and_numbers_go_on(tmp_path: Path) -> None:
    async def main() -> list[str]:
        session = Sessions(":memory:")["a"]
        first = Workspace(tmp_path, "off", lifetime="session", shell="persistent")
        setup = call("bash", {"command": "A=1"})
        await make_agent(first, setup, SERVE).run("go", session=session, approver=yes)
        await first.close()
        then = Workspace(tmp_path, "off", lifetime="session", shell="persistent")
        shown = call("bash", {"command": 'echo "${A-none}"'})
        again = await make_agent(then, shown, SERVE).run("on", session=session, approver=yes)
        await then.close()
        return results(again)[-2:]

    shown, started = asyncio.run(main())
    assert shown.startswith("none\n\n[This is a new shell: the folder, variables and functions")
    assert "[Stopped meanwhile: job-1. Jobs end when their program ends." in shown
    assert "[job-2 is running.]" in started


def yes(ticket: Ticket) -> bool:
    return True


def test_a_connection_to_a_jobs_port_is_explained_also_if_the_command_is_silent(
    tmp_path: Path,
) -> None:
    need("bubblewrap")

    async def main() -> list[str]:
        caller = Caller(tmp_path, "workspace")
        commands = ("echo 'Connection refused' >&2; exit 7", "curl -s localhost:8000", "true")
        before = await caller.call("bash", command=commands[0])
        await caller.start("sleep 600")
        after = [(await caller.call("bash", command=command)).text for command in commands]
        return [before.text, *after]

    before, *after, other = asyncio.run(main())
    for text in after:
        assert "Ports of background jobs (job-1) cannot be reached from here" in text
    assert "Ports" not in before + other


def test_a_sessions_job_is_used_from_other_event_loops(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, "off", lifetime="session")
    session = Sessions(":memory:")["a"]
    echo = call("bash", {"command": "while read -r x; do echo got $x; done", "background": True})
    make_agent(workspace, echo).run_sync("go", session=session, approver=yes)

    async def later() -> list[str]:
        turns = (
            call("job", {"id": "job-1", "input": "it"}),
            call("job", {"id": "job-1", "wait": 0.01}),
            call("job", {"id": "job-1", "stop": True}),
        )
        result = await make_agent(workspace, *turns).run("on", session=session, approver=yes)
        return results(result)[-3:]

    answered, waited, stopped = asyncio.run(later())
    assert "got it" in answered and "is running" in waited and "was stopped" in stopped
