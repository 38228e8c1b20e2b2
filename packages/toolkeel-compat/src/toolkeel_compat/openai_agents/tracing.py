"""Traces and spans, under the names of the OpenAI Agents SDK: handed to processors, sent to nobody.

There is no exporter by default. A program's own processors get every trace and span, as there; for
other tools see `toolkeel.observe.OpenTelemetry`.
"""

from __future__ import annotations

import contextlib
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from typing import Any, Protocol, Self

from toolkeel.events import Event, Replied, RunFinished, ToolFinished, ToolStarted, TurnStarted

__all__ = [
    "BatchTraceProcessor", "Span", "Trace", "TracingExporter", "TracingProcessor",
    "add_trace_processor", "agent_span", "custom_span", "flush_traces", "function_span",
    "gen_span_id", "gen_trace_id", "generation_span", "get_current_span", "get_current_trace",
    "set_trace_processors", "set_tracing_disabled", "set_tracing_export_api_key", "trace",
]  # fmt: skip


class TracingProcessor(Protocol):
    """What is told of traces and spans."""

    def on_trace_start(self, trace: Trace) -> None: ...
    def on_trace_end(self, trace: Trace) -> None: ...
    def on_span_start(self, span: Span) -> None: ...
    def on_span_end(self, span: Span) -> None: ...
    def shutdown(self) -> None: ...
    def force_flush(self) -> None: ...


class _Tracing:
    """What is set for the whole program."""

    processors: tuple[TracingProcessor, ...] = ()
    disabled = os.environ.get("OPENAI_AGENTS_DISABLE_TRACING", "").lower() in ("1", "true")


_trace: ContextVar[Trace | None] = ContextVar("_trace", default=None)
_span: ContextVar[Span | None] = ContextVar("_span", default=None)


def gen_trace_id() -> str:
    """An id for a trace."""
    return f"trace_{os.urandom(16).hex()}"


def gen_span_id() -> str:
    """An id for a span."""
    return f"span_{os.urandom(12).hex()}"


def add_trace_processor(span_processor: TracingProcessor) -> None:
    """Tell one processor more."""
    _Tracing.processors = (*_Tracing.processors, span_processor)


def set_trace_processors(processors: list[TracingProcessor]) -> None:
    """Tell these processors and no others."""
    _Tracing.processors = tuple(processors)


def set_tracing_disabled(disabled: bool) -> None:
    """Switch tracing off, or on again."""
    _Tracing.disabled = disabled


def set_tracing_export_api_key(api_key: str) -> None:
    """Nothing is exported, so the key is not kept."""


def flush_traces() -> None:
    """Let processors write what they hold."""
    for processor in _Tracing.processors:
        processor.force_flush()


def get_current_trace() -> Trace | None:
    """The trace that is open here."""
    return _trace.get()


def get_current_span() -> Span | None:
    """The innermost span that is open here."""
    return _span.get()


class _Timed:
    """What begins and ends, and tells the processors; a context manager."""

    _current: ContextVar[Any]
    _told: str
    _quiet: bool
    _token: Token[Any] | None = None
    started_at: str | None = None
    ended_at: str | None = None

    def start(self, mark_as_current: bool = False) -> None:
        """Begin, and tell the processors."""
        self.started_at = datetime.now(UTC).isoformat()
        if mark_as_current:
            self._token = self._current.set(self)
        self._tell("start")

    def finish(self, reset_current: bool = False) -> None:
        """End, and tell the processors."""
        self.ended_at = datetime.now(UTC).isoformat()
        if reset_current and self._token is not None:
            with contextlib.suppress(ValueError):  # a stream that was left is closed elsewhere
                self._current.reset(self._token)
            self._token = None
        self._tell("end")

    def _tell(self, what: str) -> None:
        for processor in () if self._quiet else _Tracing.processors:
            getattr(processor, f"on_{self._told}_{what}")(self)

    def __enter__(self) -> Self:
        self.start(mark_as_current=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.finish(reset_current=True)


class Trace(_Timed):
    """What happens in one workflow.

    Args:
        tracing: Taken, and changes nothing: no key is needed where nothing is sent to OpenAI.

    Attributes:
        trace_id: Its id.
        name: The workflow's name.
    """

    _current, _told = _trace, "trace"

    def __init__(
        self,
        workflow_name: str,
        trace_id: str | None = None,
        group_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        tracing: object = None,
        disabled: bool = False,
    ) -> None:
        self.name = workflow_name
        self.trace_id = trace_id or gen_trace_id()
        self.group_id = group_id
        self.metadata = metadata
        self._quiet = disabled or _Tracing.disabled

    def export(self) -> dict[str, Any]:
        """As plain data."""
        about = {"group_id": self.group_id, "metadata": self.metadata}
        return {"object": "trace", "id": self.trace_id, "workflow_name": self.name, **about}


class SpanData:
    """What a span is about: its `type`, and its fields as attributes."""

    def __init__(self, type: str, **fields: Any) -> None:
        self.type = type
        self.__dict__.update(fields)

    def export(self) -> dict[str, Any]:
        """As plain data."""
        return dict(self.__dict__)


class Span(_Timed):
    """A part of a trace.

    Attributes:
        span_data: What it is about.
        parent_id: The span it is within.
    """

    _current, _told = _span, "span"

    def __init__(
        self,
        span_data: SpanData,
        span_id: str | None = None,
        parent: Trace | Span | None = None,
        disabled: bool = False,
    ) -> None:
        outer = parent or _span.get() or _trace.get()
        self.span_id = span_id or gen_span_id()
        self.span_data = span_data
        self.trace_id: str = outer.trace_id if outer is not None else ""
        self.parent_id: str | None = getattr(outer, "span_id", None)
        self.error: Any = None
        self._quiet = disabled or _Tracing.disabled or outer is None or outer._quiet

    def set_error(self, error: Any) -> None:
        """Say what went wrong: a message and data."""
        self.error = error

    def export(self) -> dict[str, Any]:
        """As plain data."""
        ids = {"id": self.span_id, "trace_id": self.trace_id, "parent_id": self.parent_id}
        times = {"started_at": self.started_at, "ended_at": self.ended_at}
        about = {"span_data": self.span_data.export(), "error": self.error}
        return {"object": "trace.span", **ids, **times, **about}


class TracingExporter(ABC):
    """Sends traces and spans somewhere."""

    @abstractmethod
    def export(self, items: list[Trace | Span]) -> None:
        """Send these."""


class BatchTraceProcessor:
    """A processor that gives what has ended to an exporter, in batches; the rest when it is flushed.

    Args:
        exporter: Who sends them.
        max_batch_size: How many at once.
    """

    def __init__(self, exporter: TracingExporter, *, max_batch_size: int = 128) -> None:
        self._exporter = exporter
        self._most = max_batch_size
        self._kept: list[Trace | Span] = []
        self._lock = threading.Lock()

    def on_trace_start(self, trace: Trace) -> None:
        """Keep it: it is sent with its spans."""
        self._keep(trace)

    def on_trace_end(self, trace: Trace) -> None:
        """Nothing to do."""

    def on_span_start(self, span: Span) -> None:
        """Nothing to do."""

    def on_span_end(self, span: Span) -> None:
        """Keep it."""
        self._keep(span)

    def shutdown(self) -> None:
        """Send what is kept."""
        self.force_flush()

    def force_flush(self) -> None:
        """Send what is kept."""
        with self._lock:
            kept, self._kept = self._kept, []
        for start in range(0, len(kept), self._most):
            self._exporter.export(kept[start : start + self._most])

    def _keep(self, item: Trace | Span) -> None:
        with self._lock:
            self._kept.append(item)
            full = len(self._kept) >= self._most
        if full:
            self.force_flush()


trace = Trace
"""A trace for all runs and spans within: ``with trace("Joke workflow"): ...``"""


def custom_span(name: str, data: dict[str, Any] | None = None, *where: Any, **more: Any) -> Span:
    """A span of the program's own; `where` and `more` are further arguments of `Span`."""
    return Span(SpanData("custom", name=name, data=data or {}), *where, **more)


def agent_span(
    name: str, handoffs: Any = None, tools: Any = None, output_type: Any = None, **more: Any
) -> Span:
    """A span of an agent."""
    data = {"name": name, "handoffs": handoffs, "tools": tools, "output_type": output_type}
    return Span(SpanData("agent", **data), **more)


def function_span(name: str, input: str | None = None, output: Any = None, **more: Any) -> Span:
    """A span of a tool."""
    return Span(SpanData("function", name=name, input=input, output=output), **more)


def generation_span(
    input: Any = None, output: Any = None, model: str | None = None, **more: Any
) -> Span:
    """A span of a request to a model; ``model_config`` and ``usage`` are told of it, too."""
    told = {name: more.pop(name, None) for name in ("model_config", "usage")}
    return Span(SpanData("generation", input=input, output=output, model=model, **told), **more)


class RunSpans:
    """A listener that makes spans of a run's requests and calls, below the agent's.

    Args:
        outer: The agent's span.
        sensitive: Whether arguments and results stand on them.
    """

    def __init__(self, outer: Span, sensitive: bool) -> None:
        self._outer, self._sensitive = outer, sensitive
        self._open: dict[str, Span] = {}  # by the call's id; of the request by none

    def __call__(self, event: Event) -> None:
        match event:
            case TurnStarted():
                self._begin("", SpanData("generation", usage=None))
            case Replied(message=reply) if "" in self._open:
                spent = reply.usage
                tokens = {"input_tokens": spent.input_tokens, "output_tokens": spent.output_tokens}
                self._end("", usage=tokens)
            case ToolStarted(call=call):
                shown = str(call.arguments) if self._sensitive else None
                data = SpanData("function", name=call.name, input=shown, output=None)
                self._begin(event.call_id, data)
            case ToolFinished(call_id=id, message=result) if id in self._open:
                if result.failed:
                    self._open[id].set_error({"message": str(result.kind), "data": None})
                self._end(id, output=result.text if self._sensitive else None)
            case RunFinished():
                for id in list(self._open):
                    self._end(id)

    def _begin(self, id: str, data: SpanData) -> None:
        self._open[id] = Span(data, parent=self._outer)
        self._open[id].start()

    def _end(self, id: str, **told: Any) -> None:
        span = self._open.pop(id)
        vars(span.span_data).update(told)
        span.finish()


@contextlib.contextmanager
def run_trace(
    agent: str, tools: list[str], name: str, given: Mapping[str, Any], sensitive: bool
) -> Iterator[RunSpans]:
    """The trace and the agent's span of one run; within a trace that is open, that one."""
    with contextlib.ExitStack() as stack:
        if get_current_trace() is None:
            stack.enter_context(Trace(name, **given))
        span = stack.enter_context(agent_span(agent, tools=tools))
        yield RunSpans(span, sensitive)
