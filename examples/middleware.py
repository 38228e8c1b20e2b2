"""Steps around calls: logging, a rewrite, a stand-in, and a budget."""

import time

from toolkeel import Agent, Prepared, Proceed, ToolContext, tool
from toolkeel.steps import CallLimit
from toolkeel.testing import Scripted, call


@tool
def search(query: str) -> str:
    """Search.

    Args:
        query: What to look for.
    """
    return f"results for {query}"


async def log(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
    started = time.perf_counter()
    value = await proceed(prepared)
    print(f"{prepared.tool.name}{prepared.arguments} took {time.perf_counter() - started:.4f} s")
    return value


async def lower(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
    """Changed arguments are validated again before anything runs."""
    return await proceed(prepared.change(query=prepared.arguments["query"].lower()))


async def stand_in(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
    """A step may answer by itself."""
    if prepared.arguments["query"] == "nothing":
        return "no results"
    return await proceed(prepared)


model = Scripted(
    [[call("search", {"query": q}) for q in ("CATS", "Nothing", "dogs")], "Three searches."]
)
agent = Agent(model, tools=[search], steps=[log, lower, stand_in, CallLimit(1)])
result = agent.run_sync("search")
for message in result.messages[2:5]:
    print(message.kind or "ok", "-", message.text)
