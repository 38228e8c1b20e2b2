"""Tools that are known only when a run begins."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkeel import Agent, Rules, RunContext, SetupError, ToolMessage, Toolset, tool
from toolkeel.call.steps.label_sources import WORDS
from toolkeel.call.tool_sources import ToolSource, gather_tools, is_tool_source, static_tools
from toolkeel.define.tool import AnyTool
from toolkeel.effects import acts
from toolkeel.errors import DuplicateToolError, OutputError
from toolkeel.testing.scripted import Scripted, call


def named(name: str, answer: str = "done") -> AnyTool:
    @tool(name)
    def body() -> str:
        """Do something."""
        return answer

    return body


class Simple:
    """Gives the same tools each time."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.asked = 0

    def get_tools(self) -> list[AnyTool]:
        self.asked += 1
        return [named(name) for name in self.names]


class ByUser:
    """Gives tools by who asks, asynchronously."""

    async def get_tools(self, run: RunContext[Any]) -> Iterable[AnyTool]:
        return (named(f"tool_of_{run.deps}"),)


def offered(model: Scripted) -> list[list[str]]:
    return [[item.name for item in request.tools] for request in model.requests]


def test_a_provider_is_asked_once_when_a_run_begins_and_its_tools_run() -> None:
    provider = Simple("a", "b")
    model = Scripted([call("b"), call("a"), "Done."] * 2)
    agent = Agent(model, [named("first"), provider, named("last")])
    for asked in (1, 2):
        result = agent.run_sync("go")
        assert [m.kind for m in result.messages if isinstance(m, ToolMessage)] == [None, None]
        assert provider.asked == asked
    assert offered(model) == [["first", "a", "b", "last"]] * 6


def test_a_provider_may_choose_by_the_run() -> None:
    model = Scripted(["Hi.", "Hi."])
    agent = Agent(model, [ByUser()])
    agent.run_sync("go", deps="ada")
    agent.run_sync("go", deps="bob")
    assert offered(model) == [["tool_of_ada"], ["tool_of_bob"]]


def test_rules_and_steps_of_the_agent_hold_for_what_a_provider_brings() -> None:
    seen: list[str] = []

    async def look(prepared: Any, context: Any, proceed: Any) -> object:
        seen.append(prepared.tool.name)
        return await proceed(prepared)

    model = Scripted([[call("a"), call("b")], "Done."])
    agent = Agent(model, [Simple("a", "b")], steps=[look], rules=Rules(deny=["b"]))
    result = agent.run_sync("go")
    assert [m.kind for m in result.messages if isinstance(m, ToolMessage)] == [None, "denied"]
    assert seen == ["a", "b"]


def test_a_set_that_a_provider_gives_keeps_its_steps_and_may_have_no_rules() -> None:
    async def shout(prepared: Any, context: Any, proceed: Any) -> object:
        return str(await proceed(prepared)).upper()

    class Gives:
        def __init__(self, tools: Toolset) -> None:
            self.tools = tools

        def get_tools(self) -> Toolset:
            return self.tools

    agent = Agent(Scripted([call("a"), "Done."]), [Gives(Toolset([named("a")], steps=[shout]))])
    assert [m.text for m in agent.run_sync("go").messages if isinstance(m, ToolMessage)] == ["DONE"]
    ruled = Toolset([named("a")], rules=Rules(deny=["a"]))
    with pytest.raises(SetupError, match="rules"):
        Agent(Scripted(["Done."]), [Gives(ruled)]).run_sync("go")


def test_two_sources_of_one_name_are_refused_with_both_owners() -> None:
    with pytest.raises(DuplicateToolError, match="'a'"):
        Agent(Scripted(["Done."]), [named("a"), Simple("a")]).run_sync("go")
    with pytest.raises(DuplicateToolError, match="'a'"):
        Agent(Scripted(["Done."]), [Simple("a"), Simple("a")]).run_sync("go")


@pytest.mark.parametrize("given", [None, 5, named("x")])
def test_a_provider_that_gives_no_tools_is_named(given: Any) -> None:
    class Odd:
        def get_tools(self) -> Any:
            return given

    with pytest.raises(SetupError, match=r"Odd\.get_tools"):
        Agent(Scripted(["Done."]), [Odd()]).run_sync("go")


class Down:
    """A provider that cannot be reached."""

    def __init__(self, required: bool = False) -> None:
        self.required = required

    async def get_tools(self) -> list[AnyTool]:
        raise ConnectionError("the server is down")


def test_a_provider_that_fails_is_left_out_and_told_of(caplog: pytest.LogCaptureFixture) -> None:
    steps = Scripted([call("a"), "Done."])
    result = Agent(steps, [Down(), Simple("a"), Simple("b")]).run_sync("go")
    assert result.output == "Done."
    assert [tool.name for tool in steps.requests[0].tools] == ["a", "b"]
    assert "Down object" in caplog.text and "the server is down" in caplog.text


def test_a_provider_that_must_be_there_ends_the_run_by_what_it_raised() -> None:
    for others in ([], [Simple("a")]):
        with pytest.raises(ConnectionError, match="down"):
            Agent(Scripted(["Done."]), [Down(required=True), *others]).run_sync("go")


def test_providers_are_asked_side_by_side_and_their_tools_stand_in_order() -> None:
    class Meeting:
        """Gives its tool only when the other has been asked, too."""

        def __init__(self, name: str) -> None:
            self.name, self.other = name, self

        async def get_tools(self) -> list[AnyTool]:
            self.here.set()
            await self.other.here.wait()
            return [named(self.name)]

    async def main() -> list[str]:
        first, second = Meeting("first"), Meeting("second")
        first.other, second.other = second, first
        for each in (first, second):
            each.here = asyncio.Event()  # type: ignore[attr-defined]
        tools = await gather_tools([first, named("known"), second], Toolset(), RunContext())
        return list(tools.names)

    assert asyncio.run(main()) == ["first", "known", "second"]


KINDS = ("gives", "gives", "sync", "fails", "fails at once", "sync fails", "must", "wrong", "known")


class Asked:
    """One of several providers: answers when it is its turn, or at once."""

    def __init__(self, number: int, kind: str, turns: list[asyncio.Event]) -> None:
        self.kind, self.number, self.required = kind, number, kind == "must"
        self.turn, self.turns = turns[number], turns
        self.was_asked = threading.Event()
        self.began = self.ended = False
        self.prefix = f"p{number}_"

    def get_tools(self) -> Any:
        self.was_asked.set()
        if self.kind == "sync fails":
            raise ConnectionError(f"down {self.number}")
        return self.answer() if self.kind == "sync" else self.later()

    def answer(self) -> list[AnyTool]:
        return [named("same"), named(f"own{self.number}")]

    async def later(self) -> Any:
        self.began = True
        try:
            if self.kind != "fails at once":
                await self.turn.wait()
            if self.kind in ("fails", "fails at once", "must"):
                raise ConnectionError(f"down {self.number}")
            return None if self.kind == "wrong" else self.answer()
        finally:
            self.ended = True


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=6).flatmap(
        lambda kinds: st.tuples(
            st.just(kinds), st.permutations(range(len(kinds))), st.sampled_from((None, 0, 1, 2))
        )
    )
)
def test_whatever_providers_do_all_are_asked_before_any_must_answer(
    case: tuple[list[str], list[int], int | None],
) -> None:
    """They answer in any order, fail, or are given up after some of them have answered."""
    kinds, order, stop = case

    async def main() -> None:
        turns = [asyncio.Event() for _ in kinds]
        asked = [Asked(n, kind, turns) for n, kind in enumerate(kinds)]
        sources = [named(f"own{p.number}") if p.kind == "known" else p for p in asked]
        work = asyncio.ensure_future(gather_tools(sources, Toolset(), RunContext()))
        providers = [each for each in asked if each.kind != "known"]
        for each in providers:
            await asyncio.to_thread(each.was_asked.wait, 60)
        waits = [p for p in providers if p.kind in ("gives", "fails", "must", "wrong")]
        for number in order[:stop]:
            assert not work.done() or all(p.turn.is_set() for p in waits)
            turns[number].set()
            await asyncio.sleep(0)
        if stop is not None and not all(p.turn.is_set() for p in waits):
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            assert all(p.ended or not p.began for p in waits)  # nothing is left running
            return
        if {"must", "wrong"} & set(kinds):
            first = next(kind for kind in kinds if kind in ("must", "wrong"))
            with pytest.raises(ConnectionError if first == "must" else SetupError):
                await work
            return
        names = list((await work).names)
        gave = [p for p in asked if p.kind in ("gives", "sync", "known")]
        doubled = sum(p.kind != "known" for p in gave) > 1
        expected = [
            name
            for p in gave
            for name in (["same"] if p.kind != "known" else []) + [f"own{p.number}"]
        ]
        if doubled:
            prefixes = iter(p.prefix for p in gave if p.kind != "known")
            expected = [next(prefixes) + n if n == "same" else n for n in expected]
        assert names == expected

    asyncio.run(main())


def test_known_tools_are_checked_when_the_agent_is_made() -> None:
    with pytest.raises(DuplicateToolError):
        Agent(Scripted([]), [named("a"), named("a"), Simple("b")])


def test_what_is_a_provider_and_what_is_not() -> None:
    def function() -> None:
        """Do."""

    assert is_tool_source(Simple()) and isinstance(Simple(), ToolSource)
    assert not any(map(is_tool_source, (named("a"), function, Toolset([named("a")]))))
    tools = Toolset([named("a")])
    assert static_tools(tools) == (tools, ())
    known, sources = static_tools([named("a"), Simple("b")])
    assert known.names == ("a",) and len(sources) == 2


def test_a_provider_with_options_of_its_own_is_not_given_the_run() -> None:
    class ByKeyword:
        def get_tools(self, *, fresh: bool = False, **more: Any) -> list[AnyTool]:
            return [named(f"keyword_{fresh}")]

    class ByPosition:
        def get_tools(self, fresh: bool = False) -> list[AnyTool]:
            return [named(f"position_{fresh}")]

    class ByName:
        def get_tools(self, run: RunContext[Any] | None = None) -> list[AnyTool]:
            return [named(f"run_{run is not None}")]

    model = Scripted(["Done."])
    Agent(model, [ByKeyword(), ByPosition(), ByName()]).run_sync("go")
    assert offered(model) == [["keyword_False", "position_False", "run_True"]]


def test_a_provider_that_does_not_say_it_must_be_there_need_not_be() -> None:
    class Quiet:
        async def get_tools(self) -> list[AnyTool]:
            raise OSError("gone")

    assert Agent(Scripted(["Done."]), [Quiet(), Simple("a")]).run_sync("go").output == "Done."


class Growing:
    """Gives one more tool each time it is asked.

    Args:
        changes: Its attribute of that name.
    """

    def __init__(self, changes: object) -> None:
        self.asked = 0
        self.fails = False
        if changes is not None:
            self.changes = changes

    def get_tools(self) -> list[AnyTool]:
        if self.fails:
            raise OSError("gone")
        self.asked += 1
        return [named(f"a{number}") for number in range(self.asked)]


def test_a_source_whose_tools_change_is_asked_before_each_request_and_others_once() -> None:
    growing, still = Growing(True), Simple("b")
    model = Scripted([call("a0"), call("a1"), "Done."])
    result = Agent(model, [growing, still]).run_sync("go")
    assert offered(model) == [["a0", "b"], ["a0", "a1", "b"], ["a0", "a1", "a2", "b"]]
    assert not any(m.failed for m in result.messages if isinstance(m, ToolMessage))
    assert still.asked == 1


def test_a_source_with_a_version_is_asked_again_when_that_is_another() -> None:
    source = Growing(1)

    @tool
    def install() -> str:
        """Install."""
        source.changes = 2
        return "done"

    model = Scripted([call("a0"), call("install"), call("a1"), "Done."])
    Agent(model, [source, install]).run_sync("go")
    assert source.asked == 2
    assert [len(names) for names in offered(model)] == [2, 2, 3, 3]


def test_what_a_tool_that_appears_during_a_run_is_said_to_do_is_a_strangers_text() -> None:
    source = Growing(1)

    @tool(effects=acts("to"))
    def send(to: str) -> str:
        """Send a mail."""
        return "sent"

    @tool
    def install() -> str:
        """Install."""
        source.changes = 2
        return "done"

    def get_tools() -> list[AnyTool]:
        source.asked += 1
        described = replace(named("poisoned"), metadata={WORDS: lambda: "a server"})
        return [described] if source.changes == 2 else []

    source.get_tools = get_tools  # type: ignore[method-assign]
    turns = [call("install"), call("send", {"to": "eve@evil.example"}), "Done."]
    [ticket] = Agent(Scripted(turns), [source, install, send]).run_sync("go").pending
    assert ticket.labels == ("stranger: a server (what its tools are said to do)",)


@pytest.mark.parametrize("required", [True, False])
def test_a_source_that_fails_later_keeps_its_tools_unless_it_is_required(
    required: bool, caplog: pytest.LogCaptureFixture
) -> None:
    source = Growing(True)
    source.required = required  # type: ignore[attr-defined]

    @tool
    def break_it() -> str:
        """Break."""
        source.fails = True
        return "done"

    model = Scripted([call("break_it"), call("a0"), "Done."])
    agent = Agent(model, [source, break_it])
    if required:
        with pytest.raises(OSError, match="gone"):
            agent.run_sync("go")
        return
    agent.run_sync("go")
    assert offered(model)[1:] == [["a0", "break_it"]] * 2
    assert "its tools stay as they were" in caplog.text


def test_an_inner_run_and_a_resumed_run_ask_again_too() -> None:
    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    inner_source, source = Growing(True), Growing(True)
    inner = Scripted([call("a0"), "Inner."])
    model = Scripted([call("ask", {"input": "?"}), call("pay"), call("a2"), "Done."])
    agent = Agent(
        model, [source, pay, Agent(inner, [inner_source], name="ask").as_tool("ask", "Ask.")]
    )
    first = agent.run_sync("go")
    assert offered(inner) == [["a0"], ["a0", "a1"]]
    state = first.state
    again = agent.run_sync(state, decisions=[first.pending[0].approve()])
    assert again.output == "Done." and source.asked >= 4
    assert "a2" in offered(model)[2] and len(offered(model)[3]) > len(offered(model)[2])


def test_corrections_of_an_answer_are_counted_over_tools_that_change() -> None:
    model = Scripted(["no number"] * 20)
    agent = Agent(model, [Growing(True)], output_type=int)
    with pytest.raises(OutputError):
        agent.run_sync("go")
    assert len(model.requests) < 10
