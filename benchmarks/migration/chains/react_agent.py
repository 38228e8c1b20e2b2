from typing import Annotated

from langchain_core.runnables import RunnableConfig
from langgraph.prebuilt import InjectedState, create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState


class State(AgentState):
    user: str


def who(word: str, state: Annotated[dict, InjectedState]) -> str:
    """Tell who it is."""
    return state["user"]


def prompt(state, config: RunnableConfig):
    told = f"You serve {state['user']} in {config['configurable']['city']}."
    return [{"role": "system", "content": told}, *state["messages"]]


agent = create_react_agent("openai:gpt-test", [who], prompt=prompt, state_schema=State)
config = {"configurable": {"city": "Oslo"}, "recursion_limit": 10}
state = agent.invoke({"messages": [("user", "Who?")], "user": "Ada"}, config)
print([message.content for message in state["messages"]])
