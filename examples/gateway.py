"""Two MCP servers behind one, with rules, a limit and an audit log: ``toolkeel gateway mcp.json``.

Run as a program, this file writes the files, starts the gateway as a host would, and calls it.
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

from toolkeel import Effects, ToolCall, Toolset, tool
from toolkeel.mcp.client import MCPServer, servers

TIDES = {"high": "6:00", "低潮": "12:12"}
KEEL = [sys.executable, "-m", "toolkeel"]
RULES = """
[approval]
deny = ["*__forget"]

[limits]
"log__*" = "2/minute"
"""


@tool(effects=Effects(read_only=True, open_world=False))
def tide(which: str) -> str:
    """When a tide is."""
    return TIDES[which]


@tool
def forget() -> str:
    """Forget all that was noted."""
    raise AssertionError("the rules let nobody call this")


@tool
def note(text: str) -> str:
    """Note something down."""
    return f"noted: {text}"


LOG = [note, forget]


def write(folder: Path) -> list[str]:
    """Write the servers and the rules down, and give the command of the gateway."""
    tides = [*KEEL[1:], "serve", f"{__file__}:tide"]
    log = [*KEEL[1:], "serve", f"{__file__}:LOG"]
    named = {"tides": {"command": KEEL[0], "args": tides}, "log": {"command": KEEL[0], "args": log}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": named}), "utf-8")
    (folder / "rules.toml").write_text(RULES, "utf-8")
    # A person agrees to what a file starts, once: here `toolkeel mcp tools mcp.json:tides` asks.
    servers(folder / "mcp.json", consent=lambda config: True)
    files = ["--rules", f"{folder / 'rules.toml'}", "--audit", f"{folder / 'calls.jsonl'}"]
    return [*KEEL, "gateway", f"{folder / 'mcp.json'}", *files]


async def main(folder: Path) -> None:
    os.environ["XDG_STATE_HOME"] = state = str(folder)  # for this run alone: who agreed to what
    command, more = write(folder), {"XDG_STATE_HOME": state}
    async with MCPServer(command, name="all", trust=True, env=more) as gateway:
        tools = Toolset(await gateway.get_tools())
        print("tools:", ", ".join(sorted(tools.names)))
        calls = [("tides__tide", {"which": "低潮"}), *[("log__note", {"text": "fog"})] * 3]
        for number, (name, arguments) in enumerate(calls):
            [result] = await tools.run([ToolCall(str(number), name, arguments)])
            print(f"{name}: {result.text.splitlines()[0]}")
    lines = (folder / "calls.jsonl").read_text("utf-8").splitlines()
    print("audit:", ", ".join(f"{each.get('event')}" for each in map(json.loads, lines)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        asyncio.run(main(Path(made)))
