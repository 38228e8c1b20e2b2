"""Executors of this process: beside the contract of `test_executor.py`, how many threads there are."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

from tests.executors import executor_tools as tools
from tests.waiting import until
from toolkeel import ToolCall, Toolset
from toolkeel.executors import Thread


def test_no_more_bodies_run_at_once_than_there_are_threads(tmp_path: Path) -> None:
    async def main() -> list[str]:
        tool = dataclasses.replace(tools.waits_for, executor=Thread(1), timeout=60)
        files = [tmp_path / "a", tmp_path / "b"]
        for file in files:
            file.touch()
        calls = [ToolCall(file.name, tool.name, {"path": str(file)}) for file in files]
        going = asyncio.create_task(Toolset([tool]).run(calls))
        await until(lambda: (tmp_path / "a.runs").exists())
        assert not (tmp_path / "b.runs").exists()
        for file in files:
            file.unlink()
        return [message.text for message in await going]

    assert asyncio.run(main()) == ["done", "done"]
