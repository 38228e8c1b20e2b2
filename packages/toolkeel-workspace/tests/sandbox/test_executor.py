"""The executor that is named "sandbox" runs bodies inside walls."""

from __future__ import annotations

import asyncio
from pathlib import Path

from toolkeel import Toolset, tool
from toolkeel.messages import ToolCall


@tool(executor="sandbox", timeout=60)
def touch(path: str) -> str:
    """Write a file."""
    Path(path).write_text("x")
    return "written"


def test_a_body_in_the_sandbox_cannot_write_outside_of_the_folder_it_works_in(
    tmp_path: Path,
) -> None:
    call = ToolCall("1", "touch", {"path": str(tmp_path.parent / "outside.txt")})
    [message] = asyncio.run(Toolset([touch]).run([call]))
    assert message.failed
    assert not (tmp_path.parent / "outside.txt").exists()
