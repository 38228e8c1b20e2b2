"""Spans arrive at a collector over OTLP, as its protocol has them."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from tests.observe.test_opentelemetry_spans import SECRET, everything
from tests.shared import PYTHONPATH, cannot_run
from toolkeel.observe.opentelemetry_spans import OpenTelemetry

EXPORTER = "opentelemetry-exporter-otlp-proto-http"

# The exporter is no dependency of the tests: it is fetched for this one, with what it stands on.
SEND = """
import sys
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from tests.observe.test_otlp import run
tracers = TracerProvider()
tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=sys.argv[1])))
run(tracers, sys.argv[2])
tracers.shutdown()
"""
READ = """
import json, sys
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
spans = [
    {"id": span.span_id.hex(), "parent": span.parent_span_id.hex(), "name": span.name,
     "trace": span.trace_id.hex(), "links": [link.trace_id.hex() for link in span.links],
     "status": span.status.code, "told": span.status.message}
    for body in sys.stdin.read().split()
    for resource in ExportTraceServiceRequest.FromString(bytes.fromhex(body)).resource_spans
    for scope in resource.scope_spans for span in scope.spans
]
print(json.dumps(spans))
"""


def run(tracers: TracerProvider, folder: str) -> None:
    """The run of `everything`, watched."""
    asyncio.run(everything(OpenTelemetry(tracer_provider=tracers), Path(folder) / "talk.db"))


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """What stands for a collector: its address, and the bodies it was sent."""
    sent: list[bytes] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            zipped = self.headers.get("content-encoding") == "gzip"
            sent.append(gzip.decompress(body) if zipped else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Taking) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/traces", sent
        finally:
            server.shutdown()
            thread.join(30)


@pytest.fixture(scope="module")
def exporter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with the exporter, for PYTHONPATH."""
    folder = str(tmp_path_factory.mktemp("otlp"))
    wanted = f"{EXPORTER}=={metadata.version('opentelemetry-sdk')}"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "--target", folder, wanted], capture_output=True, encoding="utf-8", timeout=600
    )
    if done.returncode:
        cannot_run(f"{wanted} could not be installed: {done.stderr[-300:]}")
    return folder


def python(exporter: str, code: str, *words: str, stdin: str = "") -> str:
    """What a program says that finds the exporter."""
    path = os.pathsep.join([PYTHONPATH, exporter])
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": path},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_whole_run_arrives_at_a_collector_with_its_parents_and_without_content(
    exporter: str, tmp_path: Path
) -> None:
    with collector() as (address, sent):
        python(exporter, SEND, address, str(tmp_path))
    assert sent and SECRET.encode() not in b"".join(sent)
    bodies = "\n".join(body.hex() for body in sent)
    spans: list[dict[str, Any]] = json.loads(python(exporter, READ, stdin=bodies))
    by_id = {span["id"]: span for span in spans}
    tree = sorted(
        (span["name"], by_id[span["parent"]]["name"] if span["parent"] else "") for span in spans
    )
    assert [pair for pair in tree if not pair[0].startswith("chat ")] == [
        ("execute_tool echo", "invoke_agent outer"),
        ("execute_tool guarded", "invoke_agent outer"),
        ("execute_tool guarded", "invoke_agent outer"),
        ("execute_tool inner", "invoke_agent outer"),
        ("execute_tool look", "invoke_agent inner"),
        ("execute_tool look", "invoke_agent outer"),
        ("execute_tool look", "invoke_agent outer"),
        ("invoke_agent inner", "execute_tool inner"),
        ("invoke_agent outer", ""),
        ("invoke_agent outer", ""),
    ]
    first, second = [span for span in spans if span["name"] == "invoke_agent outer"]
    assert first["trace"] != second["trace"]
    assert [first["links"], second["links"]] in ([[], [first["trace"]]], [[second["trace"]], []])
    assert {span["told"] for span in spans} == {""}
    assert [span["name"] for span in spans if span["status"] == 2] == ["execute_tool guarded"]
