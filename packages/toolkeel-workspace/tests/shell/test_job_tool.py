"""The tool by which a model uses its background commands."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.shell.background_caller import Caller
from toolkeel import Rules, Toolset


def test_input_needs_approval_where_commands_do(tmp_path: Path) -> None:
    async def main() -> None:
        caller = Caller(tmp_path)
        await caller.start("cat")
        caller.run.approver = None
        assert (await caller.call("job", id="job-1", input="a")).kind == "denied"
        assert not (await caller.call("job", id="job-1")).failed
        assert (await caller.call("bash", command="true", background=True)).kind == "denied"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        (Rules(allow=["*"], deny=["bash(command=rm *)"]), []),
        (Rules(allow=["job"], ask=["bash(command=rm *)"]), ["job"]),
        (Rules(ask=["bash"]), ["bash", "job", "job"]),
        (Rules(allow=["*"]), []),
    ],
)
def test_input_is_under_the_rules_that_deny_or_ask_about_commands(
    tmp_path: Path, rules: Rules, asked: list[str]
) -> None:
    async def main() -> None:
        seen: list[str] = []
        caller = Caller(tmp_path, "workspace")
        caller.tools = Toolset(caller.workspace.tools, rules=rules)
        caller.run.approver = lambda ticket: bool(seen.append(ticket.tool)) or ticket.tool == "bash"
        await caller.start("cat")
        kinds = [
            (await caller.call("job", id="job-1", **more)).kind
            for more in ({}, {"input": "rm x"}, {"input": "ls"})
        ]
        assert seen == asked and kinds[0] is None
        denies = asked or rules.action("bash", {"command": "rm x"}) == "deny"
        assert kinds[1] == ("denied" if denies else None)
        await caller.workspace.close()

    asyncio.run(main())
