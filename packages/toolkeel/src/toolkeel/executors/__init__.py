"""Where bodies and commands run beyond the event loop: other processes, and sandboxes.

supervise             the process that starts a command, bounds it and ends all that it started
cgroup_pids           control groups that limit a command's number of processes
memory_used           memory used by a tree of processes
process_tree          a command's processes from start to end; ended when they use too much memory together
executor              the executor protocol: capabilities, calls, tools by executor
local                 executors of this process: on the loop, in threads
frames                messages between a process and its workers
worker                the other end of `Process`: a Python that runs bodies
worker_request        a call as JSON for another process, and its outcome
warm_pool             idle worker processes that wait for the next call
process               an executor: bodies in worker processes
futures               an executor: any pool of `concurrent.futures`
command_limits        resource limits of a command: memory, time, files, processes
supervised            commands under a supervisor, unconfined or confined by it
"""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel.executors.command_limits import Limits as Limits
    from toolkeel.executors.executor import Capabilities as Capabilities
    from toolkeel.executors.executor import Executor as Executor
    from toolkeel.executors.executor import with_executors as with_executors
    from toolkeel.executors.futures import Futures as Futures
    from toolkeel.executors.local import Inline as Inline
    from toolkeel.executors.local import Thread as Thread
    from toolkeel.executors.process import Process as Process
    from toolkeel.executors.worker_request import ProcessError as ProcessError
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel.executors.executor": "Capabilities Executor with_executors",
            "toolkeel.executors.futures": "Futures",
            "toolkeel.executors.local": "Inline Thread",
            "toolkeel.executors.worker_request": "ProcessError",
            "toolkeel.executors.process": "Process",
            "toolkeel.executors.command_limits": "Limits",
        },
    )
