from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt


@tool
def book(hotel: str) -> str:
    """Book a hotel."""
    answer = interrupt({"action": "book", "hotel": hotel})
    if answer["type"] == "accept":
        return f"booked {hotel}"
    return f"booked {answer['hotel']} instead"


agent = create_agent("openai:gpt-test", [book], checkpointer=InMemorySaver())
for thread, answer in (("1", {"type": "accept"}), ("2", {"type": "edit", "hotel": "Ritz"})):
    config = {"configurable": {"thread_id": thread}}
    state = agent.invoke({"messages": [{"role": "user", "content": "Book."}]}, config)
    print(state["__interrupt__"][0].value)
    state = agent.invoke(Command(resume=answer), config)
    print([message.content for message in state["messages"]][1:])
