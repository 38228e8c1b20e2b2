from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware


class Noting(AgentMiddleware):
    def __init__(self, number):
        super().__init__()
        self.number = number

    @property
    def name(self):
        return f"noting {self.number}"

    def before_agent(self, state, runtime):
        print("before agent", self.number)

    def before_model(self, state, runtime):
        print("before model", self.number)

    def after_model(self, state, runtime):
        print("after model", self.number)

    def after_agent(self, state, runtime):
        print("after agent", self.number)

    def wrap_model_call(self, request, handler):
        print("model", self.number)
        response = handler(request)
        print("model /", self.number)
        return response

    def wrap_tool_call(self, request, handler):
        print("tool", self.number, request.tool_call["name"], request.tool.name)
        message = handler(request)
        print("tool /", self.number, message.content)
        return message


def look(city: str) -> str:
    """Look."""
    return "seen"


agent = create_agent("openai:gpt-test", [look], middleware=[Noting(1), Noting(2)])
agent.invoke({"messages": "Look."})
