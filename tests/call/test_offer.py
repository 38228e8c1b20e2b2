"""Which tools a model is told about in each turn."""

from __future__ import annotations

from tests.waiting import run as run_async
from toolwright import Agent, Run, ToolContext, tool
from toolwright.call.offer import Offer
from toolwright.call.toolset import Toolset
from toolwright.testing.scripted import Scripted, call


@tool
def public() -> str:
    """For everybody."""
    return "public"


@tool(enabled=lambda context: context.context == "admin")
def secret() -> str:
    """For administrators."""
    return "secret"


@tool(enabled=False)
def off() -> str:
    """For nobody."""
    return "off"


def offered(user: str) -> list[str]:
    async def now() -> list[str]:
        return [t.name for t in await Offer(Toolset([public, secret, off]), Run(user), False).now()]

    return run_async(now)


def test_tools_that_are_not_enabled_are_not_offered():
    assert offered("admin") == ["public", "secret"]
    assert offered("guest") == ["public"]


def test_a_tool_that_is_not_offered_cannot_be_called_either():
    model = Scripted([[call("secret"), call("off")], "x"])
    result = Agent(model, [public, secret, off]).run_sync("go", context="guest")
    assert [m.kind for m in result.messages[2:4]] == ["disabled", "disabled"]


def test_what_is_offered_may_change_from_turn_to_turn():
    @tool
    def promote(context: ToolContext) -> str:
        """Become an administrator."""
        context.run.context = "admin"
        return "done"

    model = Scripted([call("promote"), call("secret"), "x"])
    result = Agent(model, [promote, secret]).run_sync("go", context="guest")
    assert [[t.name for t in r.tools] for r in model.requests] == [
        ["promote"],
        ["promote", "secret"],
        ["promote", "secret"],
    ]
    assert result.messages[4].text == "secret"


def test_with_search_only_what_was_found_is_offered():
    tools = [tool(f"tool_{n}", description=f"thing {n}")(lambda: "x") for n in range(30)]
    model = Scripted([call("search_tools", {"query": "thing 7", "limit": 1}), call("tool_7"), "x"])
    result = Agent(model, tools, search_tools=True).run_sync("go")
    assert [len(request.tools) for request in model.requests] == [1, 2, 2]
    assert '"name":"tool_7"' in result.messages[2].text and result.messages[4].text == "x"
