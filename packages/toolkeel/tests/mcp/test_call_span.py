"""Calls of MCP servers in traces: attributes on the tool's span, and the trace sent along."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import httpx2
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.mcp.peers import OLD_PEER, PEER, http_peer
from toolkeel import Agent
from toolkeel.mcp.client import MCPServer
from toolkeel.observe import OpenTelemetry
from toolkeel.testing import Scripted, call


class Watched:
    """A real SDK that keeps the spans it is given."""

    def __init__(self) -> None:
        self.tracers = TracerProvider()
        self.exporter = InMemorySpanExporter()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.otel = OpenTelemetry(tracer_provider=self.tracers)

    async def run(self, server: MCPServer, *, step: bool = True) -> ReadableSpan:
        """The span of a call of the server's ``echo``."""
        steps = [self.otel.step] if step else []
        async with server:
            script = Scripted([call("echo", {"text": "你好"}), "ok"])
            await Agent(script, [server], steps=steps).run("go", listeners=[self.otel])
        spans = self.exporter.get_finished_spans()
        return next(span for span in spans if span.name == "execute_tool echo")


@pytest.fixture
def watched() -> Iterator[Watched]:
    made = Watched()
    yield made
    made.tracers.shutdown()


def of_mcp(span: ReadableSpan) -> dict[str, object]:
    names = ("mcp.", "network.")
    return {key: value for key, value in (span.attributes or {}).items() if key.startswith(names)}


@pytest.mark.parametrize("words", [PEER, OLD_PEER])
def test_a_call_of_a_process_has_its_method_transport_and_revision(
    watched: Watched, words: list[str]
) -> None:
    server = MCPServer(words, name="peer", trust=True)
    span = asyncio.run(watched.run(server))
    assert of_mcp(span) == {
        "mcp.method.name": "tools/call",
        "network.transport": "pipe",
        "mcp.protocol.version": "2025-11-25" if words is OLD_PEER else "2026-07-28",
    }


def test_a_call_on_the_network_carries_the_trace_of_its_span(watched: Watched) -> None:
    sent: list[dict[str, object]] = []

    async def keep(request: httpx2.Request) -> None:
        if request.method == "POST" and b"tools/call" in request.content:
            sent.append(json.loads(request.content)["params"]["_meta"])

    async def main(url: str) -> ReadableSpan:
        async with httpx2.AsyncClient(event_hooks={"request": [keep]}) as client:
            return await watched.run(MCPServer(url, name="peer", trust=True, http_client=client))

    with http_peer() as (url, _):
        span = asyncio.run(main(url))
    told = of_mcp(span)
    assert told.pop("mcp.protocol.version")
    assert told == {
        "mcp.method.name": "tools/call",
        "network.transport": "tcp",
        "network.protocol.name": "http",
    }
    assert span.context is not None and len(sent) == 1
    _, trace_id, span_id, _ = str(sent[0]["traceparent"]).split("-")
    assert int(trace_id, 16) == span.context.trace_id
    assert int(span_id, 16) == span.context.span_id


def test_a_span_of_the_programs_own_is_left_as_it_is(watched: Watched) -> None:
    async def main() -> None:
        tracer = watched.tracers.get_tracer("program")
        with tracer.start_as_current_span("request"):
            await watched.run(MCPServer(PEER, name="peer", trust=True), step=False)

    asyncio.run(main())
    assert [of_mcp(span) for span in watched.exporter.get_finished_spans()] == [{}] * 5
