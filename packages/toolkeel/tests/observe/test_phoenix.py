"""Phoenix reads our spans as those of an agent, a model and a tool.

Nightly: ``PHOENIX_PYTHON`` is the Python of an environment with ``arize-phoenix``, whose pytest plugin
does not start beside ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.peers import free_port
from tests.shared import ROOT, cannot_run

pytestmark = [pytest.mark.slow, pytest.mark.nightly]
PROGRAM = """
import sys
from phoenix.otel import register
provider = register(project_name="keel", endpoint=f"{sys.argv[1]}/v1/traces", protocol="http/protobuf", batch=False)
from toolkeel import Agent, tool
from toolkeel.observe import OpenTelemetry
from toolkeel.testing import Scripted, call

@tool
def look_up(word: str) -> str:
    return f"{word}: a backbone"

otel = OpenTelemetry(content=True)
model = Scripted([call("look_up", {"word": "keel"}), "龙骨"])
agent = Agent(model, [look_up], name="clerk", steps=[otel.step], model_steps=[otel.model_step])
agent.run_sync("What is a keel?", listeners=[otel])
provider.force_flush()
"""


QUERY = """
import json, sys
from phoenix.client import Client
spans = Client(base_url=sys.argv[1]).spans.get_spans(project_identifier="keel")
print(json.dumps([[each["span_kind"], each["name"], each["attributes"]] for each in spans], default=str))
"""


def run(program: str, address: str) -> str:
    """Run a program in the environment of Phoenix, and return what it prints; empty if it fails."""
    path = os.pathsep.join(str(each) for each in ROOT.glob("packages/*/src"))
    words = [os.environ["PHOENIX_PYTHON"], "-W", "ignore", "-c", program, address]
    env = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(words, env=env, stdout=subprocess.PIPE, timeout=90, check=False)
    return "" if done.returncode else done.stdout.decode()


def is_ready(address: str) -> bool:
    try:
        return bool(urllib.request.urlopen(f"{address}/healthz", timeout=5).status == 200)
    except OSError:
        return False


@pytest.fixture
def phoenix(tmp_path: Path) -> Iterator[str]:
    """The address of a server of its own."""
    if not os.environ.get("PHOENIX_PYTHON"):
        cannot_run("PHOENIX_PYTHON names no Python with arize-phoenix")
    address = f"http://127.0.0.1:{free_port()}"
    env = os.environ | {
        "PHOENIX_WORKING_DIR": str(tmp_path),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": address.rpartition(":")[2],
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    words = [os.environ["PHOENIX_PYTHON"], "-W", "ignore", "-m", "phoenix.server.main", "serve"]
    server = subprocess.Popen(words, env=env)
    yield address
    server.terminate()
    server.wait()


def test_phoenix_reads_a_run_its_requests_and_its_calls(phoenix: str) -> None:
    end = time.monotonic() + 100
    while not is_ready(phoenix) and time.monotonic() < end:
        time.sleep(0.5)
    run(PROGRAM, phoenix)
    spans: list[Any] = json.loads(run(QUERY, phoenix))
    assert sorted((kind, name) for kind, name, _ in spans) == [
        ("AGENT", "invoke_agent clerk"),
        ("LLM", "chat scripted"),
        ("LLM", "chat scripted"),
        ("TOOL", "execute_tool look_up"),
    ]
    [told] = [attributes for kind, _, attributes in spans if kind == "AGENT"]
    assert told["llm.output_messages.0.message.content"] == "龙骨"
    assert told["llm.input_messages.0.message.content"] == "What is a keel?"
