"""Traces and spans under the names of the OpenAI Agents SDK, passed to the program's processors.

There is no exporter by default. For other tools see `toolkeel.observe.OpenTelemetry`.
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
    """An object that is notified of traces and spans."""

    def on_trace_start(self, trace: Trace) -> None: ...
    def on_trace_end(self, trace: Trace) -> None: ...
    def on_span_start(self, span: Span) -> None: ...
    def on_span_end(self, span: Span) -> None: ...
    def shutdown(self) -> None: ...
    def force_flush(self) -> None: ...


class _TracingSettings:
    """Process-wide settings."""

    processors: tuple[TracingProcessor, ...] = ()
    disabled = os.environ.get("OPENAI_AGENTS_DISABLE_TRACING", "").lower() in ("1", "true")


_trace: ContextVar[Trace | None] = ContextVar("_trace", default=None)
_span: ContextVar[Span | None] = ContextVar("_span", default=None)


def gen_trace_id() -> str:
    """Generate an id for a trace."""
    return f"trace_{os.urandom(16).hex()}"


def gen_span_id() -> str:
    """Generate an id for a span."""
    return f"span_{os.urandom(12).hex()}"


def add_trace_processor(span_processor: TracingProcessor) -> None:
    """Add a processor."""
    _TracingSettings.processors = (*_TracingSettings.processors, span_processor)


def set_trace_processors(processors: list[TracingProcessor]) -> None:
    """Replace all processors."""
    _TracingSettings.processors = tuple(processors)


def set_tracing_disabled(disabled: bool) -> None:
    """Disable tracing, or enable it again."""
    _TracingSettings.disabled = disabled


def set_tracing_export_api_key(api_key: str) -> None:
    """Ignored: nothing is exported, so the key is not stored."""


def flush_traces() -> None:
    """Flush all processors."""
    for processor in _TracingSettings.processors:
        processor.force_flush()


def get_current_trace() -> Trace | None:
    """Return the current trace, or None."""
    return _trace.get()


def get_current_span() -> Span | None:
    """Return the innermost current span, or None."""
    return _span.get()


class _TimedItem:
    """A trace or span: a context manager that notifies the processors of its start and end."""

    _current: ContextVar[Any]
    _event_name: str
    _is_disabled: bool
    _token: Token[Any] | None = None
    started_at: str | None = None
    ended_at: str | None = None

    def start(self, mark_as_current: bool = False) -> None:
        """Start, and notify the processors."""
        self.started_at = datetime.now(UTC).isoformat()
        if mark_as_current:
            self._token = self._current.set(self)
        self._notify("start")

    def finish(self, reset_current: bool = False) -> None:
        """End, and notify the processors."""
        self.ended_at = datetime.now(UTC).isoformat()
        if reset_current and self._token is not None:
            with contextlib.suppress(ValueError):  # a stream that was left is closed elsewhere
                self._current.reset(self._token)
            self._token = None
        self._notify("end")

    def _notify(self, what: str) -> None:
        for processor in () if self._is_disabled else _TracingSettings.processors:
            getattr(processor, f"on_{self._event_name}_{what}")(self)

    def __enter__(self) -> Self:
        self.start(mark_as_current=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.finish(reset_current=True)


class Trace(_TimedItem):
    """A trace of one workflow.

    Args:
        tracing: Ignored: nothing is sent to OpenAI, so no key is needed.

    Attributes:
        trace_id: Its id.
        name: The workflow's name.
    """

    _current, _event_name = _trace, "trace"

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
        self._is_disabled = disabled or _TracingSettings.disabled

    def export(self) -> dict[str, Any]:
        """Return plain data."""
        about = {"group_id": self.group_id, "metadata": self.metadata}
        return {"object": "trace", "id": self.trace_id, "workflow_name": self.name, **about}


class SpanData:
    """The subject of a span: its `type`, and its fields as attributes."""

    def __init__(self, type: str, **fields: Any) -> None:
        self.type = type
        self.__dict__.update(fields)

    def export(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(self.__dict__)


class Span(_TimedItem):
    """A part of a trace.

    Attributes:
        span_data: Its subject.
        parent_id: Id of the outer span.
    """

    _current, _event_name = _span, "span"

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
        self._is_disabled = (
            disabled or _TracingSettings.disabled or outer is None or outer._is_disabled
        )

    def set_error(self, error: Any) -> None:
        """Record an error: a message and data."""
        self.error = error

    def export(self) -> dict[str, Any]:
        """Return plain data."""
        ids = {"id": self.span_id, "trace_id": self.trace_id, "parent_id": self.parent_id}
        times = {"started_at": self.started_at, "ended_at": self.ended_at}
        about = {"span_data": self.span_data.export(), "error": self.error}
        return {"object": "trace.span", **ids, **times, **about}


class TracingExporter(ABC):
    """Sends traces and spans to a backend."""

    @abstractmethod
    def export(self, items: list[Trace | Span]) -> None:
        """Send the items."""


class BatchTraceProcessor:
    """A processor that exports finished items in batches; the rest when flushed.

    Args:
        exporter: The exporter.
        max_batch_size: Maximum number of items in one export.
    """

    def __init__(self, exporter: TracingExporter, *, max_batch_size: int = 128) -> None:
        self._exporter = exporter
        self._max_batch_size = max_batch_size
        self._pending: list[Trace | Span] = []
        self._lock = threading.Lock()

    def on_trace_start(self, trace: Trace) -> None:
        """Queue the trace, to export it with its spans."""
        self._enqueue(trace)

    def on_trace_end(self, trace: Trace) -> None:
        """Do nothing."""

    def on_span_start(self, span: Span) -> None:
        """Do nothing."""

    def on_span_end(self, span: Span) -> None:
        """Queue the span."""
        self._enqueue(span)

    def shutdown(self) -> None:
        """Export the queued items."""
        self.force_flush()

    def force_flush(self) -> None:
        """Export the queued items."""
        with self._lock:
            items, self._pending = self._pending, []
        for start in range(0, len(items), self._max_batch_size):
            self._exporter.export(items[start : start + self._max_batch_size])

    def _enqueue(self, item: Trace | Span) -> None:
        with self._lock:
            self._pending.append(item)
            full = len(self._pending) >= self._max_batch_size
        if full:
            self.force_flush()


trace = Trace
"""A trace for all runs and spans within: ``with trace("Joke workflow"): ...``"""


def custom_span(name: str, data: dict[str, Any] | None = None, *where: Any, **more: Any) -> Span:
    """Create a custom span; `where` and `more` are further arguments of `Span`."""
    return Span(SpanData("custom", name=name, data=data or {}), *where, **more)


def agent_span(
    name: str, handoffs: Any = None, tools: Any = None, output_type: Any = None, **more: Any
) -> Span:
    """Create a span of an agent."""
    data = {"name": name, "handoffs": handoffs, "tools": tools, "output_type": output_type}
    return Span(SpanData("agent", **data), **more)


def function_span(name: str, input: str | None = None, output: Any = None, **more: Any) -> Span:
    """Create a span of a tool."""
    return Span(SpanData("function", name=name, input=input, output=output), **more)


def generation_span(
    input: Any = None, output: Any = None, model: str | None = None, **more: Any
) -> Span:
    """Create a span of a model request; takes ``model_config`` and ``usage``, too."""
    details = {name: more.pop(name, None) for name in ("model_config", "usage")}
    return Span(SpanData("generation", input=input, output=output, model=model, **details), **more)


class RunSpans:
    """A listener that creates spans of a run's requests and calls, below the agent's.

    Args:
        outer: The agent's span.
        sensitive: Put arguments and results on the spans.
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

    def _end(self, id: str, **fields: Any) -> None:
        span = self._open.pop(id)
        vars(span.span_data).update(fields)
        span.finish()


@contextlib.contextmanager
def run_trace(
    agent: str, tools: list[str], name: str, options: Mapping[str, Any], sensitive: bool
) -> Iterator[RunSpans]:
    """Open the trace and the agent's span of one run; reuse the current trace if there is one."""
    with contextlib.ExitStack() as stack:
        if get_current_trace() is None:
            stack.enter_context(Trace(name, **options))
        span = stack.enter_context(agent_span(agent, tools=tools))
        yield RunSpans(span, sensitive)
