"""A changed file is read again; one that cannot be used changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.waiting import until
from toolkeel import SetupError
from toolkeel_studio.gateway.reload import watch_file


def test_each_change_of_the_file_is_read_and_a_broken_one_is_left(
    tmp_path: Path, caplog: Any
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("1")
    told: list[str] = []

    async def read() -> None:
        text = file.read_text()
        if text == "broken":
            raise SetupError("it is broken")
        if text == "odd":
            raise TypeError("nobody thought of it")
        told.append(text)

    async def use() -> None:
        following = asyncio.ensure_future(watch_file(file, read, 0.01))
        await asyncio.sleep(0)
        file.write_text("22")
        await until(lambda: len(told) == 1)
        file.write_text("broken")
        await until(lambda: "it is broken" in caplog.text)
        file.write_text("odd")
        await until(lambda: "nobody thought of it" in caplog.text)
        other = tmp_path / "new"
        other.write_text("333")
        other.replace(file)  # as editors do
        await until(lambda: len(told) == 2)
        following.cancel()
        await asyncio.wait([following])

    asyncio.run(use())
    assert told == ["22", "333"]
