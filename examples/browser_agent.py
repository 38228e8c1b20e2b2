"""A browser agent: it looks at a page, books a berth on it, and can reach nothing else.

Needs Chromium and ``pip install 'toolkeel[browser]'``.
"""

import asyncio
import http.server
import threading
from functools import partial
from pathlib import Path

from toolkeel import Agent
from toolkeel.testing import Scripted, call
from toolkeel_workspace import Browser, ComputerTool

PAGES = Path(__file__).parent / "workbench"


def click(x: int, y: int) -> dict[str, object]:
    return {"type": "click", "x": x, "y": y}


# What a model that sees the pictures would do: Agent("openai:gpt-5", [ComputerTool(browser)]).
BERTH, NAME, TIME, BOOK = click(272, 273), click(600, 132), click(681, 186), click(600, 252)
REPLIES = [
    call("computer", {"actions": [{"type": "goto", "url": "http://example.org/"}]}),
    call("computer", {"actions": [BERTH, NAME, {"type": "type", "text": "海鹦"}, TIME]}),
    call("computer", {"actions": [BOOK]}),
    "B3 is yours.",
]


async def main(url: str) -> None:
    async with Browser(url, width=760, height=400, allow=["127.0.0.1"]) as browser:
        agent = Agent(Scripted(REPLIES), [ComputerTool(browser)])
        # After a page's text each act that goes outward is asked about.
        result = await agent.run("Book B3 for the 海鹦, at 16:00.", approver=lambda ticket: True)
        for message in result.messages[2::2]:
            print("result:", message.text.splitlines()[0])
        print("answer:", result.output)
        print("the page says:", await browser.page.inner_text("#told"))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    handler = partial(Quiet, directory=PAGES)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asyncio.run(main(f"http://127.0.0.1:{server.server_port}/berths.html"))
        server.shutdown()
