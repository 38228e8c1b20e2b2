"""Runs that outlive their worker: a queue, recovery, schedules and decisions, on DBOS.

orders      what the queue stores of a run, and checks of it
journaled   one run in its session's journal: is its prompt delivered, does it continue, how did it end
monitor     health and metrics of a worker, at an address or in files
recovery    after how many deaths of its workers a run has failed (who takes it up: durable)
scope_costs  what the runs of a scope have cost today, and what is left of its limit
worker_log  the log of a worker, a line for each event of a run
connections  connections to the engine's tables that end although the database is silent
fair_queue  which run that waits is next: fair between scopes, within limits (a full queue: durable)
engine      DBOS, which moves runs: its tables, its queue, its schedules
schedules   which schedules there are (how one is added: engine)
worker      the worker of this process, which takes runs and runs them
runs        `Runs`: list, show, decide, cancel, retry and delete, of all agents, and their schedules
durable     `Durable`: an agent whose runs workers run: start, a full queue, a dead worker's runs
"""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel_studio.durable.durable import Durable as Durable
    from toolkeel_studio.durable.journaled import DurableResult as DurableResult
    from toolkeel_studio.durable.runs import DurableRun as DurableRun
    from toolkeel_studio.durable.runs import Runs as Runs
    from toolkeel_studio.durable.schedules import Schedule as Schedule
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel_studio.durable.durable": "Durable",
            "toolkeel_studio.durable.journaled": "DurableResult",
            "toolkeel_studio.durable.runs": "DurableRun Runs",
            "toolkeel_studio.durable.schedules": "Schedule",
        },
    )
