"""Tools that work in a folder, made again for another folder.

`Workspace.in_folder` makes all the tools of one; `in_folder` moves a tool or source wherever it is used,
such as those of an agent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from dataclasses import replace as but
from pathlib import Path
from typing import Any

from toolkeel.define.tool import AnyTool, Tool

IN_FOLDER = "in_folder"
"""Metadata of a tool that works in a folder: returns the tool, as it is now, for another folder."""


def movable(made: AnyTool, make: Callable[[Path], AnyTool]) -> AnyTool:
    """Return a tool that `in_folder` can make again for another folder, with later changes to it.

    Args:
        made: The tool.
        make: Makes it for another folder.
    """

    def move(changed: AnyTool, folder: Path) -> AnyTool:
        """Make the tool for a folder, with the fields that were changed since."""
        values = {each.name: getattr(changed, each.name) for each in fields(changed)}
        kept: dict[str, Any] = {
            name: value for name, value in values.items() if value is not getattr(marked, name)
        }
        return but(make(folder), **kept)

    marked: AnyTool = but(made, metadata={**made.metadata, IN_FOLDER: move})
    return marked


def in_folder(item: Any, folder: Path) -> Any:
    """Return a tool or tool source for another folder.

    One that uses no folder is returned unchanged.

    Raises:
        SetupError: the tool cannot work in that folder.
    """
    if isinstance(item, Tool):
        move: Any = item.metadata.get(IN_FOLDER)
        return move(item, folder) if callable(move) else item
    make = getattr(item, IN_FOLDER, None)
    return make(folder) if callable(make) else item
