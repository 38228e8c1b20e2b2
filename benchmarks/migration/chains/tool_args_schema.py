from langchain_core.tools import StructuredTool, tool
from pydantic import BaseModel, Field


class SearchInput(BaseModel):
    query: str = Field(description="what to look for")
    limit: int = Field(default=10, ge=1)


@tool("search", args_schema=SearchInput, return_direct=True)
def look(query: str, limit: int = 10) -> str:
    """Search."""
    return f"{limit} results for {query}"


async def alook(query: str, limit: int = 10) -> str:
    return f"async {limit} for {query}"


both = StructuredTool.from_function(
    func=look.func, coroutine=alook, name="both", description="Both."
)
print(look.return_direct, look.args["query"]["description"], look.invoke({"query": "tea"}))
print(both.name, both.description)
