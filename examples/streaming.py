"""Events as they happen: two calls side by side, then the answer piece by piece."""

import asyncio

from toolkeel import Agent, ToolContext, tool


@tool
async def count(to: int, context: ToolContext) -> str:
    """Count up to a number.

    Args:
        to: Where to stop.
    """
    for number in range(1, to + 1):
        context.progress("counting", done=number, total=to)
        await asyncio.sleep(0.02)
    return f"counted to {to}"


async def main() -> None:
    stream = Agent("offline", tools=[count]).stream("count to 3 and count to 5")
    async for event in stream:
        print(f"{event.seq:3} {event.type}")
    print(stream.result.output)


asyncio.run(main())
