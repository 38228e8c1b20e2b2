from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

agent = create_agent("openai:gpt-test", [], checkpointer=InMemorySaver())
config = {"configurable": {"thread_id": "1"}}
for text in ("Hi, I am Bob.", "What is my name?"):
    state = agent.invoke({"messages": [{"role": "user", "content": text}]}, config)
    print(len(state["messages"]), state["messages"][-1].content)
other = agent.invoke({"messages": "And here?"}, {"configurable": {"thread_id": "2"}})
print(len(other["messages"]))
