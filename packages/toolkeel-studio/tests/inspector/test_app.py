"""A newcomer's tour in a real browser: nothing runs that should not, and everybody can use it."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.inspector.serving import GATE, REMOVED, Served, busy, served
from tests.mcp.peers import PEER
from tests.shared import ROOT, cannot_run, peer
from toolkeel import Agent, Effects, tool
from toolkeel.define.tool import Tool
from toolkeel.errors import SetupError
from toolkeel.mcp.client import MCPServer
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call
from toolkeel_studio.inspector.app import Inspector
from toolkeel_workspace.computer.browser import PROGRAMS

AXE = ROOT / "tests" / "node" / "node_modules" / "axe-core" / "axe.min.js"
EVERYBODY = {
    "type": "tag",
    "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}
BY_COLOUR = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
"""What can be wrong where nothing but colours is another."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        cannot_run("there is no Chromium: scripts/system_packages.py installs one")
    with peer("playwright.sync_api").sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def faults(page: Any, only: Mapping[str, object] = EVERYBODY) -> list[str]:
    """What axe-core finds wrong, and what it could not decide."""
    if not AXE.is_file():
        cannot_run("axe-core is not installed in tests/node: make test installs it")
    page.evaluate(AXE.read_text("utf-8") + "\n;0")
    told: list[str] = []
    for _ in range(5):  # a page that changes while it is looked at is looked at once more
        found = page.evaluate("(only) => axe.run({runOnly: only})", only)
        told = [
            f"{page.url} {row['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
            for row in [*found["violations"], *found["incomplete"]]
            for node in row["nodes"]
        ]
        if not told:
            break
    return told


@pytest.mark.slow
def test_a_newcomer_tries_talks_watches_approves_and_compares(
    chromium: Any, tmp_path: Path
) -> None:
    said: list[str] = []
    with served(tmp_path, [*busy(), "Still gone."]) as server:
        context = chromium.new_context(viewport={"width": 1200, "height": 900})
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(server.inspector.url)
        page.click("ul.grid >> text=search")
        page.fill("[name='/query']", "keel")
        page.fill("[name='/limit']", "eleven")
        page.click("button.first")
        wrong = page.locator("[aria-invalid]")
        assert wrong.get_attribute("name") == "/limit" and wrong.input_value() == "eleven"
        page.fill("[name='/limit']", "2")
        page.keyboard.press("Enter")
        page.wait_for_selector("#result.good")
        assert "keel 2" in page.inner_text("#result")

        page.click("nav >> text=Sessions")
        page.wait_for_load_state()  # Enter sends once the script is there
        page.fill("#text", "Remove 猫.txt, please.")
        page.keyboard.press("Enter")
        page.wait_for_selector(".call.runs >> nth=1")
        page.wait_for_load_state()
        page.fill("#text", "and hurry")
        page.keyboard.press("Enter")
        page.wait_for_selector(".said.queued >> text=and hurry")  # it waits for the next request
        GATE.set()
        page.wait_for_selector(".said:not(.queued) >> text=and hurry")  # steered: it was read
        page.wait_for_selector("form.ticket")  # it came by itself: nobody has loaded the page anew
        assert "猫.txt" in page.inner_text("form.ticket pre")
        assert page.locator("form.ticket").count() == 1
        page.click("form.ticket >> text=Edit the arguments")
        page.fill("form.ticket [name=arguments]", '{"path": 7}')
        page.click("form.ticket >> text=Run with these arguments")  # refused: what was wrong stays
        page.wait_for_selector("html[data-ready]")
        page.evaluate("() => new Promise((done) => refresh(done))")
        page.evaluate("() => new Promise((done) => setTimeout(done, 100))")
        assert "path: expected a string" in page.inner_text("#problem")
        assert page.input_value("[aria-invalid]") == '{"path": 7}'
        said.remove(
            "Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)"
        )
        page.click("form.ticket >> text=Approve")
        page.wait_for_selector(".answer >> text=Done.")
        assert REMOVED == ["猫.txt"]
        assert page.locator("rect.runs").count() >= 5

        page.click("nav >> text=Sessions")  # a session of before is found, and gone on with
        page.fill("#q", "猫.txt")
        page.keyboard.press("Enter")
        page.click("table.listed >> text=Remove-猫-txt-please")
        page.wait_for_load_state()
        page.fill("#text", "and now?")
        page.keyboard.press("Enter")
        page.wait_for_selector(".answer >> text=Still gone.")
        page.click("text=Fork from a turn")
        page.select_option("#turn", "0")
        page.fill("#to", "other")
        page.click("text=Fork into a new session")
        page.wait_for_url("**/sessions/other#end")
        page.goto(f"{server.base}/compare?a=other&b=Remove-猫-txt-please")
        assert page.locator("tr.changed").count() >= 2
        assert page.evaluate("() => window.ran") is None
        assert said == []


PATHS = (
    "/tools",
    "/tools/wide",
    "/sessions",
    "/sessions/ada",
    "/approvals",
    "/stats",
    "/servers",
    "/compare?a=ada&b=ada",
)
LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "forced colours": {"forced_colors": "active"},
    "narrow Chinese": {"viewport": {"width": 320, "height": 800}, "locale": "zh-CN"},
}


@pytest.mark.slow
def test_a_newcomer_answers_what_a_server_asks_while_the_run_goes_on(
    chromium: Any, tmp_path: Path
) -> None:
    asks = MCPServer(PEER, name="trains", trust=True)
    with served(tmp_path, [call("ask"), "It goes to **猫城**."], [asks]) as server:
        page = chromium.new_context().new_page()
        page.goto(server.inspector.url)
        server.post("/sessions", text="Go.", name="ada")
        server.until("/sessions/ada", "Go.")
        page.goto(f"{server.base}/sessions/ada")
        page.wait_for_selector(
            "form.ticket >> text=A server has a question"
        )  # nobody loaded it anew
        assert page.input_value("[name='/days']") == "3"
        page.fill("[name='/city']", "猫城")
        page.fill("[name='/days']", "many")
        page.keyboard.press("Enter")
        page.wait_for_selector("[aria-invalid]")
        page.evaluate("() => new Promise((done) => refresh(done))")
        page.evaluate("() => new Promise((done) => setTimeout(done, 100))")
        assert page.locator("[aria-invalid]").get_attribute("name") == "/days"
        assert page.input_value("[name='/city']") == "猫城"
        assert not faults(page)
        page.fill("[name='/days']", "2")
        page.click("text=Send the answer")
        page.wait_for_selector(".answer strong >> text=猫城")
        assert page.locator("form.ticket").count() == 0
    with ThreadPoolExecutor(1) as elsewhere:  # Playwright has a loop of its own in this thread
        elsewhere.submit(asyncio.run, asks.close()).result(60)


@pytest.mark.slow
def test_a_call_can_be_approved_when_all_of_it_was_on_the_screen(
    chromium: Any, tmp_path: Path
) -> None:
    path = "/tmp/" + "a very long name " * 400 + "; rm -rf"
    with served(tmp_path, [call("remove", {"path": path}), "Removed."]) as server:
        server.post("/sessions", text="Remove it.", name="ada")
        server.until("/sessions/ada", "data-ticket")
        page = chromium.new_context(viewport={"width": 600, "height": 500}).new_page()
        page.goto(server.inspector.url)
        page.goto(f"{server.base}/sessions/ada#end")  # where the buttons are
        approve, deny = (page.locator(f"button[value={one}]") for one in ("approve", "deny"))
        assert approve.is_disabled() and deny.is_enabled()
        assert page.locator("[data-asleep]").is_visible() and not faults(page)
        page.evaluate("() => scrollTo(0, 0)")  # its begin and its end, and nothing between
        page.evaluate("() => scrollTo(0, document.body.scrollHeight)")
        assert approve.is_disabled()
        while page.evaluate("scrollY") > 0:
            page.mouse.wheel(0, -200)
            page.evaluate("() => new Promise(requestAnimationFrame)")
        approve.click()
        server.until("/sessions/ada", "Removed.")
        assert REMOVED.pop() == path


@pytest.mark.slow
def test_a_call_approved_for_the_session_in_the_page_is_asked_about_once(
    chromium: Any, tmp_path: Path
) -> None:
    @tool(approval=True, effects=Effects(destructive=False, open_world=False))
    def note(text: str) -> str:
        """Note a text."""
        return f"noted {text}"

    model = [call("note", {"text": n}) for n in "ab"]
    with served(tmp_path, [*model, "Both are noted."], [note]) as server:
        page = chromium.new_context().new_page()
        page.goto(server.inspector.url)
        server.post("/sessions", text="Note both.", name="ada")
        server.until("/sessions/ada", "data-ticket")
        page.goto(f"{server.base}/sessions/ada")
        assert "later calls of note" in page.inner_text("form.ticket")
        page.locator("form.ticket > pre").scroll_into_view_if_needed()  # the call is read
        page.click("form.ticket >> text=Approve for the session")
        page.wait_for_selector(".answer >> text=Both are noted.")
        assert page.locator("form.ticket").count() == 0
        assert page.locator(".call.done >> text=noted b").count() == 1


LONG = "w" * 400
POINT = {"type": "object", "properties": {LONG: {"type": "string", "description": LONG}}}
WIDE = {"points": {"type": "array", "items": POINT}, "or": {"anyOf": [POINT, {"const": LONG}]}}


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An inspector with a run that waits for approval, and words that fit no line."""
    schema = {"type": "object", "properties": WIDE}
    wide = Tool.from_schema("wide", LONG, schema, lambda context, arguments: LONG)
    with served(tmp_path_factory.mktemp("waiting"), busy(), [wide]) as server:
        GATE.set()
        server.post("/sessions", text=f"Remove it. {LONG}", name="ada")
        server.until("/sessions/ada", "data-ticket")
        yield server


@pytest.mark.slow
@pytest.mark.parametrize("look", LOOKS)
def test_everybody_can_use_every_page(look: str, chromium: Any, waiting: Served) -> None:
    usual = {"viewport": {"width": 1200, "height": 800}, "locale": "en-GB"}
    context = chromium.new_context(**usual | LOOKS[look], reduced_motion="reduce")
    for name, value in waiting.client.cookies.items():
        context.add_cookies([{"name": name, "value": value, "url": waiting.base}])
    page = context.new_page()
    found = []
    for path in PATHS:
        page.goto(waiting.base + path)
        if path == "/tools/wide":
            page.click("text=+")
        found += faults(page, BY_COLOUR if look in ("dark", "forced colours") else EVERYBODY)
        over = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, f"{path} scrolls sideways by {over}"
    context.close()
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_ten_pages_of_running_sessions_work_at_once_and_recover_when_the_server_is_back(
    chromium: Any, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"token": "t" * 32}
    with served(tmp_path, [call("hold", {"name": "x"}), "Done."], **options) as server:
        port = int(server.origin.rpartition(":")[2])
        context = chromium.new_context()
        first = context.new_page()
        first.goto(server.inspector.url)
        server.post("/sessions", text="Hold.", name="ada")
        pages = [context.new_page() for _ in range(10)]
        for page in pages:  # a stream for each would leave the seventh blank
            page.goto(f"{server.base}/sessions/ada", timeout=20_000)
            page.wait_for_selector(".call.runs")
        GATE.set()
        for page in pages:
            page.wait_for_selector(".answer >> text=Done.")
    pages[9].bring_to_front()
    pages[9].wait_for_selector("#gone >> text=not running")
    with served(tmp_path, port=port, **options):
        pages[9].wait_for_selector("#gone", state="hidden")
    context.close()


@pytest.mark.slow
def test_injected_html_neither_runs_nor_sends_nor_swaps_anything(
    chromium: Any, tmp_path: Path
) -> None:
    """What would happen if the escaping failed one day: the policy holds by itself."""
    with served(tmp_path) as server:
        asked: list[str] = []
        page = chromium.new_context().new_page()
        page.goto(server.inspector.url)
        page.on("request", lambda request: asked.append(request.url))
        evil = json.dumps(
            "<script>window.ran=1</script><script src=/static/live.js></script>"
            "<img src=http://127.0.0.1:9/p.png onerror='window.ran=2'><iframe src=/tools></iframe>"
        )
        for code in (f"document.body.innerHTML = {evil}", f"document.write({evil})"):
            refused = page.evaluate(
                f"() => {{ try {{ {code}; return '' }} catch (e) {{ return `${{e}}` }} }}"
            )
            assert refused
        assert page.evaluate("() => window.ran") is None
        assert [url for url in asked if not url.endswith("mark.svg")] == []


def test_it_listens_on_this_machine_alone_and_says_when_it_cannot(tmp_path: Path) -> None:
    agent, sessions = Agent(Scripted([])), Sessions(":memory:")
    with served(tmp_path) as server:
        port = int(server.origin.rpartition(":")[2])
        assert server.origin.startswith("http://127.0.0.1:")
        with pytest.raises(SetupError, match=f"127.0.0.1:{port}"):
            Inspector(agent, sessions, port=port)
        assert server.client.get("/static/style.css").headers["content-type"].startswith("text/css")
        assert server.client.get("/static/zh.json").status_code == 404


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Served]:
    """An inspector at work."""
    with served(tmp_path) as made:
        yield made


def test_the_first_page_is_that_of_the_tools(page: Served) -> None:
    assert page.client.get("/").headers["location"] == f"{page.place}/tools"
