"""Pages in a real browser: that of ``docs/front-ends.md``, and one of assistant-ui over AG-UI."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.gates.documents import blocks
from tests.serve.serving import serve
from tests.serve.talking import PAY, RAN, Talk, pay, talking, text
from tests.shared import ROOT, cannot_run, node_command, peer
from toolkeel import Agent
from toolkeel_studio.serve.app import app
from toolkeel_workspace.computer.browser import PROGRAMS

NODE = ROOT / "tests" / "node"
IMPORT = re.compile(r"import \{([^}]*)\} from '([^']*)';")


def document_page() -> str:
    """Return the page of the document, for an application at the root of its server."""
    documented = (ROOT / "docs" / "front-ends.md").read_text("utf-8")
    [page] = [b.code for b in blocks(documented) if b.language == "html"]
    return page.replace("'/chat/api/chat'", "'/api/chat'")


async def bundle(page: str, folder: Path) -> dict[str, Path]:
    """Build the packages that a page imports, with the names that it imports; return them by package."""
    made: dict[str, Path] = {}
    for names, package in IMPORT.findall(page):
        made[package] = Path(f"{re.sub('[^a-z]', '', package)}.mjs")
        exported = ", ".join(each.partition(" as ")[0].strip() for each in names.split(","))
        (folder / made[package]).write_text(
            f"import * as all from {package!r};\n"
            f"const from = all.default ? {{...all.default, ...all}} : all;\n"
            f"export const {{{exported}}} = from;\n",
            "utf-8",
        )
    if not (NODE / "node_modules" / "react-dom").is_dir():
        cannot_run("react-dom is not installed in tests/node: make test installs it")
    (folder / "node_modules").symlink_to(NODE / "node_modules")
    command = [
        *node_command("rolldown/bin/cli.mjs"),
        "-d",
        "built",
        "--format",
        "esm",
        "--platform",
        "browser",
    ]
    command += ["--transform.define", "process.env.NODE_ENV:'production'"]
    entries = [each.name for each in made.values()]
    build = await asyncio.create_subprocess_exec(
        *command, *entries, cwd=folder, stdout=-1, stderr=-1
    )
    out, err = await build.communicate()
    assert build.returncode == 0, (out + err).decode()
    return {package: folder / "built" / f"{name.stem}.js" for package, name in made.items()}


@asynccontextmanager
async def browsing(
    talk: Talk, lines: list[Any], folder: Path, html: str = "", protocol: str = "vercel"
) -> AsyncIterator[Any]:
    """Open a page in a browser, the document's by default; its packages come from this machine."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        cannot_run("there is no Chromium: scripts/system_packages.py installs one")
    html = html or document_page()
    built = await bundle(html, folder)
    agent = Agent(talk.channels(lines).agent.model, [pay])
    made = app(agent, protocols=[protocol], sessions=talk.sessions, deciders="user")
    talk.close_later(made.state.channels)
    for package, file in built.items():
        html = re.sub(rf'("{re.escape(package)}": )"[^"]*"', rf'\1"/built/{file.name}"', html)
    assert "esm.sh" not in html

    async def answer(route: Any) -> None:
        place = route.request.url.partition("/built/")[2]
        if place:
            await route.fulfill(path=folder / "built" / place, content_type="text/javascript")
        else:
            await route.fulfill(body=html, content_type="text/html")

    async with serve(made) as client, peer("playwright.async_api").async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = await browser.new_page()
        await page.route(re.compile(r"/(built/.*|page)(#.*)?$"), answer)
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        await page.goto(f"{str(client.base_url).rstrip('/')}/page")
        yield page
        assert problems == []
        await browser.close()


async def say(page: Any, words: str) -> None:
    """Type a message and send it."""
    await page.fill("input", words)
    await page.click("text=Send")


async def shown(page: Any) -> list[str]:
    """Return the text of each message."""
    texts = await page.locator("section").all_inner_texts()
    return [" ".join(each.split()) for each in texts]


@pytest.mark.slow
@pytest.mark.parametrize("is_reloaded", [False, True])
def test_a_click_approves_what_waits_also_after_a_reload(is_reloaded: bool, tmp_path: Path) -> None:
    @talking
    async def use(talk: Talk) -> None:
        async with browsing(talk, [PAY, text("Paid.")], tmp_path) as page:
            await say(page, "Pay 5 euros.")
            await page.wait_for_selector("text=Approve")
            if is_reloaded:
                await page.reload()
            await page.click("text=Approve")
            await page.wait_for_selector("text=Paid.")
            seen = await shown(page)
            assert seen == ["user Pay 5 euros.", 'assistant pay {"amount":5}: paid 5 Paid.']
            await page.reload()
            await page.wait_for_selector("text=Paid.")
            assert await shown(page) == seen

    use(tmp_path)


@pytest.mark.slow
def test_a_denied_call_does_not_run(tmp_path: Path) -> None:
    @talking
    async def use(talk: Talk) -> None:
        async with browsing(talk, [PAY, text("Then not.")], tmp_path) as page:
            await say(page, "Pay 5 euros.")
            await page.click("text=Deny")
            await page.wait_for_selector("text=Then not.")
            [_, message] = await shown(page)
            assert "output-denied" in message and "paid" not in message

    use(tmp_path)


@pytest.mark.slow
def test_a_page_that_is_reloaded_in_the_middle_of_a_text_has_it_once(tmp_path: Path) -> None:
    @talking
    async def use(talk: Talk) -> None:
        gate = asyncio.Event()
        line = [*text("One, ", "two, ")[:-1], gate, *text("three.")]
        async with browsing(talk, [line], tmp_path) as page:
            await say(page, "Count.")
            await page.wait_for_selector("text=One, two,")
            await page.reload()
            await page.wait_for_selector("text=One, two,")
            gate.set()
            await page.wait_for_selector("text=three.")
            assert await shown(page) == ["user Count.", "assistant One, two, three."]

    use(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["Approve", "Deny"])
def test_a_click_in_assistant_ui_decides_and_shows_the_real_result(
    answer: str, tmp_path: Path
) -> None:
    @talking
    async def use(talk: Talk) -> None:
        html = (NODE / "assistant_ui.html").read_text("utf-8")
        async with browsing(talk, [PAY, text("Done.")], tmp_path, html, "agui") as page:
            await page.fill("textarea", "Pay 5 euros.")
            await page.click("text=Send")
            await page.click(f"text={answer}")
            await page.wait_for_selector("text=Done.")
            said, *answered = await shown(page)
        result = {"Approve": "paid 5", "Deny": "not approved"}[answer]
        assert ["pay 5"] * (answer == "Approve") == RAN and said == "Pay 5 euros."
        seen = " ".join(answered)
        assert seen.count("pay {") == seen.count(result) == seen.count("Done.") == 1, seen

    use(tmp_path)
