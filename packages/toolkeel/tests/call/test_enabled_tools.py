"""What a model is told about: all, what is enabled now, or what it has searched for."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from tests.waiting import run
from toolkeel import (
    Agent,
    RunContext,
    RunState,
    ToolCall,
    ToolContext,
    ToolMessage,
    Toolset,
    UserMessage,
    tool,
)
from toolkeel.call.enabled_tools import EnabledTools
from toolkeel.call.tool_search import SEARCH
from toolkeel.define.tool import AnyTool
from toolkeel.errors import DuplicateToolError
from toolkeel.testing.scripted import Scripted, call


@tool
def weather(city: str) -> str:
    """Look up the weather of a city."""
    return f"sunny in {city}"


@tool
def stocks(code: str) -> str:
    """Look up the price of a share."""
    return f"{code}: 12"


def gated(name: str, enabled: Any) -> AnyTool:
    @tool(name, enabled=enabled)
    def body() -> str:
        """Do something."""
        return "done"

    return body


def names(model: Scripted) -> list[list[str]]:
    """What was offered with each request."""
    return [[item.name for item in request.tools] for request in model.requests]


def offered(offer: EnabledTools) -> list[str]:
    return [item.name for item in run(offer_now(offer))]


def offer_now(offer: EnabledTools) -> Any:
    return lambda: offer.current()


def test_all_tools_are_offered_and_it_is_the_same_object_each_time() -> None:
    offer = EnabledTools(Toolset([weather, stocks]), RunContext(), False)
    assert offered(offer) == ["weather", "stocks"]
    assert run(offer.current) is run(offer.current)


def test_only_tools_enabled_now_are_offered() -> None:
    async def later(context: ToolContext[Any]) -> bool:
        return bool(context.state.get("later"))

    state = RunContext("user")
    tools = Toolset(
        [
            weather,
            gated("off", False),
            gated("admin", lambda context: context.deps == "admin"),
            gated("later", later),
        ]
    )
    offer = EnabledTools(tools, state, False)
    assert offered(offer) == ["weather"]
    first = run(offer.current)
    assert run(offer.current) is first
    state.state["later"] = True
    assert offered(offer) == ["weather", "later"]
    assert offered(EnabledTools(tools, RunContext("admin"), False)) == ["weather", "admin"]


def test_a_tool_of_which_nobody_can_tell_whether_it_is_enabled_is_not_offered_and_does_not_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(context: ToolContext[Any]) -> bool:
        raise KeyError("role")

    model = Scripted([call("secret"), "I cannot."])
    with caplog.at_level(logging.ERROR, "toolkeel"):
        result = Agent(model, [weather, gated("secret", broken)]).run_sync("go")
    assert names(model) == [["weather"]] * 2
    [refused] = [m for m in result.messages if isinstance(m, ToolMessage)]
    assert refused.failed
    assert "secret" in caplog.text


def test_a_tool_that_is_not_offered_is_refused_when_the_model_calls_it_all_the_same() -> None:
    model = Scripted([call("off"), "I cannot."])
    result = Agent(model, [gated("off", False)]).run_sync("go")
    assert [m.kind for m in result.messages if isinstance(m, ToolMessage)] == ["disabled"]


# — search —


def found(query: str, **more: Any) -> ToolCall:
    return call(SEARCH, {"query": query, **more})


def test_a_model_that_searches_is_offered_what_it_found_from_then_on() -> None:
    model = Scripted([found("weather"), call("weather", {"city": "北京"}), "Sunny."])
    result = Agent(model, [weather, stocks], search_tools=True).run_sync("go")
    assert names(model) == [[SEARCH], [SEARCH, "weather"], [SEARCH, "weather"]]
    answers = [m.text for m in result.messages if isinstance(m, ToolMessage)]
    assert json.loads(answers[0]) == [
        {"name": "weather", "description": "Look up the weather of a city."}
    ]
    assert answers[1] == "sunny in 北京"


def test_what_was_found_before_a_run_was_saved_is_offered_when_it_goes_on() -> None:
    first = Scripted([found("weather"), "I know now."])
    result = Agent(first, [weather, stocks], search_tools=True).run_sync("go")
    saved = RunState.from_json(result.state.to_json())
    second = Scripted([found("share"), "Done."])
    agent = Agent(second, [weather, stocks], search_tools=True)
    agent.run_sync(RunState((*saved.messages, UserMessage("and now?"))))
    assert names(second) == [[SEARCH, "weather"], [SEARCH, "weather", "stocks"]]


def test_a_search_finds_no_tool_that_cannot_be_called_now() -> None:
    hidden = gated("weather_admin", lambda context: False)
    model = Scripted([found("weather something"), "Done."])
    result = Agent(model, [weather, hidden], search_tools=True).run_sync("go")
    [answer] = [m for m in result.messages if isinstance(m, ToolMessage)]
    assert [item["name"] for item in json.loads(answer.text)] == ["weather"]
    assert names(model)[1] == [SEARCH, "weather"]


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (0, 1), (-5, 1), (3, 3), (1000, 20)])
def test_a_search_finds_a_bounded_number_of_tools(limit: int, count: int) -> None:
    many = [gated(f"thing_{n}", True) for n in range(30)]
    offer = EnabledTools(Toolset(many), RunContext(), True)
    [message] = offer.tools.run_sync([ToolCall("1", SEARCH, {"query": "thing", "limit": limit})])
    assert len(json.loads(message.text)) == count


def test_a_transcript_with_a_strange_search_result_harms_nobody() -> None:
    texts = [
        "",
        "no JSON",
        "5",
        '["x"]',
        '[{"id": 1}]',
        '[{"name": "gone"}]',
        '[{"name": "weather"}]',
    ]
    messages = [ToolMessage(text, "1", SEARCH) for text in texts]
    run: RunContext[None] = RunContext()
    run.loop_state.transcript = [*messages]
    offer = EnabledTools(Toolset([weather]), run, True)
    assert offered(offer) == [SEARCH, "weather"]


def test_a_tool_of_the_users_that_is_called_like_the_search_is_refused() -> None:
    with pytest.raises(DuplicateToolError, match=SEARCH):
        EnabledTools(Toolset([gated(SEARCH, True)]), RunContext(), True)


def test_what_cannot_be_called_now_is_not_suggested_for_a_wrong_name() -> None:
    opened: list[str] = []

    @tool
    def unlock() -> str:
        """Unlock."""
        opened.append("vault")
        return "unlocked"

    vault = gated("open_vault", lambda _: bool(opened))
    model = Scripted([call("open_volt"), call("unlock"), call("open_volt"), "done"])
    result = Agent(model, [unlock, vault]).run_sync("go")
    before, _, after = [item for item in result.messages if isinstance(item, ToolMessage)]
    assert before.kind == "unknown_tool" and "open_vault" not in before.text
    assert after.kind == "unknown_tool" and "Did you mean 'open_vault'" in after.text


def test_a_wrong_name_does_not_reveal_what_a_model_has_to_search_for() -> None:
    model = Scripted([call("no_such"), call("wether"), "done"])
    result = Agent(model, [weather, stocks], search_tools=True).run_sync("go")
    for message in result.messages:
        if isinstance(message, ToolMessage):
            assert (
                message.kind == "unknown_tool" and "Find tools with search_tools." in message.text
            )
            assert "weather" not in message.text and "stocks" not in message.text
    result = Agent(Scripted([call("no_such"), "done"]), [weather, stocks]).run_sync("go")
    assert "weather" in str(result.messages[2].text)
