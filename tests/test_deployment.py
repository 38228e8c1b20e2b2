"""`deploy/`: its containers' commands work together, without containers, and a backup restores."""

from __future__ import annotations

import json
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
from toolkeel.mcp.server.prometheus_metrics import CallMetrics
from toolkeel.sessions import Sessions
from toolkeel_studio.durable import Durable
from toolkeel_studio.durable.monitor import RunMetrics

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


def exported() -> set[str]:
    """Names of the samples that workers, MCP servers and gateways export."""
    runs, calls = RunMetrics(), CallMetrics()
    runs.record_end("failed", 1)
    calls.record("success", 1)
    calls.record_rejection(401)
    text = runs.render(1, 1) + calls.render()
    return {re.split("[{ ]", line)[0] for line in text.splitlines() if not line.startswith("#")}


def test_alerts_and_the_dashboard_ask_for_metrics_that_exist() -> None:
    groups = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"]
    panels = json.loads((DEPLOY / "grafana.json").read_text())["panels"]
    asked = [rule["expr"] for group in groups for rule in group["rules"]]
    asked += [target["expr"] for panel in panels for target in panel["targets"]]
    names = {name for query in asked for name in re.findall(r"\b(?:toolkeel|process)_\w+", query)}
    assert len(asked) > 15 and names <= exported()
    assert all(query.count("(") == query.count(")") for query in asked)
    assert all(rule["annotations"]["summary"] for group in groups for rule in group["rules"])


def test_workers_on_kubernetes_have_stable_names_and_options_that_exist() -> None:
    found = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    worker = next(each for each in found if each["kind"] == "StatefulSet")["spec"]
    [container] = worker["template"]["spec"]["containers"]
    compose = services({}, "")["worker-1"]["command"]
    options = {word for word in container["command"] if word.startswith("--")}
    assert options - {"--drain"} == {word for word in compose if word.startswith("--")}
    words = container["command"]
    assert words[words.index("--id") + 1] == f"$({container['env'][0]['name']})"
    assert container["env"][0]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
    drain = float(words[words.index("--drain") + 1])
    assert worker["template"]["spec"]["terminationGracePeriodSeconds"] > drain


@tool(approval=True)
def refund(number: int, amount: float) -> str:
    """Refund an order."""
    return "refunded"
