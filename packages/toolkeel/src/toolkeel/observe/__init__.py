"""7. Observability: traces, metrics and JSON lines of runs.

wording              text about runs for people: what a call does, money, times; nothing hidden, nothing that controls a terminal
stats                how well models call tools: first-try validity, correction rate, failing fields
attribute_names      attribute and metric names of OpenTelemetry's GenAI conventions, as one dated table
content              messages in the conventions' JSON form, for spans with content
trace_links          the trace of a run, saved with it, and the link of the run that resumes it
opentelemetry_spans  OpenTelemetry spans and metrics of runs, from their events
event_entries        lines of JSON as journal entries, for stats of runs without a session
json_lines           every event as a line of JSON, for files and logs
slow_listener        a listener in a thread of its own, which delays no run (what is left out: _common/unread_events)

`watch` of toolkeel-studio can be imported from here when it is installed; type checkers find it in
`toolkeel_studio.notebook`.
"""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel.observe.json_lines import JsonLines as JsonLines
    from toolkeel.observe.opentelemetry_spans import OpenTelemetry as OpenTelemetry
    from toolkeel.observe.slow_listener import SlowListener as SlowListener
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel.observe.json_lines": "JsonLines",
            "toolkeel.observe.opentelemetry_spans": "OpenTelemetry",
            "toolkeel.observe.slow_listener": "SlowListener",
        },
    )
