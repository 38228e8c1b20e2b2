"""Several processes at one address: replaced one by one, and ended, without a lost call."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count, takewhile
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client as Peer
from mcp.client.streamable_http import streamable_http_client

from tests.mcp.peers import free_port
from tests.mcp.serving import text
from tests.waiting import run, until, until_sync
from toolkeel.mcp.config import read_config
from toolkeel.mcp.consent import ConsentStore
from toolkeel_studio.cli.exit_codes import USAGE

pytestmark = pytest.mark.slow

TOOLS = '''
import asyncio, os
from pathlib import Path
from toolkeel import tool

HERE = Path(__file__).parent


@tool
async def work(n: int) -> str:
    """Work for a while."""
    with open(HERE / "log", "a") as lines:
        lines.write(f"{n} {os.getpid()}\\n")
    await asyncio.sleep(0.2)
    return f"did {n}"


@tool
async def stay(n: int) -> str:
    """Stay until it may go."""
    (HERE / "stays").touch()
    while not (HERE / "go").exists():
        await asyncio.sleep(0.02)
    return f"stayed {n}"


@tool(approval=True)
def pay() -> str:
    """Pay."""
    return "paid"
'''


def lines_in(folder: Path) -> list[str]:
    path = folder / "log"
    return path.read_text().splitlines() if path.exists() else []


def pids_in(lines: list[str]) -> set[str]:
    return {line.split()[1] for line in lines}


KEEL = (sys.executable, "-m", "toolkeel")


@contextmanager
def serving(
    folder: Path, *words: str, command: tuple[str, ...] = ("serve", "tools.py")
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command, once it answers; it has ended when the block has."""
    (folder / "tools.py").write_text(TOOLS)
    url = f"127.0.0.1:{free_port()}"
    process = subprocess.Popen(
        [*KEEL, *command, "--no-token", "--http", url, *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until_sync(lambda: health(f"http://{url}") == 200, 120)
        yield f"http://{url}", process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def health(url: str) -> int:
    """What a balancer is told; 0 if nobody listens."""
    try:
        return httpx2.get(f"{url}/healthz").status_code
    except httpx2.HTTPError:
        return 0


def refuses(url: str) -> bool:
    """Whether nobody listens there, so that who connects is told at once."""
    try:
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))).close()
    except ConnectionRefusedError:
        return True
    return False


def told_at_the_end(process: subprocess.Popen[str]) -> str:
    """What it wrote, when it has ended by TERM, well."""
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 0
    return told


async def calling(
    url: str, era: str, numbers: Iterator[int], done: list[str], name: str = "work"
) -> None:
    """One client that calls once for each number, one call after the other."""
    async with Peer(streamable_http_client(f"{url}/mcp"), mode=era) as peer:
        for n in numbers:
            found = await peer.call_tool(name, {"n": n})
            done.append(text(found))


def behind(folder: Path, monkeypatch: pytest.MonkeyPatch, rules: str) -> tuple[str, ...]:
    """The words of a gateway before these tools, which somebody has agreed to."""
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    file, policy = folder / "mcp.json", folder / "policy.toml"
    entry = {"command": KEEL[0], "args": [*KEEL[1:], "serve", str(folder / "tools.py")]}
    file.write_text(json.dumps({"mcpServers": {"far": entry}}))
    policy.write_text(rules)
    (folder / "tools.py").write_text(TOOLS)  # what a person agrees to includes this file
    ConsentStore().grant(read_config(file)["far"])
    return "gateway", str(file), "--rules", str(policy)


@pytest.mark.parametrize("name", ["work", "far__work"])
def test_workers_are_replaced_while_clients_call_and_no_call_is_lost_or_made_twice(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("serve", "tools.py") if name == "work" else behind(tmp_path, monkeypatch, "")

    async def main(url: str, process: subprocess.Popen[str]) -> list[str]:
        done, over = list[str](), asyncio.Event()
        numbers = takewhile(lambda _: not over.is_set(), count())
        eras = ["legacy", "2026-07-28"] * 4
        clients = [asyncio.create_task(calling(url, era, numbers, done, name)) for era in eras]
        await until(lambda: len(done) > 20)
        before = pids_in(lines_in(tmp_path))
        process.send_signal(signal.SIGHUP)
        for _ in range(300):  # seldom: what is asked is a file
            now = pids_in(await asyncio.to_thread(lines_in, tmp_path))
            if len(now - before) >= 2:
                break
            await asyncio.sleep(0.5)
        at = len(done)
        await until(lambda: len(done) > at + 20)
        over.set()
        await asyncio.gather(*clients)  # no call has failed
        return done

    with serving(tmp_path, "--workers", "2", "--drain", "10", command=command) as (url, process):
        done = run(lambda: main(url, process), 200)
        told_at_the_end(process)
    counts = Counter(line.split()[0] for line in lines_in(tmp_path))
    assert set(counts.values()) == {1}
    assert sorted(done) == sorted(f"did {n}" for n in counts)


def test_one_process_that_is_told_to_end_answers_what_it_has_taken_and_ends_well(
    tmp_path: Path,
) -> None:
    async def main(url: str, process: subprocess.Popen[str]) -> None:
        done = list[str]()
        clients = [asyncio.create_task(calling(url, "auto", iter([n]), done)) for n in range(8)]
        await until(lambda: len(lines_in(tmp_path)) == 8)
        process.send_signal(signal.SIGTERM)
        until_sync(lambda: health(url) == 503, 5)
        await asyncio.gather(*clients)
        assert sorted(done) == [f"did {n}" for n in range(8)]

    with serving(tmp_path) as (url, process):
        run(lambda: main(url, process))
        assert "Traceback" not in told_at_the_end(process)


def test_workers_that_end_answer_who_came_before_and_refuse_who_comes_after(tmp_path: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    call |= {"params": {"name": "stay", "arguments": {"n": 1}}}
    headers = {
        "Accept": "application/json, text/event-stream",
        "Mcp-Protocol-Version": "2025-11-25",
    }

    async def main(url: str, process: subprocess.Popen[str]) -> None:
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            answer = asyncio.create_task(http.post(f"{url}/mcp", json=call))
            await until((tmp_path / "stays").exists)
            process.send_signal(signal.SIGTERM)
            await until(lambda: refuses(url))
            (tmp_path / "go").touch()
            assert "stayed 1" in (await answer).text

    with serving(tmp_path, "--workers", "2") as (url, process):
        run(lambda: main(url, process))
        told = told_at_the_end(process)
    assert "these ask their client, so they need one worker: pay" in told
    assert "Traceback" not in told


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as (url, process):
        done = list[str]()
        run(lambda: calling(url, "auto", iter([1]), done))
        [line] = lines_in(tmp_path)
        pid = line.split()[1]
        os.kill(int(pid), signal.SIGKILL)
        assert process.stderr is not None
        told = next(each for each in process.stderr if " died " in each)
        assert f"WARNING the worker {pid} died (exit code -9) and was replaced by" in told
        run(lambda: calling(url, "auto", iter(range(2, 20)), done))
        assert len(done) == 19


def metrics_of(url: str) -> dict[str, float]:
    """The samples of an answer, by name and labels."""
    lines = httpx2.get(f"{url}/metrics").text.splitlines()
    return {k: float(v) for k, _, v in (x.rpartition(" ") for x in lines if x[0] != "#")}


def test_each_answer_has_the_metrics_of_all_workers_and_none_falls_as_they_are_replaced(
    tmp_path: Path,
) -> None:
    name = 'toolkeel_calls_total{outcome="success"}'
    rejected = 'toolkeel_rejected_requests_total{status="404"}'
    with serving(tmp_path, "--workers", "2", "--tool-metrics") as (url, process):
        done = list[str]()
        while len(before := pids_in(lines_in(tmp_path))) < 2:  # until both workers had calls
            run(lambda: calling(url, "auto", iter([len(done)]), done))
        count = len(done)
        until_sync(lambda: metrics_of(url)[name] == count)
        assert {metrics_of(url)[name] for _ in range(12)} == {count}
        os.kill(int(min(before)), signal.SIGKILL)
        process.send_signal(signal.SIGHUP)
        last = float(count)
        while not pids_in(lines_in(tmp_path)[-1:]).isdisjoint(before):
            with suppress(httpx2.TransportError):  # of the one that was killed
                now = metrics_of(url)[name]
                assert now >= last
                last = now
            run(lambda: calling(url, "auto", iter([len(done)]), done))
        until_sync(lambda: metrics_of(url)[name] == len(done))
        found = metrics_of(url)
        assert found['toolkeel_tool_seconds_count{tool="work"}'] == len(done)
        pids = [k for k in found if k.startswith("process_cpu_seconds_total")]
        assert pids and f'pid="{min(before)}"' not in str(pids)
        assert httpx2.get(f"{url}/nothing").status_code == 404
        until_sync(lambda: metrics_of(url).get(rejected) == 1)


def test_workers_of_a_gateway_count_limits_together_and_follow_the_file_of_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = behind(tmp_path, monkeypatch, '[limits]\n"*" = "12/hour"\n')
    words = [*KEEL, *command, "--http", "127.0.0.1:1", "--workers", "2"]
    refused = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert refused.returncode == USAGE and "--store" in refused.stderr
    with serving(
        tmp_path, "--workers", "2", "--store", str(tmp_path / "s.db"), command=command
    ) as (url, _):
        done = list[str]()

        async def use() -> None:
            clients = [calling(url, "auto", iter([n]), done, "far__work") for n in range(20)]
            await asyncio.gather(*clients)
            assert len(lines_in(tmp_path)) == 12 and len(done) == 20
            (tmp_path / "policy.toml").write_text("[approval]\ndeny = ['far__work(n=77)']\n")
            denied = False  # one worker has read the file before the other, which counts still
            while not denied or done[-1] != "did 78":
                await calling(url, "auto", iter([77, 78]), done, "far__work")
                denied = denied or "rule: deny far__work(n=77)" in done[-2]

        run(use)
    assert not [line for line in lines_in(tmp_path) if line.startswith("77 ")]
