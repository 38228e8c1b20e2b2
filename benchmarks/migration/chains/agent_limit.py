from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.errors import GraphRecursionError


@tool
def more(city: str) -> str:
    """More."""
    return "more"


agent = create_agent("openai:gpt-test", [more])
try:
    agent.invoke({"messages": "go"}, {"recursion_limit": 2})
except GraphRecursionError:
    print("stopped")
