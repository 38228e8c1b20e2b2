from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain.messages import ToolMessage


@wrap_tool_call
def careful(request, handler):
    print("calling", request.tool_call["name"], request.tool_call["args"])
    try:
        return handler(request)
    except Exception as error:
        return ToolMessage(content=f"Tool error: {error}", tool_call_id=request.tool_call["id"])


def divide(a: int, b: int) -> float:
    """Divide."""
    raise ZeroDivisionError("by zero")


agent = create_agent("openai:gpt-test", [divide], middleware=[careful])
print([message.content for message in agent.invoke({"messages": "1/0?"})["messages"]])
