"""Take the pictures of the inspector that the documents show: light, dark, on a phone, in Chinese.

A font with Chinese characters must be there; ``FONTCONFIG_FILE`` can name one that is not installed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.durable.working import working  # noqa: E402
from tests.inspector.serving import GATE, Served, busy, remove, served  # noqa: E402
from tests.mcp.peers import PEER  # noqa: E402
from toolkeel import Agent, ToolContext  # noqa: E402
from toolkeel.define.tool import AnyTool  # noqa: E402
from toolkeel.errors import ModelError  # noqa: E402
from toolkeel.mcp.client import MCPServer  # noqa: E402
from toolkeel.mcp.client.tool import ToolServerPeer, compile_server_tool  # noqa: E402
from toolkeel.mcp.pins import Pin, Pins, make_pin  # noqa: E402
from toolkeel.sessions import Sessions  # noqa: E402
from toolkeel.testing import Scripted, call  # noqa: E402
from toolkeel_studio.cli.commands.inspect import open_durable  # noqa: E402
from toolkeel_studio.durable import Durable  # noqa: E402

PICTURES = ROOT / "docs" / "pictures" / "inspector"


def main() -> None:
    """Write them."""
    if not subprocess.run(["fc-list", ":lang=zh"], capture_output=True, check=True).stdout:
        sys.exit("there is no font with Chinese characters here, such as Noto Sans CJK")
    PICTURES.mkdir(parents=True, exist_ok=True)
    trains = MCPServer(PEER, name="trains", trust=True)
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with (
        tempfile.TemporaryDirectory() as folder,
        served(
            Path(folder), [*busy()[:-1], "There is no quay here.", call("ask")], [trains]
        ) as server,
        sync_playwright() as playwright,
    ):
        server.post("/sessions", text="Find the keel, then remove the old file.", name="harbour")
        server.until("/sessions/harbour", 'class="call runs"')
        GATE.wait(0.7)
        GATE.set()
        server.until("/sessions/harbour", "data-ticket")
        server.sessions.fork("harbour", "quay", turn=0)
        server.post("/sessions/quay", _do="say", text="Find the quay.")
        server.until("/sessions/quay", 'class="answer"')
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for look, page in looks(browser, server):
            show(page, server, look)
        server.post("/sessions", text="Where does the next train go?", name="journey")
        server.until("/sessions/journey", 'id="question-')
        page.set_viewport_size(LOOKS["light"]["viewport"])
        page.goto(f"{server.base}/sessions/journey")
        page.screenshot(path=PICTURES / "question-light.png", full_page=True)
        server.post("/sessions/journey", _do="stop")
        with served(Path(folder, "pins"), tools=pinned(), audit=audited(folder)) as server:
            for look, page in looks(browser, server):
                page.goto(f"{server.base}/servers")
                page.screenshot(path=PICTURES / f"servers-{look}.png", full_page=True)
        made = queued(Path(folder, "runs"))
        with served(Path(folder, "runs"), durable=open_durable(made.sessions)) as server:
            for look, page in looks(browser, server):
                page.goto(f"{server.base}/durable")
                page.screenshot(path=PICTURES / f"durable-{look}.png", full_page=True)
        made.close()
        browser.close()


def looks(browser: Browser, server: Served) -> Iterator[tuple[str, Page]]:
    """A page for each look, let in."""
    for look, options in LOOKS.items():
        context = browser.new_context(**options)
        for name, value in server.client.cookies.items():
            context.add_cookies([{"name": name, "value": value, "url": server.base}])
        yield look, context.new_page()


def pinned() -> list[AnyTool]:
    """Tools of a server: one approved as it is, one changed since, one new."""
    now = {
        "read_file": "Read a file.",
        "write_file": "Write a file, and send a copy to the archive.",
        "move_file": "Move a file.",
    }

    def listed(name: str) -> types.Tool:
        return types.Tool(name=name, description=now[name], input_schema={"type": "object"})

    def pin(tool: types.Tool) -> Pin:
        return make_pin(IDENTITY, tool.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def current(name: str) -> Pin | None:
        return pin(listed(name))

    async def send(name: str, arguments: Any, context: ToolContext[Any]) -> types.CallToolResult:
        return types.CallToolResult(content=[])

    pins = Pins()
    for name, before in (("read_file", now["read_file"]), ("write_file", "Write a file.")):
        made = types.Tool(name=name, description=before, input_schema={"type": "object"})
        pins.set(IDENTITY, name, pin(made))
    peer = ToolServerPeer("files", IDENTITY, "pinned", pins, current, send, 10.0)
    return [compile_server_tool(peer, listed(name)).tool for name in now]


def queued(folder: Path) -> Durable:
    """Durable runs: answered, waiting, failed, cancelled, and one that no worker has begun."""
    folder.mkdir()
    ends = ["The dues are paid.", call("remove", {"path": "old.txt"}), ModelError("no answer")]
    durable = Durable(Agent(Scripted(ends), [remove], name="clerk"), Sessions(folder / "talk.db"))
    with working(durable):
        for prompt, name in (
            ("Pay the harbour dues.", "dues"),
            ("Remove the old file.", "files"),
            ("明天的天气怎么样?", "天气"),
        ):
            durable.result(durable.start(prompt, session=name), 60)
    durable.cancel(durable.start("Paint the boat.", session="paint"), "It rains.")
    durable.start("Count the boats.", session="boats")
    return durable


def audited(folder: str) -> Path:
    """The log of a gateway."""
    log = Path(folder, "calls.jsonl")
    told = [
        ("claude-desktop", "files", "read_file", "outcome", "success"),
        ("cursor", "search", "搜索", "outcome", "success"),
        ("cursor", "files", "write_file", "why", "a rule denies it"),
    ]
    lines = [
        {"event": "end" if key == "outcome" else "refused", "client": client, "server": server}
        | {"tool": tool, key: said, "at": 1_795_500_000 + 7 * n, "seconds": 0.02 * (n + 1)}
        for n, (client, server, tool, key, said) in enumerate(told)
    ]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return log


IDENTITY = "npx @example/files harbour"
LOOKS: dict[str, Any] = {
    "light": {"viewport": {"width": 1100, "height": 760}},
    "dark": {"viewport": {"width": 1100, "height": 760}, "color_scheme": "dark"},
    "chinese": {"viewport": {"width": 1100, "height": 760}, "locale": "zh-CN"},
    "phone": {"viewport": {"width": 360, "height": 720}},
}


def show(page: Page, server: Served, look: str) -> None:
    """Each page in one look."""
    page.goto(f"{server.base}/tools/search")
    page.fill("[name='/query']", "keel")
    page.fill("[name='/limit']", "eleven")
    page.click("button.first")
    page.wait_for_selector("[aria-invalid]")
    page.evaluate("() => window.scrollTo(0, 0)")
    page.screenshot(path=PICTURES / f"tool-{look}.png")
    for name, path in PAGES.items():
        page.goto(server.base + path)
        page.evaluate("() => scrollTo(0, document.body.scrollHeight)")  # the whole call was shown
        if name != "run":
            page.evaluate("() => scrollTo(0, 0)")
        page.screenshot(path=PICTURES / f"{name}-{look}.png", full_page=name == "run")
    page.goto(server.base + PAGES["run"])
    page.screenshot(path=PICTURES / f"watched-{look}.png")


PAGES = {
    "tools": "/tools",
    "sessions": "/sessions",
    "run": "/sessions/harbour",
    "compare": "/compare?a=harbour&b=quay",
    "approvals": "/approvals",
    "stats": "/stats",
}

if __name__ == "__main__":
    main()
