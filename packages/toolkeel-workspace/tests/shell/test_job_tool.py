"""The tool by which a model uses its background commands."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.shell.background_caller import Caller


def test_input_needs_approval_where_commands_do(tmp_path: Path) -> None:
    async def main() -> None:
        caller = Caller(tmp_path)
        await caller.start("cat")
        caller.run.approver = None
        assert (await caller.call("job", id="job-1", input="a")).kind == "denied"
        assert not (await caller.call("job", id="job-1")).failed
        assert (await caller.call("bash", command="true", background=True)).kind == "denied"

    asyncio.run(main())
