"""A turn: the model of the agent in charge is asked, with what stands around the request.

time_limit       a run's time limit (timeout): at its end all that runs is cancelled
reserve_cost     what a model request may cost: reserved before it is sent (limits, budget)
steps            steps around a model request (middleware): their form, and how they are composed
model_fallback   fallback: another model answers when one is busy, down or too small
redact_messages  redaction: what a model is not shown of what it is sent
read_result      reading again, by name and line, what the model is no longer shown whole
switch_agent     the agent that has the run: its instructions, its tools, and those who had it before
ask_model        asking the model: limits, steps, guardrails beside it, deltas as they come
"""
