"""A changed file is read again; one that cannot be read changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.mcp.gateway.behind import config
from tests.waiting import until
from toolkeel import SetupError
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.gateway.reload import follow


class Kept:
    """Stands where a gateway is told of its servers."""

    def __init__(self) -> None:
        self.told: list[Mapping[str, ServerConfig]] = []

    async def replace(self, configs: Mapping[str, ServerConfig]) -> None:
        self.told.append(configs)


def test_each_change_of_the_file_is_read_and_a_broken_one_is_left(
    tmp_path: Path, caplog: Any
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("1")
    gateway: Any = Kept()

    def read() -> Mapping[str, ServerConfig]:
        text = file.read_text()
        if text == "broken":
            raise SetupError("it is broken")
        return {text: config("new")}

    async def use() -> None:
        following = asyncio.ensure_future(follow(gateway, file, read, 0.01))
        await asyncio.sleep(0)
        file.write_text("22")
        await until(lambda: len(gateway.told) == 1)
        file.write_text("broken")
        await until(lambda: "it is broken" in caplog.text)
        other = tmp_path / "new"
        other.write_text("333")
        other.replace(file)  # as editors do
        await until(lambda: len(gateway.told) == 2)
        following.cancel()
        await asyncio.wait([following])

    asyncio.run(use())
    assert [list(each) for each in gateway.told] == [["22"], ["333"]]
