"""What becomes of the examples of seeds 000 and 003, which speak LangChain."""

from __future__ import annotations

import ast
import json
import textwrap
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Optional, TypeVar

import pytest
from pydantic import BaseModel, Field

from tests.seeds import BROKEN, IMPORTS, NOT_PYTHON, RUNS, Case, Ran, examples
from toolkeel.define.inject import marker_of
from toolkeel.errors import InjectionError, InvalidArguments
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat import langchain
from toolkeel_compat.langchain import (
    AIMessage,
    BaseTool,
    HumanMessage,
    InjectedToolArg,
    InjectedToolCallId,
    InMemoryStore,
    SchemaAnnotationError,
    ToolException,
    ToolMessage,
    ToolNode,
    ToolRuntime,
    convert_to_openai_tool,
    init_chat_model,
    tool,
)

ALL: Mapping[str, Any] = {name: getattr(langchain, name) for name in langchain.__all__}
TYPING: Mapping[str, Any] = {
    "Annotated": Annotated,
    "Any": Any,
    "BaseModel": BaseModel,
    "Field": Field,
    "Literal": Literal,
    "Optional": Optional,
}


def names(**more: Any) -> Any:
    """This package's LangChain names, `typing`'s and pydantic's, and what an example lacks."""
    return lambda: {**TYPING, **ALL, **more}


def search_tool() -> Any:
    @tool
    def search(query: str, limit: int = 10) -> str:
        """搜索内容"""
        return f"{limit} results for {query}"

    return search


# — seed 000 —


GOOD_AND_BAD: Mapping[Any, tuple[object, object]] = {
    str: ("a", 1),
    int: (1, "one"),
    float: (1.5, "much"),
    bool: (True, "perhaps"),
    list[str]: (["a"], [1]),
    dict[str, Any]: ({"k": [1]}, [1]),
    tuple[int, int]: ([1, 2], [1]),
    set[str]: (["a"], [{}]),
    str | None: (None, 1),
    Literal["asc", "desc"]: ("asc", "up"),
    int | str: (7, [7]),
}


def every_type_is_a_parameter(ran: Ran) -> None:
    found = [v for value in ran.values for v in (value if isinstance(value, tuple) else (value,))]
    assert len(found) == 12
    assert set(found) == set(GOOD_AND_BAD)
    table = {**GOOD_AND_BAD, ran["MyArgs"]: ({"query": "q"}, {"limit": 1})}
    for kind, (good, bad) in table.items():

        def take(value: Any) -> str:
            return type(value).__name__

        take.__annotations__["value"] = kind
        calls = [_call("take", {"value": value}) for value in (good, bad)]
        accepted, refused = ToolNode([take]).invoke([AIMessage(tool_calls=calls)])
        assert (accepted.status, refused.kind) == ("success", "invalid_arguments"), kind


def _call(name: str, args: Mapping[str, Any], id: str = "c1") -> dict[str, Any]:
    return {"name": name, "args": args, "id": id}


def three_ways_say_the_same(ran: Ran) -> None:
    plain, model, docs = ran.history["search"]
    assert plain.args == {"query": {"type": "string"}, "limit": {"type": "integer", "default": 10}}
    assert model.args["query"]["description"] == "搜索关键词"
    assert docs.args["limit"]["description"] == "返回的结果数量"
    assert [t.invoke({"query": "Python"}) for t in (plain, model, docs)] == ["results"] * 3
    for each in (plain, model, docs):
        assert each.tool_call_schema["required"] == ["query"]


def in_the_diagram(code: str) -> str:
    """The three Python examples that stand in a text diagram."""
    kept: list[str] = []
    for line in code.splitlines():
        if line.startswith(("@tool", "class ", "def ")):
            kept.append(line)
        elif kept and line.startswith("    "):
            kept.append("" if set(line) & set("│▼┌└") else line)
        elif kept and not line.strip():
            kept.append("")
    return "\n".join(kept) + "\n"


def injected_arguments_are_hidden_and_filled(ran: Ran) -> None:
    made = ran["comprehensive_tool"]
    assert list(made.tool_call_schema["properties"]) == ["query", "limit"]
    store, state = InMemoryStore(), {"messages": []}
    answer = made.invoke(_call("comprehensive_tool", {"query": "q"}), store=store, state=state)
    assert answer.content == "Query: q, Limit: 10"
    assert answer.tool_call_id == "c1"
    forged = {"query": "q", "store": "mine", "tool_call_id": "x"}
    refused = made.invoke(_call("comprehensive_tool", forged), store=store, state=state)
    assert refused.kind == "invalid_arguments"
    seen = made(query="q", tool_call_id="", store=None, state={}, runtime=None)
    assert seen == "Query: q, Limit: 10"


def our_results_are_wrapped_alike(ran: Ran) -> None:
    wrap = ran["_format_output"]
    for content in ({"结果": 1}, "text", ["a", "b"], 5):
        theirs = wrap(content, {"raw": 1}, "c1", "give", "success")

        @tool(response_format="content_and_artifact")
        def give(content: Any = content) -> Any:
            return content, {"raw": 1}

        ours = give.invoke(_call("give", {}))
        if not isinstance(content, list):  # a list of texts may be told as one text
            assert (ours.text, ours.artifact) == (theirs.text, theirs.artifact)
        assert (ours.name, ours.tool_call_id, ours.status) == ("give", "c1", "success")
    own = ToolMessage("mine", tool_call_id="c1")
    assert wrap(own, None, "c1", "give", "success") is own


def our_message_has_the_fields(ran: Ran) -> None:
    ours = ToolMessage("x", tool_call_id="c1")
    fields = [name for name in ran["ToolMessage"].__annotations__ if name != "type"]
    assert fields == ["tool_call_id", "artifact", "status"]
    assert [getattr(ours, name) for name in fields] == ["c1", None, "success"]


def results_of_four_kinds(ran: Ran) -> None:
    made = [ran[n] for n in ("simple_tool", "dict_tool", "artifact_tool", "custom_message_tool")]
    args = [{"x": 5}, {"x": 5}, {"query": "q"}, {"x": 5}]
    calls = [_call(t.name, a, f"c{i}") for i, (t, a) in enumerate(zip(made, args, strict=True))]
    simple, as_json, apart, own = ToolNode(made).invoke([AIMessage(tool_calls=calls)])
    assert simple.content == "结果是 5"
    assert json.loads(as_json.content) == {"result": 5, "doubled": 10}
    assert apart.content == "找到 10 条结果"
    assert set(apart.artifact) == {"results", "metadata"}
    assert (own.content, own.artifact, own.tool_call_id) == ("结果: 5", {"raw": 5}, "c3")


def three_turns(ran: Ran) -> None:
    """The flow of the diagram: ask, bind, call, run, answer."""
    search = search_tool()
    model = init_chat_model(
        Scripted([call("search", {"query": "Python 教程", "limit": 5}, "call_abc123"), "找到了"])
    ).bind_tools([search])
    messages: list[Any] = [HumanMessage(content="帮我搜索一下 Python 教程")]
    asked = model.invoke(messages)
    assert asked.tool_calls[0]["args"] == {"query": "Python 教程", "limit": 5}
    results = ToolNode([search]).invoke({"messages": [*messages, asked]})["messages"]
    assert [m.tool_call_id for m in results] == ["call_abc123"]
    assert results[0].content == "5 results for Python 教程"
    answer = model.invoke([*messages, asked, *results])
    assert (answer.content, answer.tool_calls) == ("找到了", ())


def the_schema_hides_what_is_injected(ran: Ran) -> None:
    @tool
    def search(
        query: str,
        store: Annotated[Any, langchain.InjectedStore()],
        runtime: ToolRuntime,
        limit: int = 10,
    ) -> str:
        store.mset([("last_query", query)])
        assert runtime.store is store
        return f"{limit} for {query}"

    assert list(search.tool_call_schema["properties"]) == ["query", "limit"]
    store = InMemoryStore()
    message = ToolNode([search]).invoke(
        {"messages": [AIMessage(tool_calls=[_call("search", {"query": "q"}, "call_abc123")])]},
        store=store,
    )["messages"][0]
    assert (message.content, store.mget(["last_query"])) == ("10 for q", ["q"])


def our_structures_have_these_keys(ran: Ran) -> None:
    made = AIMessage(tool_calls=[_call("search", {"q": 1})]).tool_calls[0]
    assert set(made.keys()) == set(ran["ToolCall"])
    message = ToolMessage("x", tool_call_id="c1", name="search")
    assert all(hasattr(message, key) for key in ran["ToolMessage"] if key != "type")
    assert set(ran["ToolRuntime"]) <= set(ToolRuntime.__annotations__)


# — seed 003 —


class MySchema(BaseModel):
    """Anything."""

    query: str


class CustomSchema(BaseModel):
    """The parameters of another function."""

    x: int = Field(description="a number")
    y: str


def a_wrong_annotation_is_refused(ran: Ran) -> None:
    [error] = ran.raised
    assert isinstance(error, SchemaAnnotationError)
    assert "BadTool.args_schema" in str(error)
    assert "BadTool" not in ran.names

    class Whole(ran["GoodTool"]):  # type: ignore[misc]
        name = "good"

        def _run(self, query: str) -> str:
            return query

    assert Whole().invoke({"query": "q"}) == "q"


def the_docstring_describes_the_parameters(ran: Ran) -> None:
    """As in LangChain: in the description, unless ``parse_docstring=True`` moves it to the schema."""
    made = ran["search_api"]
    assert made.description.startswith("Search the API for the query.")
    assert "max_results: Maximum number of results to return" in made.description
    assert made.invoke({"query": "q"}) == made.invoke("q") == "Results for q"


def a_function_under_another_name(ran: Ran) -> None:
    made = ran["tool"]
    assert (made.name, made.description) == ("custom_name", "Custom description")
    assert made.args_schema is CustomSchema
    assert made.args["x"]["description"] == "a number"
    assert made.invoke({"x": 1, "y": "a"}) == {"x": 1, "y": "a"}


def a_class_with_a_schema(ran: Ran) -> None:
    made = ran["SearchTool"]()
    assert (made.name, made.description) == ("search", "Search the database")
    assert made.args["max_results"]["default"] == 10
    assert made.invoke({"query": "q"}) is None

    class Real(ran["SearchTool"]):  # type: ignore[misc]
        def _run(self, query: str, max_results: int = 10, filters: Any = None) -> str:
            return f"{query} {max_results} {filters}"

    assert Real().invoke({"query": "q", "filters": {"a": 1}}) == "q 10 {'a': 1}"


def a_json_schema_is_enforced(ran: Ran) -> None:
    made = ran["tool"]
    assert made.invoke({"arg1": 1, "arg2": "b"}) == "1b"
    with pytest.raises(InvalidArguments, match="arg2"):
        made.invoke({"arg1": 1, "arg2": "z"})


def with_a_run_manager() -> Mapping[str, Any]:
    @tool
    def search(
        query: str, run_manager: langchain.CallbackManagerForToolRun, max_results: int = 10
    ) -> str:
        """Search."""
        run_manager.on_text("searching")
        return query

    return {"tool": search}


def only_one_schema_has_the_injected(ran: Ran) -> None:
    everything, shown = ran.values
    assert set(everything["properties"]) == {"query", "max_results", "run_manager"}
    assert set(shown["properties"]) == {"query", "max_results"}
    assert ran["tool"].invoke({"query": "q"}) == "q"


def database_search() -> Mapping[str, Any]:
    @tool(description="Search the database")
    def search(query: Annotated[str, "Search query"]) -> str:
        return query

    return {"my_tool": search, "tool": search}


def as_its_comment_shows(ran: Ran) -> None:
    code = examples()["003.7"].code
    shown = "\n".join(line[2:] for line in code.splitlines() if line.startswith("# "))
    expected = ast.literal_eval(shown.removeprefix("Converts to:").strip())
    expected["function"]["parameters"]["additionalProperties"] = False
    assert ran["tool_schema"] == expected


def strict_closes_every_object(ran: Ran) -> None:
    schema = ran["function_schema"]
    assert (schema["name"], schema["strict"]) == ("search", True)
    assert schema["parameters"]["additionalProperties"] is False


def parsing_names(**more: Any) -> Any:
    """Stand-ins for LangChain's internals that its excerpts call."""
    return names(
        get_fields=lambda model: model.model_fields,
        get_all_basemodel_annotations=lambda m: typing.get_type_hints(m, include_extras=True),
        _is_injected_arg_type=lambda v, injected_type: isinstance(marker_of(v), injected_type),
        **more,
    )


class WithId(BaseModel):
    """Parameters with the call's id among them."""

    query: str
    tool_call_id: Annotated[str, InjectedToolCallId]


@tool
def keeps_id(query: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Show what is injected."""
    return f"{query} {tool_call_id}"


def our_input_is_read_alike(ran: Ran) -> None:
    theirs = ran["_parse_input"]
    assert theirs("q", MySchema, None) == "q"
    assert theirs({"query": "q"}, WithId, "c1") == {"query": "q", "tool_call_id": "c1"}
    assert search_tool().invoke("q") == "10 results for q"
    assert search_tool().invoke({"query": "q", "limit": 2}) == "2 results for q"
    id_is_needed_and_given(ran)


def id_is_needed_and_given(ran: Ran) -> None:
    with pytest.raises(InjectionError, match="invoke it with a call"):
        keeps_id.invoke({"query": "q"})
    assert keeps_id.invoke(_call("keeps_id", {"query": "q"}, "c9")).content == "q c9"


def the_id_was_put_in(ran: Ran) -> None:
    assert ran["tool_input"] == {"tool_call_id": "c1"}
    id_is_needed_and_given(ran)


class MyTool(BaseTool):
    """A tool that fails, or gives a pair."""

    name: str = "my_tool"
    description: str = "Fails or answers."

    def _run(self, how: str) -> Any:
        if how == "bare":
            raise ToolException
        if how == "told":
            raise ToolException("no such row")
        pair = ("user-facing message", {"data": "artifact"})
        return pair if self.response_format == "content_and_artifact" else "simple string output"


LOGGED: list[object] = []


def errors_are_handled_in_three_forms(ran: Ran) -> None:
    as_bool, as_text, as_function = ran.history["tool"]
    assert as_bool.invoke("bare") == "Tool execution error"
    assert as_bool.invoke("told") == "no such row"
    assert as_text.invoke("bare") == "Something went wrong"
    LOGGED.clear()
    assert as_function.invoke("told") == "Error: no such row"
    assert [str(error) for error in LOGGED] == ["no such row"]
    for made, text in ((as_bool, "no such row"), (as_text, "Something went wrong")):
        message = made.invoke(_call("my_tool", {"how": "told"}))
        assert (message.content, message.status, message.kind) == (text, "error", "tool_error")
    with pytest.raises(ToolException, match="no such row"):
        MyTool().invoke("told")


def the_markers_are_one_family(ran: Ran) -> None:
    assert issubclass(InjectedToolCallId, InjectedToolArg)
    for spelled in (InjectedToolCallId, InjectedToolCallId()):
        assert isinstance(marker_of(Annotated[str, spelled]), InjectedToolCallId)


def the_id_is_injected_and_not_shown(ran: Ran) -> None:
    made = ran["my_tool"]
    shown = convert_to_openai_tool(made)["function"]
    assert shown["parameters"]["properties"] == {"query": {"type": "string"}}
    assert "query: The search query" in shown["description"]
    assert shown["parameters"]["required"] == ["query"]
    LOGGED.clear()
    assert made.invoke(_call("my_tool", {"query": "q"}, "c7")).content == "Results for q"
    assert LOGGED == [("c7", "q")]


def chat_model() -> Any:
    return init_chat_model(Scripted([call("search", {"query": "Python tutorials"}, "call_abc123")]))


def the_model_asks_for_the_tool(ran: Ran) -> None:
    response = ran["response"]
    assert isinstance(response, AIMessage)
    assert response.tool_calls == (
        {"name": "search", "args": {"query": "Python tutorials"}, "id": "call_abc123"},
    )
    [request] = ran["model"].model.requests
    assert [t.name for t in request.tools] == ["search"]


def a_call_is_such_a_dict(ran: Ran) -> None:
    [[shown]] = ran.values
    made = AIMessage(tool_calls=[shown]).tool_calls[0]
    assert dict(made) == shown
    assert search_tool().invoke(shown).tool_call_id == "call_abc123"


def the_call_is_answered(ran: Ran) -> None:
    assert isinstance(ran["result"], ToolMessage)
    assert ran["result"].content == "Results for Python tutorials"
    assert ran["result"].tool_call_id == "call_abc123"


def content_alone(ran: Ran) -> None:
    assert ran["result"] == "simple string output"
    message = ran["tool"].invoke(_call("my_tool", {"how": "well"}))
    assert (message.content, message.artifact) == ("simple string output", None)


def content_and_artifact(ran: Ran) -> None:
    assert ran["result"] == ("user-facing message", {"data": "artifact"})
    message = ran["tool"].invoke(_call("my_tool", {"how": "well"}))
    assert (message.content, message.artifact) == ("user-facing message", {"data": "artifact"})


def in_a_function(code: str) -> str:
    head = "def _parse_input(tool_input, args_schema, tool_call_id):\n"
    return head + textwrap.indent(code, "    ")


CASES: Mapping[str, Case] = {
    "000.1": Case(RUNS, use=every_type_is_a_parameter, names=names()),
    "000.2": Case(
        NOT_PYTHON,
        "a diagram; the three Python examples in it are cut out and run",
        use=three_ways_say_the_same,
        names=names(),
        cut=in_the_diagram,
    ),
    "000.3": Case(NOT_PYTHON, "a table of what is injected; 000.4 uses it"),
    "000.4": Case(
        BROKEN,
        "parameters without a default follow one with a default; '*,' makes them keyword-only",
        use=injected_arguments_are_hidden_and_filled,
        mend=(("    limit: int = 10,\n", "    limit: int = 10,\n    *,\n"),),
    ),
    "000.5": Case(NOT_PYTHON, "a diagram of 000.8"),
    "000.6": Case(
        RUNS,
        "an excerpt of LangChain's own source; run beside ours, the results compared",
        use=our_results_are_wrapped_alike,
        names=names(
            ToolOutputMixin=ToolMessage,
            _is_message_content_type=lambda value: isinstance(value, str | list),
            _stringify=lambda value: json.dumps(value, ensure_ascii=False),
        ),
    ),
    "000.7": Case(
        RUNS,
        "an excerpt of LangChain's own source; its fields are compared with ours",
        use=our_message_has_the_fields,
        names=names(BaseMessage=type("B", (), {}), ToolOutputMixin=type("M", (), {})),
    ),
    "000.8": Case(IMPORTS, use=results_of_four_kinds, names=names()),
    "000.9": Case(NOT_PYTHON, "a diagram; the flow it draws is run", use=three_turns),
    "000.10": Case(
        NOT_PYTHON,
        "a diagram; the flow it draws is run",
        use=the_schema_hides_what_is_injected,
    ),
    "000.11": Case(
        BROKEN,
        "'|' between two texts; it describes structures, which are compared with ours",
        use=our_structures_have_these_keys,
        names=names(AgentState=dict, BaseStore=InMemoryStore),
        mend=(('"success" | "error"', 'Literal["success", "error"]'),),
    ),
    "003.1": Case(
        RUNS,
        use=a_wrong_annotation_is_refused,
        names=names(MySchema=MySchema),
        raises=(SchemaAnnotationError,),
    ),
    "003.2": Case(RUNS, use=the_docstring_describes_the_parameters, names=names()),
    "003.3": Case(RUNS, use=a_function_under_another_name, names=names(CustomSchema=CustomSchema)),
    "003.4": Case(RUNS, use=a_class_with_a_schema, names=names()),
    "003.5": Case(
        RUNS,
        use=a_json_schema_is_enforced,
        names=names(my_func=lambda arg1, arg2: f"{arg1}{arg2}"),
    ),
    "003.6": Case(RUNS, use=only_one_schema_has_the_injected, names=with_a_run_manager),
    "003.7": Case(IMPORTS, use=as_its_comment_shows, names=database_search),
    "003.8": Case(
        RUNS,
        use=strict_closes_every_object,
        names=lambda: {**ALL, **database_search()},
    ),
    "003.9": Case(
        BROKEN,
        "an excerpt of LangChain's own source with 'return' outside a function; put in one",
        use=our_input_is_read_alike,
        names=parsing_names(),
        cut=in_a_function,
    ),
    "003.10": Case(
        RUNS,
        use=errors_are_handled_in_three_forms,
        names=names(MyTool=MyTool, log_error=LOGGED.append),
    ),
    "003.11": Case(
        IMPORTS,
        "it redefines the imported names as aliases, to explain them",
        use=the_markers_are_one_family,
        names=lambda: {"T": TypeVar("T")},
    ),
    "003.12": Case(
        IMPORTS,
        use=the_id_is_injected_and_not_shown,
        names=lambda: {"log_call": lambda *given: LOGGED.append(given)},
    ),
    "003.13": Case(
        RUNS,
        "an excerpt of LangChain's own source; what it does is compared with ours",
        use=the_id_was_put_in,
        names=parsing_names(input_args=WithId, tool_call_id="c1", tool_input={}),
    ),
    "003.14": Case(IMPORTS, use=the_model_asks_for_the_tool, names=lambda: {"model": chat_model()}),
    "003.15": Case(RUNS, use=a_call_is_such_a_dict),
    "003.16": Case(RUNS, use=the_call_is_answered, after="003.14"),
    "003.17": Case(RUNS, use=content_alone, names=names(MyTool=MyTool, input={"how": "well"})),
    "003.18": Case(
        RUNS, use=content_and_artifact, names=names(MyTool=MyTool, input={"how": "well"})
    ),
}
