"""An MCP server of your functions, for Claude, Cursor, VS Code: ``toolkeel serve mcp_server.py``.

Run as a program, this file starts itself as a server, as a host would, and calls it.
"""

import asyncio
import sys

from toolkeel import Effects, ToolContext, tool
from toolkeel.mcp.server import prompt, resource


@tool(effects=Effects(read_only=True, open_world=False))
def count_words(text: str, context: ToolContext) -> dict[str, int]:
    """Count the words of a text.

    Args:
        text: Any text.
    """
    context.progress("counting", 1, 1)
    return {"words": len(text.split()), "characters": len(text)}


@resource("notes://{name}", media_type="text/markdown")
def note(name: str) -> str:
    """A note, by its name."""
    return f"# {name}"


@prompt
def review(text: str, style: str = "kind") -> str:
    """Ask for a review of a text."""
    return f"Review this in a {style} way:\n{text}"


async def main() -> None:
    from toolkeel import ToolCall, Toolset
    from toolkeel.mcp.client import MCPServer

    command = f"{sys.executable} -m toolkeel serve {__file__}"
    async with MCPServer(command, trust=True) as server:
        tools = Toolset(await server.get_tools())
        print("tools:", ", ".join(tools.names))
        [result] = await tools.run([ToolCall("1", "count_words", {"text": "three 词 here"})])
        print("called:", result.text)


if __name__ == "__main__":
    asyncio.run(main())
