from langchain_core.tools import tool


@tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


print(multiply.name, "|", multiply.description, "|", sorted(multiply.args))
print(multiply.invoke({"a": 2, "b": 3}))
message = multiply.invoke(
    {"name": "multiply", "args": {"a": 4, "b": 5}, "id": "c1", "type": "tool_call"}
)
print(type(message).__name__, message.content, message.tool_call_id, message.status)
