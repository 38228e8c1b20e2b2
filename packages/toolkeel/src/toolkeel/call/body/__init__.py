"""Where a tool's body runs, and how it is stopped.

stop_errors         errors of calls that were stopped
coroutine_deadline  the deadline and cancel of an async body: timer, cancel token, what its call ends with
task_cancels        whose cancellations a task has had, ours or foreign, and the seconds of grace after one
step_deadline       the deadline of a step, without the time inside what it wraps
detached_tasks      bodies that ignored their cancellation and continue without their calls
start_thread        the start of a thread, refused under gevent or where none is left
thread_pool         threads of our own for sync bodies
run_in_thread       a sync body in a thread, and its deadline and cancel there
callback            a callback of the program under a deadline: in a thread if it is sync
model_interrupt     interrupting the wait for a model's reply when the run is cancelled
sync_bridge         the one bridge from sync code: a loop of our own in a thread of its own
run_body            running the body, async, in a thread or elsewhere: the only place where a tool author's code runs
"""
