from langchain.agents import create_agent
from langchain.agents.middleware import after_agent, after_model, before_agent, before_model


@before_agent
def begin(state, runtime):
    print("begin", len(state["messages"]))


@before_model
def before(state, runtime):
    print("before", len(state["messages"]))


@after_model
def after(state, runtime):
    print("after", state["messages"][-1].content)


@after_agent
def end(state, runtime):
    print("end", len(state["messages"]))


def look(city: str) -> str:
    """Look."""
    return "seen"


agent = create_agent("openai:gpt-test", [look], middleware=[begin, before, after, end])
agent.invoke({"messages": [{"role": "user", "content": "Look."}]})
