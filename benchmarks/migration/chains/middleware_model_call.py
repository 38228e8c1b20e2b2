from langchain.agents import create_agent
from langchain.agents.middleware import dynamic_prompt, wrap_model_call


@dynamic_prompt
def prompt(request):
    return f"You have read {len(request.messages)} messages."


@wrap_model_call
def watched(request, handler):
    print("asking", request.system_prompt, len(request.tools))
    response = handler(request)
    print("said", response.result[0].content)
    return response


def look(city: str) -> str:
    """Look."""
    return "seen"


agent = create_agent("openai:gpt-test", [look], middleware=[prompt, watched])
print(agent.invoke({"messages": "Look."})["messages"][-1].content)
