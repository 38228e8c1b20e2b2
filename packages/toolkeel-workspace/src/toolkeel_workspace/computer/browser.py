"""A browser as a computer: the system's Chromium, driven by Playwright."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, Literal
from urllib.parse import urlsplit

from toolkeel._common.checked_arguments import checked
from toolkeel._common.needs_extra import needs_extra
from toolkeel.errors import SetupError, ToolError
from toolkeel.executors.memory_used import used_below
from toolkeel_workspace.sandbox.proxy import Proxy
from toolkeel_workspace.sandbox.reachable_hosts import PORTS, Reach

with needs_extra("Browser", "browser"):
    from playwright.async_api import BrowserContext, CDPSession, Page, Route, async_playwright
    from playwright.async_api import Error as PlaywrightError

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
"""Names of the programs that are looked for, in order."""
_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # the proxy alone asks for names
    "--proxy-bypass-list=<-loopback>",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # its older name
)
PAGES = 10
"""Pages that are open at once; beyond, the oldest is closed."""
MEMORY = 2 << 30
"""Bytes of memory that all its processes may use together; beyond, all pages are closed."""
_LOOK = 0.5  # seconds between looks at the memory
_CLOSED = "These pages were closed: together they used more than {} MB of memory."
_LOAD = 10_000
_SCHEMES = ("http", "https", "data", "blob", "about")
_BUTTONS = {"left": "left", "right": "right", "wheel": "middle"}
_NAMED = (
    "Alt alt option; Backspace backspace bs; CapsLock capslock; "
    "Meta cmd command meta super win; Control ctrl control; Delete del delete; "
    "ArrowDown down arrowdown; End end; Enter enter return; Escape esc escape; Home home; "
    "Insert insert; ArrowLeft left arrowleft; PageDown page_down pagedown; "
    "PageUp page_up pageup; ArrowRight right arrowright; Shift shift; Tab tab; "
    "ArrowUp up arrowup"
)
_KEYS = {
    "space": " ",
    **{name: key for key, *names in map(str.split, _NAMED.split(";")) for name in names},
}


@checked
class Browser:
    """One browser window with the full interface of a computer; use it with ``async with``.

    It has a profile of its own that is forgotten at the end, and takes no downloads. A page opens
    another one only where it is clicked. All it asks, whoever in a page asks it, goes through a proxy
    of ours that lets out only to what may be reached.

    Args:
        url: What it shows first; its own host may be reached, even if it is this machine.
        width: Of the page, in pixels.
        height: Of the page, in pixels.
        allow: Hosts it may talk to, such as ``*.example.org`` or ``127.0.0.1:8000``, or a `Reach`;
            None: all that are public.
        program: Chromium's path; None: looked for.
        headless: Whether nobody sees it.

    Raises:
        SetupError: there is no Chromium on this machine.
    """

    environment: Literal["browser"] = "browser"

    def __init__(
        self,
        url: str = "",
        *,
        width: int = 1024,
        height: int = 768,
        allow: Sequence[str] | Reach | None = None,
        program: str | None = None,
        headless: bool = True,
    ) -> None:
        self.dimensions = (width, height)
        self._url = url
        self._reach = allow if isinstance(allow, Reach) else _reach(url, allow)
        self._proxy = Proxy(self._reach)
        self._program = program or next(filter(None, map(shutil.which, PROGRAMS)), None)
        if self._program is None:
            raise SetupError(
                "Browser: there is no Chromium on this machine; install one (on Debian: apt-get "
                "install chromium), or name it with program="
            )
        self._headless = headless
        self._stack = AsyncExitStack()
        self._context: BrowserContext | None = None

    async def __aenter__(self) -> Browser:
        driver = await self._stack.enter_async_context(async_playwright())
        try:
            # Chromium's own sandbox does not work for root.
            flags = [*_FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
            proxy = await self._stack.enter_async_context(self._proxy)
            browser = await driver.chromium.launch(
                executable_path=self._program,
                headless=self._headless,
                args=flags,
                ignore_default_args=["--disable-popup-blocking"],
                proxy={"server": proxy.url, "username": proxy.user, "password": proxy.password},
            )
            self._stack.push_async_callback(browser.close)
            width, height = self.dimensions
            self._context = await browser.new_context(
                viewport={"width": width, "height": height},
                accept_downloads=False,
                service_workers="block",
            )
            await self._context.route("**/*", self._route)
            self._context.on("page", self._opened)
            await self._context.new_page()
            session = await browser.new_browser_cdp_session()
            watch = asyncio.create_task(self._watch(session, self._context))
            self._stack.callback(watch.cancel)
            if self._url:
                await self.goto(self._url)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._context = None
        await self._stack.aclose()

    @property
    def page(self) -> Page:
        """The page in front: the newest tab.

        Raises:
            SetupError: the browser is not open.
        """
        if self._context is None or not self._context.pages:
            raise SetupError("the browser is not open: async with Browser(...) as browser")
        return self._context.pages[-1]

    async def goto(self, url: str) -> None:
        """Open an address.

        Raises:
            ToolError: it is none of the web, not allowed, or cannot be opened.
        """
        try:
            parts = urlsplit(url if "://" in url else f"https://{url}")
            if parts.scheme not in ("http", "https"):
                raise ToolError("A browser opens only http and https addresses.")
            await self._reach.addresses(parts.hostname or "", parts.port or _port(parts.scheme))
        except (ToolError, ValueError) as error:
            raise ToolError(f"{url!r} is not opened. {error}") from None
        try:
            await self.page.goto(parts.geturl(), timeout=_LOAD, wait_until="domcontentloaded")
        except PlaywrightError as error:
            why = error.message.splitlines()[0]
            raise ToolError(f"{url!r} cannot be opened: {why}") from error

    async def screenshot(self) -> bytes:
        """The page as it is seen, as PNG."""
        await self._loaded()
        return await self.page.screenshot(type="png", timeout=_LOAD)

    async def click(
        self, x: int, y: int, button: str = "left", keys: list[str] | None = None
    ) -> None:
        """Press a button of the mouse; ``back`` and ``forward`` turn the pages."""
        if button in ("back", "forward"):
            page = self.page
            await (page.go_back if button == "back" else page.go_forward)(timeout=_LOAD)
            return
        async with _HeldKeys(self.page, keys):
            pressed: Any = _BUTTONS.get(button, "left")
            await self.page.mouse.click(x, y, button=pressed)

    async def double_click(self, x: int, y: int, keys: list[str] | None = None) -> None:
        """Press the left button twice."""
        async with _HeldKeys(self.page, keys):
            await self.page.mouse.dblclick(x, y)

    async def scroll(
        self, x: int, y: int, scroll_x: int, scroll_y: int, keys: list[str] | None = None
    ) -> None:
        """Turn the wheel at a place."""
        async with _HeldKeys(self.page, keys):
            await self.page.mouse.move(x, y)
            await self.page.mouse.wheel(scroll_x, scroll_y)

    async def type(self, text: str) -> None:
        """Type a text."""
        await self.page.keyboard.type(text)

    async def wait(self) -> None:
        """Let the page do its work."""
        await asyncio.sleep(1)

    async def move(self, x: int, y: int, keys: list[str] | None = None) -> None:
        """Move the pointer."""
        async with _HeldKeys(self.page, keys):
            await self.page.mouse.move(x, y)

    async def keypress(self, keys: list[str]) -> None:
        """Press keys together."""
        try:
            await self.page.keyboard.press("+".join(map(key_name, keys)))
        except PlaywrightError as error:
            raise ToolError(f"{keys} cannot be pressed: {error.message.splitlines()[0]}") from None

    async def drag(self, path: list[tuple[int, int]], keys: list[str] | None = None) -> None:
        """Hold the left button along a path."""
        if not path:
            return
        mouse = self.page.mouse
        async with _HeldKeys(self.page, keys):
            await mouse.move(*path[0])
            await mouse.down()
            for x, y in path[1:]:
                await mouse.move(x, y, steps=5)
            await mouse.up()

    async def _loaded(self) -> None:
        with suppress(PlaywrightError):
            await self.page.wait_for_load_state("domcontentloaded", timeout=3000)

    async def _opened(self, page: Page) -> None:
        """Keep as many pages as may be open."""
        if len(pages := page.context.pages) > PAGES:
            with suppress(PlaywrightError):  # it was closed meanwhile
                await pages[0].close()

    async def _watch(self, session: CDPSession, context: BrowserContext) -> None:
        """Close all pages when they use too much memory together, and say so on a new one."""
        found = await session.send("SystemInfo.getProcessInfo")
        [pid] = (each["id"] for each in found["processInfo"] if each["type"] == "browser")
        while True:
            await asyncio.sleep(_LOOK)
            if await asyncio.to_thread(used_below, pid) > MEMORY:
                pages = context.pages
                with suppress(PlaywrightError):
                    told = await context.new_page()
                    await asyncio.gather(*(page.close() for page in pages))
                    await told.set_content(f"<h1>{_CLOSED.format(MEMORY >> 20)}</h1>")

    async def _route(self, route: Route) -> None:
        """What goes by no proxy, such as ``file:``, is not opened at all."""
        scheme = urlsplit(route.request.url).scheme
        with suppress(PlaywrightError):  # the page has gone on meanwhile
            await (route.continue_() if scheme in _SCHEMES else route.abort("accessdenied"))


def _reach(url: str, allow: Sequence[str] | None) -> Reach:
    """What may be reached: what is listed, else all that is public; and where it begins."""
    parts = urlsplit(url if "://" in url else f"https://{url}")
    first = parts.hostname or ""
    place = f"[{first}]" if ":" in first else first
    own = [f"{place}:{parts.port or _port(parts.scheme)}"] if first else []
    if allow is None:
        return Reach(own)
    plain = [host for host in allow if "*" not in host]
    only = [urlsplit(f"//{host}").hostname or host for host in allow]
    return Reach([*own, *plain], [*only, *([first] if first else [])], PORTS)


def _port(scheme: str) -> int:
    return 80 if scheme == "http" else 443


class _HeldKeys:
    """Keys that are held meanwhile."""

    def __init__(self, page: Page, keys: list[str] | None) -> None:
        self._page = page
        self._keys = [key_name(key) for key in keys or ()]

    async def __aenter__(self) -> None:
        for key in self._keys:
            await self._page.keyboard.down(key)

    async def __aexit__(self, *_: object) -> None:
        for key in reversed(self._keys):
            await self._page.keyboard.up(key)


def key_name(key: str) -> str:
    """A key by the name the browser knows it by, whatever a model calls it.

    >>> key_name("CTRL"), key_name("Return"), key_name("a"), key_name("f5"), key_name("KP_Enter")
    ('Control', 'Enter', 'a', 'F5', 'Enter')
    """
    plain = key.strip().lower().removeprefix("kp_")
    for side in ("_l", "_r"):
        if plain.removesuffix(side) in _KEYS:
            plain = plain.removesuffix(side)
    if plain in _KEYS:
        return _KEYS[plain]
    if plain[:1] == "f" and plain[1:].isdigit():
        return plain.upper()
    return plain if len(key.strip()) == 1 and key.isupper() and key.isascii() else key
