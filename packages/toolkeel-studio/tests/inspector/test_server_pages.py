"""The page of servers tells what was approved, what has changed, and what clients of a gateway called."""

from __future__ import annotations

import json
import os
import threading
from asyncio import run
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import Agent, ToolContext
from toolkeel.mcp.client.tool import ToolServerPeer, compile_server_tool
from toolkeel.mcp.pins import Pin, Pins, make_pin
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted
from toolkeel_studio.gateway.status_files import status_folder
from toolkeel_studio.inspector.app import Inspector
from toolkeel_studio.inspector.server_pages import calls_in

OUTSIDE = '<script>window.ran=1</script> "猫"'


def listed(name: str, description: str) -> types.Tool:
    return types.Tool(name=name, description=description, input_schema={"type": "object"})


def pin(tool: types.Tool) -> Pin:
    return make_pin("npx files", tool.model_dump(mode="json", by_alias=True, exclude_none=True))


def text_of(agent: Agent[Any, Any], folder: Path, audit: Path | None = None) -> str:
    """The page of servers, as a browser gets it."""
    inspector = Inspector(agent, Sessions(folder / "talk.db"), audit=audit)
    ready = threading.Event()
    thread = threading.Thread(target=lambda: run(inspector.serve(ready.set)))
    thread.start()
    assert ready.wait(60)
    try:
        bearer = {"Authorization": f"Bearer {inspector.token}"}
        page = inspector.url.partition("/login")[0] + "/servers"
        return httpx2.get(page, headers=bearer, timeout=60).text
    finally:
        inspector.stop()
        thread.join(60)


def test_each_definition_is_approved_new_or_shown_with_its_difference(tmp_path: Path) -> None:
    now = {"read": "Read.", "write": f"Write. {OUTSIDE}", "move": "Move."}

    async def current(tool: str) -> Pin | None:
        return pin(listed(tool, now[tool]))

    async def send(tool: str, arguments: Any, context: ToolContext[Any]) -> types.CallToolResult:
        return types.CallToolResult(content=[])

    pins = Pins()
    pins.set("npx files", "read", pin(listed("read", "Read.")))
    pins.set("npx files", "write", pin(listed("write", "Write.")))
    peer = ToolServerPeer("files", "npx files", "pinned", pins, current, send, 10.0)
    tools = [compile_server_tool(peer, listed(name, text)).tool for name, text in now.items()]
    text = text_of(Agent(Scripted([]), tools), tmp_path)
    assert "1 approved" in text and "1 changed" in text and "1 new" in text
    assert "-  &#34;description&#34;: &#34;Write.&#34;" in text and "<script>window" not in text
    assert "toolkeel mcp pin files write" in text and "mcp pin files read" not in text


def test_running_gateways_are_shown_with_what_is_down_and_who_is_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    since = "2026-11-28T10:00:00+00:00"
    down = {"server": "far", "state": "down", "since": since, "tools": 0, "calls": 4}
    ada = {"client": "ada", "software": OUTSIDE, "calls": 7, "sessions": 2, "last_request": since}
    state = {
        "file": "mcp.json",
        "pid": os.getpid(),
        "servers": [{**down, "why": "it ended", "output": "no key <b>is set"}],
        "clients": [ada, {**ada, "client": ""}],
        "refused": {f"rule: deny {OUTSIDE}": 3},
        "asked": {},
    }
    status_folder().mkdir(parents=True)
    (status_folder() / f"{os.getpid()}.json").write_text(json.dumps(state))
    text = text_of(Agent(Scripted([])), tmp_path)
    for shown in (
        since,
        "it ended",
        "no key &lt;b&gt;is set",
        "ada",
        "without a token",
        "3 × rule: deny",
    ):
        assert shown in text
    assert "<script>window" not in text and "person was asked" not in text


def test_without_a_server_the_page_says_how_to_come_to_one(tmp_path: Path) -> None:
    text = text_of(Agent(Scripted([])), tmp_path)
    assert "No tools from MCP servers. To load some, run:" in text and "gateway called" not in text


def test_the_last_calls_of_a_gateway_are_shown_whatever_else_stands_in_its_log(
    tmp_path: Path,
) -> None:
    audit = tmp_path / "calls.jsonl"
    said = {"at": 1.7e9, "client": "ada", "server": "files", "tool": OUTSIDE}
    rows = [
        json.dumps({"event": "call", **said}),
        json.dumps({"event": "end", "outcome": "success", "seconds": 0.25, **said}),
        json.dumps({"event": "cached", **said}),
        "half a li",
        "[1]",
        json.dumps({"event": "refused", "why": "a rule denies it", **said}),
        json.dumps({"event": "end", "outcome": 7, "seconds": "x"}),
        '{"event": "end", "at": 1e30, "seconds": 1e999}',
        '{"event": "end", "at": NaN, "seconds": -1e999}',
        '{"event": "end", "a": ' + "[" * 3000,
    ]
    audit.write_text("\n".join(rows) + "\n", "utf-8")
    text = text_of(Agent(Scripted([])), tmp_path, audit)
    assert "success" in text and "250 ms" in text and "a rule denies it" in text
    assert text.index("a rule denies it") < text.index("success") and "<script>window" not in text
    assert '"Outcome">cached<' in text
    assert "1970" not in text  # a time that is not known is not shown as one


def test_a_log_that_is_not_there_shows_no_call(tmp_path: Path) -> None:
    assert list(calls_in(tmp_path / "none.jsonl")) == []


@given(st.lists(st.integers(0, 10**6), max_size=200), st.integers(0, 60))
def test_the_last_call_comes_first_and_none_is_shown_that_was_cut(
    numbers: list[int], padding: int
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        audit = Path(folder) / "calls.jsonl"
        lines = [
            json.dumps({"event": "end", "tool": n, "pad": "猫" * padding * 60}) for n in numbers
        ]
        audit.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        found = [entry["tool"] for entry in calls_in(audit)]
    assert found == [str(number) for number in numbers[::-1]][: len(found)]
    assert len(found) == len(numbers) or len(numbers) * padding > 50
