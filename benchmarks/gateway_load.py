"""Many clients at once on a gateway, with faults on both sides: ``python -m benchmarks.gateway_load``.

Half of the clients speak the revision with sessions, half the one without, over HTTP; behind the
gateway are two processes, one of which dies, hangs, fails and writes nonsense. Clients hang up in
mid-call, send what is no message, and cancel. What is told: whether each call that was waited for
has exactly one answer and its own, how much memory the gateway has at each time, and what is left
of connections and files once all clients are gone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

SERVER = """
import asyncio, os, sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("work")


@server.tool()
async def work(id: str, how: str) -> str:
    "Say it again, in one of several ways."
    if how == "slow":
        await asyncio.sleep(0.5)
    if how == "hang":
        await asyncio.sleep(3600)
    if how == "fail":
        raise ValueError("it failed: " + id)
    if how == "die":
        os._exit(1)
    if how == "noise":
        print("no message", flush=True)
        os.write(1, b'{"jsonrpc": "2.0", "id": \\n')
    return id + ("x" * 100_000 if how == "large" else "")


server.run("stdio")
"""
GATEWAY = """
import asyncio, sys
from pathlib import Path
import uvicorn
from toolkeel.mcp.config import read_config
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.http import gateway_app
from toolkeel_studio.gateway.policy import Policy

policy = Policy()
gateway = Gateway(read_config(Path(sys.argv[1])).values(), policy)
app = gateway_app(gateway, policy, host="127.0.0.1")
port = int(sys.argv[2])
uvicorn.run(app, host="127.0.0.1", port=port, log_level="critical", timeout_graceful_shutdown=3)
"""
STEADY = ("plain",) * 12 + ("slow", "fail", "large")
FAULTY = ("plain",) * 150 + ("slow", "fail", "noise", "hang") * 8 + ("die",)
CLIENTS_DO = ("wait",) * 17 + ("hang up", "nonsense", "cancel")
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
MODERN, LEGACY = "2026-07-28", "2025-11-25"
PATIENCE = 60.0


@dataclass
class Seen:
    """What happened.

    Attributes:
        answers: How calls that were waited for ended.
        wrong: Answers that are none, another call's, or more than one.
        seconds: How long plain calls of the steady server took.
        memory: Resident bytes of the gateway, by seconds since the beginning.
        files: Open files of it before the first client and after the last.
    """

    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)
    files: list[int] = field(default_factory=list)


class One:
    """One client, which calls again and again until it is time.

    Args:
        number: Which one; the even ones have sessions.
        url: Of the gateway.
        seen: Where it tells.
    """

    def __init__(self, number: int, url: str, seen: Seen) -> None:
        self._number = number
        self._url = url
        self._seen = seen
        self._random = random.Random(number)
        self._headers = dict(ACCEPT)
        self._next = 0
        self._legacy = number % 2 == 0

    async def run(self, http: httpx2.AsyncClient, ends: float) -> None:
        """Call until then."""
        if self._legacy:
            await self._begin(http)
        while time.monotonic() < ends:
            await self._call(http)
            await asyncio.sleep(self._random.uniform(0, 2.0))
        if self._legacy and self._number % 4 == 0:  # the others just go away
            await http.delete(self._url, headers=self._headers)

    async def _begin(self, http: httpx2.AsyncClient) -> None:
        about = {"name": "load", "version": "0"}
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": about}
        said = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        answer = await http.post(self._url, json=said, headers=self._headers)
        self._headers |= {
            "mcp-session-id": answer.headers["mcp-session-id"],
            "mcp-protocol-version": LEGACY,
        }
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await http.post(self._url, json=done, headers=self._headers)

    def _message(self, server: str, how: str) -> tuple[dict[str, Any], dict[str, str]]:
        self._next += 1
        mark = f"{self._number}.{self._next}"
        params: dict[str, Any] = {
            "name": f"{server}__work",
            "arguments": {"id": mark, "how": how},
        }
        headers = self._headers
        if not self._legacy:
            prefix = "io.modelcontextprotocol/"
            params["_meta"] = {
                f"{prefix}protocolVersion": MODERN,
                f"{prefix}clientInfo": {"name": "load", "version": "0"},
                f"{prefix}clientCapabilities": {},
            }
            headers = {
                **headers,
                "mcp-protocol-version": MODERN,
                "mcp-method": "tools/call",
                "mcp-name": f"{server}__work",
            }
        said = {"jsonrpc": "2.0", "id": self._next, "method": "tools/call", "params": params}
        return said, headers

    async def _call(self, http: httpx2.AsyncClient) -> None:
        server = self._random.choice(("steady", "faulty"))
        how = self._random.choice(STEADY if server == "steady" else FAULTY)
        does = self._random.choice(CLIENTS_DO)
        if how == "hang":
            does = "hang up"
        said, headers = self._message(server, how)
        if does == "nonsense":
            answer = await http.post(self._url, content=b'{"jsonrpc": "2.0", "id', headers=headers)
            if answer.status_code != 400:
                self._seen.wrong.append(f"nonsense: {answer.status_code}")
            return
        began = time.monotonic()
        if does != "wait":
            await self._leave(http, said, headers, does)
            return
        try:
            answer = await http.post(self._url, json=said, headers=headers, timeout=PATIENCE)
        except httpx2.HTTPError as error:
            self._seen.wrong.append(f"{server} {how}: {type(error).__name__} {error}")
            return
        self._judge(server, how, said, answer)
        if how == "plain" and server == "steady":
            self._seen.seconds.append(time.monotonic() - began)

    async def _leave(
        self, http: httpx2.AsyncClient, said: Any, headers: dict[str, str], does: str
    ) -> None:
        """Do not wait for the answer."""
        call = asyncio.ensure_future(http.post(self._url, json=said, headers=headers))
        await asyncio.sleep(self._random.uniform(0, 0.3))
        if does == "cancel" and self._legacy:
            told = {"method": "notifications/cancelled", "params": {"requestId": said["id"]}}
            await http.post(self._url, json={"jsonrpc": "2.0", **told}, headers=headers)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        self._seen.answers[f"client: {does}"] += 1

    def _judge(self, server: str, how: str, said: Any, answer: httpx2.Response) -> None:
        mark = said["params"]["arguments"]["id"]
        found = list(_messages(answer))
        mine = [each for each in found if each.get("id") == said["id"] and "method" not in each]
        if len(mine) != 1 or len(found) != 1:
            text = f"{answer.status_code} {answer.text[:200]}"
            self._seen.wrong.append(f"{server} {how} {mark}: {len(mine)} answers of {text}")
            return
        result = mine[0].get("result")
        if result is None:
            self._seen.answers[f"{server} {how}: error {mine[0]['error']['message'][:60]}"] += 1
            return
        text = result["content"][0]["text"]
        kind = "failed" if result.get("isError") else "answered"
        if kind == "answered" and text.rstrip("x") != mark:
            self._seen.wrong.append(f"{server} {how} {mark}: the answer is {text[:60]}")
        if server == "steady" and (kind == "failed") != (how == "fail"):
            self._seen.wrong.append(f"{server} {how} {mark}: {kind}, {text[:200]}")
        self._seen.answers[f"{server} {how}: {kind}"] += 1


def _messages(answer: httpx2.Response) -> Iterator[dict[str, Any]]:
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        for line in answer.text.splitlines():
            if line.startswith("data:") and line[5:].strip():
                yield json.loads(line[5:])
    elif answer.headers.get("content-type", "").startswith("application/json"):
        yield answer.json()


@contextmanager
def gateway(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A gateway before two servers: its address and its process."""
    (folder / "server.py").write_text(SERVER)
    entry = {"command": sys.executable, "args": [str(folder / "server.py")]}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"steady": entry, "faulty": entry}}))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-c", GATEWAY, str(folder / "mcp.json"), str(port)]
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(words, stderr=errors)
    try:
        yield f"http://127.0.0.1:{port}/mcp", process
    finally:
        process.terminate()
        process.wait(30)


async def load(url: str, process: int, clients: int, seconds: float) -> Seen:
    """Put the load on a gateway, and say what happened.

    Args:
        url: Where it is.
        process: Its id.
        clients: How many at once.
        seconds: How long.
    """
    seen = Seen()
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)  # each call its own
    async with httpx2.AsyncClient(timeout=PATIENCE, limits=limits) as http:
        await _ready(http, url)
        seen.files.append(_files(process))
        began = time.monotonic()
        watch = asyncio.ensure_future(_watch(process, seen, began))
        work = [One(n, url, seen).run(http, began + seconds) for n in range(clients)]
        for ended in await asyncio.gather(*work, return_exceptions=True):
            if isinstance(ended, BaseException):
                seen.wrong.append(f"a client ended: {type(ended).__name__} {ended}")
        watch.cancel()
    await asyncio.sleep(5)
    seen.files.append(_files(process))
    seen.memory.append((time.monotonic() - began, _memory(process)))
    return seen


async def _ready(http: httpx2.AsyncClient, url: str) -> None:
    for _ in range(300):
        try:
            one = One(0, url, Seen())
            await one._begin(http)
            said = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            answer = await http.post(url, json=said, headers=one._headers)
            if all(name in answer.text for name in ("steady__work", "faulty__work")):
                return
        except (httpx2.HTTPError, KeyError):
            pass
        await asyncio.sleep(0.2)
    raise AssertionError("the gateway does not begin")


async def _watch(process: int, seen: Seen, began: float) -> None:
    while True:
        seen.memory.append((time.monotonic() - began, _memory(process)))
        await asyncio.sleep(1)


def _memory(process: int) -> int:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _files(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def growth(seen: Seen) -> float:
    """The mean memory of the last quarter of the time, by that of the second."""
    sizes = [size for _, size in seen.memory[:-1]]
    quarter = max(1, len(sizes) // 4)
    return statistics.mean(sizes[-quarter:]) / statistics.mean(sizes[quarter : 2 * quarter])


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=600)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, gateway(Path(folder)) as (url, process):
        seen = asyncio.run(load(url, process.pid, given.clients, given.seconds))
        for what, count in sorted(seen.answers.items()):
            print(f"{count:8,}  {what}")
        print(f"{sum(seen.answers.values()):8,}  in all")
        print(f"wrong: {len(seen.wrong)} {seen.wrong[:10]}")
        took = sorted(seen.seconds)
        print(f"plain calls: median {statistics.median(took):.3f} s, at most {took[-1]:.3f} s")
        sizes = [f"{size >> 20}" for _, size in seen.memory[:: max(1, len(seen.memory) // 12)]]
        print(f"memory (MB): {' '.join(sizes)}; growth {growth(seen):.3f}")
        print(f"open files: {seen.files[0]} before, {seen.files[1]} after")


if __name__ == "__main__":
    main()
