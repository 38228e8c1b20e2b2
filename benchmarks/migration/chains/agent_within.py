import asyncio

from langchain.agents import create_agent
from langchain_core.tools import tool

inner = create_agent("openai:gpt-test", [], system_prompt="You look things up.")


@tool("research", description="Research it.")
def call_inner(query: str) -> str:
    state = inner.invoke({"messages": [{"role": "user", "content": query}]})
    return state["messages"][-1].content


outer = create_agent("openai:gpt-test", [call_inner])
print([message.content for message in outer.invoke({"messages": "go"})["messages"]])
state = asyncio.run(outer.ainvoke({"messages": "Once more."}))
print([message.content for message in state["messages"]])
