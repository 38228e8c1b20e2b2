"""Servers that others wrote: by our client, and by the official one through the gateway, as without."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.mcp.test_everything import _for_model, _plain, _said, _timeless
from tests.shared import node_command, optional
from toolkeel import RunContext, ToolCall, ToolMessage, Toolset
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.mcp.config import ServerConfig

pytestmark = pytest.mark.slow
Calls = Sequence[tuple[str, dict[str, Any]]]
Found = list[types.CallToolResult | MCPError]


@dataclasses.dataclass
class Other:
    """A server and what it is asked.

    Args:
        script: Of an npm package.
        words: After the script; ``{folder}`` is a folder with ``a.txt`` and ``b/c.png``.
        calls: Tools and arguments, in order.
        tools: How many it has.
    """

    script: str
    words: Sequence[str]
    calls: Calls
    tools: int


PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c4944415408d763f8ffff3f0005fe02fea73581e20000000049454e44ae426082"
)
FILES: Calls = [
    ("list_allowed_directories", {}),
    ("read_text_file", {"path": "{folder}/a.txt"}),
    ("read_text_file", {"path": "{folder}/a.txt", "head": 1}),
    ("read_media_file", {"path": "{folder}/b/c.png"}),
    ("read_multiple_files", {"paths": ["{folder}/a.txt", "{folder}/none.txt"]}),
    ("write_file", {"path": "{folder}/new.txt", "content": "新 💥\n"}),
    ("edit_file", {"path": "{folder}/new.txt", "edits": [{"oldText": "新", "newText": "旧"}]}),
    ("edit_file", {"path": "{folder}/new.txt", "edits": [{"oldText": "?", "newText": "!"}]}),
    ("create_directory", {"path": "{folder}/d"}),
    ("move_file", {"source": "{folder}/new.txt", "destination": "{folder}/d/moved.txt"}),
    ("list_directory", {"path": "{folder}"}),
    ("list_directory_with_sizes", {"path": "{folder}", "sortBy": "size"}),
    ("directory_tree", {"path": "{folder}"}),
    ("search_files", {"path": "{folder}", "pattern": "**/*.txt"}),
    ("read_file", {"path": "{folder}/d/moved.txt"}),
    ("read_text_file", {"path": "/etc/hostname"}),
    ("get_file_info", {"path": "{folder}/a.txt"}),
]
ADA = {"name": "Ada", "entityType": "person", "observations": ["数学"]}
MEMORY: Calls = [
    ("create_entities", {"entities": [ADA, {**ADA, "name": "Bo"}]}),
    ("create_relations", {"relations": [{"from": "Ada", "to": "Bo", "relationType": "knows"}]}),
    ("add_observations", {"observations": [{"entityName": "Ada", "contents": ["poems"]}]}),
    ("add_observations", {"observations": [{"entityName": "Nobody", "contents": ["x"]}]}),
    ("search_nodes", {"query": "poem"}),
    ("open_nodes", {"names": ["Ada"]}),
    ("delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["poems"]}]}),
    (
        "delete_relations",
        {"relations": [{"from": "Ada", "to": "Bo", "relationType": "knows"}]},
    ),
    ("delete_entities", {"entityNames": ["Bo"]}),
    ("read_graph", {}),
]
THOUGHT = {"thought": "想", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 2}
THOUGHTS: Calls = [
    ("sequentialthinking", THOUGHT),
    ("sequentialthinking", {**THOUGHT, "thoughtNumber": 2, "nextThoughtNeeded": False}),
]
UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
ZOD: Calls = [
    ("texts", {"mail": "ada@example.com", "id": UUID, "code": "123", "word": "四个字呀"}),
    ("texts", {"mail": "a@b.org", "page": "https://b.org", "when": "2026-11-23T06:00:00Z"}),
    ("numbers", {"whole": 3, "step": 1.5, "above": 1.25}),
    ("choices", {"color": "绿", "one": "fixed", "either": 3, "perhaps": None}),
    ("choices", {"color": "red", "shape": {"kind": "circle", "r": 2}}),
    ("nested", {"list": [{"name": "x", "tags": []}], "pair": ["a", 1], "map": {"k": 1.5}}),
    ("nested", {"list": [{"name": "x", "tags": ["t"]}], "all": {"a": 1, "b": 2}, "any": [None]}),
    ("nested", {"list": [{"name": "x", "tags": []}], "open": {"known": "a", "more": 1}}),
    ("structured", {}),
    ("fails", {}),
]
WRONG: Calls = [
    ("texts", {"mail": "no mail"}),
    ("texts", {"mail": "ada@example.com", "code": "001"}),
    ("numbers", {"whole": 11}),
    ("choices", {"color": "blue"}),
    ("choices", {"color": "red", "shape": {"kind": "circle", "side": 2}}),
    ("nested", {"list": []}),
    ("nested", {"list": [{"name": "x", "tags": ["1", "2", "3", "4"]}]}),
    ("nested", {"list": [{"name": "x", "tags": []}], "closed": {"known": "a", "more": 1}}),
]
OFFICIAL = "@modelcontextprotocol/server-"
ZODS = "../zod_server.mjs"
OTHERS = {
    "filesystem": Other(f"{OFFICIAL}filesystem/dist/index.js", ["{folder}"], FILES, 14),
    "memory": Other(f"{OFFICIAL}memory/dist/index.js", [], MEMORY, 9),
    "sequential thinking": Other(f"{OFFICIAL}sequential-thinking/dist/index.js", [], THOUGHTS, 1),
    "TypeScript SDK 1, zod 4": Other(ZODS, ["1", "4"], ZOD, 6),
    "TypeScript SDK 1, zod 3": Other(ZODS, ["1", "3"], ZOD, 6),
    "TypeScript SDK 2": Other(ZODS, ["2"], ZOD, 6),
}
every = pytest.mark.parametrize("other", OTHERS.values(), ids=list(OTHERS))


def filled(value: Any, folder: Path) -> Any:
    """A value with the folder's place put in."""
    match value:
        case str():
            return value.replace("{folder}", str(folder))
        case list() | tuple():
            return [filled(each, folder) for each in value]
        case dict():
            return {key: filled(each, folder) for key, each in value.items()}
    return value


@pytest.fixture
def begun(tmp_path: Path) -> Callable[[Other], tuple[list[str], dict[str, str], Calls]]:
    """Gives what starts a server in the same state each time, and the calls."""

    def begin(other: Other) -> tuple[list[str], dict[str, str], Calls]:
        folder = tmp_path / "folder"
        if folder.exists():
            folder.rename(tmp_path / f"used {len(list(tmp_path.iterdir()))}")
        (folder / "b").mkdir(parents=True)
        (folder / "a.txt").write_text("一\n二\n")
        (folder / "b" / "c.png").write_bytes(PIXEL)
        env = {"MEMORY_FILE_PATH": str(folder / "memory.jsonl"), "DISABLE_THOUGHT_LOGGING": "true"}
        command = [*node_command(other.script), *filled(other.words, folder)]
        calls = [(name, filled(arguments, folder)) for name, arguments in other.calls]
        return command, env, calls

    return begin


async def through(client: Client, calls: Calls, before: str = "") -> Found:
    found: Found = []
    for name, arguments in calls:
        try:
            found.append(await client.call_tool(before + name, arguments))
        except MCPError as error:
            found.append(error)
    return found


async def officially(command: list[str], env: dict[str, str], calls: Calls) -> tuple[Any, Found]:
    """The list and the results, as the official client gets them."""
    started = StdioServerParameters(command=command[0], args=command[1:], env=env)
    async with Client(started) as client:
        return (await client.list_tools()).tools, await through(client, calls)


@every
def test_every_call_gives_our_client_what_the_official_one_gets(other: Other, begun: Any) -> None:
    tools, theirs = asyncio.run(officially(*begun(other)))
    assert len(tools) == other.tools
    assert {tool.name for tool in tools} == {name for name, _ in other.calls}
    command, env, calls = begun(other)

    async def ours() -> tuple[Sequence[str], list[ToolMessage], dict[str, str]]:
        async with MCPServer(command, name="other", trust=True, env=env) as server:
            own = Toolset(await server.get_tools())
            made = [ToolCall(str(n), name, given) for n, (name, given) in enumerate(calls)]
            run = RunContext[None](approver=lambda ticket: True)
            messages = [message for call in made for message in await own.run([call], run)]
            return own.names, messages, dict(server.problems)

    names, messages, problems = asyncio.run(ours())
    assert list(names) == [tool.name for tool in tools] and not problems
    for (name, given), result, message in zip(other.calls, theirs, messages, strict=True):
        if isinstance(result, MCPError):
            assert message.failed and result.message in message.text, (name, given)
            continue
        assert message.failed == bool(result.is_error), (name, given, message.text)
        artifact, structure = [message.artifact], [result.structured_content]
        assert timeless(artifact) == timeless(structure), (name, given)
        expected = [_plain(block) for block in result.content if _for_model(block)]
        assert timeless(_said(message)) == timeless(expected), (name, given)


@every
@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
def test_the_gateway_between_changes_no_result_and_no_definition(
    other: Other, era: str, begun: Any
) -> None:
    tools, direct = asyncio.run(officially(*begun(other)))
    command, env, calls = begun(other)
    Gateway = optional("toolkeel_studio.gateway.gateway").Gateway
    gateway = Gateway([ServerConfig("far", command=tuple(command), env=env)])

    async def use() -> tuple[Any, Found]:
        async with optional("tests.gateway.behind").client_of(gateway, era) as client:
            return (await client.list_tools()).tools, await through(client, calls, "far__")

    listed, passed = asyncio.run(use())
    for before, after in zip(tools, listed, strict=True):
        assert after.name == f"far__{before.name}"
        for part in ("description", "input_schema", "output_schema", "annotations"):
            assert getattr(before, part) == getattr(after, part), before.name
    for (name, given), first, second in zip(other.calls, direct, passed, strict=True):
        assert said(first) == said(second), (name, given)


def said(result: types.CallToolResult | MCPError) -> object:
    """What a client learns by a result."""
    if isinstance(result, MCPError):
        return result.error.model_dump(exclude_none=True)
    kept = result.model_dump(mode="json", exclude_none=True, exclude={"meta", "result_type"})
    return timeless([kept])


def timeless(content: list[object]) -> str:
    """The same without when a file was made and read."""
    return re.sub(r"(created|modified|accessed): [^\\]*", "WHEN", _timeless(content))


@pytest.mark.parametrize("words", [["1", "4"], ["1", "3"], ["2"]])
def test_what_zod_would_refuse_is_refused_here_and_never_sent(words: list[str]) -> None:
    command = [*node_command(ZODS), *words]

    async def use() -> list[ToolMessage]:
        async with MCPServer(command, name="zod", trust=True) as server:
            own = Toolset(await server.get_tools())
            calls = [ToolCall(str(n), name, given) for n, (name, given) in enumerate(WRONG)]
            return await own.run(calls, RunContext())

    for message, (name, given) in zip(asyncio.run(use()), WRONG, strict=True):
        by_format = words == ["1", "3"] and given == {"mail": "no mail"}  # zod 3 writes no pattern
        kind = "tool_error" if by_format else "invalid_arguments"
        assert message.kind == kind, (name, given, message.text)
