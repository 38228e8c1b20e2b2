from dataclasses import dataclass

from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool


@dataclass
class Context:
    user: str


@tool
def who(runtime: ToolRuntime[Context]) -> str:
    """Who asks."""
    return f"user {runtime.context.user}"


agent = create_agent("openai:gpt-test", [who], context_schema=Context)
state = agent.invoke({"messages": "Who am I?"}, context=Context("ada"))
print([message.content for message in state["messages"]])
