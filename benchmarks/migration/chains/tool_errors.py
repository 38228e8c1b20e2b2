from langchain_core.tools import StructuredTool, ToolException


def fail(city: str) -> str:
    """Fail."""
    raise ToolException(f"no weather for {city}")


call = {"name": "fail", "args": {"city": "Oslo"}, "id": "1", "type": "tool_call"}
for handled in (True, "said instead", lambda error: f"handled: {error}"):
    made = StructuredTool.from_function(func=fail, handle_tool_error=handled)
    print(made.invoke({"city": "Oslo"}))
    message = made.invoke(call)
    print(message.status, message.content)
try:
    StructuredTool.from_function(func=fail).invoke({"city": "Oslo"})
except ToolException as error:
    print("raised", error)
