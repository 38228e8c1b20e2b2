"""What a tool may ask of its client, in both eras and over any number of rounds."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client as Peer
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from tests.mcp.serving import both_eras, call, deprecations, person, talk, text
from tests.waiting import until
from toolkeel import AssistantMessage, Image, ToolContext, UserMessage, tool
from toolkeel._records.tickets import Ticket
from toolkeel.errors import CallError
from toolkeel.mcp.server.calling import Client, MissingCapability, approval_question
from toolkeel.mcp.server.tool_server import ToolServer

pytestmark = deprecations
MODERN = "2026-07-28"


class Name(BaseModel):
    """A form."""

    name: str


@tool
async def greet(client: Client) -> str:
    """Greet whoever is there."""
    runs.append("greet")
    found = await client.elicit("Who are you?", Name, key="who")
    return f"{found.action}: {found.content.name if found.content else '-'}"


runs: list[str] = []


@both_eras
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"action": "accept", "content": {"name": "李"}}, "accept: 李"),
        ({"action": "decline"}, "decline: -"),
        ({"action": "cancel"}, "cancel: -"),
    ],
)
def test_a_person_fills_in_a_form_declines_or_leaves_it(
    answer: dict[str, Any], told: str, era: str
) -> None:
    runs.clear()
    assert text(call(ToolServer([greet]), "greet", era=era, **person(**answer))) == told
    assert runs == ["greet"]  # the body ran once, whatever the number of rounds


@both_eras
def test_an_answer_that_does_not_fit_the_form_is_not_taken(era: str) -> None:
    answer = person(action="accept", content={"name": 5})
    result = call(ToolServer([greet]), "greet", era=era, **answer)
    assert result.is_error and "does not fit" in text(result)


@both_eras
def test_three_questions_at_once_are_answered_together(era: str) -> None:
    @tool
    async def ask(client: Client) -> str:
        """Ask."""
        name, reply, roots = await asyncio.gather(
            client.elicit("Who?", Name), client.sample("Hi", max_tokens=5), client.roots()
        )
        return f"{name.content} {reply.text} {roots}"

    async def sample(context: Any, params: Any) -> types.CreateMessageResult:
        assert params.max_tokens == 5
        content = types.TextContent(text="hello")
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///a", name="A")])

    answers = person(action="accept", content={"name": "x"})
    result = call(
        ToolServer([ask]), "ask", era=era, **answers, sampling_callback=sample,
        list_roots_callback=roots,
    )  # fmt: skip
    assert text(result) == "name='x' hello {'file:///a': 'A'}"


@both_eras
def test_a_model_is_shown_a_whole_conversation(era: str) -> None:
    seen: list[Any] = []

    @tool
    async def ask(client: Client) -> str:
        """Ask."""
        said = [
            UserMessage((Image(b"\x89PNG\r\n\x1a\n"),)),
            AssistantMessage("a"),
            UserMessage("b"),
        ]
        reply = await client.sample(said, max_tokens=5, system="be kind")
        return f"{reply.model} {reply.finish_reason}"

    async def sample(context: Any, params: Any) -> types.CreateMessageResult:
        seen.append(params)
        content = types.TextContent(text="hello")
        return types.CreateMessageResult(
            role="assistant", content=content, model="m", stop_reason="maxTokens"
        )

    assert text(call(ToolServer([ask]), "ask", era=era, sampling_callback=sample)) == "m length"
    [params] = seen
    assert params.system_prompt == "be kind"
    assert [m.role for m in params.messages] == ["user", "assistant", "user"]


def test_a_client_that_cannot_be_asked_is_told_what_it_lacks() -> None:
    result = call(ToolServer([greet]), "greet", era="legacy")
    assert result.is_error and "elicitation" in text(result)
    with pytest.raises(MCPError) as caught:
        call(ToolServer([greet]), "greet")
    assert caught.value.error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert caught.value.error.data == {"requiredCapabilities": {"elicitation": {}}}


@both_eras
def test_a_tool_can_do_without_what_its_client_cannot(era: str) -> None:
    @tool
    async def ask(client: Client) -> str:
        """Ask."""
        try:
            await client.sample("Hi", max_tokens=5)
        except MissingCapability:
            return f"alone, {client.supports('elicitation')}"
        return "never"

    assert text(call(ToolServer([ask]), "ask", era=era)) == "alone, False"


@both_eras
def test_the_clock_stands_still_while_a_person_is_asked_and_goes_on_after(era: str) -> None:
    @tool(timeout=0.3)
    async def ask(stay: bool, client: Client, context: ToolContext) -> str:
        """Ask."""
        found = await client.elicit("Who?", Name)
        await asyncio.sleep(60 if stay else 0.01)
        assert context.time_left is not None and 0 < context.time_left <= 0.3
        return f"{found.content}"

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        await asyncio.sleep(0.6)
        return types.ElicitResult(action="accept", content={"name": "slow"})

    server = ToolServer([ask])
    quick = call(server, "ask", {"stay": False}, era, elicitation_callback=elicit)
    assert text(quick) == "name='slow'"
    late = call(server, "ask", {"stay": True}, era, elicitation_callback=elicit)
    assert late.is_error and "did not finish within 0.3 seconds" in text(late)


@both_eras
def test_questions_of_one_name_are_told_apart(era: str) -> None:
    asked: list[str] = []

    @tool
    async def ask(client: Client) -> str:
        """Ask."""
        first = await client.elicit("first", Name)
        second = await client.elicit("second", Name)
        return f"{first.content} {second.content}"

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"name": params.message})

    result = call(ToolServer([ask]), "ask", era=era, elicitation_callback=elicit)
    assert asked == ["first", "second"] and text(result) == "name='first' name='second'"


def test_a_form_must_be_flat() -> None:
    class Nested(BaseModel):
        who: Name

    @tool
    async def ask(kind: str, client: Client) -> str:
        """Ask."""
        form: Any = Nested if kind == "model" else Nested.model_json_schema()
        await client.elicit("?", form)
        return "never"

    for kind in ("model", "schema"):
        yes = person(action="accept", content={})
        assert call(ToolServer([ask]), "ask", {"kind": kind}, **yes).is_error


def test_secrets_are_asked_for_at_an_address() -> None:
    @tool
    async def login(client: Client) -> str:
        """Log in."""
        return (await client.elicit_url("Sign in", "https://example.org/in")).action

    result = call(ToolServer([login]), "login", **person(action="accept"))
    assert text(result) == "accept"


def test_a_tool_that_needs_a_client_says_so_where_there_is_none() -> None:
    with pytest.raises(CallError, match="Model Context Protocol"):
        greet.invoke({})


# — logs —


@both_eras
def test_a_log_is_told_from_the_wanted_level_on(era: str) -> None:
    heard: list[Any] = []

    @tool
    async def work(client: Client) -> str:
        """Work."""
        for level in ("debug", "warning", "error"):
            await client.log(level, {"at": level}, "worker")  # type: ignore[arg-type]
        return "done"

    async def note(params: Any) -> None:
        heard.append(params.level)

    async def test(peer: Peer) -> None:
        if era == "legacy":
            await peer.set_logging_level("warning")
        await peer.call_tool("work", {})
        await until(lambda: len(heard) == 2)

    options: dict[str, Any] = {"logging_callback": note}
    if era != "legacy":
        options["log_level"] = "warning"
    talk(ToolServer([work]), test, era, **options)
    assert heard == ["warning", "error"]


# — rounds —


def test_what_a_call_would_change_stands_below_its_arguments() -> None:
    ticket = Ticket("i", "c", "edit", {"path": "诗"}, "d", 0.0, "rule: ask edit\n-霜\n+雪")
    assert approval_question(ticket).endswith('"path": "诗"\n}\n\n-霜\n+雪\n\n(rule: ask edit)')
