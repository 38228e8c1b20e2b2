from langchain.chat_models import init_chat_model
from pydantic import BaseModel


class City(BaseModel):
    """A city."""

    name: str
    people: int


print(init_chat_model("openai:gpt-test").with_structured_output(City).invoke("Which city?"))
