import asyncio

from langchain_core.tools import StructuredTool, tool


@tool(parse_docstring=True)
def repeat(word: str, times: int = 2) -> str:
    """Repeat a word.

    Args:
        word: The word.
        times: How often.
    """
    return word * times


def multiply(a: int, b: int) -> int:
    """Multiply."""
    return a * b


async def multiply_later(a: int, b: int) -> int:
    """Multiply later."""
    return a * b * 100


print(repeat.description, {k: v.get("description") for k, v in repeat.args.items()})
both = StructuredTool.from_function(func=multiply, coroutine=multiply_later)
print(both.name, both.description, asyncio.run(both.ainvoke({"a": 2, "b": 3})))
