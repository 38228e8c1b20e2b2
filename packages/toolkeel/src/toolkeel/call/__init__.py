"""2. A call becomes a message (tool execution): ToolCall → Prepared → ToolMessage.

arguments          the text of the arguments: parsed, validated, repaired, masked
steps              steps around a body: guards, approval, rules, limits, locks, cache, retry
body               how a body runs: async, threads, deadlines, the bridge from sync code
truncate           results that are too long: what the model is shown, and how it reads the rest
result_message     what a body returned becomes the result message
failure_message    an error becomes the result message: masked, shortened, logged; its text is written where it is raised
correction_counts  how often models mend their own calls
compose_tool       a tool's steps, guards, approval and locks, composed once when it is registered
watchdog           what blocks the event loop, found and named
pipeline           the spine: one call in, one message out, whatever happens
batch              the calls of one turn: side by side, answered in order; which are skipped (cancel, `say`)
toolset            `Toolset`: uniquely named tools that are found and run
tool_sources       tool sources: tools that are not known before a run begins
tool_search        the tool that finds tools among many by their words, and what it says if none fits
enabled_tools      the tools that a model request offers
watched_state      the state of an agent's run: an assignment that loses another call's write is reported
enclosing_run      a run that code of another run starts: what it shares with that one
waiting_tools      a warning of tools that will wait because nothing declares their effects
conversation_labels  labels of conversations whose calls have a run each
stored_labels      labels of values in a store
direct_invoke      ``tool.invoke``: one tool run without a toolset
"""

import logging

from toolkeel._common.redact_secrets import protect_logger

# Without any configuration of logging, Python prints warnings to stderr: an author sees a tool crash.
protect_logger(logging.getLogger("toolkeel"))
