import operator
from typing import Annotated

from langchain.agents import AgentState, create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.prebuilt import InjectedState
from langgraph.types import Command


class State(AgentState):
    name: str
    log: Annotated[list[str], operator.add]


@tool
def set_name(name: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Set the name."""
    told = [ToolMessage("done", tool_call_id=tool_call_id)]
    return Command(update={"name": name, "log": [name], "messages": told})


@tool
def get_name(
    word: str, state: Annotated[dict, InjectedState], name: Annotated[str, InjectedState("name")]
) -> str:
    """Get the name."""
    return state["name"] + name


agent = create_agent("openai:gpt-test", [set_name, get_name], state_schema=State)
state = agent.invoke({"messages": [("user", "Set it.")], "name": "x", "log": ["begun"]})
print(state["name"], state["log"], [message.content for message in state["messages"]])
state = agent.invoke({**state, "messages": [*state["messages"], ("user", "Get it.")]})
print(state["name"], [message.content for message in state["messages"]])
