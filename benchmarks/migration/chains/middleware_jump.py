from langchain.agents import create_agent
from langchain.agents.middleware import before_model
from langchain.messages import AIMessage


@before_model(can_jump_to=["end"])
def limit(state, runtime):
    if len(state["messages"]) >= 3:
        return {"messages": [AIMessage("That is enough.")], "jump_to": "end"}
    return None


def look(city: str) -> str:
    """Look."""
    return "seen"


agent = create_agent("openai:gpt-test", [look], middleware=[limit])
print([message.content for message in agent.invoke({"messages": "Look."})["messages"]])
