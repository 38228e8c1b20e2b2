"""A chat model of the program's own runs in an agent, with what it is bound to."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.errors import SetupError
from toolkeel_compat.langchain import (
    AIMessage,
    BaseChatModel,
    ChatGeneration,
    ChatResult,
    GenericFakeChatModel,
    create_agent,
    tool,
)


@tool
def double(x: int) -> int:
    """Double."""
    return 2 * x


class Own(BaseChatModel):
    factor: int = 3

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self.bind(names=[one.name for one in tools])

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any
    ) -> Any:
        if messages[-1].type == "tool":
            return _result(AIMessage(f"it is {messages[-1].text}"))
        calls = [{"name": options["names"][0], "args": {"x": self.factor}, "id": "c1"}]
        return _result(AIMessage("", calls))


def _result(message: Any) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


def test_an_agent_runs_on_a_model_of_its_own() -> None:
    state = create_agent(Own(factor=4), [double]).invoke({"messages": "go"})
    assert [m.text for m in state["messages"]] == ["go", "", "8", "it is 8"]


def test_a_fake_model_replies_with_the_messages_of_an_iterator() -> None:
    model = GenericFakeChatModel(messages=iter(["one", AIMessage("two")]))
    assert model.invoke("?").text == "one"
    assert "".join(part.text for part in model.stream("?")) == "two"


def test_a_model_that_binds_no_tools_says_what_to_define() -> None:
    model = GenericFakeChatModel(messages=iter(["one"]))
    with pytest.raises(NotImplementedError, match="define bind_tools"):
        create_agent(model, [double]).invoke({"messages": "go"})

    class Wrong(Own):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return "bound"

    with pytest.raises(SetupError, match="return the model itself"):
        create_agent(Wrong(), [double]).invoke({"messages": "go"})


def test_a_subclass_of_the_fake_model_sees_what_it_is_asked() -> None:
    asked: list[Any] = []

    class Recording(GenericFakeChatModel):
        def _generate(self, messages: Any, *more: Any, **options: Any) -> Any:
            asked.extend(messages)
            return super()._generate(messages, *more, **options)

    model = Recording(messages=iter(["ok"]))
    create_agent(model, system_prompt="Be brief.").invoke({"messages": "hi"})
    assert [(m.type, m.text) for m in asked] == [("system", "Be brief."), ("human", "hi")]


def test_a_fake_model_streams_word_by_word() -> None:
    model = GenericFakeChatModel(messages=iter(["hello big\nworld", ""]))
    pieces = [chunk.content for chunk in model.stream("x") if chunk.content]
    assert pieces == ["hello", " ", "big", "\n", "world"]
    assert [chunk.content for chunk in model.stream("x") if chunk.content] == []
