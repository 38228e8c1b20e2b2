"""Take the pictures of the inspector that the documents show: light, dark, on a phone, in Chinese.

A font with Chinese characters must be there; ``FONTCONFIG_FILE`` can name one that is not installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.inspector.serving import GATE, Served, busy, served  # noqa: E402
from tests.mcp.peers import PEER  # noqa: E402
from toolkeel.mcp.client import MCPServer  # noqa: E402
from toolkeel.testing import call  # noqa: E402

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
        cookies = [
            {"name": name, "value": value, "url": server.base}
            for name, value in server.client.cookies.items()
        ]
        for look, options in LOOKS.items():
            context = browser.new_context(**options)
            context.add_cookies(cookies)
            page = context.new_page()
            show(page, server, look)
        server.post("/sessions", text="Where does the next train go?", name="journey")
        server.until("/sessions/journey", 'id="question-')
        page.set_viewport_size(LOOKS["light"]["viewport"])
        page.goto(f"{server.base}/sessions/journey")
        page.screenshot(path=PICTURES / "question-light.png", full_page=True)
        browser.close()
        server.post("/sessions/journey", _do="stop")


LOOKS = {
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
    "servers": "/servers",
    "stats": "/stats",
}

if __name__ == "__main__":
    main()
