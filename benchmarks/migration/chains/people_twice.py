from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt


@tool
def ask(question: str) -> str:
    """Ask."""
    first, second = interrupt({"asked": 1}), interrupt({"asked": 2})
    return f"{first} and {second}"


agent = create_agent("openai:gpt-test", [ask], checkpointer=InMemorySaver())
thread = {"configurable": {"thread_id": "ada"}}
for given in ({"messages": "go"}, Command(resume="tea"), Command(resume="milk")):
    for part in agent.stream(given, thread, stream_mode="updates"):
        for node, update in part.items():
            waits = node == "__interrupt__"
            print(node, update[0].value if waits else [m.content for m in update["messages"]])
