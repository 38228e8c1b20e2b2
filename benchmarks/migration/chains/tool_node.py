from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.prebuilt import ToolNode, tools_condition


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


calls = [
    {"name": "add", "args": {"a": 1, "b": 2}, "id": "1", "type": "tool_call"},
    {"name": "add", "args": {"a": 3, "b": 4}, "id": "2", "type": "tool_call"},
]
state = {"messages": [AIMessage(content="", tool_calls=calls)]}
print(tools_condition(state), tools_condition({"messages": [AIMessage("done")]}))
print(sorted(ToolNode([add]).tools_by_name))
