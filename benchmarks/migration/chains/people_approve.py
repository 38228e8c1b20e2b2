from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command


def send(to: str, body: str) -> str:
    """Send mail."""
    return f"sent to {to}"


for number, decision in enumerate(
    [
        {"type": "approve"},
        {"type": "edit", "edited_action": {"name": "send", "args": {"to": "bob", "body": "hi"}}},
        {"type": "reject", "message": "Do not send it."},
    ]
):
    agent = create_agent(
        "openai:gpt-test", [send], checkpointer=InMemorySaver(),
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"send": True})],
    )  # fmt: skip
    config = {"configurable": {"thread_id": str(number)}}
    state = agent.invoke({"messages": "Send it."}, config)
    [request] = state["__interrupt__"][0].value["action_requests"]
    print(request["name"], request["args"])
    state = agent.invoke(Command(resume={"decisions": [decision]}), config)
    print(state["messages"][-2].content, "|", state["messages"][-1].content)
