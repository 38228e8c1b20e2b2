"""OpenTelemetry: spans and metrics of runs, by the GenAI conventions, from the runs' events.

A run is an ``invoke_agent`` span, each request a ``chat`` span within it, each call an
``execute_tool`` span; an inner agent's run is a child of its call. Spans are made of timed events.

What people and models wrote is left out unless it is asked for, also where exceptions quote it: a
failed span has an ``error.type``, and only with content does a call's have the exception, as its
description.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeAlias

from toolkeel import events
from toolkeel._common.needs_extra import needs_extra
from toolkeel.agent.turn.steps import SendRequest
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import Prepared, Proceed
from toolkeel.messages import AssistantMessage, Message, Usage
from toolkeel.model_interface import ModelRequest
from toolkeel.observe import attribute_names
from toolkeel.observe.content import (
    arguments_json,
    is_content_requested,
    message_json,
    messages_json,
    request_attributes,
)
from toolkeel.observe.stats import price_of_usage
from toolkeel.observe.trace_links import link

with needs_extra("toolkeel.observe.opentelemetry_spans", "otel"):
    from opentelemetry import context as otel_context
    from opentelemetry.metrics import Histogram, MeterProvider, get_meter
    from opentelemetry.trace import (
        Span,
        SpanKind,
        Status,
        StatusCode,
        TracerProvider,
        get_tracer,
        set_span_in_context,
    )

Attributes: TypeAlias = dict[str, Any]
NOT_ERRORS = frozenset({"denied", "disabled"})
"""Kinds of results that are answers of a person or a rule, not failures."""
UNKNOWN = "unknown"
"""Stands for the name of a tool that is not there: the model has made it up, and may make up many."""
_MAX_TEXT = 100_000


class _Call:
    """A call whose span is open."""

    __slots__ = ("at", "span")

    def __init__(self, span: Span, at: float) -> None:
        self.span = span
        self.at = at


class _Run:
    """A run whose span is open."""

    def __init__(self, span: Span, event: events.RunStarted) -> None:
        self.span = span
        self.at = event.at
        self.model = event.model
        self.agent = event.agent
        self.context = set_span_in_context(span)
        self.calls: dict[str, _Call] = {}
        self.made = 0
        self.usage = Usage()
        self.chat: _Call | None = None
        self.first_chunk: float | None = None
        self.retries = 0
        self.asked: Attributes = {}
        """Model and provider of the request that is open."""
        self.sent: Sequence[Message] = ()
        """Its messages, where `OpenTelemetry.model_step` sees them; the list grows later."""
        self.output = ""
        """The last reply as JSON text, where content is recorded."""


class OpenTelemetry:
    """Listener that makes spans and metrics of runs: ``agent.run(..., listeners=[otel])``.

    As a step, ``Agent(..., steps=[otel.step])``, it also makes a call's span the current one while
    its body runs, so that spans of the body's own (HTTP, SQL) are its children.

    Args:
        tracer_provider: Provider of the tracer; the global one by default.
        meter_provider: Provider of the meter; the global one by default.
        content: True if replies, arguments and results stand on spans, and with `model_step` among the
            agent's ``model_steps`` also each request's messages. By default the environment decides
            (``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only``), and without
            it they do not.
        conversation: Id of the conversation that runs belong to, for ``gen_ai.conversation.id``.

    Raises:
        MissingExtraError: when imported without the extra ``otel``.
        SetupError: the environment asks for content in a way that is not supported.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        content: bool | None = None,
        conversation: str = "",
    ) -> None:
        self._tracer = get_tracer("toolkeel", None, tracer_provider, attribute_names.SCHEMA)
        meter = get_meter("toolkeel", "", meter_provider, attribute_names.SCHEMA)
        self._histograms: dict[str, Histogram] = {
            name: meter.create_histogram(
                name, unit, description, explicit_bucket_boundaries_advisory=list(buckets)
            )
            for name, (unit, description, buckets) in attribute_names.HISTOGRAMS.items()
        }
        self._content = is_content_requested() if content is None else content
        self._conversation = conversation
        self._runs: dict[str, _Run] = {}

    def __call__(self, event: events.Event) -> None:
        take = _TAKES.get(type(event))
        if take is not None:
            take(self, event, None)

    async def step(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        """Run the body with its span as the current one, as a `Step`."""
        run = self._runs.get(context.run.id)
        call = run.calls.get(context.call.id) if run is not None else None
        if call is None:
            return await proceed(prepared)
        token = otel_context.attach(set_span_in_context(call.span))
        try:
            return await proceed(prepared)
        finally:
            otel_context.detach(token)

    async def model_step(
        self, request: ModelRequest, run: RunContext, proceed: SendRequest
    ) -> AssistantMessage:
        """Record the request's messages for its span and link resumed runs; a `ModelStep`.

        Without ``content``, no message is recorded. It also stores the trace in the run's `state`, so
        that a run that resumes this one elsewhere links to it. Add it as the agent's last step.
        """
        known = self._runs.get(run.id)
        if known is not None:
            link(run, known.span)
            known.sent = request.messages if self._content else ()
        return await proceed(request)

    # — runs —

    def _run_started(self, event: events.RunStarted, outer: _Call | None) -> None:
        """Start a run's span, below that of the enclosing call if any, and store it by run ID."""
        name = event.agent or "agent"
        attributes = self._attributes("invoke_agent", {attribute_names.AGENT: name})
        attributes[attribute_names.REQUEST_MODEL] = event.model
        attributes[attribute_names.RUN] = event.run_id
        span = self._tracer.start_span(
            f"invoke_agent {name}",
            context=None if outer is None else set_span_in_context(outer.span),
            attributes=attributes,
            start_time=_ns(event.at),
        )
        self._runs[event.run_id] = _Run(span, event)

    def _run_finished(self, event: events.RunFinished, _: _Call | None) -> None:
        """End a run's span and those still open in it, and record its metrics."""
        run = self._runs.pop(event.run_id, None)
        if run is None:
            return
        problem = "run_failed" if event.reason == "failed" else ""
        for open_one in (*run.calls.values(), *([run.chat] if run.chat else [])):
            _end(open_one.span, event.at, problem)
        attributes: Attributes = {attribute_names.REASON: event.reason}
        for field in fields(run.usage):
            attributes[attribute_names.TOTALS + field.name] = getattr(run.usage, field.name)
        if run.output:
            attributes[attribute_names.OUTPUT] = run.output
        run.span.set_attributes(attributes)
        _end(run.span, event.at, problem)
        told = {
            attribute_names.AGENT: run.agent or "agent",
            attribute_names.REQUEST_MODEL: run.model,
        }
        failed = {**told, attribute_names.ERROR: problem} if problem else told
        self._record("gen_ai.invoke_agent.duration", event.at - run.at, failed)
        self._record("gen_ai.invoke_agent.inference_calls", run.usage.requests, told)
        self._record("gen_ai.invoke_agent.tool_calls", run.made, told)

    def _nested(self, event: events.Nested, _: _Call | None) -> None:
        """Handle the event of a run inside a call, as a child of that call's span."""
        inner = event.event
        take = _TAKES.get(type(inner))
        if take is None:
            return
        run = self._runs.get(event.run_id)
        take(self, inner, None if run is None else run.calls.get(event.call_id))

    # — requests —

    def _turn_started(self, event: events.TurnStarted, _: _Call | None) -> None:
        """Start the span of a request; end one left open by a failed attempt."""
        run = self._runs.get(event.run_id)
        if run is None:
            return
        model = event.model or run.model
        run.asked = {attribute_names.REQUEST_MODEL: model}
        if event.provider:
            run.asked[attribute_names.PROVIDER] = event.provider
        attributes = self._attributes("chat", run.asked)
        if event.provider:
            attributes[attribute_names.SYSTEM] = event.provider
        if run.sent:
            sent = request_attributes(run.sent, _MAX_TEXT)
            attributes |= sent
            if not run.output:  # the run's own input is that of its first request
                run.span.set_attributes(sent)
        if run.chat is not None:  # it failed, and a step asks again or another model
            _end(run.chat.span, event.at, "request_failed")
        embedded = model == "offline"
        span = self._tracer.start_span(
            f"chat {model}",
            context=run.context,
            kind=SpanKind.INTERNAL if embedded else SpanKind.CLIENT,
            attributes=attributes,
            start_time=_ns(event.at),
        )
        run.chat, run.first_chunk, run.retries = _Call(span, event.at), None, 0

    def _streamed(self, event: events.Streamed, _: _Call | None) -> None:
        """Store the seconds until the first delta of a reply."""
        run = self._runs.get(event.run_id)
        if run is not None and run.chat is not None and run.first_chunk is None:
            run.first_chunk = event.at - run.chat.at

    def _retrying(self, event: events.Retrying, _: _Call | None) -> None:
        """Count an attempt of the request that is sent again."""
        run = self._runs.get(event.run_id)
        if run is not None:
            run.retries += 1

    def _replied(self, event: events.Replied, _: _Call | None) -> None:
        """End the request's span with the reply's attributes, and record its metrics; do nothing if no request is open."""
        run = self._runs.get(event.run_id)
        if run is None or run.chat is None:
            return
        chat, message, run.chat, run.sent = run.chat, event.message, None, ()
        usage = message.usage  # a model of one's own need not count its request
        run.usage = run.usage + (usage if usage.requests else replace(usage, requests=1))
        attributes = _reply(message, run)
        if self._content:
            run.output = messages_json([message_json(message)])
            attributes[attribute_names.OUTPUT] = run.output
        chat.span.set_attributes(attributes)
        problem = "error" if message.finish_reason == "error" else ""
        _end(chat.span, event.at, problem)
        told: Attributes = {attribute_names.OPERATION: "chat", **run.asked}
        told |= {attribute_names.RESPONSE_MODEL: message.model} if message.model else {}
        failed = {**told, attribute_names.ERROR: problem} if problem else told
        self._record("gen_ai.client.operation.duration", event.at - chat.at, failed)
        if run.first_chunk is not None:
            self._record("gen_ai.client.operation.time_to_first_chunk", run.first_chunk, told)
        for kind, tokens in (
            ("input", message.usage.input_tokens),
            ("output", message.usage.output_tokens),
        ):
            if tokens:
                told_kind = {**told, attribute_names.TOKEN_TYPE: kind}
                self._record("gen_ai.client.token.usage", tokens, told_kind)

    # — calls —

    def _tool_started(self, event: events.ToolStarted, _: _Call | None) -> None:
        """Start a call's span, and count the call; do nothing for an unknown run."""
        run = self._runs.get(event.run_id)
        if run is None:
            return
        run.made += 1
        name = event.call.name
        attributes = self._attributes(
            "execute_tool",
            {
                attribute_names.TOOL: name,
                attribute_names.TOOL_TYPE: "function",
                attribute_names.CALL_ID: event.call_id,
            },
        )
        if run.agent:
            attributes[attribute_names.AGENT] = run.agent
        if self._content:
            attributes[attribute_names.ARGUMENTS] = arguments_json(event.call)[:_MAX_TEXT]
        span = self._tracer.start_span(
            f"execute_tool {name}",
            context=run.context,
            attributes=attributes,
            start_time=_ns(event.at),
        )
        run.calls[event.call_id] = _Call(span, event.at)

    def _tool_finished(self, event: events.ToolFinished, _: _Call | None) -> None:
        """End a call's span, and record its duration; do nothing for an unknown call."""
        run = self._runs.get(event.run_id)
        call = run.calls.pop(event.call_id, None) if run is not None else None
        if run is None or call is None:
            return
        message = event.message
        kind = message.kind or ""
        if kind:
            call.span.set_attribute(attribute_names.KIND, kind)
        if self._content:
            call.span.set_attribute(attribute_names.RESULT, message.text[:_MAX_TEXT])
        name = UNKNOWN if kind == "unknown_tool" else message.name
        if name != message.name and not self._content:
            call.span.update_name(f"execute_tool {name}")
            call.span.set_attribute(attribute_names.TOOL, name)
        problem = "" if kind in NOT_ERRORS else kind
        why = str(message.details.get("error", ""))[:_MAX_TEXT] if self._content else ""
        _end(call.span, event.at, problem, why)
        told = {attribute_names.TOOL: name, attribute_names.TOOL_TYPE: "function"}
        failed = {**told, attribute_names.ERROR: problem} if problem else told
        self._record("gen_ai.execute_tool.duration", event.at - call.at, failed)

    def _tool_suspended(self, event: events.ToolSuspended, _: _Call | None) -> None:
        """End the span of a call that waits for an answer from outside."""
        run = self._runs.get(event.run_id)
        call = run.calls.pop(event.call_id, None) if run is not None else None
        if call is not None:
            call.span.set_attribute(attribute_names.KIND, "waiting")
            _end(call.span, event.at, "")

    # — both —

    def _attributes(self, operation: str, more: Mapping[str, Any]) -> Attributes:
        """Return a span's attributes at its start, which are all that samplers see."""
        made: Attributes = {attribute_names.OPERATION: operation, **more}
        if self._conversation:
            made[attribute_names.CONVERSATION] = self._conversation
        return made

    def _record(self, name: str, value: float, attributes: Mapping[str, Any]) -> None:
        """Add a value, at least 0, to a histogram."""
        self._histograms[name].record(max(value, 0), dict(attributes))


_Take: TypeAlias = Callable[[OpenTelemetry, Any, "_Call | None"], None]
_TAKES: Mapping[type, _Take] = {
    events.RunStarted: OpenTelemetry._run_started,
    events.RunFinished: OpenTelemetry._run_finished,
    events.Nested: OpenTelemetry._nested,
    events.TurnStarted: OpenTelemetry._turn_started,
    events.Streamed: OpenTelemetry._streamed,
    events.Retrying: OpenTelemetry._retrying,
    events.Replied: OpenTelemetry._replied,
    events.ToolStarted: OpenTelemetry._tool_started,
    events.ToolFinished: OpenTelemetry._tool_finished,
    events.ToolSuspended: OpenTelemetry._tool_suspended,
}


def _reply(message: AssistantMessage, run: _Run) -> Attributes:
    """Return a reply's model, finish reason, tokens and retries as attributes, and its cost if known."""
    made: Attributes = {attribute_names.FINISH_REASONS: [message.finish_reason]}
    if message.model:
        made[attribute_names.RESPONSE_MODEL] = message.model
    if run.first_chunk is not None:
        made[attribute_names.FIRST_CHUNK] = run.first_chunk
    if run.retries:
        made[attribute_names.RETRIES] = run.retries
    for field, name in attribute_names.USAGE.items():
        if tokens := getattr(message.usage, field, 0):
            made[name] = tokens
    asked = str(run.asked.get(attribute_names.REQUEST_MODEL, ""))
    cost = price_of_usage(message.model or asked, message.usage)
    if cost is not None:
        made |= dict.fromkeys(attribute_names.COSTS, cost)
    return made


def _end(span: Span, at: float, problem: str, why: str = "") -> None:
    """End a span; a failed one gets an error type, and `why` as its description unless it is empty."""
    if problem:
        span.set_attribute(attribute_names.ERROR, problem)
        span.set_status(Status(StatusCode.ERROR, why or None))
    span.end(_ns(at))


def _ns(at: float) -> int:
    """Return seconds as whole nanoseconds."""
    return int(at * 1e9)
