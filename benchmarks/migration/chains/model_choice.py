from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain.chat_models import init_chat_model
from langgraph.errors import GraphRecursionError


def add(a: int) -> int:
    """Add."""
    return a + 1


def take(b: str) -> str:
    """Take."""
    return b


@wrap_model_call
def force(request, handler):
    return handler(request.override(tool_choice="any"))


model = init_chat_model("openai:gpt-test")
for options in ({"tool_choice": "take"}, {"tool_choice": "any"}, {"parallel_tool_calls": False}):
    print(model.bind_tools([add, take], **options).invoke("go").tool_calls)
try:
    create_agent(model, [add], middleware=[force]).invoke(
        {"messages": "go"}, {"recursion_limit": 6}
    )
except GraphRecursionError:
    print("at the limit")
