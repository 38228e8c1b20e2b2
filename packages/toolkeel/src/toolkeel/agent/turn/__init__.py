"""One turn: the model request of the active agent, and the calls of its reply.

time_limit        a run's time limit (timeout): at its end everything that runs is cancelled
request_budget    what a model request may cost: reserved before it is sent (limits, budget)
steps             steps around a model request (middleware): their form, and how they are composed
model_fallback    fallback: another model answers when one is busy, down or too small
redact_messages   redaction: what is removed from the messages that a model is sent
read_result       the tool that reads what requests no longer show, by name and line
active_agent      the agent that owns the run: its instructions and tools, and how it hands over
reply_checks      replies that are no answers (empty, broken off, no forced call), and how often they are requested again
context_overflow  requests that exceed the model's context, and the policy for agents without one
model_caller      model requests: transcript window, limits, steps, running beside guardrails, deltas
run_calls         the calls of a turn: journal, batch, results in the transcript
"""
