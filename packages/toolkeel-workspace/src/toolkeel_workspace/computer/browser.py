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
from toolkeel.executors.memory_used import measure_tree_memory
from toolkeel_workspace.sandbox.proxy import Proxy
from toolkeel_workspace.sandbox.reachable_hosts import PORTS, HostPolicy

with needs_extra("Browser", "browser"):
    from playwright.async_api import BrowserContext, CDPSession, Page, Route, async_playwright
    from playwright.async_api import Error as PlaywrightError

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
"""Program names to search, in order."""
_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # only the proxy resolves names
    "--proxy-bypass-list=<-loopback>",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # its older name
)
MAX_PAGES = 10
"""Open pages; beyond, the oldest is closed."""
MAX_MEMORY = 2 << 30
"""Bytes of memory that all its processes together; beyond, all pages are closed."""
_CHECK_INTERVAL = 0.5  # seconds between checks of the memory
_CLOSED_MESSAGE = "These pages were closed: together they used more than {} MB of memory."
_LOAD_TIMEOUT_MS = 10_000
_SCHEMES = ("http", "https", "data", "blob", "about")
_BUTTONS = {"left": "left", "right": "right", "wheel": "middle"}
_KEY_ALIASES = (
    "Alt alt option; Backspace backspace bs; CapsLock capslock; "
    "Meta cmd command meta super win; Control ctrl control; Delete del delete; "
    "ArrowDown down arrowdown; End end; Enter enter return; Escape esc escape; Home home; "
    "Insert insert; ArrowLeft left arrowleft; PageDown page_down pagedown; "
    "PageUp page_up pageup; ArrowRight right arrowright; Shift shift; Tab tab; "
    "ArrowUp up arrowup"
)
_KEY_NAMES = {
    "space": " ",
    **{name: key for key, *names in map(str.split, _KEY_ALIASES.split(";")) for name in names},
}


@checked
class Browser:
    """One browser window with the full interface of a computer; use it with ``async with``.

    Its profile is new and deleted at the end, and it accepts no downloads. A page opens another one only when
    clicked. All its traffic goes through a proxy of ours that connects only to allowed hosts.

    Args:
        url: The first page; its own host is allowed, even on this machine.
        width: Of the page, in pixels.
        height: Of the page, in pixels.
        allow: Allowed hosts, such as ``*.example.org`` or ``127.0.0.1:8000``, or a `HostPolicy`;
            None: all public ones.
        program: Chromium's path; None: found on the ``PATH``.
        headless: Run without a window.

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
        allow: Sequence[str] | HostPolicy | None = None,
        program: str | None = None,
        headless: bool = True,
    ) -> None:
        self.dimensions = (width, height)
        self._url = url
        self._policy = allow if isinstance(allow, HostPolicy) else _make_policy(url, allow)
        self._proxy = Proxy(self._policy)
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
            await self._context.route("**/*", self._check_scheme)
            self._context.on("page", self._limit_pages)
            await self._context.new_page()
            session = await browser.new_browser_cdp_session()
            watch = asyncio.create_task(self._watch_memory(session, self._context))
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
            ToolError: it is not http or https, not allowed, or cannot be opened.
        """
        try:
            parts = urlsplit(url if "://" in url else f"https://{url}")
            if parts.scheme not in ("http", "https"):
                raise ToolError("A browser opens only http and https addresses.")
            await self._policy.resolve_addresses(
                parts.hostname or "", parts.port or _get_default_port(parts.scheme)
            )
        except (ToolError, ValueError) as error:
            raise ToolError(f"{url!r} is not opened. {error}") from None
        try:
            await self.page.goto(
                parts.geturl(), timeout=_LOAD_TIMEOUT_MS, wait_until="domcontentloaded"
            )
        except PlaywrightError as error:
            why = error.message.splitlines()[0]
            raise ToolError(f"{url!r} cannot be opened: {why}") from error

    async def screenshot(self) -> bytes:
        """Return the visible page as PNG."""
        await self._wait_for_load()
        return await self.page.screenshot(type="png", timeout=_LOAD_TIMEOUT_MS)

    async def click(
        self, x: int, y: int, button: str = "left", keys: list[str] | None = None
    ) -> None:
        """Press a mouse button; ``back`` and ``forward`` navigate the history."""
        if button in ("back", "forward"):
            page = self.page
            await (page.go_back if button == "back" else page.go_forward)(timeout=_LOAD_TIMEOUT_MS)
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
        """Wait a second."""
        await asyncio.sleep(1)

    async def move(self, x: int, y: int, keys: list[str] | None = None) -> None:
        """Move the pointer."""
        async with _HeldKeys(self.page, keys):
            await self.page.mouse.move(x, y)

    async def keypress(self, keys: list[str]) -> None:
        """Press keys together."""
        try:
            await self.page.keyboard.press("+".join(map(normalize_key, keys)))
        except PlaywrightError as error:
            raise ToolError(f"{keys} cannot be pressed: {error.message.splitlines()[0]}") from None

    async def drag(self, path: list[tuple[int, int]], keys: list[str] | None = None) -> None:
        """Drag with the left button along a path."""
        if not path:
            return
        mouse = self.page.mouse
        async with _HeldKeys(self.page, keys):
            await mouse.move(*path[0])
            await mouse.down()
            for x, y in path[1:]:
                await mouse.move(x, y, steps=5)
            await mouse.up()

    async def _wait_for_load(self) -> None:
        with suppress(PlaywrightError):
            await self.page.wait_for_load_state("domcontentloaded", timeout=3000)

    async def _limit_pages(self, page: Page) -> None:
        """Close the oldest page if too many are open."""
        if len(pages := page.context.pages) > MAX_PAGES:
            with suppress(PlaywrightError):  # it was closed meanwhile
                await pages[0].close()

    async def _watch_memory(self, session: CDPSession, context: BrowserContext) -> None:
        """Close all pages when they use too much memory together, and show why on a new page."""
        found = await session.send("SystemInfo.getProcessInfo")
        [pid] = (each["id"] for each in found["processInfo"] if each["type"] == "browser")
        while True:
            await asyncio.sleep(_CHECK_INTERVAL)
            if await asyncio.to_thread(measure_tree_memory, pid) > MAX_MEMORY:
                pages = context.pages
                with suppress(PlaywrightError):
                    notice_page = await context.new_page()
                    await asyncio.gather(*(page.close() for page in pages))
                    await notice_page.set_content(
                        f"<h1>{_CLOSED_MESSAGE.format(MAX_MEMORY >> 20)}</h1>"
                    )

    async def _check_scheme(self, route: Route) -> None:
        """Refuse schemes that bypass the proxy, such as ``file:``."""
        scheme = urlsplit(route.request.url).scheme
        with suppress(PlaywrightError):  # the page has navigated meanwhile
            await (route.continue_() if scheme in _SCHEMES else route.abort("accessdenied"))


def _make_policy(url: str, allow: Sequence[str] | None) -> HostPolicy:
    """Return which hosts are allowed: the listed ones, else all public ones; and the first page's host."""
    parts = urlsplit(url if "://" in url else f"https://{url}")
    first = parts.hostname or ""
    place = f"[{first}]" if ":" in first else first
    own = [f"{place}:{parts.port or _get_default_port(parts.scheme)}"] if first else []
    if allow is None:
        return HostPolicy(own)
    plain = [host for host in allow if "*" not in host]
    only = [urlsplit(f"//{host}").hostname or host for host in allow]
    return HostPolicy([*own, *plain], [*only, *([first] if first else [])], PORTS)


def _get_default_port(scheme: str) -> int:
    return 80 if scheme == "http" else 443


class _HeldKeys:
    """Keys that are pressed during a block."""

    def __init__(self, page: Page, keys: list[str] | None) -> None:
        self._page = page
        self._keys = [normalize_key(key) for key in keys or ()]

    async def __aenter__(self) -> None:
        for key in self._keys:
            await self._page.keyboard.down(key)

    async def __aexit__(self, *_: object) -> None:
        for key in reversed(self._keys):
            await self._page.keyboard.up(key)


def normalize_key(key: str) -> str:
    """Return the browser's name of a key, for any name models use.

    >>> normalize_key("CTRL"), normalize_key("Return"), normalize_key("a"), normalize_key("f5"), normalize_key("KP_Enter")
    ('Control', 'Enter', 'a', 'F5', 'Enter')
    """
    plain = key.strip().lower().removeprefix("kp_")
    for side in ("_l", "_r"):
        if plain.removesuffix(side) in _KEY_NAMES:
            plain = plain.removesuffix(side)
    if plain in _KEY_NAMES:
        return _KEY_NAMES[plain]
    if plain[:1] == "f" and plain[1:].isdigit():
        return plain.upper()
    return plain if len(key.strip()) == 1 and key.isupper() and key.isascii() else key
