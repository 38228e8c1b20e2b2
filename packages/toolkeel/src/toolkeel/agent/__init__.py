"""3. Messages grow until the model stops calling (the agent loop).

reply_assembly     a stream becomes one reply; without an end: ``incomplete``, its calls never run
streamed_calls     calls and typed answers while they arrive (partial JSON; may run: reply_assembly)
bind_tools         ``model.bind_tools(...)``: a model with tools, asked once, without a loop
transcript         a transcript in the form every provider accepts: each call with its result
transcript_media   the most bytes of pictures, sounds and files in one request: the oldest become notes (media_limit)
history            which part of a transcript requests contain: cuts applied (policies: sessions/history_policies)
output             structured output of a run: taken from replies, sent back to be corrected
run_state          a run as JSON, to go on in another process (save and resume)
session_interface  the session as an agent's loop uses it
prompt             the messages a run begins with: prompt and instructions
guardrail          guardrails of an agent: checks of people's messages, before a request or beside it, and of answers
handoff            handoffs: one agent passes the run to another, with a part of the history
options            options of a run and of an agent, with the kinds of their values
plan               everything a run needs to know of its agent, frozen
turn               one turn: the model request (limits, steps, guardrails) and the calls of its reply
resume             resuming a saved run: decisions reach the calls that wait, context is restored
result             how a run ended: answer, transcript, usage; the end reason of each finish reason
loop               the run loop, from setup to end: run calls without a result, else ask the model
run                `Run`: the handle of a run: await it, stream its events, save its state
inner_agent        an agent as a tool of another (nested runs): one call of the outer run
agent              `Agent`: a model and its tools, with `run`, `run_sync` and `stream`
"""
