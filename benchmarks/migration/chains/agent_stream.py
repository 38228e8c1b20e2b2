from langchain.agents import create_agent
from langchain_core.tools import tool


@tool
def look(city: str) -> str:
    """Look a city up."""
    return f"{city} is big"


agent = create_agent("openai:gpt-test", [look])
for chunk in agent.stream({"messages": [("user", "Tell me.")]}, stream_mode="updates"):
    for node, update in chunk.items():
        print(node, [message.content for message in update["messages"]])
for state in agent.stream({"messages": [("user", "Again.")]}, stream_mode="values"):
    print(len(state["messages"]), state["messages"][-1].type)
