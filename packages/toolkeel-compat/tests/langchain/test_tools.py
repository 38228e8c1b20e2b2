"""LangChain's ways to make a tool: what each makes, and how it is called."""

from __future__ import annotations

import asyncio
import functools
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, field_validator

from toolkeel import Agent, ToolMessage, Toolset
from toolkeel.content import Image, Text
from toolkeel.errors import DefinitionError, InjectionError, InvalidArguments, SetupError
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.langchain import (
    BaseTool,
    InjectedToolArg,
    InjectedToolCallId,
    RunnableConfig,
    StructuredTool,
    ToolCall,
    ToolException,
    ToolNode,
    create_agent,
    tool,
)


def double(n: int) -> int:
    """Double a number."""
    return n * 2


async def adouble(n: int) -> int:
    """Double a number, later."""
    await asyncio.sleep(0)
    return n * 2


class Args(BaseModel):
    """What to double."""

    n: int = Field(description="a number", ge=0)


JSON_ARGS = {
    "type": "object",
    "properties": {"n": {"type": "integer", "description": "a number", "minimum": 0}},
    "required": ["n"],
}


class Double(BaseTool):
    name: str = "double"
    description: str = "Double a number."
    args_schema: type[BaseModel] = Args
    factor: int = 2

    def _run(self, n: int) -> int:
        return n * self.factor


MADE: dict[str, Any] = {
    "bare": tool(double),
    "named": tool("double")(double),
    "options": tool(description="Double a number.", args_schema=Args)(double),
    "json": tool(args_schema=JSON_ARGS)(double),
    "async": tool("double", description="Double a number.")(adouble),
    "from_function": StructuredTool.from_function(double),
    "coroutine": StructuredTool.from_function(coroutine=adouble, name="double"),
    "constructor": StructuredTool(name="double", description="Double a number.", func=double),
    "class": Double(),
}


@pytest.mark.parametrize("way", MADE)
def test_every_way_makes_a_tool_that_runs_and_refuses(way: str) -> None:
    made = MADE[way]
    assert isinstance(made, BaseTool)
    assert made.name == "double"
    assert made.description.startswith("Double a number")
    assert list(made.args) == ["n"]
    assert made.tool_call_schema["required"] == ["n"]
    assert made.invoke({"n": 2}) == made.run({"n": 2}) == 4
    assert asyncio.run(made.ainvoke({"n": 2})) == 4
    assert made.batch([{"n": 1}, {"n": 2}]) == [2, 4]
    with pytest.raises(InvalidArguments):
        made.invoke({"n": "two"})
    message = made.invoke({"name": "double", "args": {"n": 3}, "id": "c1", "type": "tool_call"})
    assert (message.content, message.tool_call_id) == ("6", "c1")
    assert made.invoke(ToolCall(name="double", args={"n": 3}, id="c1")).content == "6"


@pytest.mark.parametrize("way", MADE)
def test_every_way_makes_a_tool_that_a_toolset_and_an_agent_take(way: str) -> None:
    made = MADE[way]
    assert Toolset([made]).names == ("double",)
    result = Agent(Scripted([call("double", {"n": 21}), "done"]), [made]).run_sync("go")
    assert [m.content for m in result.messages if isinstance(m, ToolMessage)] == ["42"]


def test_a_tool_made_of_a_function_is_still_that_function() -> None:
    assert MADE["bare"](21) == 42
    assert MADE["bare"].func is double
    assert MADE["async"].coroutine is adouble
    assert asyncio.run(MADE["async"](21)) == 42


def test_args_schema_is_what_was_given_or_shows_every_parameter() -> None:
    @tool
    def find(query: str, user: Annotated[str, InjectedToolArg]) -> str:
        return f"{user}: {query}"

    assert MADE["options"].args_schema is Args
    assert set(find.args_schema["properties"]) == {"query", "user"}
    assert set(find.args_schema.model_json_schema()["properties"]) == {"query", "user"}
    assert set(find.tool_call_schema.schema()["properties"]) == {"query"}
    assert set(find.args) == {"query"}
    assert find.invoke({"query": "q"}, user="ada") == "ada: q"
    with pytest.raises(InjectionError, match="user"):
        find.invoke({"query": "q"})
    with pytest.raises(InjectionError, match=r"find\.invoke\(\{\.\.\.\}, user=\.\.\.\)"):
        find.invoke({"query": "q", "user": "forged"})


def test_the_config_reaches_a_tool_that_asks_for_it() -> None:
    @tool
    def who(config: RunnableConfig) -> str:
        return str(config["configurable"]["user"])

    assert who.invoke({}, {"configurable": {"user": "ada"}}) == "ada"
    assert asyncio.run(who.ainvoke({}, config={"configurable": {"user": "bob"}})) == "bob"


def test_a_tool_that_asks_for_its_call_is_not_run_without_one() -> None:
    @tool
    def needs(id: Annotated[str, InjectedToolCallId]) -> str:
        return id

    @tool
    def likes(id: Annotated[str, InjectedToolCallId] = "none") -> str:
        return id

    with pytest.raises(InjectionError, match="invoke it with a call"):
        needs.invoke({})
    assert needs.invoke({"name": "needs", "args": {}, "id": "c5"}).content == "c5"
    likes.invoke({})


@pytest.mark.parametrize("option", [None, False])
def test_an_error_nobody_handles_is_raised_to_whoever_invokes_and_told_to_a_model(
    option: object,
) -> None:
    @tool(handle_tool_error=option)
    def fail() -> str:
        raise ToolException("no such row")

    with pytest.raises(ToolException, match="no such row"):
        fail.invoke({})
    message = fail.invoke({"name": "fail", "args": {}, "id": "1"})
    assert (message.content, message.kind) == ("no such row", "tool_error")


@pytest.mark.parametrize(
    ("handler", "text"),
    [(True, None), ("wrong", "wrong"), (lambda error: f"<{type(error).__name__}>", None)],
)
def test_validation_errors_are_handled_in_the_same_three_forms(handler: Any, text: Any) -> None:
    made = tool(handle_validation_error=handler)(double)
    answer = made.invoke({"n": "x"})
    assert answer == made.invoke({"name": "double", "args": {"n": "x"}, "id": "1"}).content
    if text is not None:
        assert answer == text
    elif handler is True:
        assert "n: expected an integer" in answer
    else:
        assert answer == "<InvalidArguments>"


class SyncOnly(BaseTool):
    name: str = "sync_only"

    def _run(self) -> str:
        return "ran"

    async def _arun(self) -> str:
        raise NotImplementedError(f"{self.name} does not support async")


class AsyncOnly(BaseTool):
    name: str = "async_only"

    def _run(self) -> str:
        raise NotImplementedError

    async def _arun(self) -> str:
        await asyncio.sleep(0)
        return "ran"


class Both(BaseTool):
    name: str = "both"

    def _run(self) -> str:
        return "sync"

    async def _arun(self) -> str:
        if not self.name:
            raise NotImplementedError
        return "ran"


@pytest.mark.parametrize("made", [SyncOnly(), AsyncOnly(), Both()])
def test_a_method_that_only_refuses_is_not_the_one_that_runs(made: BaseTool) -> None:
    assert made.invoke({}) == asyncio.run(made.ainvoke({})) == "ran"


def test_a_class_has_fields_with_defaults_and_factories_and_refuses_others() -> None:
    class Keeps(Double):
        kept: list[int] = Field(default_factory=list)

        def _run(self, n: int) -> int:
            self.kept.append(n)
            return n * self.factor

    first, second = Keeps(factor=3), Keeps()
    assert (first.invoke({"n": 2}), second.invoke({"n": 2})) == (6, 4)
    assert (first.kept, second.kept) == ([2], [2])
    assert Keeps(name="triple", verbose=True).name == "triple"
    with pytest.raises(DefinitionError, match="bogus"):
        Keeps(bogus=1)


def test_a_class_takes_its_schema_when_it_is_made() -> None:
    class Loose(BaseTool):
        name: str = "loose"

        def _run(self, **given: Any) -> str:
            return str(given)

    assert Loose(args_schema=JSON_ARGS).invoke({"n": 1}) == "{'n': 1}"
    with pytest.raises(InvalidArguments, match="n"):
        Loose(args_schema=Args).invoke({"n": -1})


def test_options_of_the_decorator_reach_the_core() -> None:
    made = tool(
        "look", return_direct=True, tags=["a"], metadata={"b": 1}, extras={"c": 2}, timeout=None
    )(double)
    assert (made.return_direct, made.tags, made.metadata) == (True, ("a",), {"b": 1})
    assert (made.tool.provider_options, made.tool.timeout) == ({"c": 2}, None)
    assert tool(infer_schema=True, parse_docstring=True)(double).name == "double"
    with pytest.raises(DefinitionError, match="timout"):
        tool(timout=3)(double)


@pytest.mark.parametrize("make", [tool, StructuredTool.from_function])
def test_a_docstring_is_the_description_as_it_is_unless_it_shall_be_parsed(make: Any) -> None:
    def find(city: str) -> str:
        """Find a city.

        Args:
            city: Its name.
        """
        return city

    plain, parsed = (
        make(find),
        make(parse_docstring=True)(find) if make is tool else make(find, parse_docstring=True),
    )
    assert find.__doc__ and plain.description == find.__doc__.strip()
    assert "description" not in plain.args["city"]
    assert (parsed.description, parsed.args["city"]["description"]) == ("Find a city.", "Its name.")


def test_a_schema_may_change_what_it_checked() -> None:
    class Clean(BaseModel):
        word: str

        @field_validator("word")
        @classmethod
        def strip(cls, value: str) -> str:
            return value.strip()

    @tool(args_schema=Clean)
    def say(word: str) -> str:
        return f"[{word}]"

    assert say.invoke({"word": " a "}) == "[a]"


def test_names_of_the_place_of_definition_resolve() -> None:
    class Local(BaseModel):
        n: int

    def take(arg: Local) -> int:
        return arg.n

    for made in (tool(take), tool("take")(take), StructuredTool.from_function(take)):
        assert made.invoke({"arg": {"n": 3}}) == 3
    assert Toolset([take]).names == Agent(Scripted([]), [take]).tools.names == ("take",)
    assert create_agent(Scripted([]), [take]).agent.tools.names == ("take",)
    assert ToolNode([take]).tools.names == ("take",)
    assert tool("part")(functools.partial(double, n=4)).invoke({}) == 8


def test_a_structured_tool_without_a_function_is_refused() -> None:
    with pytest.raises(SetupError, match="func= or coroutine="):
        StructuredTool(name="empty").invoke({})
    with pytest.raises(DefinitionError):
        StructuredTool.from_function()


def test_attributes_may_be_changed_afterwards_as_there() -> None:
    @tool
    def fails() -> str:
        """Fail."""
        raise ToolException("it is broken")

    class Class(BaseTool):
        name: str = "class_style"
        description: str = "Fail."

        def _run(self) -> str:
            raise ToolException("it is broken")

    for each in (fails, Class(), StructuredTool(name="made", description="Fail.", func=fails.func)):
        with pytest.raises(ToolException):
            each.invoke({})
        each.handle_tool_error = True
        assert each.invoke({}) == "it is broken"
        each.description, each.name, each.return_direct = "Changed.", "other", True
        assert (each.tool.name, each.tool.description) == ("other", "Changed.")
        assert each.tool.ends_run and each.invoke({}) == "it is broken"
        with pytest.raises(DefinitionError, match=r"return_direct=...\): expected True or False"):
            each.return_direct = "yes"
            each.tool


def test_parts_that_a_body_returns_are_blocks_for_a_model_and_themselves_for_a_program() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}

    @tool
    def look() -> list[Any]:
        """Look."""
        return ["see", part]

    message = look.invoke({"name": "look", "args": {}, "id": "1", "type": "tool_call"})
    assert message.content == (Text("see"), Image(url="https://a.example/b.png"))
    assert look.invoke({}) == ["see", part]

    @tool
    def rows() -> list[Any]:
        """Rows."""
        return [{"type": "row", "n": 1}]

    message = rows.invoke({"name": "rows", "args": {}, "id": "1", "type": "tool_call"})
    assert message.content == '[{"type": "row", "n": 1}]'


class Row(BaseModel):
    n: int = 1


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"a": 1, "ü": [None, True]}, '{"a": 1, "ü": [null, true]}'),
        (["a", "b"], '["a", "b"]'),
        ([], "[]"),
        (None, "null"),
        (1.5, "1.5"),
        (Row(), "n=1"),
        ("text", "text"),
    ],
    ids=repr,
)
def test_a_model_reads_what_a_body_returned_as_there(value: object, read: str) -> None:
    @tool
    def give() -> Any:
        """Give it."""
        return value

    @tool(response_format="content_and_artifact")
    def both() -> tuple[Any, object]:
        """Give both."""
        return value, [value]

    asked = {"name": "give", "args": {}, "id": "1", "type": "tool_call"}
    assert give.invoke(asked).content == read
    assert give.invoke({}) == value
    message = both.invoke({**asked, "name": "both"})
    assert (message.content, message.artifact) == (read, [value])
    assert both.batch([{}, {}]) == [(value, [value])] * 2


def test_what_a_body_raises_comes_as_it_is_to_who_invokes_the_tool_itself() -> None:
    @tool
    def halve(x: int) -> int:
        """Halve."""
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError, match="no"):
        halve.invoke({"x": 1})
    message = halve.invoke({"name": "halve", "args": {"x": 1}, "id": "c", "type": "tool_call"})
    assert message.status == "error"


def test_a_result_has_an_artifact_only_where_the_tool_gives_one() -> None:
    @tool
    def both(x: int) -> list[int]:
        """Give both."""
        return [x, x]

    message = both.invoke({"name": "both", "args": {"x": 1}, "id": "c", "type": "tool_call"})
    assert (message.content, message.artifact) == ("[1, 1]", None)


def test_of_a_function_and_a_coroutine_the_function_describes_the_tool() -> None:
    def double(x: int) -> int:
        """Double."""
        return x * 2

    async def later(x: int) -> int:
        return x * 2

    made = StructuredTool.from_function(double, coroutine=later)
    assert (made.description, made.invoke({"x": 2})) == ("Double.", 4)


def test_what_tools_of_chains_have_is_told_with_what_to_write() -> None:
    @tool
    def add(a: int) -> int:
        """Add."""
        return a

    assert not hasattr(add, "stream")
    with pytest.raises(AttributeError, match=r"has no 'with_config'; write invoke\("):
        add.with_config({})
    for made in (lambda: add | str, lambda: str | add):
        with pytest.raises(SetupError, match="there are no chains"):
            made()


def test_a_tool_of_two_functions_is_called_as_the_sync_one() -> None:
    def multiply(a: int, b: int) -> int:
        """Multiply."""
        return a * b

    async def amultiply(a: int, b: int) -> int:
        """Multiply later."""
        return a * b

    made = StructuredTool.from_function(multiply, amultiply)
    assert (made.name, made.description) == ("multiply", "Multiply.")


def test_a_keyword_that_matches_no_parameter_is_refused() -> None:
    @tool
    def find(q: str = "tea", user: Annotated[str, InjectedToolArg] = "") -> str:
        """Find."""
        return f"{q} for {user}"

    with pytest.raises(SetupError, match=r"invoke\(q=...\).*invoke\({'q': ...}\)"):
        find.invoke(q="x")
    with pytest.raises(
        SetupError, match=r"invoke\(y=...\): no tool has.*context, state, store, user"
    ):
        find.invoke({}, y=5)
    with pytest.raises(SetupError, match="invoke"):
        find.run({}, y=5)
    assert find.invoke({}, user="Ada", state={}) == "tea for Ada"
