"""A person's way through a login page: opened in a browser, and its end awaited here or pasted.

The page ends at an address of this machine. Where the browser is on another one (SSH), that cannot be
reached: then the person copies the address it ended at and pastes it here. Anybody can come to the
port, so what does not bear this login's state is no answer.
"""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

from toolkeel.errors import SetupError

_HEAD = b"\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"


class Browser:
    """Opens a login page in a browser and waits for the URL it redirects to.

    Args:
        server: Name of the server.
        port: Local port that the page redirects to.
        address: Address of the server.
    """

    def __init__(self, server: str, port: int, address: str) -> None:
        self._server, self._address = server, address
        self._port = port

    async def __call__(self, url: str) -> str:
        """Print the page's address, open it where there is a screen, and return the URL it redirected to.

        Raises:
            SetupError: nobody is there, or there is no way back.
        """
        if not sys.stderr.isatty():
            raise SetupError(
                f"the MCP server {self._server!r} wants a login at {urlsplit(url).netloc}, and nobody "
                f"is there to log in; run in a terminal first: toolkeel mcp login {self._address}; "
                "the login is kept for programs without a terminal. Or send a token by headers="
            )
        back: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        state = query_of(url).get("state", "")
        listener = await self._listen(back, state)
        try:
            _say(f"{self._server}: log in at {urlsplit(url).netloc}:\n\n    {url}\n")
            with self._pasted(back, state):
                if _has_screen():
                    await asyncio.to_thread(webbrowser.open, url)
                return await back
        finally:
            if listener is not None:
                listener.close()

    async def _listen(self, back: asyncio.Future[str], state: str) -> asyncio.Server | None:
        """Listen for the redirect URL and pass it to `back`; None if it can only be pasted.

        Raises:
            SetupError: the port is taken, and there is no terminal to paste into.
        """

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            """Answer one request; the redirect of this login completes the future."""
            try:
                line = (await reader.readline()).split()
                path = line[1].decode("ascii", "replace") if len(line) > 1 else ""
                came = path.startswith("/callback?") and query_of(path).get("state") == state
                body = b"Go back to where you began; close this window."
                head = b"HTTP/1.1 200 OK" if came else b"HTTP/1.1 404 Not Found"
                writer.write(head + _HEAD + (body if came else b"Nothing is here."))
                await writer.drain()
                if came and not back.done():
                    back.set_result(f"http://127.0.0.1:{self._port}{path}")
            except (ValueError, OSError):
                pass  # no browser sends that
            finally:
                writer.close()

        try:
            return await asyncio.start_server(answer, "127.0.0.1", self._port)
        except OSError as error:
            if sys.stdin.isatty():
                return None
            raise SetupError(
                f"port {self._port} is taken, where a login comes back to: {error.strerror}; "
                "name another with auth=OAuth(port=...)"
            ) from None

    @contextmanager
    def _pasted(self, back: asyncio.Future[str], state: str) -> Iterator[None]:
        """Accept a line pasted into the terminal as the redirect URL while the context is active."""
        loop = asyncio.get_running_loop()

        def typed() -> None:
            """Read a pasted line; the redirect URL of this login completes the future."""
            line = os.read(terminal, 65_536).decode("utf-8", "replace")
            if not line:
                loop.remove_reader(terminal)
            elif query_of(line.strip()).get("state") == state and not back.done():
                back.set_result(line.strip())
            elif line.strip():
                _say("that is not where this login ends; the whole address is wanted")

        try:
            terminal = sys.stdin.fileno() if sys.stdin.isatty() else -1
            if terminal >= 0:
                loop.add_reader(terminal, typed)
        except (NotImplementedError, ValueError, OSError):
            terminal = -1  # not on Windows
        if terminal >= 0:
            _say(
                "If the browser runs on another machine, it ends at an address that it cannot open:\n"
                "copy that address and paste it here."
            )
        try:
            yield
        finally:
            if terminal >= 0:
                loop.remove_reader(terminal)


def _say(text: str) -> None:
    """Print to standard error."""
    print(text, file=sys.stderr)


def query_of(url: str) -> dict[str, str]:
    """Return the query parameters of a URL, or an empty dict if it has none.

    >>> query_of("http://127.0.0.1:1/callback?code=a&state=b")
    {'code': 'a', 'state': 'b'}
    """
    try:
        return {key: values[0] for key, values in parse_qs(urlsplit(url).query).items()}
    except ValueError:  # it is no address
        return {}


def _has_screen() -> bool:
    """Return True if a graphical browser can be opened; a text browser would take over the terminal."""
    named = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in named)
