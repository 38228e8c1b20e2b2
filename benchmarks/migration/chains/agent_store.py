from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langgraph.store.memory import InMemoryStore

store = InMemoryStore()
store.put(("users",), "ada", {"likes": "tea"})


@tool
def likes(runtime: ToolRuntime) -> str:
    """What the user likes."""
    found = runtime.store.get(("users",), "ada")
    return str(found.value)


agent = create_agent("openai:gpt-test", [likes], store=store)
print([message.content for message in agent.invoke({"messages": "What do I like?"})["messages"]])
