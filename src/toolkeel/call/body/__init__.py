"""Where a tool's body runs, and how it is stopped.

deadline_clock     the clock behind deadline: one timer for all deadlines of a loop
stopped_text       what is told of a call that was stopped
deadline           a call's time limit and cancel, enforced: at its deadline, when the run is cancelled, or with its whole turn
tasks_left_behind  bodies that resisted, which go on without their calls
threads            threads of our own for sync bodies
model_interrupt    interrupting the wait for a model's reply when the run is cancelled
sync_bridge        the one bridge from sync code: a loop of our own in a thread of its own
invoke             running the body: the only place where a tool author's code runs
"""
