import asyncio

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call


@wrap_model_call
async def last_two(request, handler):
    return await handler(request.override(messages=request.messages[-2:]))


async def main():
    agent = create_agent("openai:gpt-test", [], middleware=[last_two])
    given = [("user", "a"), ("ai", "b"), ("user", "c")]
    state = await agent.ainvoke({"messages": given})
    print(len(state["messages"]), state["messages"][-1].content)


asyncio.run(main())
