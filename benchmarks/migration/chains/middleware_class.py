from typing import NotRequired

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware


class Counted(AgentState):
    count: NotRequired[int]


class Counting(AgentMiddleware[Counted]):
    state_schema = Counted

    def __init__(self, label: str) -> None:
        super().__init__()
        self.label = label

    def before_model(self, state, runtime):
        print(self.label, state.get("count", 0))
        return {"count": state.get("count", 0) + 1}


def look(city: str) -> str:
    """Look."""
    return "seen"


agent = create_agent("openai:gpt-test", [look], middleware=[Counting("model call")])
print(agent.invoke({"messages": "Look.", "count": 5})["count"])
