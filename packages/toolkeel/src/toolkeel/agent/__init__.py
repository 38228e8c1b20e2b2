"""3. Messages grow until the model stops calling (the agent loop).

reply_assembly     a model's stream: deltas in, one reply out
streamed_calls     calls and typed answers while they arrive (partial JSON)
bind_tools         ``model.bind_tools(...)``: a model with tools, asked once, without a loop
transcript         a transcript in the form every provider accepts: each call with its result
transcript_media   pictures, sounds and files of a transcript, held to what a server takes
history            history policies: what of a long transcript the model is shown (compaction)
output             structured output of a run: taken from replies, sent back to be corrected
run_state          a run as JSON, to go on in another process (save and resume)
session_interface  what an agent asks of a session, without knowing what one is
prompt             what a run begins with: prompt, instructions, earlier messages
guardrail          guardrails of an agent: on what a person says, on what it answers
handoff            handoffs: one agent gives the run to another, with what it may see
options            what a run may be given, and what its options and an agent's may be
plan               what a run needs of its agent, frozen
turn               one turn: the model request (limits, steps, guardrails) and the calls of its reply
resume             going on from a saved run: decisions reach the calls that wait
result             how a run ended: answer, transcript, usage, reason
loop               the run loop, from setup to end: run calls without a result, else ask the model
run                `Run`: the handle of a run: await it, stream its events, save its state
inner_agent        an agent as a tool of another (nested runs): one call of the outer run
agent              `Agent`: a model and its tools, asked in one of three ways
"""
