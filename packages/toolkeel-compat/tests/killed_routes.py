"""A payment whose process is killed behind its body, on routes of its own: ``python -m tests.killed_routes``."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

from tests.sessions.dict_store import DictStore
from tests.sessions.killed_run import serve
from toolkeel import Agent, AssistantMessage, tool
from toolkeel.model_interface import Delta, ModelRequest
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call
from toolkeel_compat import langchain, openai_agents

ADA: dict[str, Any] = {"configurable": {"thread_id": "ada"}}


class FileStore(DictStore):
    """The store of the docs, in a file that is replaced with each change."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        if path.exists():
            self.infos, self.rows, self.posts, last = pickle.loads(path.read_bytes())
            self.ids = count(last + 1)

    def append(self, id: int, batch: Any) -> Any:
        done = super().append(id, batch)
        self._save()
        return done

    def post(self, *post: Any) -> bool:
        done = super().post(*post)
        self._save()
        return done

    def _save(self) -> None:
        new = self.path.with_suffix(".new")
        new.write_bytes(pickle.dumps((self.infos, self.rows, self.posts, next(self.ids))))
        new.replace(self.path)


class Model(Scripted):
    """A model that pays, and then is done."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        replies = [each for each in request.messages if isinstance(each, AssistantMessage)]
        self._lines = iter(["done" if replies else call("pay", {"amount": 5}, "c1")])
        async for delta in super().stream(request):
            yield delta


class Payment:
    """One payment, in steps, each in a process of its own.

    Args:
        folder: For the log of payments and for what is stored.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"

    def pay(self, amount: int) -> str:
        """Pay, and kill the first process that does."""
        with open(self.log, "a") as log:
            log.write("paid\n")
        if self.log.read_text() == "paid\n":
            os.kill(os.getpid(), signal.SIGKILL)
        return f"paid {amount}"

    def own_store(self, step: str) -> object:
        """Pay in a session of a store of one's own."""
        session = Sessions(FileStore(self.folder / "own"))["ada"]
        if step == "decide":
            [ticket] = session.pending
            session.decide(ticket.deny("it did"))
        agent = Agent(Model([]), [tool(name="pay", description="Pay.")(self.pay)])
        result = agent.run_sync("go" if step == "start" else None, session=session)
        return [each.reason for each in result.pending] or result.messages[-2].text

    def graph(self, step: str) -> object:
        """Pay by LangChain's names, where a person approves it first."""
        pay = langchain.tool("pay", description="Pay.")(self.pay)
        graph = langchain.create_agent(
            Model([]),
            [pay],
            middleware=[
                langchain.HumanInTheLoopMiddleware(
                    {"pay": {"allowed_decisions": ["approve"], "description": "Pay it?"}}
                )
            ],
            checkpointer=langchain.InMemorySaver(self.folder / "threads.db"),
        )
        if step == "start":
            graph.invoke({"messages": "go"}, ADA)
        kind = {"decide": {"type": "reject", "message": "it did"}}.get(step, {"type": "approve"})
        if step != "look":
            state = graph.invoke(langchain.Command(resume={"decisions": [kind]}), ADA)
            return [str(each.content) for each in state["messages"]][-2]
        assert graph.get_state(ADA).next == ("tools",)
        [waits] = graph.invoke(None, ADA)["__interrupt__"]
        assert [each.id for each in graph.get_state(ADA).interrupts] == [waits.id]
        return waits.value["action_requests"][0]["description"]

    def runner(self, step: str) -> object:
        """Pay by the names of the Agents SDK, where a person approves it first."""
        pay = openai_agents.function_tool(self.pay, name_override="pay", needs_approval=True)
        agent = openai_agents.Agent("clerk", tools=[pay], model=Model([]))
        session = openai_agents.SQLiteSession("ada", self.folder / "items.db")
        saved = self.folder / "state.json"
        if step == "start":
            state = openai_agents.Runner.run_sync(agent, "go", session=session).to_state()
            state.approve(state.get_interruptions()[0])
            saved.write_text(json.dumps(state.to_json()))
        if step == "look":
            return [each.get("role") for each in asyncio.run(session.get_items())]
        state = asyncio.run(openai_agents.RunState.from_json(agent, json.loads(saved.read_text())))
        return openai_agents.Runner.run_sync(agent, state, session=session).final_output


def play(words: list[str]) -> str:
    """Make one step of a route. Return what it tells, as JSON."""
    folder, route, step = words
    return json.dumps(getattr(Payment(Path(folder)), route)(step))


if __name__ == "__main__":
    serve(lambda words: play([*words]))
