from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain.chat_models import init_chat_model
from langgraph.prebuilt import create_react_agent

big = init_chat_model("openai:gpt-big", temperature=0.5)
small = init_chat_model("openai:gpt-small")


def look(city: str) -> str:
    """Look."""
    return "seen"


@wrap_model_call
def pick(request, handler):
    return handler(request.override(model=big if len(request.messages) > 1 else small))


def choose(state, runtime):
    return small.bind_tools([look])


for agent in (
    create_agent(small, [look], middleware=[pick]),
    create_react_agent(choose, [look], prompt="Be kind."),
):
    print([message.content for message in agent.invoke({"messages": "Look."})["messages"]])
