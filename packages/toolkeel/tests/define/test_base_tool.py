"""Tools as classes: fields, options, sync and async bodies, and what is refused when defined."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from toolkeel import (
    BaseTool,
    Effects,
    Injected,
    RunContext,
    SetupError,
    ToolCall,
    ToolContext,
    ToolError,
    Toolset,
    tool,
)
from toolkeel.define.base_tool import as_tool
from toolkeel.errors import CallError, DefinitionError, SchemaAnnotationError


class Search(BaseTool):
    """Search for something in an index."""

    name = "search"
    index: str
    limit: int = 3
    tags_seen: list[str] = []
    made_at: float = Field(default_factory=lambda: 1.5)
    log: Callable[[str], object] | None = None

    def _run(self, query: str, page: int = 1) -> str:
        """Run it.

        Args:
            query: What to look for.
            page: Which page.
        """
        self.tags_seen.append(query)
        return f"{query} in {self.index} ({self.limit}, page {page})"


class Query(BaseModel):
    query: str = Field(description="What to look for", max_length=5)


def test_fields_are_taken_by_keyword_and_have_their_defaults() -> None:
    search = Search(index="书", limit=5)
    assert search.invoke({"query": "猫"}) == "猫 in 书 (5, page 1)"
    assert (Search(index="a").limit, search.made_at) == (3, 1.5)


def test_a_missing_or_an_unknown_field_is_refused_and_named() -> None:
    with pytest.raises(DefinitionError, match="Search needs 'index'"):
        Search()
    with pytest.raises(
        DefinitionError, match="Search: there is no option 'indx'; did you mean 'index'"
    ):
        Search(indx="a")

    class Timed(BaseTool):
        name = "timed"
        since: float = Field()

        def _run(self) -> float:
            """Tell."""
            return self.since

    with pytest.raises(DefinitionError, match="Timed needs the field 'since'"):
        Timed()


def test_each_object_has_lists_of_its_own() -> None:
    one, other = Search(index="a"), Search(index="b")
    one.invoke({"query": "x"})
    assert (one.tags_seen, other.tags_seen, Search.tags_seen) == (["x"], [], [])


def test_parameters_and_description_come_from_the_class() -> None:
    made = Search(index="a").tool
    assert (made.name, made.description) == ("search", "Search for something in an index.")
    assert list(made.parameters["properties"]) == ["query", "page"]  # type: ignore[call-overload]
    assert made.parameters["properties"]["query"]["description"] == "What to look for."  # type: ignore[index]

    class Told(Search):
        description = "Another text."

    class Silent(BaseTool):
        name = "silent"

        def _run(self) -> None: ...

    assert Told(index="a").tool.description == "Another text."
    assert Silent().tool.description == "silent"


def test_the_tool_is_compiled_once_for_each_object() -> None:
    search = Search(index="a")
    assert search.tool is search.tool
    assert search.tool is not Search(index="a").tool


def test_an_async_body_runs_where_both_are_written() -> None:
    class Both(BaseTool):
        name = "both"

        def _run(self, n: int) -> str:
            """Run."""
            return "sync"

        async def _arun(self, n: int) -> str:
            """Run."""
            await asyncio.sleep(0)
            return "async"

    assert Both().invoke({"n": 1}) == "async"
    assert asyncio.run(Both().ainvoke({"n": 1})) == "async"


def test_options_of_the_class_and_of_the_object_are_those_of_the_tool() -> None:
    class Remove(BaseTool):
        name = "remove"
        effects = Effects(destructive=True, resources=("file:{path}",))
        timeout = 5.0
        ends_run = True
        on_error = "It did not work."

        def _run(self, path: str) -> str:
            """Remove."""
            raise ToolError("no")

    made = Remove(timeout=1.0, tags=["files"]).tool
    assert (made.timeout, made.ends_run, made.tags) == (1.0, True, ("files",))
    assert made.effects.resources == ("file:{path}",)
    [message] = Toolset([Remove()]).run_sync([ToolCall("1", "remove", {"path": "a"})])
    assert message.text == "It did not work."


@pytest.mark.parametrize(
    "schema",
    [
        Query,
        {
            "type": "object",
            "properties": {"query": {"type": "string", "maxLength": 5}},
            "required": ["query"],
        },
    ],
)
def test_a_schema_of_the_class_describes_the_parameters(schema: Any) -> None:
    class Find(BaseTool):
        name = "find"
        description = "Find something."
        parameters: type[BaseModel] | dict[str, Any] = schema

        def _run(self, query: str) -> str:
            return f"found {query}"

    assert Find().invoke({"query": "cat"}) == "found cat"
    with pytest.raises(CallError):
        Find().invoke({"query": "too long"})


def test_a_schema_may_be_given_to_the_object() -> None:
    class Find(BaseTool):
        name = "find"
        description = "Find something."

        def _run(self, query: str) -> str:
            return f"found {query}"

    with pytest.raises(CallError):
        Find(parameters=Query).invoke({"query": "too long"})


def test_injected_parameters_and_the_context_reach_the_body() -> None:
    class Who(BaseTool):
        name = "who"

        def _run(self, hello: str, user: Annotated[str, Injected], context: ToolContext) -> str:
            """Greet."""
            return f"{hello} {user} {context.tool_call_id}"

    tools = Toolset([Who()])
    assert list(tools["who"].parameters["properties"]) == ["hello"]  # type: ignore[call-overload]
    [message] = tools.run_sync(
        [ToolCall("7", "who", {"hello": "你好"})], RunContext(inject={"user": "Ada"})
    )
    assert message.content == "你好 Ada 7"


def test_a_class_without_a_body_is_refused_when_it_is_defined() -> None:
    with pytest.raises(DefinitionError, match=r"Empty: write _run\(self, ...\) or async _arun"):

        class Empty(BaseTool):
            name = "empty"


def test_a_base_class_without_a_name_may_leave_the_body_to_its_heirs() -> None:
    class Server(BaseTool):
        url: str = "http://localhost"

    class Ping(Server):
        name = "ping"

        def _run(self) -> str:
            """Ping."""
            return self.url

    assert Ping(url="x").invoke() == "x"


@pytest.mark.parametrize(
    "annotation", [BaseModel, Query, "BaseModel", "pydantic.BaseModel", "Query"]
)
def test_a_schema_annotated_as_an_instance_is_refused_with_the_line_to_write(
    annotation: Any,
) -> None:
    shown = annotation if isinstance(annotation, str) else annotation.__name__
    with pytest.raises(SchemaAnnotationError, match="it holds a class: write parameters: type"):
        type(
            "Wrong",
            (BaseTool,),
            {
                "name": "wrong",
                "parameters": Query,
                "__annotations__": {"parameters": annotation},
                "_run": lambda self, query: query,
            },
        )
    assert shown


@pytest.mark.parametrize(
    "annotation", [type[BaseModel], "type[BaseModel]", "Any", Any, dict, "type[BaseModel] | None"]
)
def test_a_schema_annotated_as_a_class_is_taken(annotation: Any) -> None:
    made = type(
        "Right",
        (BaseTool,),
        {
            "name": "right",
            "description": "Right.",
            "parameters": Query,
            "__annotations__": {"parameters": annotation},
            "_run": lambda self, query: query,
        },
    )
    assert made().invoke({"query": "cat"}) == "cat"


def test_whatever_is_or_holds_or_can_become_a_tool_is_taken_as_one() -> None:
    def function(n: int) -> int:
        """Give it back."""
        return n

    search = Search(index="a")
    made = tool(function)
    assert as_tool(made) is made
    assert as_tool(search) is search.tool
    assert as_tool(function).name == "function"
    for nothing in (5, None, "search", object()):
        with pytest.raises(SetupError, match=r"no tool|text|cannot be called|give"):
            as_tool(nothing)


def test_an_object_says_what_it_is() -> None:
    assert repr(Search(index="a")) == "Search(search)"


def test_an_option_that_is_changed_counts_from_then_on() -> None:
    class Greet(BaseTool):
        name = "greet"
        description = "Greet."

        def _run(self, who: str) -> str:
            return who

    greet = Greet()
    assert greet.tool.timeout == 30
    greet.timeout, greet.description = 5, "Greet somebody."
    assert (greet.tool.timeout, greet.tool.description) == (5, "Greet somebody.")


def tool_class(**attributes: Any) -> type[BaseTool]:
    body = {"name": "pay", "description": "Pay.", "_run": lambda self, amount: amount}
    return type("Pay", (BaseTool,), body | attributes)


@pytest.mark.parametrize(
    ("word", "value", "ours"),
    [
        ("requires_approval", True, "approval="),
        ("needs_approval", lambda self: True, "approval="),
        ("args_schema", Query, "parameters="),
        ("return_direct", True, "ends_run="),
        ("handle_tool_error", "It failed.", "on_error="),
        ("max_retries", 3, r"limits=RunLimits\(failures=.*steps=\[Retry\(2\)\]"),
        ("response_format", "content_and_artifact", "returns="),
        ("is_enabled", False, "enabled="),
        ("aproval", True, "'approval'"),
        ("Time_Out", 5, "'timeout'"),
        ("effect", Effects(destructive=True), "'effects'"),
    ],
)
def test_an_attribute_that_would_be_ignored_is_refused_when_the_class_is_defined(
    word: str, value: Any, ours: str
) -> None:
    expected = f"Pay: there is no option '{word}'; (write|did you mean) {ours}"
    with pytest.raises(DefinitionError, match=expected):
        tool_class(**{word: value})


def test_an_annotated_attribute_and_one_of_a_mixin_are_refused_too() -> None:
    with pytest.raises(DefinitionError, match="write parameters="):

        class Charge(BaseTool):
            name = "pay"
            args_schema: type[BaseModel] = Query

            def _run(self, query: str) -> str:
                return query

    class Approved:
        requires_approval = True

    with pytest.raises(DefinitionError, match="Mixed: there is no option 'requires_approval'"):

        class Mixed(Approved, BaseTool):
            name = "pay"

            def _run(self, query: str) -> str:
                return query


def test_such_a_word_is_refused_of_an_object_and_of_its_constructor() -> None:
    pay = tool_class()()
    with pytest.raises(DefinitionError, match="no option 'requires_approval'; write approval="):
        pay.requires_approval = True  # type: ignore[attr-defined]
    with pytest.raises(DefinitionError, match="no option 'requires_approval'; write approval="):
        tool_class()(requires_approval=True)
    pay.approval = True  # type: ignore[attr-defined]
    assert pay.tool.approval is True


def test_an_attribute_that_the_class_itself_uses_is_its_own() -> None:
    class Fetch(BaseTool):
        name = "fetch"
        description = "Fetch."
        max_retries: int = 3
        verbose = False

        def __init__(self, **fields: Any) -> None:
            super().__init__(**fields)
            self.context = self.prepare()

        def prepare(self) -> str:
            return "ready"

        def _run(self, url: str) -> str:
            return "".join(f"{url}{self.max_retries}" for _ in [self.verbose])

    class Sub(Fetch):
        max_retries = 5
        tag_line = "of no meaning here, and like no option"

    assert Sub().invoke({"url": "x"}) == "x5"
    assert Fetch(max_retries=1).context == "ready"


def test_options_may_be_methods_and_an_option_of_a_mixin_counts() -> None:
    class Approved:
        approval = True

    class Pay(Approved, BaseTool):
        name = "pay"

        def enabled(self, context: ToolContext) -> bool:
            return False

        def _run(self, amount: int) -> int:
            """Pay."""
            return amount

    made = Pay().tool
    assert made.approval is True and callable(made.enabled)
