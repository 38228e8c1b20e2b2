"""Reading again what the model is no longer shown whole: by name, line and column (`read_result`).

A name stands for a part of the transcript, which stays whole. What it stands for is looked up there
when somebody reads it, so nothing is written before, and a name means the same after a kill.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolkeel._records.result_store import RESULTS
from toolkeel.agent.history import ShortenedTranscript
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.effects import LABELS, Effects
from toolkeel.errors import ToolError

READ_TOOL = "read_result"
MAX_CHARS = 20_000
"""Characters that are shown at once."""
SAFE = Effects(read_only=True, idempotent=True, open_world=False, safe_after=LABELS)


def make_reading_tool(whole: ShortenedTranscript) -> AnyTool:
    """Make the tool that reads omitted parts of the transcript by name. It is enabled once one exists."""

    @tool(READ_TOOL, effects=SAFE, max_output=None, enabled=lambda _: whole.has_named_cuts)
    def read_result(path: str, offset: int = 1, limit: int = 2000, column: int = 1) -> str:
        """Read a result, or an earlier part of the conversation, that is not shown whole any more.

        Args:
            path: Its name, such as "output:5f2b".
            offset: First line to show, counted from 1.
            limit: Most lines to show.
            column: First character of that line to show, for lines too long to be shown at once.
        """
        if offset < 1 or limit < 1 or column < 1:
            raise ToolError("offset, limit and column count from 1.")
        found = RESULTS.find(path)
        if found is None:
            raise ToolError(f"No result is kept as {path[:100]!r}. Make it again.")
        lines = found.read_text("utf-8", "replace").split("\n")
        if offset > len(lines):
            raise ToolError(f"{path!r} has {len(lines):,} lines; line {offset:,} is past its end.")
        return _window(path, lines, (offset, limit, column))

    return read_result


def _window(path: str, lines: Sequence[str], place: tuple[int, int, int]) -> str:
    """Return at most `MAX_CHARS` of a text from a line and column on, with a note where to read on.

    Args:
        path: The name of the text, for the note.
        lines: Its lines.
        place: First line, number of lines, and first column, counted from 1.
    """
    line, limit, column = place
    shown: list[str] = []
    room, goes_on = MAX_CHARS, ""
    for text in lines[line - 1 : line - 1 + limit]:
        piece = text[column - 1 : column - 1 + room]
        shown.append(piece)
        room -= len(piece) + 1
        if len(piece) < len(text[column - 1 :]):
            goes_on = f", column={column + len(piece)}"
            break
        line, column = line + 1, 1
        if room <= 0:
            break
    said = f"{path}: {len(lines):,} lines"
    if line <= len(lines):
        said += f'. Read on with path="{path}", offset={line}{goes_on}'
    return "\n".join([*shown, "", f"[{said}]"])
