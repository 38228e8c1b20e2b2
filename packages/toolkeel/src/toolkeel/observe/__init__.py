"""7. Runs as the tools for watching know them: traces, metrics, lines of JSON.

wording              how runs are worded for people: nothing hidden, nothing that rules a screen
stats                how well models call tools: first-try validity, correction rate, fields that fail
attribute_names      attribute and metric names of OpenTelemetry's GenAI conventions, as one table with its date
content              messages in the conventions' JSON form, for who lets content out
trace_links          the trace of a run, saved with it, and the link of the run that goes on from it
opentelemetry_spans  OpenTelemetry spans (and their names) and metrics of runs, from their events
json_lines           every event as a line of JSON, for files and logs
slow_listener        a listener that is told in a thread of its own, so that no run waits for it
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
