"""Spans and metrics of runs, as a real SDK exports them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from tests.mcp.peers import PEER
from toolkeel import Agent, AssistantMessage, SetupError, Usage, tool
from toolkeel.errors import ModelUnavailable
from toolkeel.mcp.client import MCPServer
from toolkeel.observe.content import SWITCH
from toolkeel.observe.opentelemetry_spans import OpenTelemetry
from toolkeel.providers.prices import price_of
from toolkeel.sessions import Sessions
from toolkeel.steps import Fallback
from toolkeel.testing.scripted import Scripted, call

SECRET = "4711-secret"


class Watched:
    """A real SDK that keeps what it is given."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader])

    def telemetry(self, **options: Any) -> OpenTelemetry:
        return OpenTelemetry(tracer_provider=self.tracers, meter_provider=self.meters, **options)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def metrics(self) -> dict[str, list[Any]]:
        data = self.reader.get_metrics_data()
        found = data.resource_metrics[0].scope_metrics[0].metrics if data else []
        return {metric.name: list(metric.data.data_points) for metric in found}


@pytest.fixture
def watched() -> Iterator[Watched]:
    made = Watched()
    yield made
    made.tracers.shutdown()
    made.meters.shutdown()


@tool
async def look(word: str) -> str:
    """Look a word up."""
    await asyncio.sleep(0)
    if word == "bad":
        raise ValueError(f"broken by {SECRET}")
    return f"{word}: {SECRET}"


def replied(*calls: Any) -> AssistantMessage:
    return AssistantMessage(
        tool_calls=tuple(calls),
        finish_reason="tool_calls",
        usage=Usage(1, 100, 20, 80, 5),
        model="scripted-2026",
    )


def parent(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def test_a_run_its_requests_and_its_parallel_calls_are_one_tree(watched: Watched) -> None:
    script = Scripted(
        [replied(call("look", {"word": "a"}, "1"), call("look", {"word": "b"}, "2")), "ok"]
    )
    agent = Agent(script, [look], name="clerk")
    agent.run_sync("go", listeners=[watched.telemetry()])
    [run] = watched.named("invoke_agent clerk")
    requests, calls = watched.named("chat scripted"), watched.named("execute_tool look")
    assert (len(requests), len(calls)) == (2, 2)
    assert parent(run) is None and run.kind is SpanKind.INTERNAL
    assert {parent(span) for span in (*requests, *calls)} == {id_of(run)}
    assert {span.kind for span in requests} == {SpanKind.CLIENT}
    assert all(span.status.status_code is StatusCode.UNSET for span in watched.spans)
    assert {span.attributes["gen_ai.operation.name"] for span in watched.spans} == {  # type: ignore[index]
        "invoke_agent", "chat", "execute_tool",
    }  # fmt: skip


def test_a_request_tells_its_models_its_end_and_each_kind_of_token(watched: Watched) -> None:
    Agent(Scripted([replied(call("look", {"word": "a"})), "ok"]), [look]).run_sync(
        "go", listeners=[watched.telemetry(conversation="c1")]
    )
    first = dict(watched.named("chat scripted")[0].attributes or {})
    assert first == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "scripted",
        "gen_ai.response.model": "scripted-2026",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 80,
        "gen_ai.usage.reasoning.output_tokens": 5,
        "gen_ai.conversation.id": "c1",
    }


def test_a_request_to_a_model_whose_price_is_known_tells_what_it_cost(watched: Watched) -> None:
    usage = Usage(1, 100_000, 10_000)
    for model in ("gpt-5", "house-model"):
        said = AssistantMessage("ok", model=model, usage=usage)
        Agent(Scripted([said], model)).run_sync("go", listeners=[watched.telemetry()])
    [known], [unknown] = (watched.named(f"chat {name}") for name in ("gpt-5", "house-model"))
    price, told = price_of("gpt-5"), known.attributes or {}
    assert price is not None and told["operation.cost"] == pytest.approx(price(usage))
    assert told["gen_ai.usage.cost"] == told["operation.cost"]
    assert not {"operation.cost", "gen_ai.usage.cost"} & {*(unknown.attributes or {})}


def test_a_runs_totals_do_not_stand_where_tools_would_add_them_again(watched: Watched) -> None:
    Agent(Scripted([replied(call("look", {"word": "a"})), "ok"]), [look]).run_sync(
        "go", listeners=[watched.telemetry()]
    )
    [run] = watched.named("invoke_agent agent")
    names = run.attributes or {}
    assert not [name for name in names if name.startswith("gen_ai.usage")]
    assert not {"gen_ai.provider.name", "gen_ai.agent.id"} & set(names)
    assert names["toolkeel.run.usage.input_tokens"] == 100


def test_a_failed_call_has_its_kind_and_nothing_of_what_it_said(watched: Watched) -> None:
    Agent(Scripted([call("look", {"word": "bad"}), call("look", {}), "ok"]), [look]).run_sync(
        "go", listeners=[watched.telemetry()]
    )
    crashed, invalid = watched.named("execute_tool look")
    for span, kind in ((crashed, "crashed"), (invalid, "invalid_arguments")):
        assert span.status.status_code is StatusCode.ERROR and not span.status.description
        assert (span.attributes or {})["error.type"] == kind
        assert not span.events
    [run] = watched.named("invoke_agent agent")
    assert run.status.status_code is StatusCode.UNSET


def test_a_tools_name_that_the_model_has_made_up_is_told_to_nobody_and_is_one_in_metrics(
    watched: Watched,
) -> None:
    made_up = [call(f"{SECRET}-{n}", {}) for n in range(3)]
    Agent(Scripted([made_up, "Done."]), tools=[look]).run_sync("?", listeners=[watched.telemetry()])
    spans = watched.named("execute_tool unknown")
    assert [span.attributes["error.type"] for span in spans if span.attributes] == [
        "unknown_tool"
    ] * 3
    assert not any(SECRET in span.to_json() for span in watched.spans)
    [point] = watched.metrics()["gen_ai.execute_tool.duration"]
    assert point.attributes["gen_ai.tool.name"] == "unknown"


def test_without_being_asked_no_span_holds_what_anybody_wrote(watched: Watched) -> None:
    agent = Agent(
        Scripted([call("look", {"word": SECRET}), call("look", {"word": "bad"}), f"say {SECRET}"]),
        [look],
        instructions=f"know {SECRET}",
    )
    agent.run_sync(f"ask {SECRET}", listeners=[watched.telemetry()])
    assert len(watched.spans) == 6
    assert SECRET not in "".join(span.to_json() for span in watched.spans)


def test_content_stands_on_spans_when_it_is_asked_for(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, "span_only")
    Agent(Scripted([call("look", {"word": "你"}), "好"]), [look]).run_sync(
        "go", listeners=[watched.telemetry()]
    )
    [span] = watched.named("execute_tool look")
    assert (span.attributes or {})["gen_ai.tool.call.arguments"] == '{"word": "你"}'
    assert (span.attributes or {})["gen_ai.tool.call.result"] == f"你: {SECRET}"
    last = watched.named("chat scripted")[-1].attributes or {}
    assert '"content": "好"' in str(last["gen_ai.output.messages"])


def test_with_content_a_crashed_call_is_described_by_its_exception(watched: Watched) -> None:
    model = Scripted([call("look", {"word": "bad"}), "ok"])
    Agent(model, [look]).run_sync("go", listeners=[watched.telemetry(content=True)])
    [span] = watched.named("execute_tool look")
    assert SECRET in (span.status.description or "")


def test_a_runs_span_has_its_first_request_and_its_last_reply(watched: Watched) -> None:
    otel = watched.telemetry(content=True)
    model = Scripted([call("look", {"word": "你"}), "好"])
    agent = Agent(model, [look], instructions="Be brief.", model_steps=[otel.model_step])
    agent.run_sync("go", listeners=[otel])
    [span] = watched.named("invoke_agent agent")
    told = {name: str(value) for name, value in (span.attributes or {}).items()}
    assert json.loads(told["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    ]
    assert "Be brief." in told["gen_ai.system_instructions"]
    [reply] = json.loads(told["gen_ai.output.messages"])
    assert reply["parts"] == [{"type": "text", "content": "好"}]


@pytest.mark.parametrize("word", ["true", "event_only", "span_and_event"])
def test_a_switch_that_is_not_supported_is_refused_by_name(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv(SWITCH, word)
    with pytest.raises(SetupError, match=f"{SWITCH}.*{word}"):
        watched.telemetry()


class Named(Scripted):
    provider = "example"


def test_a_request_and_its_metrics_tell_whose_model_was_asked(watched: Watched) -> None:
    first = Named([ModelUnavailable(f"down {SECRET}")], "first")
    agent = Agent(first, model_steps=[Fallback(Scripted(["ok"], "second"))])
    agent.run_sync("go", listeners=[watched.telemetry()])
    [failed], [answered] = watched.named("chat first"), watched.named("chat second")
    assert (failed.attributes or {})["gen_ai.provider.name"] == "example"
    assert (failed.attributes or {})["gen_ai.system"] == "example"
    assert "gen_ai.provider.name" not in (answered.attributes or {})
    assert (failed.attributes or {})["error.type"] == "request_failed"
    assert failed.status.status_code is StatusCode.ERROR and not failed.status.description
    points = watched.metrics()["gen_ai.client.operation.duration"]
    assert [point.attributes["gen_ai.request.model"] for point in points] == ["second"]


def test_a_models_provider_is_told_by_metrics_too(watched: Watched) -> None:
    Agent(Named(["ok"])).run_sync("go", listeners=[watched.telemetry()])
    [point] = watched.metrics()["gen_ai.client.operation.duration"]
    assert point.attributes["gen_ai.provider.name"] == "example"


@pytest.mark.parametrize("content", [True, False])
def test_what_a_request_holds_stands_on_its_span_when_it_is_asked_for(
    watched: Watched, content: bool
) -> None:
    otel = watched.telemetry(content=content)
    inner = Agent(Scripted(["inner"]), name="inner", model_steps=[otel.model_step])
    Agent(
        Scripted([call("inner", {"input": "里"}, "1"), "好"]),
        [inner.as_tool()],
        instructions=f"know {SECRET}",
        model_steps=[otel.model_step],
    ).run_sync("问", listeners=[otel])
    first, within, last = sorted(
        watched.named("chat scripted"), key=lambda span: span.start_time or 0
    )
    asked = [dict(span.attributes or {}) for span in (first, within, last)]
    if not content:
        assert not [name for each in asked for name in each if name.endswith("messages")]
        assert not [each for each in asked if "gen_ai.system_instructions" in each]
        return
    told = [{"type": "text", "content": f"know {SECRET}"}]
    assert json.loads(asked[0]["gen_ai.system_instructions"]) == told  # type: ignore[arg-type]
    said = [json.loads(each["gen_ai.input.messages"]) for each in asked]  # type: ignore[arg-type]
    assert [[row["role"] for row in rows] for rows in said] == [
        ["user"], ["user"], ["user", "assistant", "tool"],
    ]  # fmt: skip
    assert [rows[0]["parts"][0]["content"] for rows in said] == ["问", "里", "问"]
    assert "gen_ai.system_instructions" not in asked[1]
    assert said[2][2]["parts"][0]["response"] == "inner"


def test_an_inner_agent_is_a_child_of_the_call_that_it_is(watched: Watched) -> None:
    inner = Agent(Scripted([call("look", {"word": "a"}), "inner done"]), [look], name="inner")
    outer = Agent(
        Scripted([call("inner", {"input": "x"}), "done"]), [inner.as_tool()], name="outer"
    )
    outer.run_sync("go", listeners=[watched.telemetry()])
    [run], [within] = watched.named("invoke_agent outer"), watched.named("invoke_agent inner")
    [made] = watched.named("execute_tool inner")
    [deep] = watched.named("execute_tool look")
    assert parent(made) == id_of(run)
    assert parent(within) == id_of(made)
    assert parent(deep) == id_of(within)


async def everything(telemetry: OpenTelemetry, file: Path) -> None:
    """Two calls at once, one of an MCP server's tool, an inner agent, and one a person approved."""
    guarded = tool("guarded", approval=True)(look.function)
    inner = Agent(Scripted([call("look", {"word": "a"}), f"inner {SECRET}"]), [look], name="inner")
    turns = [
        replied(call("look", {"word": "a"}, "1"), call("look", {"word": SECRET}, "2")),
        call("inner", {"input": SECRET}),
        call("echo", {"text": SECRET}),
        call("guarded", {"word": "bad"}),
        f"done {SECRET}",
    ]
    sessions = Sessions(file)
    async with MCPServer(PEER, name="peer", trust=True) as server:
        tools = [look, server, inner.as_tool(), guarded]
        steps: Any = {"steps": [telemetry.step], "model_steps": [telemetry.model_step]}
        outer = Agent(Scripted(turns), tools, name="outer", **steps)
        session = sessions.open("ada")
        waits = await outer.run(f"go {SECRET}", session=session, listeners=[telemetry])
        assert waits.reason == "waiting"
        approved = [ticket.approve() for ticket in waits.pending]
        await outer.run(None, session=session, decisions=approved, listeners=[telemetry])
    sessions.close()


def test_parallel_calls_an_mcp_call_an_inner_agent_and_an_approval_are_one_tree_without_content(
    watched: Watched, tmp_path: Path
) -> None:
    asyncio.run(everything(watched.telemetry(), tmp_path / "talk.db"))
    first, second = sorted(
        watched.named("invoke_agent outer"), key=lambda span: span.start_time or 0
    )
    [within] = watched.named("invoke_agent inner")
    [echo], [made] = watched.named("execute_tool echo"), watched.named("execute_tool inner")
    one, two, deep = sorted(
        watched.named("execute_tool look"), key=lambda span: parent(span) == id_of(within)
    )
    assert {parent(span) for span in (one, two, echo, made)} == {id_of(first)}
    assert (parent(within), parent(deep)) == (id_of(made), id_of(within))
    waited, ran = watched.named("execute_tool guarded")
    assert (parent(waited), parent(ran)) == (id_of(first), id_of(second))
    assert [parent(run) for run in (first, second)] == [None, None]
    failed = [span.name for span in watched.spans if span.status.status_code is StatusCode.ERROR]
    assert failed == ["execute_tool guarded"] and ran.status.description is None
    assert SECRET not in "".join(span.to_json() for span in watched.spans)


def test_a_call_that_waits_for_a_person_is_no_error(watched: Watched) -> None:
    guarded = tool("guarded", approval=True)(look.function)
    result = Agent(Scripted([call("guarded", {"word": "a"}), "ok"]), [guarded]).run_sync(
        "go", listeners=[watched.telemetry()]
    )
    assert result.pending
    [span] = watched.named("execute_tool guarded")
    assert span.status.status_code is StatusCode.UNSET
    assert (span.attributes or {})["toolkeel.call.kind"] == "waiting"


def test_a_denied_call_is_no_error(watched: Watched) -> None:
    guarded = tool("guarded", approval=True)(look.function)
    Agent(Scripted([call("guarded", {"word": "a"}), "ok"]), [guarded]).run_sync(
        "go", listeners=[watched.telemetry()], approver=lambda ticket: False
    )
    [span] = watched.named("execute_tool guarded")
    assert span.status.status_code is StatusCode.UNSET
    assert (span.attributes or {})["toolkeel.call.kind"] == "denied"


def test_a_run_that_fails_ends_its_open_spans_as_errors(watched: Watched) -> None:
    with pytest.raises(OSError, match="gone"):
        Agent(Scripted([OSError(f"gone {SECRET}")]), [look]).run_sync(
            "go", listeners=[watched.telemetry()]
        )
    [run], [chat] = watched.named("invoke_agent agent"), watched.named("chat scripted")
    assert run.status.status_code is chat.status.status_code is StatusCode.ERROR
    assert not run.status.description and not run.events and not chat.events


@pytest.mark.parametrize("inline", [True, False])
def test_with_the_step_a_bodys_own_spans_are_children_of_its_call(
    watched: Watched, inline: bool
) -> None:
    tracer = watched.tracers.get_tracer("body")

    @tool(inline=inline)
    def query(word: str) -> str:
        """Query."""
        with tracer.start_as_current_span("SELECT"):
            return word

    otel = watched.telemetry()
    Agent(Scripted([call("query", {"word": "a"}), "ok"]), [query], steps=[otel.step]).run_sync(
        "go", listeners=[otel]
    )
    [span] = watched.named("SELECT")
    assert parent(span) == id_of(watched.named("execute_tool query")[0])


def test_a_run_is_a_child_of_the_programs_own_span(watched: Watched) -> None:
    async def main() -> None:
        with watched.tracers.get_tracer("program").start_as_current_span("request") as span:
            own.append(span.get_span_context().span_id)
            await Agent(Scripted(["ok"])).run("go", listeners=[watched.telemetry()])
            assert trace.get_current_span() is span

    own: list[int] = []
    asyncio.run(main())
    assert [parent(watched.named("invoke_agent agent")[0])] == own


def test_many_runs_at_once_do_not_mix_and_nothing_is_kept(watched: Watched) -> None:
    otel = watched.telemetry()

    async def one(number: int) -> None:
        agent = Agent(
            Scripted([call("look", {"word": f"w{number}"}, "same"), "ok"]),
            [look],
            name=f"a{number}",
        )
        await agent.run("go", listeners=[otel])

    async def main() -> None:
        await asyncio.gather(*(one(number) for number in range(50)))

    asyncio.run(main())
    assert len(watched.spans) == 50 * 4
    runs = {id_of(span): span for span in watched.spans if parent(span) is None}
    assert len(runs) == 50
    for span in watched.named("execute_tool look"):
        home = runs[parent(span) or 0]
        assert (span.attributes or {})["gen_ai.agent.name"] == home.name.split()[1]
    assert not otel._runs


def test_metrics_are_recorded_under_their_names_with_no_ids(watched: Watched) -> None:
    Agent(
        Scripted([replied(call("look", {"word": "a"}), call("look", {})), "ok"]), [look]
    ).run_sync("go", listeners=[watched.telemetry()])
    found = watched.metrics()
    assert {
        "gen_ai.client.operation.duration",
        "gen_ai.client.token.usage",
        "gen_ai.execute_tool.duration",
        "gen_ai.invoke_agent.duration",
        "gen_ai.invoke_agent.inference_calls",
        "gen_ai.invoke_agent.tool_calls",
    } <= set(found)
    assert sum(point.count for point in found["gen_ai.execute_tool.duration"]) == 2
    assert found["gen_ai.invoke_agent.tool_calls"][0].sum == 2
    assert found["gen_ai.invoke_agent.inference_calls"][0].sum == 2
    kinds = {point.attributes["gen_ai.token.type"] for point in found["gen_ai.client.token.usage"]}
    assert kinds == {"input", "output"}
    for points in found.values():
        for point in points:
            assert not [name for name in point.attributes if name.endswith(".id")]
