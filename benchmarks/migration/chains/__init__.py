"""Programs after the reference of LangChain and LangGraph: tools, agents, middleware, people in the loop."""
