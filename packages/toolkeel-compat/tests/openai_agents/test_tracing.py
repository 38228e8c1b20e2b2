"""Traces and spans reach the program's processors, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    BatchTraceProcessor,
    RunConfig,
    Runner,
    TracingExporter,
    add_trace_processor,
    agent_span,
    custom_span,
    flush_traces,
    function_tool,
    gen_trace_id,
    generation_span,
    get_current_span,
    get_current_trace,
    set_trace_processors,
    set_tracing_disabled,
    trace,
)


class Kept:
    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []
        self.flushed = 0

    def on_trace_start(self, trace: Any) -> None:
        self.seen.append(("trace", trace))

    def on_trace_end(self, trace: Any) -> None:
        self.seen.append(("trace end", trace))

    def on_span_start(self, span: Any) -> None:
        self.seen.append(("span", span))

    def on_span_end(self, span: Any) -> None:
        self.seen.append(("span end", span))

    def shutdown(self) -> None: ...

    def force_flush(self) -> None:
        self.flushed += 1

    def of(self, what: str) -> list[Any]:
        return [item for kind, item in self.seen if kind == what]


@pytest.fixture
def kept() -> Iterator[Kept]:
    made = Kept()
    set_trace_processors([made])
    yield made
    set_trace_processors([])
    set_tracing_disabled(False)


@function_tool
def look(word: str) -> str:
    """Look."""
    if word == "bad":
        raise ValueError("no")
    return f"found {word}"


def clerk() -> Agent[Any]:
    lines = [[call("look", {"word": "a"}, "1"), call("look", {"word": "bad"}, "2")], "done"]
    return Agent(name="clerk", tools=[look], model=Scripted(lines))


def test_two_runs_within_one_trace_are_its_spans(kept: Kept) -> None:
    id = gen_trace_id()
    with trace("Joke workflow", trace_id=id, group_id="g") as opened:
        assert get_current_trace() is opened
        with custom_span("mine", {"a": 1}) as mine:
            assert get_current_span() is mine
            Runner.run_sync(clerk(), "go")
        Runner.run_sync(clerk(), "go")
    assert get_current_trace() is None and get_current_span() is None
    assert [one.name for one in kept.of("trace")] == ["Joke workflow"]
    spans = kept.of("span end")
    assert {span.trace_id for span in spans} == {id}
    names = [span.span_data.type for span in kept.of("span")]
    assert names.count("agent") == 2 and names.count("function") == 4
    assert names.count("generation") == 4 and names.count("custom") == 1
    agents = [span for span in spans if span.span_data.type == "agent"]
    assert agents[0].parent_id == mine.span_id and agents[1].parent_id is None
    calls = [span for span in spans if span.span_data.type == "function"]
    assert {span.parent_id for span in calls} == {one.span_id for one in agents}
    assert [span.error is not None for span in calls].count(True) == 2
    assert kept.of("trace end")[0].export()["group_id"] == "g"
    assert spans[0].export()["started_at"] <= spans[0].export()["ended_at"]


def test_a_run_alone_has_a_trace_of_its_own_named_by_its_config(kept: Kept) -> None:
    Runner.run_sync(clerk(), "go", run_config=RunConfig(workflow_name="w", trace_id="trace_1"))
    [one] = kept.of("trace")
    assert (one.name, one.trace_id) == ("w", "trace_1")


@pytest.mark.parametrize("sensitive", [True, False])
def test_what_was_said_stands_on_spans_only_if_it_may(kept: Kept, sensitive: bool) -> None:
    config = RunConfig(trace_include_sensitive_data=sensitive)
    Runner.run_sync(clerk(), "go", run_config=config)
    shown = str([span.export() for span in kept.of("span end")])
    assert ("found a" in shown) is sensitive


def test_tracing_can_be_off_for_a_run_or_for_all(kept: Kept) -> None:
    Runner.run_sync(clerk(), "go", run_config=RunConfig(tracing_disabled=True))
    set_tracing_disabled(True)
    Runner.run_sync(clerk(), "go")
    with trace("quiet"):
        pass
    assert kept.seen == []


def test_processors_are_added_and_flushed(kept: Kept) -> None:
    other = Kept()
    add_trace_processor(other)
    with trace("both"):
        pass
    flush_traces()
    assert [one.flushed for one in (kept, other)] == [1, 1]
    assert len(other.seen) == 2


def test_a_batch_is_sent_when_it_is_full_or_flushed() -> None:
    sent: list[list[str]] = []

    class Sender(TracingExporter):
        def export(self, items: list[Any]) -> None:
            sent.append([item.export()["object"] for item in items])

    processor = BatchTraceProcessor(Sender(), max_batch_size=2)
    set_trace_processors([processor])
    try:
        with trace("work"):
            for name in ("a", "b"):
                with custom_span(name):
                    pass
        assert sent == [["trace", "trace.span"]]
        flush_traces()
        processor.shutdown()
        assert sent[1:] == [["trace.span"]]
    finally:
        set_trace_processors([])


def test_as_there_what_was_said_stands_on_spans_unless_the_environment_says_no(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA"
    monkeypatch.delenv(name, raising=False)
    assert RunConfig().trace_include_sensitive_data
    monkeypatch.setenv(name, "false")
    assert not RunConfig().trace_include_sensitive_data


def test_what_is_within_something_untold_is_untold_too(kept: Kept) -> None:
    with trace("quiet", disabled=True), custom_span("outer"), custom_span("inner"):
        pass
    with trace("loud"), custom_span("outer", {}, None, None, True), custom_span("inner"):
        pass
    assert kept.of("span") == [] and [one.name for one in kept.of("trace")] == ["loud"]


def test_spans_tell_what_they_were_given_by_the_sdks_names(kept: Kept) -> None:
    with trace(workflow_name="w"):
        with agent_span("a", ["b"], ["t"], "str", span_id="s1") as agent:
            assert agent.export()["span_data"] == {
                "type": "agent", "name": "a", "handoffs": ["b"], "tools": ["t"],
                "output_type": "str",
            }  # fmt: skip
        with generation_span([], None, "m", usage={"n": 1}, parent=agent) as asked:
            assert (asked.parent_id, asked.span_data.usage) == ("s1", {"n": 1})
