"""A run that goes on elsewhere is a trace of its own, with a link to the one before."""

from __future__ import annotations

from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolkeel import Agent, AssistantMessage, RunContext, tool
from toolkeel.agent.run_state import RunState
from toolkeel.model_interface import ModelRequest
from toolkeel.observe import OpenTelemetry
from toolkeel.observe.trace_links import KEPT
from toolkeel.sessions import Sessions
from toolkeel.steps import SendRequest
from toolkeel.testing import Scripted, call


@tool(approval=True)
def guarded(word: str) -> str:
    """Guarded."""
    return word


class Place:
    """A program of its own, with spans of its own."""

    def __init__(self, *lines: object) -> None:
        self.tracers = tracers = TracerProvider()
        self._exporter = InMemorySpanExporter()
        tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.otel = OpenTelemetry(tracer_provider=tracers)
        script = Scripted(lines)  # type: ignore[arg-type]
        self.agent = Agent(script, [guarded], model_steps=[self.otel.model_step])

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    @property
    def run(self) -> ReadableSpan:
        [found] = [s for s in self.spans if s.name == "invoke_agent agent"]
        return found


def linked(span: ReadableSpan) -> list[tuple[int, int]]:
    return [(link.context.trace_id, link.context.span_id) for link in span.links]


def own(span: ReadableSpan) -> tuple[int, int]:
    assert span.context is not None
    return span.context.trace_id, span.context.span_id


def test_a_run_that_goes_on_from_a_saved_one_is_a_new_trace_with_a_link() -> None:
    first, second = Place(call("guarded", {"word": "a"})), Place("done")
    waits = first.agent.run_sync("go", listeners=[first.otel])
    state = RunState.from_json(waits.state.to_json())
    decisions = [ticket.approve() for ticket in state.pending]
    second.agent.run_sync(state, decisions=decisions, listeners=[second.otel])
    assert linked(first.run) == []
    assert linked(second.run) == [own(first.run)]
    assert second.run.parent is None and own(second.run)[0] != own(first.run)[0]


def test_a_run_that_goes_on_from_a_journal_has_a_link_too(tmp_path: Path) -> None:
    first, second = Place(call("guarded", {"word": "a"})), Place("done")
    sessions = Sessions(tmp_path / "talk.db")
    waits = first.agent.run_sync("go", session=sessions.open("ada"), listeners=[first.otel])
    decisions = [ticket.approve() for ticket in waits.pending]
    sessions.close()
    sessions = Sessions(tmp_path / "talk.db")
    second.agent.run_sync(
        None, session=sessions.open("ada"), decisions=decisions, listeners=[second.otel]
    )
    sessions.close()
    assert linked(second.run) == [own(first.run)]


def test_an_inner_run_is_in_the_trace_and_has_no_link() -> None:
    states: list[bool] = []

    async def look(
        request: ModelRequest, run: RunContext, proceed: SendRequest
    ) -> AssistantMessage:
        states.append(KEPT in run.state)
        return await proceed(request)

    outer = Place()
    steps = [outer.otel.model_step, look]
    inner = Agent(Scripted(["in"]), name="inner", model_steps=steps)
    script = Scripted([call("inner", {"input": "x"}), "done"])
    Agent(script, [inner.as_tool()], model_steps=steps).run_sync("go", listeners=[outer.otel])
    assert states == [True, False, True]
    assert not [span for span in outer.spans if span.links]


@pytest.mark.parametrize("before", ["00-junk", 7, ""])
def test_what_is_no_trace_is_no_link(before: object) -> None:
    place = Place("ok")
    state = {KEPT: before}
    with place.tracers.get_tracer("program").start_as_current_span("request"):
        place.agent.run_sync("go", state=state, listeners=[place.otel])
    assert linked(place.run) == []
    assert str(state[KEPT]).split("-")[2] == f"{own(place.run)[1]:016x}"
