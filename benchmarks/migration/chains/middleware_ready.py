from langchain.agents import create_agent
from langchain.agents.middleware import (
    ModelCallLimitMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
    wrap_tool_call,
)
from langchain.messages import ToolMessage

calls = 0


def look(city: str) -> str:
    """Look."""
    global calls
    calls += 1
    if calls < 2:
        raise RuntimeError("not yet")
    return f"seen after {calls}"


def divide(a: int) -> float:
    """Divide."""
    raise ZeroDivisionError("by nothing")


@wrap_tool_call
def safe(request, handler):
    try:
        return handler(request)
    except ZeroDivisionError as error:
        return ToolMessage(content=f"failed: {error}", tool_call_id=request.tool_call["id"])


retrying = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
for tool, middleware in (
    (look, retrying),
    (divide, safe),
    (look, ModelCallLimitMiddleware(run_limit=1, exit_behavior="end")),
    (look, ToolCallLimitMiddleware(run_limit=1)),
):
    agent = create_agent("openai:gpt-test", [tool], middleware=[middleware])
    print([message.content for message in agent.invoke({"messages": "go"})["messages"]])
