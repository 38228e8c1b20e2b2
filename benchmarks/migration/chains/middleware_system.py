from typing import TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, before_model, dynamic_prompt, wrap_model_call
from langchain.messages import SystemMessage
from langgraph.runtime import Runtime


class Context(TypedDict):
    role: str


@dynamic_prompt
def prompt(request: ModelRequest) -> str:
    return "You serve a " + request.runtime.context["role"] + "."


@wrap_model_call
def more(request, handler):
    parts = [*request.system_message.content_blocks, {"type": "text", "text": " Be kind."}]
    return handler(request.override(system_message=SystemMessage(content=parts)))


@before_model
def seen(state, runtime: Runtime[Context]):
    print(runtime.context["role"], runtime.store)


agent = create_agent("openai:gpt-test", [], middleware=[seen, prompt, more], context_schema=Context)
print(agent.invoke({"messages": "go"}, context={"role": "queen"})["messages"][-1].content)
