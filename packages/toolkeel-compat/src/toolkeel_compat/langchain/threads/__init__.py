"""Threads that last, and people who decide about their calls.

interrupts     `interrupt` in a tool: the run waits for a value from outside
decisions      what a person decides about a call, as types
human_review   `HumanInTheLoopMiddleware`
checkpoints    `InMemorySaver`: threads and their states
message_ids    ids of messages: which message has which, and which ones are removed
updates        `update_state`: the entries of an update
thread_states  the methods of an agent that read and update its threads
"""
