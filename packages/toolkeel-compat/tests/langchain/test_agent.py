"""`create_agent(response_format=...)` and `with_structured_output`, as LangChain has them."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from toolkeel import SetupError
from toolkeel.effects import acts
from toolkeel.errors import OutputError
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.langchain import (
    Command,
    HumanMessage,
    InjectedState,
    InMemorySaver,
    ProviderStrategy,
    RunnableConfig,
    StructuredOutputValidationError,
    SystemMessage,
    ToolNode,
    ToolRuntime,
    ToolStrategy,
    create_agent,
    create_react_agent,
    init_chat_model,
    tool,
    wrap_tool_call,
)


class City(BaseModel):
    name: str
    people: int


GIVEN = call("City", {"name": "Oslo", "people": 709_000})


@tool
def look_up(city: str) -> str:
    """Look a city up."""
    return "709000"


@tool(effects=acts("city"))
def ask_there(city: str) -> str:
    """Ask a city's office."""
    return "709000"


def test_a_reply_has_the_agents_name() -> None:
    for name in ("clerk", None):
        replies = create_agent(Scripted(["hi"]), [], name=name).invoke({"messages": "hi"})
        assert replies["messages"][-1].name == name


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


def test_a_stream_tells_what_was_added_in_the_modes_that_are_asked_for() -> None:
    def agent() -> Any:
        return create_agent(Scripted([call("look_up", {"city": "Oslo"}), "many"]), [look_up])

    parts = list(agent().stream({"messages": "Oslo?"}))
    assert [list(part) for part in parts] == [["model"], ["tools"], ["model"]]
    assert parts[1]["tools"]["messages"][0].content == "709000"
    values = list(agent().stream({"messages": "Oslo?"}, stream_mode="values"))
    assert [len(part["messages"]) for part in values] == [1, 2, 3, 4]
    both = list(agent().stream({"messages": "Oslo?"}, stream_mode=["updates", "messages"]))
    messages, updates = "messages", "updates"
    assert [mode for mode, _ in both] == [
        messages, messages, updates, messages, updates, messages, messages, updates,
    ]  # fmt: skip
    pieces = [part for mode, part in both if mode == "messages"]
    said = [(piece.text, about["langgraph_node"]) for piece, about in pieces]
    end = ("", "model")
    assert said == [end, end, ("709000", "tools"), ("many", "model"), end]
    assert pieces[0][0].tool_calls[0]["name"] == "look_up"
    with pytest.raises(SetupError, match="debug"):
        list(agent().stream({"messages": "x"}, stream_mode="debug"))


@pytest.mark.parametrize("form", [ToolStrategy(City), ProviderStrategy(City)], ids=repr)
def test_a_form_of_answers_may_say_how_it_is_had(form: Any) -> None:
    agent = create_agent(Scripted([GIVEN]), response_format=form)
    assert agent.invoke({"messages": "Oslo?"})["structured_response"].people == 709_000


def test_each_type_of_a_union_has_a_tool_of_its_own() -> None:
    class Nowhere(BaseModel):
        """There is no such city."""

        name: str

    model = Scripted([call("Nowhere", {"name": "Atlantis"})])
    agent = create_agent(model, response_format=ToolStrategy(City | Nowhere))
    state = agent.invoke({"messages": "Atlantis?"})
    assert state["structured_response"] == Nowhere(name="Atlantis")
    assert state["messages"][-1].content == "Returning structured response: name='Atlantis'"
    told = [(one.name, one.description) for one in model.requests[0].tools]
    assert ("Nowhere", "There is no such city.") in told and len(told) == 2


@pytest.mark.parametrize(
    ("handler", "told"),
    [
        ("Give a number.", "Give a number."),
        (lambda error: f"{type(error).__name__}: {error}", "many"),
    ],
)
def test_the_words_for_a_wrong_answer_may_be_ones_own(handler: Any, told: str) -> None:
    model = Scripted([call("City", {"name": "Oslo", "people": "many"}), GIVEN])
    agent = create_agent(model, response_format=ToolStrategy(City, handle_errors=handler))
    state = agent.invoke({"messages": "Oslo?"})
    assert state["structured_response"].people == 709_000
    said = state["messages"][2].content
    assert said == told or (said.startswith("StructuredOutputValidationError: ") and told in said)
    for refused in (False, ValueError, (ValueError, TypeError)):
        with pytest.raises(SetupError, match="handle_errors="):
            create_agent(model, response_format=ToolStrategy(City, handle_errors=refused))


def test_a_tool_sees_the_messages_of_its_run() -> None:
    @tool
    def count(state: Annotated[dict[str, Any], InjectedState], runtime: ToolRuntime) -> str:
        """Count."""
        words = [one.content for one in state["messages"]]
        return f"{words} {len(runtime.state['messages'])} {state['user']}"

    seen: list[int] = []

    @wrap_tool_call
    def look(request: Any, handler: Any) -> Any:
        seen.append(len(request.state["messages"]))
        assert request.runtime.context == "Ada"
        return handler(request)

    agent = create_agent(Scripted([call("count"), "done"]), [count], middleware=[look])
    state = agent.invoke({"messages": "how many?", "user": "ada"}, context="Ada")
    assert state["messages"][2].content == "['how many?', ''] 2 ada" and seen == [2]


def test_what_would_be_dropped_of_a_config_is_refused() -> None:
    for invoke in (create_agent(Scripted(["x"])).invoke, look_up.invoke):
        with pytest.raises(SetupError, match=r"callbacks.*listeners"):
            invoke({"messages": "x", "city": "Oslo"}, {"callbacks": [object()]})
    with pytest.raises(AttributeError, match=r"bulk_update_state.*once for each"):
        create_agent("offline").bulk_update_state


def test_what_a_tool_writes_is_told_as_it_is() -> None:
    @tool
    def count(runtime: ToolRuntime) -> str:
        """Count."""
        runtime.stream_writer({"at": 1})
        return "done"

    agent = create_agent(Scripted([call("count"), "ok"]), [count])
    assert list(agent.stream({"messages": "go"}, stream_mode="custom")) == [{"at": 1}]


def test_middleware_and_options_that_nobody_honours_are_refused() -> None:
    chooses = type("LLMToolSelectorMiddleware", (), {})()
    with pytest.raises(SetupError, match=r"LLMToolSelectorMiddleware is not here: .*search_tools"):
        create_agent("offline", middleware=[chooses])
    with pytest.raises(SetupError, match="object has no counterpart"):
        create_agent("offline", middleware=[object()])
    with pytest.raises(TypeError, match="no option 'midleware'"):
        create_agent("offline", midleware=[])  # type: ignore[call-arg]


def test_a_call_that_waits_where_nobody_can_answer_says_why_and_what_to_write() -> None:
    picture: dict[str, Any] = {"type": "image", "url": "https://example.org/a.png"}

    def state(**more: Any) -> Any:
        agent = create_agent(Scripted([call("ask_there", {"city": "Oslo"}), "many"]), [ask_there])
        return agent.invoke({"messages": HumanMessage([{**picture, **more}])})

    with pytest.raises(SetupError, match=r"(?s)attachment image/png.*checkpointer"):
        state()
    said = state(extras={"trusted": True})["messages"]
    assert [each.type for each in said] == ["human", "ai", "tool", "ai"]


def test_a_call_that_waits_for_a_reason_of_its_own_shows_it() -> None:
    lines = [call("ask_there", {"city": "Oslo"}), "many"]
    agent = create_agent(Scripted(lines), [ask_there], checkpointer=InMemorySaver())
    given = HumanMessage([{"type": "image", "url": "https://example.org/a.png"}])
    thread = {"configurable": {"thread_id": "1"}}
    [asked] = agent.invoke({"messages": given}, thread)["__interrupt__"]
    assert "attachment image/png" in asked.value["action_requests"][0]["description"]
    ended = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
    assert ended["messages"][-1].content == "many"


def told(model: Scripted) -> list[str]:
    return [message.text for message in model.requests[-1].messages]


def test_a_function_makes_what_the_model_is_shown_of_the_state_and_the_config() -> None:
    def prompt(state: dict[str, Any], config: RunnableConfig) -> list[Any]:
        name = config["configurable"]["user"]
        return [SystemMessage(f"You serve {name}."), *state["messages"][-1:]]

    model = Scripted(["Hello."])
    agent = create_react_agent(model, prompt=prompt)
    state = agent.invoke({"messages": ["a", "b"]}, {"configurable": {"user": "Ada"}})
    assert told(model) == ["You serve Ada.", "b"]
    assert len(state["messages"]) == 3  # the transcript has them all


def test_a_function_of_the_state_alone_may_be_async() -> None:
    async def prompt(state: dict[str, Any]) -> Any:
        return [("system", str(len(state["messages"]))), *state["messages"]]

    model = Scripted(["Hello."])
    create_react_agent(model, prompt=prompt).invoke({"messages": ["a"]})
    assert told(model) == ["1", "a"]


def test_a_system_message_is_told_as_it_is() -> None:
    model = Scripted(["Hello."])
    create_react_agent(model, prompt=SystemMessage("Be brief.")).invoke({"messages": "a"})
    assert told(model) == ["Be brief.", "a"]


def test_a_tool_node_brings_its_tools_and_its_words() -> None:
    @tool
    def fails(city: str) -> str:
        """Fail."""
        raise ValueError(city)

    node = ToolNode([fails], handle_tool_errors="Look elsewhere.")
    agent = create_react_agent(Scripted([call("fails", {"city": "Oslo"}), "Done."]), node)
    assert agent.invoke({"messages": "Oslo?"})["messages"][-2].content == "Look elsewhere."


def test_a_hook_is_refused_with_what_to_write() -> None:
    hooked: Any = {"pre_model_hook": lambda state: state, "debug": False}
    with pytest.raises(SetupError, match=r"before_model\(f\)"):
        create_react_agent(Scripted([]), **hooked)


def test_its_updates_are_those_of_a_node_called_agent() -> None:
    agent = create_react_agent(Scripted(["done"]), [])
    [update] = agent.stream({"messages": [("user", "hi")]})
    assert list(update) == ["agent"]


def test_a_providers_own_tool_stands_beside_others() -> None:
    model = Scripted(["done"])
    create_agent(model, [{"type": "web_search"}, look_up]).invoke({"messages": "go"})
    assert [one.name for one in model.requests[0].tools] == ["web_search", "look_up"]


def test_an_agent_answers_several_inputs_side_by_side() -> None:
    agent = create_agent(Scripted(["a", "b"]))
    states = agent.batch([{"messages": "one"}, {"messages": "two"}], {"tags": ["t"]})
    assert [state["messages"][0].content for state in states] == ["one", "two"]
    assert sorted(state["messages"][1].content for state in states) == ["a", "b"]


CITY_SCHEMA: dict[str, Any] = {
    "title": "City",
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer", "minimum": 0}},
    "required": ["name", "people"],
}


@pytest.mark.parametrize("form", [CITY_SCHEMA, ToolStrategy(CITY_SCHEMA)])  # type: ignore[arg-type]
def test_a_json_schema_is_a_form_of_answers(form: Any) -> None:
    wrong = call("City", {"name": "Oslo", "people": -1})
    model = Scripted([wrong, GIVEN])
    state = create_agent(model, response_format=form).invoke({"messages": "Oslo?"})
    assert state["structured_response"] == {"name": "Oslo", "people": 709_000}
    assert "people" in model.requests[1].messages[-1].text
    structured = init_chat_model(Scripted([GIVEN])).with_structured_output(CITY_SCHEMA)
    assert structured.invoke("Oslo?")["name"] == "Oslo"


def test_an_answer_that_stays_wrong_is_the_error_that_programs_catch() -> None:
    with pytest.raises(StructuredOutputValidationError):
        create_agent(Scripted(["no"] * 9), response_format=City).invoke({"messages": "Oslo?"})
