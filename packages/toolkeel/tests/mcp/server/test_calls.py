"""A call of a client: its run, its progress, its approval, its end."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import mcp_types as types
import pytest
from mcp.client.client import Client as Peer
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from tests.mcp.peers import OLD_PEER, PEER
from tests.mcp.serving import both_eras, call, person, talk, text
from tests.waiting import until
from toolkeel import Injected, RunContext, ToolContext, tool
from toolkeel.events import Event
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.mcp.server.tool_server import ToolServer


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


class City(BaseModel):
    """A city."""

    name: str
    people: int


@tool
def find(name: str, people: int = 1) -> City:
    """Find a city."""
    return City(name=name, people=people)


def test_a_mistake_of_the_program_fails_the_call_and_not_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool
    def needs(user: Annotated[str, Injected]) -> str:
        """Need somebody."""
        return user

    server = ToolServer([needs, echo])

    async def test(peer: Peer) -> None:
        assert (await peer.call_tool("needs", {})).is_error
        assert text(await peer.call_tool("echo", {"text": "a"})) == "a"

    talk(server, test)
    assert "user" in caplog.text


def test_each_call_has_the_run_that_was_made_for_its_request() -> None:
    events: list[Event] = []

    @tool
    def whoami(user: Annotated[str, Injected], context: ToolContext[str]) -> str:
        """Say who calls."""
        return f"{user} of {context.deps}"

    def make(request: Any) -> RunContext[Any]:
        return RunContext(
            request.protocol_version, inject={"user": "李"}, listeners=(events.append,)
        )

    assert text(call(ToolServer([whoami], run=make), "whoami")) == "李 of 2026-07-28"
    assert [event.type for event in events] == ["tool_started", "tool_finished"]


@both_eras
def test_progress_rises_keeps_the_order_and_ends_before_the_result(era: str) -> None:
    @tool
    async def work(context: ToolContext) -> str:
        """Work."""
        for done in (1, 3, 2, 5):
            context.progress(f"at {done}", done, 5)
            await asyncio.sleep(0.06)
        context.progress("last", 6, 6)
        return "done"

    seen: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async def test(peer: Peer) -> int:
        await peer.call_tool("work", {}, progress_callback=note)
        return len(seen)

    at_result = talk(ToolServer([work]), test, era)
    values = [each[0] for each in seen]
    assert values == sorted(set(values)) and values[-1] == 6 and 2 not in values
    assert at_result == len(seen) and seen[-1] == (6, 6, "last")


@both_eras
def test_a_call_that_its_client_gives_up_is_stopped(era: str) -> None:
    stopped: list[str] = []

    @tool(timeout=None)
    async def wait() -> str:
        """Wait."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append("async")
            raise
        return "never"

    @tool(timeout=None)
    def wait_in_thread(context: ToolContext) -> str:
        """Wait."""
        import time

        for _ in range(6000):
            if context.cancel.cancelled:
                stopped.append("thread")
                break
            time.sleep(0.01)
        return "never"

    async def test(peer: Peer) -> None:
        for name in ("wait", "wait_in_thread"):
            with pytest.raises(MCPError):
                await peer.call_tool(name, {}, read_timeout_seconds=0.3)
        await until(lambda: len(stopped) == 2)

    talk(ToolServer([wait, wait_in_thread]), test, era)
    assert stopped == ["async", "thread"]


def ask_first(approve: bool | None = None) -> ToolServer:
    @tool(approval=True)
    def delete(path: str) -> str:
        """Delete a file."""
        return f"deleted {path}"

    return ToolServer([delete])


@both_eras
def test_a_call_that_needs_approval_is_put_to_the_clients_person(era: str) -> None:
    asked: list[Any] = []

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params)
        return types.ElicitResult(action="accept", content={"approve": True})

    result = call(ask_first(), "delete", {"path": "甲\u202e"}, era, elicitation_callback=elicit)
    assert text(result) == "deleted 甲\u202e"
    [params] = asked
    assert "delete" in params.message and "甲\\u202e" in params.message


@both_eras
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"action": "accept", "content": {"approve": False, "reason": "not mine"}}, "not mine"),
        ({"action": "accept", "content": {}}, "does not fit"),
        ({"action": "decline"}, "said no"),
        ({"action": "cancel"}, "did not decide"),
    ],
)
def test_anything_but_a_clear_yes_means_no(answer: dict[str, Any], told: str, era: str) -> None:
    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult.model_validate(answer)

    result = call(ask_first(), "delete", {"path": "a"}, era, elicitation_callback=elicit)
    assert result.is_error and told in text(result)


@both_eras
def test_a_client_without_a_person_gets_a_refusal(era: str) -> None:
    result = call(ask_first(), "delete", {"path": "a"}, era)
    assert result.is_error and "cannot ask a person" in text(result)


@both_eras
@pytest.mark.parametrize("words", [PEER, OLD_PEER])
def test_the_form_of_another_servers_tool_is_shown_to_the_clients_person(
    era: str, words: list[str]
) -> None:
    other = MCPServer(words, name="other", trust=True)
    server = ToolServer(other.tools())
    filled = person(action="accept", content={"city": "東京", "days": 2})
    assert text(call(server, "ask", era=era, **filled)) == "accept {'city': '東京', 'days': 2}"
    assert text(call(server, "ask", era=era, **person(action="decline"))) == "decline None"
    assert text(call(server, "ask", era=era, **person(action="cancel"))) == "cancel None"


def test_progress_of_another_servers_tool_reaches_the_client() -> None:
    server = ToolServer(MCPServer(PEER, name="other", trust=True).tools())
    told: list[str | None] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def test(peer: Peer) -> None:
        await peer.call_tool("steps", {}, progress_callback=note)

    talk(server, test)
    assert told[-1] == "step 2"
