from langchain_core.tools import tool


@tool(response_format="content_and_artifact")
def draw(n: int) -> tuple[str, list[int]]:
    """Draw numbers."""
    return f"drew {n}", list(range(n))


print(draw.invoke({"n": 3}))
message = draw.invoke({"name": "draw", "args": {"n": 3}, "id": "1", "type": "tool_call"})
print(message.content, message.artifact)
