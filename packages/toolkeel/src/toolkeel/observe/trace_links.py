"""The trace of a run as one string that is saved with it, and the link of the run that resumes it."""

from __future__ import annotations

from toolkeel._common.needs_extra import needs_extra
from toolkeel.context import RunContext

with needs_extra("toolkeel.observe.trace_links", "otel"):
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, get_current_span, set_span_in_context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

KEPT = "toolkeel.traceparent"
"""Where in a run's `state` it stands, which is saved and journalled with the run."""
_W3C = TraceContextTextMapPropagator()
_WORD = "traceparent"


def link(run: RunContext, span: Span) -> None:
    """Link a run's span to the run it resumes, and store its own trace for a later one.

    A run within another is in the trace of that one, and has no link.

    Args:
        run: The run; its `state` is changed.
        span: Its span.
    """
    own: dict[str, str] = {}
    _W3C.inject(own, set_span_in_context(span, Context()))
    before = run.state.get(KEPT)
    if run.scope.parent_id or _WORD not in own or before == own[_WORD]:
        return
    if isinstance(before, str):
        context = _W3C.extract({_WORD: before}, Context())
        if (known := get_current_span(context).get_span_context()).is_valid:
            span.add_link(known)
    run.update(KEPT, lambda _: own[_WORD])
