"""Tools of functions, with or without the run."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID

import pytest

from toolkeel import SetupError
from toolkeel.content import Text
from toolkeel.messages import UserMessage
from toolkeel.testing import Scripted, call
from toolkeel_compat.pydantic_ai import (
    Agent,
    FunctionToolset,
    ModelRetry,
    RunContext,
    Tool,
    ToolReturn,
    ToolReturnPart,
)


def double(n: int) -> int:
    """Double."""
    return 2 * n


def for_user(ctx: RunContext[str], n: int) -> str:
    """Count for the user."""
    return f"{n} for {ctx.deps}"


def answers(agent: Agent, **options: Any) -> list[str]:
    messages = agent.run_sync("go", **options).all_messages()
    parts = (part for one in messages for part in one.parts)
    return [str(one.content) for one in parts if isinstance(one, ToolReturnPart)]


def test_functions_and_tools_are_known_by_their_first_parameter() -> None:
    lines = [
        [call("double", {"n": 2}), call("for_user", {"n": 1}), call("twice", {"n": 3})],
        "done",
    ]
    agent = Agent(Scripted(lines), tools=[double, for_user, Tool(double, name="twice")])
    assert answers(agent, deps="Ada") == ["4", "1 for Ada", "6"]


def test_sets_of_tools_are_prefixed_and_renamed() -> None:
    house = FunctionToolset([double], id="house")
    house.add_function(for_user)

    @house.tool_plain(name="now")
    def tell() -> str:
        """Tell the time."""
        return "noon"

    lines = [[call("h_now", {}), call("two", {"n": 2})], "done"]
    sets = [house.prefixed("h"), FunctionToolset([double]).renamed({"two": "double"})]
    assert answers(Agent(Scripted(lines), toolsets=sets)) == ["noon", "4"]
    assert tell() == "noon"


@pytest.mark.parametrize("content", ["in the shop", ["in the", Text("shop")]])
def test_a_retry_is_the_text_for_the_model_and_a_return_has_parts(content: Any) -> None:
    model = Scripted([call("look", {"word": ""}), call("look", {"word": "tea"}), "done"])
    agent = Agent(model)

    @agent.tool_plain(retries=3)
    def look(word: str) -> ToolReturn:
        """Look."""
        if not word:
            raise ModelRetry("give a word")
        return ToolReturn(f"found {word}", content=content, metadata={"row": 1})

    result = agent.run_sync(["go", "now"])
    first, second = (result.all_messages()[place].parts[0] for place in (2, 4))
    assert (first.content, first.outcome) == ("give a word", "retried")
    assert (second.content, second.metadata) == ("found tea", {"row": 1})
    asked, more = (one for one in model.requests[-1].messages if isinstance(one, UserMessage))
    assert asked.text.split() == ["go", "now"] and more.text.split() == ["in", "the", "shop"]


@pytest.mark.parametrize(
    ("value", "read"),
    [(date(2026, 1, 2), "2026-01-02"), (UUID(int=1), str(UUID(int=1))), (["a"], '["a"]')],
)
def test_a_value_that_json_writes_as_text_is_that_text(value: Any, read: str) -> None:
    def give() -> Any:
        """Give."""
        return value

    model = Scripted([call("give"), "done"])
    Agent(model, tools=[give]).run_sync("go")
    assert model.requests[-1].messages[-1].text == read


@pytest.mark.parametrize("option", [{"prepare": print}, {"args_validator": print}])
def test_an_option_that_is_not_honored_is_refused(option: Any) -> None:
    with pytest.raises(SetupError, match=next(iter(option))):
        Tool(double, **option)
    with pytest.raises(TypeError, match="no option 'nme'"):
        Tool(double, nme="x")  # type: ignore[call-arg]


def test_an_exception_of_a_tool_ends_the_run() -> None:
    agent: Any = Agent(Scripted([call("fail")]))

    @agent.tool_plain
    def fail() -> str:
        """Fail."""
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        agent.run_sync("go")


def test_a_tool_whose_first_parameter_is_no_context_is_refused() -> None:
    agent: Any = Agent(Scripted([call("fail")]))
    with pytest.raises(SetupError, match="first parameter 'city' must be a RunContext"):

        @agent.tool
        def weather(city: str) -> str:
            """Weather."""
            return city


@pytest.mark.parametrize("later", [False, True])
def test_a_tool_of_a_schema_calls_its_function_by_keyword(later: bool) -> None:
    def add(ctx: Any, **numbers: int) -> int:
        return sum(numbers.values()) + ctx.deps

    async def add_later(ctx: Any, **numbers: int) -> int:
        return add(ctx, **numbers)

    fields = {name: {"type": "integer"} for name in ("a", "b")}
    schema = {"type": "object", "properties": fields, "required": ["a", "b"]}
    made = Tool.from_schema(
        add_later if later else add, "sum", "Sum two numbers.", schema, takes_ctx=True
    )
    assert (made.name, made.description) == ("sum", "Sum two numbers.")
    agent: Any = Agent(Scripted([call("sum", {"a": 1, "b": 2}), "done"]), tools=[made])
    assert agent.run_sync("go", deps=10).all_messages()[-2].parts[0].content == 13
