from langchain.agents import create_agent
from pydantic import BaseModel


class Contact(BaseModel):
    name: str
    email: str


agent = create_agent(model="openai:gpt-test", tools=[], response_format=Contact)
result = agent.invoke({"messages": [{"role": "user", "content": "Extract: John, j@example.com"}]})
print(result["structured_response"])
