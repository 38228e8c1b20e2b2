"""A real Chromium on a page on loopback."""

from __future__ import annotations

import asyncio
import http.server
import shutil
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.shared import cannot_run
from tests.waiting import run as run_async
from tests.waiting import until
from toolkeel import Agent, Image, SetupError, ToolError, ToolMessage
from toolkeel.testing.scripted import Scripted, call
from toolkeel_workspace.computer import browser as browser_module
from toolkeel_workspace.computer.browser import PROGRAMS, Browser, normalize_key
from toolkeel_workspace.computer.tool import ComputerTool
from toolkeel_workspace.pictures.too_large import measure_picture

PAGE = b"""<!doctype html><meta charset=utf-8><title>page</title>
<style>*{margin:0}button{position:absolute;left:100px;top:60px;width:120px;height:40px}
#i{position:absolute;left:100px;top:120px}#d{position:absolute;left:300px;top:60px;width:50px;
height:50px;background:red}</style>
<h1 id=h>before</h1><button onclick="h.textContent='after '+(++n)+(event.shiftKey?' shift':'')">go
</button><input id=i><div id=d></div><a id=a href="/two" style="position:absolute;top:200px">two</a>
<script>var n=0;var drag=null;
d.onmousedown=e=>{drag=true};document.onmouseup=e=>{if(drag){h.textContent='dragged to '+e.clientX}}
</script><div style="height:3000px"></div>"""


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        path, second = self.path.partition("?")[0], b"<title>second</title><h1>second</h1>"
        pages = {"/": PAGE, "/popups": POPUPS, "/hoard": HOARD}
        self.wfile.write(pages.get(path, second))

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    if not any(map(shutil.which, PROGRAMS)):
        cannot_run("there is no Chromium: scripts/system_packages.py installs one")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.slow
def test_a_page_is_clicked_typed_into_scrolled_and_dragged(url: str) -> None:
    async def main() -> None:
        async with Browser(url) as browser:
            assert measure_picture(await browser.screenshot()) == (1024, 768)
            await browser.click(160, 80)
            await browser.double_click(160, 80)
            assert await browser.page.inner_text("#h") == "after 3"
            await browser.click(160, 80, "left", ["SHIFT"])
            assert await browser.page.inner_text("#h") == "after 4 shift"
            await browser.click(150, 130)
            await browser.type("héllo 世界")
            assert await browser.page.input_value("#i") == "héllo 世界"
            await browser.keypress(["CTRL", "A"])
            await browser.keypress(["Delete"])
            assert await browser.page.input_value("#i") == ""
            await browser.drag([(320, 80), (400, 300)])
            assert await browser.page.inner_text("#h") == "dragged to 400"
            await browser.scroll(400, 400, 0, 500)
            await browser.page.wait_for_function("scrollY == 500")
            with pytest.raises(ToolError, match="cannot be pressed"):
                await browser.keypress(["NoSuchKey"])

    run_async(main)


@pytest.mark.slow
def test_an_agent_uses_a_browser_and_sees_what_it_did(url: str) -> None:
    async def main() -> None:
        async with Browser(allow=[url.split("/")[2]]) as browser:
            click = {"type": "click", "x": 160, "y": 80}
            model = Scripted(
                [
                    call("computer", {"actions": [{"type": "goto", "url": url}]}),
                    call("computer", {"actions": [click, click]}),
                    call("computer", {"actions": [{"type": "goto", "url": "file:///etc/passwd"}]}),
                    "done",
                ]
            )
            result = await Agent(model, [ComputerTool(browser)]).run("Press the button twice.")
            assert await browser.page.inner_text("#h") == "after 2"
            seen = [m for m in result.messages if isinstance(m, ToolMessage)]
            assert [m.failed for m in seen] == [False, False, True]
            assert all(isinstance(m.content[-1], Image) for m in seen)
            assert seen[0].content[-1] != seen[1].content[-1]
            assert "only http" in seen[2].text

    run_async(main)


@pytest.mark.slow
def test_hosts_that_are_not_allowed_are_not_talked_to(url: str) -> None:
    async def main() -> None:
        async with Browser(allow=["example.org"]) as browser:
            with pytest.raises(ToolError, match="is not allowed"):
                await browser.goto(url)
            await browser.page.set_content(f"<img src='{url}x.png' onerror='document.title=1'>")
            await browser.page.wait_for_function("document.title == '1'")

    run_async(main)


@pytest.mark.slow
def test_a_browser_leaves_nothing_running(url: str) -> None:
    async def main() -> None:
        browser = Browser(url)
        async with browser:
            pass
        with pytest.raises(SetupError, match="not open"):
            _ = browser.page

    run_async(main)


def test_without_a_chromium_the_fix_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SetupError, match="apt-get install chromium"):
        Browser()


@pytest.mark.parametrize(
    ("given", "known"),
    [("CTRL", "Control"), ("Control_L", "Control"), ("Page_Down", "PageDown"), ("A", "a"),
     ("ARROWLEFT", "ArrowLeft"), ("f11", "F11"), ("+", "+"), ("é", "é"), ("super", "Meta")],
)  # fmt: skip
def test_keys_are_known_by_all_their_names(given: str, known: str) -> None:
    assert normalize_key(given) == known


POPUPS = b"""<!doctype html><title>popups</title><h1>popups</h1>
<button style="position:fixed;left:0;top:0;width:300px;height:300px" onclick="more(20)">more</button>
<script>function more(n){while(n--)window.open('/popups?'+Math.random(),'_blank')}
setInterval(()=>more(5),20)</script>"""
HOARD = b"""<!doctype html><title>hoard</title><script>const kept=[];
setInterval(()=>kept.push(new Uint8Array(32<<20).fill(7)),20)</script>"""


@pytest.mark.slow
def test_a_page_opens_others_only_where_it_is_clicked_and_no_more_than_may_be_open(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_module, "MAX_PAGES", 3)

    async def main() -> None:
        async with Browser(f"{url}popups") as browser:
            first, context = browser.page, browser.page.context
            opened: list[Any] = []
            context.on("page", lambda page: opened.append(page))
            await asyncio.sleep(0.5)  # 25 times five; to ask the page would count as a click
            assert not opened
            for clicks in range(1, 7):
                await browser.click(50, 50)
                await until(lambda clicks=clicks: len(opened) >= clicks)  # type: ignore[misc]
                await until(lambda: len(context.pages) <= 3)
                await browser.page.wait_for_load_state()
            assert len(opened) <= 3 * 6 and first.is_closed()
            assert await browser.screenshot()

    run_async(main, 120)


@pytest.mark.slow
def test_pages_that_use_too_much_memory_are_closed_and_one_says_so(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_module, "MAX_MEMORY", 700 << 20)

    async def main() -> None:
        async with Browser(url) as browser:
            await browser.goto(f"{url}hoard")
            hoard = browser.page
            await until(lambda: hoard.is_closed(), 60)
            await browser.page.wait_for_selector("text=more than 700 MB of memory")
            await browser.goto(url)  # it can be used on
            assert await browser.page.inner_text("#h") == "before"

    run_async(main, 120)
