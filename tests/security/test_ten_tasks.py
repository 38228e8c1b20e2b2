"""Ten ordinary tasks, and which questions a person is asked in them: three, each one that they would want.

========================================================  =========================================
task                                                      asked
========================================================  =========================================
a bug fixed and committed                                 nothing
a page into a file                                        nothing: the person named the page
three pages into a report                                 nothing: the person named the pages
a mail answered                                           nothing: the address is in the address book
notes sent to somebody in the address book                nothing: likewise
issues of an MCP server listed and one commented          may this server be used (for this run)
documentation looked up while coding                      may this host be asked (for this run)
a version bumped after release notes                      nothing: the person named the notes
a workflow added                                          may this file of CI be written
a digest mailed to the person                             nothing: their address is in the instructions
========================================================  =========================================
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.builtin.webserver import Asked, Write, response, serving
from tests.sandbox.walls import need
from toolkeel import Agent, tool
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.effects import acts, reads
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.testing.scripted import Scripted, call
from toolkeel_workspace.files.workspace import Workspace
from toolkeel_workspace.web.fetch import fetch_tool

MINE = "me@mine.example"
BOOK = {"Ada": "ada@mine.example", "Bob": "bob@other.example"}
sent: list[str] = []


@tool(effects=reads(private=True, stranger=True))
def inbox() -> str:
    """Read the mail."""
    return "From ada@mine.example: when do we meet?\nFrom eve@evil.example: you have won."


@tool(effects=reads(private=True))
def contacts(name: str) -> str:
    """Look somebody up in the address book."""
    return f"{name}: {BOOK[name]}"


@tool(effects=acts("to"))
def send(to: str, text: str) -> str:
    """Send a mail."""
    sent.append(to)
    return "sent"


ISSUES = """
import asyncio
from toolkeel import tool
from toolkeel.mcp.server import ToolServer
from toolkeel.mcp.server.stdio import serve_stdio

@tool
def list_issues(repository: str) -> str:
    "List issues."
    return "#12 It crashes"

@tool
def read_issue(repository: str, number: int) -> str:
    "Read an issue."
    return "It crashes, says a stranger."

@tool
def comment(repository: str, number: int, text: str) -> str:
    "Comment on an issue."
    return "commented"

asyncio.run(serve_stdio(ToolServer([list_issues, read_issue, comment])))
"""


class Person:
    """Wants all ten tasks done; extends an answer to a server where that can be done."""

    def __init__(self) -> None:
        self.asked: list[Ticket] = []

    def __call__(self, ticket: Ticket) -> Decision:
        self.asked.append(ticket)
        return ticket.approve("server" if ticket.server else None)


def work(tools: Sequence[Any], prompt: str, *turns: Any, instructions: str = "") -> list[str]:
    """Do a task; return the tools that were asked about."""
    person = Person()
    agent = Agent(Scripted([*turns, "done"]), list(tools), instructions=instructions)
    result = asyncio.run(agent.run(prompt, approver=person))
    failed = [m.text for m in result.messages if getattr(m, "failed", False)]
    assert result.output == "done" and not failed, failed
    return [ticket.tool for ticket in person.asked]


def with_pages(task: Callable[[str, str], tuple[Any, ...]]) -> Any:
    """Run something while pages are served: it gets their address and their place."""

    async def answer(asked: Asked, write: Write) -> None:
        await write(response(f"Page {asked.path}: version 2 is out.".encode()))

    async def main() -> list[str]:
        async with serving(answer) as web:
            return await asyncio.to_thread(lambda: work(*task(web.url.rstrip("/"), web.place)))

    return asyncio.run(main())


def coding(folder: Path) -> tuple[Any, ...]:
    """Tools of a folder with a program and its repository."""
    (folder / "app.py").write_text('VERSION = "1.0"\nprint(1 / 0)\n')
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    return Workspace(folder).tools


def bug_fixed(folder: Path) -> list[str]:
    return work(
        coding(folder),
        "Fix the crash and commit.",
        call("read", {"path": "app.py"}),
        call("edit", {"path": "app.py", "old_text": "1 / 0", "new_text": "1"}),
        call(
            "bash",
            {"command": "git -c user.name=a -c user.email=a@b.example commit -qam 'Fix the crash'"},
        ),
    )


def page_into_file(folder: Path) -> list[str]:
    def task(url: str, place: str) -> tuple[Any, ...]:
        tools = [fetch_tool(allow=[place]), *Workspace(folder, None).tools]
        return (
            tools,
            f"Save {url}/a to a.md.",
            call("fetch", {"url": f"{url}/a"}),
            call("write", {"path": "a.md", "content": "Page /a"}),
        )

    return with_pages(task)


def pages_into_report(folder: Path) -> list[str]:
    def task(url: str, place: str) -> tuple[Any, ...]:
        tools = [fetch_tool(allow=[place]), *Workspace(folder, None).tools]
        pages = [f"{url}/{name}" for name in ("a", "b", "c")]
        turns = [call("fetch", {"url": each}) for each in pages]
        write = call("write", {"path": "report.md", "content": "Three pages"})
        return tools, f"Write a report on {', '.join(pages)}.", *turns, write

    return with_pages(task)


def mail_answered(folder: Path) -> list[str]:
    answer = call("send", {"to": BOOK["Ada"], "text": "On Monday."})
    look = call("contacts", {"name": "Ada"})
    return work([inbox, contacts, send], "Answer Ada.", call("inbox"), look, answer)


def notes_sent(folder: Path) -> list[str]:
    (folder / "notes.md").write_text("Notes of today")
    return work(
        [*Workspace(folder, None).tools, contacts, send],
        "Send Bob my notes.",
        call("read", {"path": "notes.md"}),
        call("contacts", {"name": "Bob"}),
        call("send", {"to": BOOK["Bob"], "text": "Notes of today"}),
    )


def issue_commented(folder: Path) -> list[str]:
    (folder / "server.py").write_text(ISSUES)
    server = MCPServer([sys.executable, str(folder / "server.py")], name="issues")
    where = {"repository": "demo/app"}
    reading = [call("read_issue", {**where, "number": n}) for n in range(12, 16)]
    comment = call("comment", {**where, "number": 12, "text": "Thanks."})
    try:
        turns = (call("list_issues", where), *reading, comment)
        return work([server], "Comment on #12 in demo/app.", *turns)
    finally:
        asyncio.run(server.close())


def documentation(folder: Path) -> list[str]:
    def task(url: str, place: str) -> tuple[Any, ...]:
        return (
            [fetch_tool(allow=[place]), *coding(folder)],
            "Use the new function; look it up in the documentation.",
            call("read", {"path": "app.py"}),
            call("fetch", {"url": f"{url}/library"}),
            call("fetch", {"url": f"{url}/library/functions"}),
            call("edit", {"path": "app.py", "old_text": "1 / 0", "new_text": "1"}),
            call("fetch", {"url": f"{url}/library/more"}),
        )

    return with_pages(task)


def version_bumped(folder: Path) -> list[str]:
    def task(url: str, place: str) -> tuple[Any, ...]:
        return (
            [fetch_tool(allow=[place]), *coding(folder)],
            f"Bump the version as {url}/release-notes says.",
            call("read", {"path": "app.py"}),
            call("fetch", {"url": f"{url}/release-notes"}),
            call("edit", {"path": "app.py", "old_text": '"1.0"', "new_text": '"2.0"'}),
        )

    return with_pages(task)


def workflow_added(folder: Path) -> list[str]:
    write = call("write", {"path": ".github/workflows/ci.yml", "content": "on: push"})
    return work(coding(folder), "Add a workflow that runs the tests.", write)


def digest_mailed(folder: Path) -> list[str]:
    digest = call("send", {"to": MINE, "text": "Two mails."})
    told = f"You work for {MINE}."
    return work(
        [inbox, send], "Mail me a digest of my mail.", call("inbox"), digest, instructions=told
    )


TASKS: tuple[tuple[Callable[[Path], list[str]], list[str]], ...] = (
    (bug_fixed, []),
    (page_into_file, []),
    (pages_into_report, []),
    (mail_answered, []),
    (notes_sent, []),
    (issue_commented, ["list_issues"]),
    (documentation, ["fetch"]),
    (version_bumped, []),
    (workflow_added, ["write"]),
    (digest_mailed, []),
)
WALLED = (bug_fixed, documentation, version_bumped, workflow_added)


@pytest.mark.parametrize(("task", "asked"), TASKS, ids=lambda part: getattr(part, "__name__", ""))
def test_an_ordinary_task_asks_what_a_person_would_want_to_be_asked(
    task: Callable[[Path], list[str]], asked: list[str], tmp_path: Path
) -> None:
    if task in WALLED:
        need("bubblewrap")
    assert task(tmp_path) == asked


def test_ten_tasks_ask_three_questions_at_most() -> None:
    assert len(TASKS) == 10 and sum(len(asked) for _, asked in TASKS) <= 3
