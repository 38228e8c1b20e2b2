"""`deploy/`: its containers' commands work together, without containers, and a backup restores."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from tests.cli.commandline import Terminal
from tests.mcp.peers import free_port
from tests.sessions.postgres_server import serving
from tests.shared import ROOT
from tests.waiting import until_sync
from toolkeel import Agent, tool
from toolkeel.sessions import Sessions
from toolkeel_studio.durable import Durable

DEPLOY = ROOT / "deploy"
SECRETS = {"POSTGRES_PASSWORD": "p", "SERVICE_TOKEN": "s", "TOOLKEEL_TOKEN": "t"}


def services(ports: dict[str, int], address: str) -> dict[str, Any]:
    """The services of the file, with these ports and this database in place of their own."""
    text = (DEPLOY / "compose.yaml").read_text()
    text = re.sub(r"postgresql://\S+", address, text)
    text = re.sub(r"\$\{(\w+)(:[?-]\w*)?\}", lambda it: SECRETS.get(it[1], it[2][2:]), text)
    for old, new in ports.items():
        text = text.replace(old, f"{new}")
    return dict(yaml.safe_load(text)["services"])


def variables(service: dict[str, Any], folder: Path) -> dict[str, str]:
    """The environment of a service; its state is in the folder."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**service["environment"], "PATH": programs, "XDG_STATE_HOME": str(folder)}


@contextmanager
def running(service: dict[str, Any], folder: Path) -> Iterator[None]:
    """One service, as its container would run it."""
    environment = {**os.environ, **variables(service, folder)}
    with subprocess.Popen(service["command"], cwd=folder, env=environment) as process:
        try:
            yield
        finally:
            process.terminate()


def answers(url: str, **headers: str) -> int:
    """The status of a page; 0 as long as nothing answers."""
    try:
        return httpx2.get(url, headers=headers).status_code
    except httpx2.HTTPError:
        return 0


@pytest.mark.slow
def test_the_services_work_together_and_a_backup_restores_what_waits_for_a_person(
    tmp_path: Path,
) -> None:
    folder = shutil.copytree(DEPLOY, tmp_path / "app")
    ports = {each: free_port() for each in ("8000", "8001", "9090")}
    with serving() as server, ExitStack() as started:
        address = server.new_database()
        found = services(ports, address)
        asks = Durable(Agent("offline", [refund], name="shop"), Sessions(address), address)
        started.callback(asks.close)
        agreeing = variables(found["gateway"], folder)
        consent = Terminal(["mcp", "tools", "mcp.json:shop"], folder, env=agreeing)
        consent.until(lambda screen: "y yes" in screen)
        consent.type("y")
        assert consent.end().code == 0, consent.screen
        for name in ("service", "worker-1", "gateway"):
            started.enter_context(running(found[name], folder))
        run = asks.start("refund number=7 amount=40", session="ada")
        web, gateway, worker = (f"http://127.0.0.1:{port}" for port in ports.values())
        until_sync(lambda: answers(f"{worker}/healthz") == 200, 60)
        until_sync(lambda: answers(f"{gateway}/healthz") == 200, 60)
        until_sync(lambda: answers(f"{web}/api/chat") == 401, 60)
        assert asks.result(run).reason == "waiting"

        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        environment = {**os.environ, "TOOLKEEL_DATABASE": address}
        environment["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(["./backup.sh", "all"], cwd=folder, env=environment, check=True)
        copy = server.new_database()
        words = ["pg_restore", "--exit-on-error", "--dbname", copy, "all"]
        subprocess.run(words, cwd=folder, env=environment, check=True)
        [ticket] = Sessions(copy)["ada"].pending
        assert ticket.arguments == {"number": 7, "amount": 40}
        again = Durable(Agent("offline", [refund], name="shop"), Sessions(copy), copy)
        started.callback(again.close)
        assert again.result(run).reason == "waiting"


@tool(approval=True)
def refund(number: int, amount: float) -> str:
    """Refund an order."""
    return "refunded"
