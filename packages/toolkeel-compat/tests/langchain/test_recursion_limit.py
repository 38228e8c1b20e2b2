"""``recursion_limit`` ends runs where LangGraph ends them, and a thread goes on afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    EmptyInputError,
    GraphRecursionError,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    after_model,
    before_agent,
    before_model,
    create_agent,
    create_react_agent,
    interrupt,
    tool,
)

ADA = {"configurable": {"thread_id": "ada"}}


@tool
def look_up(city: str) -> str:
    """Look a city up."""
    return "709000"


@tool(return_direct=True)
def tell(city: str) -> str:
    """Tell the user about a city."""
    return "many"


def turns(count: int) -> list[Any]:
    return [call("look_up", {"city": str(n)}) for n in range(count)]


@before_agent
def begin(state: Any, runtime: Any) -> None:
    """Do nothing."""


@before_model
def ahead(state: Any, runtime: Any) -> None:
    """Do nothing."""


@after_model
def behind(state: Any, runtime: Any) -> None:
    """Do nothing."""


@pytest.mark.parametrize("make", [create_agent, create_react_agent])
def test_an_agent_runs_sixty_turns_by_default(make: Any) -> None:
    state = make(Scripted([*turns(60), "done"]), [look_up]).invoke({"messages": "go"})
    assert state["messages"][-1].text == "done"


@pytest.mark.parametrize(
    ("middleware", "limit", "requests"),
    [
        ((), 1, 1),
        ((), 2, 1),
        ((), 3, 2),
        ((), 101, 51),
        ((ahead,), 3, 1),
        ((ahead,), 5, 2),
        ((ahead, behind), 5, 1),
        ((ahead, behind), 6, 2),
        ((begin,), 3, 1),
        ((begin,), 4, 2),
    ],
)
def test_a_limit_counts_requests_calls_and_hooks(
    middleware: Any, limit: int, requests: int
) -> None:
    model = Scripted(turns(99))
    agent = create_agent(model, [look_up], middleware=middleware)
    above = (
        rf"limit of {limit} reached .* after {requests} model requests: give a limit above {limit}"
    )
    with pytest.raises(GraphRecursionError, match=above):
        agent.invoke({"messages": "go"}, {"recursion_limit": limit})
    assert len(model.requests) == requests


def test_requests_of_an_inner_agent_do_not_count_for_the_outer_one() -> None:
    inner = create_agent(Scripted([*turns(5), "inner"]), [look_up])

    @tool
    def ask() -> str:
        """Ask the other agent."""
        return str(inner.invoke({"messages": "go"})["messages"][-1].text)

    outer = create_agent(Scripted([call("ask", {}), "done"]), [ask])
    state = outer.invoke({"messages": "go"}, {"recursion_limit": 4})
    assert [one.text for one in state["messages"]][-2:] == ["inner", "done"]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        create_agent(Scripted(["hi"])).invoke({"messages": "go"}, {"recursion_limit": limit})


def test_a_thread_at_its_limit_goes_on_with_no_input() -> None:
    model = Scripted([*turns(2), "done"])
    agent = create_agent(model, [look_up], checkpointer=InMemorySaver())
    with pytest.raises(GraphRecursionError):
        agent.invoke({"messages": "go"}, {**ADA, "recursion_limit": 2})
    state = agent.invoke(None, ADA)
    assert [one.text for one in state["messages"]] == ["go", "", "709000", "", "709000", "done"]
    assert len(model.requests) == 3


@pytest.mark.parametrize("script", [["done"], [call("tell", {"city": "Oslo"})]])
def test_no_input_for_a_thread_at_its_end_gives_its_state_without_a_request(script: Any) -> None:
    model = Scripted([*script, "again"])
    agent = create_agent(model, [tell], checkpointer=InMemorySaver())
    state = agent.invoke({"messages": "go"}, ADA)
    assert agent.invoke(None, ADA) == state
    [streamed] = agent.stream(None, ADA, stream_mode="values")
    assert streamed == state and len(model.requests) == 1


def test_no_input_for_a_thread_that_waits_tells_again_what_it_waits_for() -> None:
    @tool
    def book(hotel: str) -> str:
        """Book a hotel."""
        return str(interrupt({"who": hotel}))

    for middleware in ([], [HumanInTheLoopMiddleware({"book": True})]):
        model = Scripted([call("book", {"hotel": "Ritz"}), "done"])
        options: Any = {"checkpointer": InMemorySaver(), "middleware": middleware}
        agent = create_agent(model, [book], **options)
        asked = agent.invoke({"messages": "go"}, ADA)["__interrupt__"]
        assert agent.invoke(None, ADA)["__interrupt__"] == asked
        assert len(model.requests) == 1


def test_a_run_without_input_and_without_a_thread_is_refused() -> None:
    with pytest.raises(EmptyInputError, match="None continues a thread"):
        create_agent(Scripted(["hi"])).invoke(None)
    with pytest.raises(EmptyInputError, match="a thread that has begun"):
        create_agent(Scripted(["hi"]), checkpointer=InMemorySaver()).invoke(None, ADA)
