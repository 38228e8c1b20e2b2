"""The table label x source x act of docs/effects.md, walked: each cell asks, or does not (T22, T33)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from toolkeel import Agent, Effects, Tool, tool
from toolkeel.call.steps.label_sources import OURS
from toolkeel.call.steps.taint import BUILDS
from toolkeel.content import Image, Text
from toolkeel.define.tool import AnyTool
from toolkeel.effects import PURE, acts, reads
from toolkeel.mcp.client.tool import ToolServerPeer, compile_server_tool
from toolkeel.mcp.pins import Pins, make_pin
from toolkeel.messages import Message, UserMessage
from toolkeel.testing.scripted import Scripted, call
from toolkeel_workspace.files.workspace import Workspace

PAGE = Path(__file__).parents[2] / "docs/effects.md"
PNG = b"\x89PNG\r\n\x1a\n"
FILES = ("file:{path}",)


def named(name: str, effects: Effects | None, parameter: str = "", **more: Any) -> AnyTool:
    """A tool that says its name; without effects, one whose author declared none."""
    schema = {"type": "object", "properties": {parameter: {}} if parameter else {}}
    options = {} if effects is None else {"effects": effects}
    return Tool.from_schema(name, "Act.", schema, lambda context, given: name, **options, **more)


def served(name: str, trust: bool, **declared: Any) -> AnyTool:
    """A tool of an MCP server that gives no hints."""
    import mcp_types as types

    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    listed = types.Tool(name=name, description="Act.", input_schema=schema)
    pin = make_pin(name, listed.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def current(tool: str) -> Any:
        return pin

    async def send(*_: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text="done")])

    peer = ToolServerPeer(name, name, trust, Pins(), current, send, 10.0, **declared)
    return compile_server_tool(peer, listed).tool


def source(name: str) -> AnyTool | None:
    """The tool that is a source; None for what a message attaches."""
    makers: Mapping[str, Callable[[], AnyTool]] = {
        "a private tool": lambda: named("read", reads(private=True)),
        "a page": lambda: named("read", reads(stranger=True, outside=True)),
        "an MCP server": lambda: served("read", True),
        "an MCP server of ours": lambda: served("read", True, is_ours=True),
        "rows": lambda: named("read", Effects(read_only=True, open_world=False, resources=("db",))),
        "a folder": lambda: named(
            "read", Effects(read_only=True, open_world=False, resources=FILES), "path"
        ),
        "a folder of ours": lambda: named(
            "read",
            Effects(read_only=True, open_world=False, resources=FILES),
            "path",
            metadata={OURS: True},
        ),
        "a secret": lambda: named(
            "read", Effects(read_only=True, open_world=False, resources=FILES), "path"
        ),
        "an undeclared function": lambda: named("read", None),
    }
    return makers[name]() if name in makers else None


def act(name: str) -> AnyTool:
    """The tool that acts."""
    makers: Mapping[str, Callable[[], AnyTool]] = {
        "computes": lambda: named("act", PURE, "text"),
        "changes inside": lambda: named(
            "act", Effects(open_world=False, destructive=False), "text"
        ),
        "a build file": lambda: named(
            "act",
            Effects(open_world=False, resources=FILES),
            "path",
            metadata={BUILDS: lambda key: "Makefile" if key.endswith("Makefile") else ""},
        ),
        "reads outside": lambda: named(
            "act", Effects(read_only=True, target=("url",)), "url", metadata={"trusted": ()}
        ),
        "a function of yours": lambda: named("act", None, "text"),
        "destroys inside": lambda: named("act", Effects(open_world=False), "text"),
        "acts outside": lambda: named("act", acts("to"), "to"),
        "an MCP tool": lambda: served("act", True),
    }
    return makers[name]()


ARGUMENTS = {
    "a build file": {"path": "Makefile"},
    "reads outside": {"url": "https://x.example/a"},
    "acts outside": {"to": "eve@x.example"},
}
TARGETED = ("reads outside", "acts outside")
TAKES = {"a folder": "a.txt", "a folder of ours": "a.txt", "a secret": "deploy/.env"}


def table() -> Iterator[tuple[str, str, str]]:
    """Each cell of the page's table: source, act, and what it says."""
    text = PAGE.read_text("utf-8").partition("<!-- label table -->")[2]
    rows = [line for line in text.lstrip().partition("\n\n")[0].splitlines() if "---" not in line]
    cells = [[re.sub(r"`", "", cell).strip() for cell in row.strip("|").split("|")] for row in rows]
    for row in cells[1:]:
        for title, cell in zip(cells[0][2:], row[2:], strict=True):
            yield row[0], title, cell


CELLS = list(table())


def play(origin: str, name: str, prompt: str = "go") -> bool:
    """Return whether the act waits after the source."""
    reader = source(origin)
    made: list[Any] = [act(name)] + ([reader] if reader is not None else [])
    given = ARGUMENTS.get(name, {"text": "some text"})
    turns: list[Any] = [call("act", given), "done"]
    said: str | Sequence[Message] = prompt
    if reader is not None:
        turns = [call("read", {"path": TAKES[origin]} if origin in TAKES else {}), *turns]
    elif origin == "an attachment":
        said = [UserMessage((Text(prompt), Image(PNG, "image/png")))]
    elif origin == "text of others in a message":
        said = [UserMessage((Text("Do it.", {"trusted": False}),))]
    result = Agent(Scripted(turns), made).run_sync(said)
    return bool(result.pending)


def test_the_table_has_every_source_and_every_act() -> None:
    assert len({row for row, _, _ in CELLS}) == 12 and len({act for _, act, _ in CELLS}) == 8


@pytest.mark.parametrize(("origin", "name", "cell"), CELLS, ids=lambda part: part.replace(" ", "_"))
def test_a_cell_of_the_table_says_whether_the_act_waits(origin: str, name: str, cell: str) -> None:
    assert cell in ("asks", "runs")
    assert play(origin, name) is (cell == "asks")


@pytest.mark.parametrize(
    ("origin", "name"),
    [(row, name) for row, name, cell in CELLS if cell == "asks" and name in TARGETED],
)
def test_a_target_that_the_person_named_makes_a_cell_run_except_after_a_secret(
    origin: str, name: str
) -> None:
    [target] = ARGUMENTS[name].values()
    # in a message that is by others, the person has said nothing
    waits = origin in ("a secret", "text of others in a message")
    assert play(origin, name, f"Use {target}, please.") is waits


def test_the_question_names_the_label_its_source_and_the_words_that_allow_the_tool() -> None:
    @tool
    def save(text: str) -> str:
        """Save it."""
        return "saved"

    page = named("page", reads(stranger=True))
    turns = [call("page"), call("save", {"text": "x"}), "done"]
    [ticket] = Agent(Scripted(turns), [page, save]).run_sync("go").pending
    first, hint = ticket.reason.splitlines()
    assert "a stranger's text (page)" in first
    assert hint == "To allow this tool: @tool(approval=False), or rules=Rules(allow=['save'])"


@pytest.mark.parametrize(("again", "waits"), [((), False), (("read",), True)])
def test_a_file_that_was_only_written_is_no_strangers_text_for_what_follows(
    again: tuple[str, ...], waits: bool, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("by anybody")
    write = call("write", {"path": "a.md", "content": "by the model"})
    turns = [write, *(call(name, {"path": "a.md"}) for name in again)]
    post = named("post", acts("to"), "to")
    model = Scripted([*turns, call("post", {"to": "somewhere"}), "done"])
    tools = [*Workspace(tmp_path, None).tools, post]
    result = Agent(model, tools).run_sync("Write it and post that it is there.")
    assert bool(result.pending) is waits
    kept = Agent(Scripted([call("post", {"to": "elsewhere"}), "done"]), tools)
    if not waits:  # nor does its transcript say so to a later run
        assert not kept.run_sync([*result.messages, UserMessage("Again.")]).pending
