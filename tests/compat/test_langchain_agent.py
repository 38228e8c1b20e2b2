"""`create_agent(response_format=...)` and `with_structured_output`, as LangChain has them."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from toolwright.compat.langchain import create_agent, init_chat_model, tool
from toolwright.errors import OutputError
from toolwright.testing.scripted import Scripted, call


class City(BaseModel):
    name: str
    people: int


GIVEN = call("final_result", {"name": "Oslo", "people": 709_000})


@tool
def look_up(city: str) -> str:
    """Look a city up."""
    return "709000"


def test_the_structured_response_stands_in_the_state() -> None:
    model = Scripted([call("look_up", {"city": "Oslo"}), GIVEN])
    agent = create_agent(model, [look_up], response_format=City)
    state = agent.invoke({"messages": "How many live in Oslo?", "kept": 1})
    assert state["structured_response"] == City(name="Oslo", people=709_000)
    assert state["kept"] == 1 and len(state["messages"]) == 5


def test_without_a_format_there_is_none() -> None:
    state = create_agent(Scripted(["hi"])).invoke({"messages": "hello"})
    assert "structured_response" not in state


def test_a_model_with_structured_output_gives_the_instance() -> None:
    model = init_chat_model(Scripted([GIVEN])).with_structured_output(City)
    assert model.invoke("Oslo?").people == 709_000
    wrong = init_chat_model(Scripted(["no"] * 9)).with_structured_output(City)
    with pytest.raises(OutputError):
        wrong.invoke("Oslo?")
