import operator
from typing import Annotated

from langchain.agents import AgentState, create_agent
from langchain.messages import ToolMessage
from langchain.tools import ToolRuntime, tool
from langgraph.types import Command


class Custom(AgentState):
    notes: Annotated[list[str], operator.add]
    name: str


@tool
def note(runtime: ToolRuntime) -> Command:
    """Note something."""
    message = ToolMessage(f"noted for {runtime.state['name']}", tool_call_id=runtime.tool_call_id)
    return Command(update={"notes": ["one more"], "messages": [message]})


agent = create_agent("openai:gpt-test", [note], state_schema=Custom)
state = agent.invoke({"messages": "Note it.", "notes": ["first"], "name": "ada"})
print(state["notes"], state["name"], [message.content for message in state["messages"]])
