"""Pydantic AI's own tools run here, and ours run there: against the installed package."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from tests.shared import peer
from toolkeel import (
    Agent,
    RunContext,
    SetupError,
    ToolCall,
    ToolContext,
    ToolError,
    ToolMessage,
    Toolset,
)
from toolkeel import tool as our_tool
from toolkeel.content import Audio, Data, File, Image, Text
from toolkeel.define.options import external
from toolkeel.testing.scripted import Scripted, call

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ai() -> Any:
    return peer("pydantic_ai")


@pytest.fixture(scope="module")
def bridge(ai: Any) -> Any:
    return peer("toolkeel_compat.bridges.pydantic_ai_tools")


def answer(tool: Any, arguments: Any, run: RunContext[Any] | None = None) -> ToolMessage:
    [message] = Toolset([tool]).run_sync([ToolCall("c1", tool.name, arguments)], run)
    return message


class Row(BaseModel):
    """A row, whose model makes more of the words than its schema says."""

    day: datetime.date
    word: str

    @field_validator("word")
    @classmethod
    def lower(cls, value: str) -> str:
        if value == "forbidden":
            raise ValueError("not this word")
        return value.lower()


def test_their_tools_of_every_kind_run_here(ai: Any, bridge: Any) -> None:
    def plain(word: str, times: int = 1) -> str:
        """Say a word.

        Args:
            word: Which.
        """
        return word * times

    async def later(word: str, *rest: str, times: int = 1) -> str:
        await asyncio.sleep(0)
        return word * times + "".join(rest)

    def typed(row: Row) -> str:
        assert isinstance(row, Row)
        return f"{row.day.year} {row.word}"

    ours = bridge.from_pydantic_ai(ai.Tool(plain))
    assert (ours.name, ours.description) == ("plain", "Say a word.")
    assert ours.parameters["properties"]["word"]["description"] == "Which."
    assert answer(ours, {"word": "茶", "times": 2}).content == "茶茶"
    assert answer(ours, {"word": 7}).kind == "invalid_arguments"
    ours = bridge.from_pydantic_ai(ai.Tool(later))
    assert answer(ours, {"word": "a", "rest": ["b", "c"]}).content == "abc"
    ours = bridge.from_pydantic_ai(ai.Tool(typed))
    assert answer(ours, {"day": "2026-01-02", "word": "TEA"}).content == "2026 tea"
    refused = answer(ours, {"day": "2026-01-02", "word": "forbidden"})
    assert refused.status == "error"
    assert "word" in refused.text


def test_their_context_retries_and_returns_come_along(ai: Any, bridge: Any) -> None:
    def act(ctx: Any, how: str) -> Any:
        """Act."""
        if how == "retry":
            raise ai.ModelRetry("try another")
        if how == "crash":
            raise RuntimeError("secret")
        if how == "return":
            return ai.ToolReturn(return_value="shown", metadata={"kept": 1})
        return f"{ctx.deps} {ctx.tool_name} {ctx.tool_call_id}"

    act.__annotations__ = {"ctx": ai.RunContext[Any], "how": str}
    ours = bridge.from_pydantic_ai(ai.Tool(act))
    assert list(ours.parameters["properties"]) == ["how"]
    assert answer(ours, {"how": "well"}, RunContext("me")).content == "me act c1"
    retried = answer(ours, {"how": "retry"})
    assert (retried.content, retried.kind) == ("try another", "tool_error")
    shown = answer(ours, {"how": "return"})
    assert (shown.content, shown.artifact) == ("shown", {"kept": 1})
    crashed = answer(ours, {"how": "crash"})
    assert crashed.kind == "crashed"
    assert "secret" not in crashed.text


def test_their_options_come_along_or_are_refused(ai: Any, bridge: Any) -> None:
    def act() -> str:
        """Act."""
        return "acted"

    made = ai.Tool(act, requires_approval=True, sequential=True, timeout=3, metadata={"a": 1})
    ours = bridge.from_pydantic_ai(made)
    assert (ours.sequential, ours.timeout, ours.metadata) == (True, 3, {"a": 1})
    assert answer(ours, {}).kind == "denied"
    with pytest.raises(SetupError, match="prepare="):
        bridge.from_pydantic_ai(ai.Tool(act, prepare=lambda ctx, tool_def: tool_def))
    with pytest.raises(SetupError, match="not a builtin_function_or_method"):
        bridge.from_pydantic_ai(len)


def test_their_agent_drives_our_tools(ai: Any, bridge: Any) -> None:
    @our_tool(returns="content_and_artifact")
    def note(word: str, context: ToolContext[Any], times: int = 1) -> tuple[str, dict[str, int]]:
        """Note a word."""
        if times < 1:
            raise ToolError("at least once")
        return f"{word * times} {context.deps} {context.tool_call_id}", {"times": times}

    messages, function = peer("pydantic_ai.messages"), peer("pydantic_ai.models.function")
    wishes = [{"word": "a", "times": 0}, {"word": 7}, {"word": "a", "times": 2}]

    def reply(history: Any, info: Any) -> Any:
        [offered] = info.function_tools
        assert offered.parameters_json_schema["required"] == ["word"]
        asked = sum(isinstance(m, messages.ModelResponse) for m in history)
        if asked < len(wishes):
            part = messages.ToolCallPart("note", wishes[asked], f"c{asked}")
            return messages.ModelResponse([part])
        return messages.ModelResponse([messages.TextPart("done")])

    theirs = bridge.to_pydantic_ai(note)
    agent = ai.Agent(function.FunctionModel(reply), deps_type=str, tools=[theirs], retries=5)
    result = asyncio.run(agent.run("go", deps="me"))
    assert result.output == "done"
    parts = [part for message in result.all_messages() for part in message.parts]
    first, second, last = (p for p in parts if isinstance(p, messages.ToolReturnPart))
    assert (first.content, first.outcome) == ("at least once", "retried")
    assert "word: expected a string" in second.content
    assert (last.content, last.metadata) == ("aa me c2", {"times": 2})


def test_a_failure_the_model_cannot_mend_is_final_there(ai: Any, bridge: Any) -> None:
    @our_tool
    def crash() -> str:
        raise RuntimeError("secret")

    theirs = bridge.to_pydantic_ai(crash)
    context = ai.RunContext(deps=None, model=None, usage=peer("pydantic_ai.usage").RunUsage())
    with pytest.raises(peer("pydantic_ai.exceptions").ToolFailed) as failed:
        asyncio.run(theirs.function_schema.call({}, context))
    assert "secret" not in str(failed.value)


def test_a_tool_comes_back_from_there_as_it_went(bridge: Any) -> None:
    @our_tool
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    back = bridge.from_pydantic_ai(bridge.to_pydantic_ai(add))
    assert (back.name, back.description, back.parameters) == (
        add.name,
        add.description,
        add.parameters,
    )
    result = Agent(Scripted([call("add", {"a": 41}), "done"]), [back]).run_sync("go")
    assert [m.content for m in result.messages if isinstance(m, ToolMessage)] == ["42"]


PNG, WAV, PDF = b"\x89PNG\r\n\x1a\n.", b"RIFF....WAVE", b"%PDF-1.7"


def test_pictures_sounds_and_files_come_along(ai: Any, bridge: Any) -> None:
    messages = peer("pydantic_ai.messages")
    seen = {"detail": "low"}
    binary = messages.BinaryContent
    given = {
        "picture": binary(PNG, media_type="image/png", vendor_metadata=seen),
        "address": messages.ImageUrl("https://a.example/b.jpg"),
        "sound": binary(WAV, media_type="audio/wav"),
        "page": binary(PDF, media_type="application/pdf", identifier="bill.pdf"),
        "film": messages.VideoUrl("https://a.example/b.mp4"),
        "several": ["看", binary(PNG, media_type="image/png"), {"row": 1}],
        "words": messages.TextContent("seen"),
        "nothing": [],
    }

    def show(kind: str) -> Any:
        """Show."""
        return given[kind]

    ours = bridge.from_pydantic_ai(ai.Tool(show))
    shown = {kind: answer(ours, {"kind": kind}).content for kind in given}
    assert shown == {
        "picture": (Image(PNG, "image/png", extra=seen),),
        "address": (Image(url="https://a.example/b.jpg", media_type="image/jpeg"),),
        "sound": (Audio(WAV, "audio/wav"),),
        "page": (File(PDF, "bill.pdf", "application/pdf"),),
        "film": (File(url="https://a.example/b.mp4", media_type="video/mp4"),),
        "several": (Text("看"), Image(PNG, "image/png"), Data({"row": 1}, '{"row":1}')),
        "words": (Text("seen"),),
        "nothing": "[]",
    }


def test_what_a_tool_return_says_beside_its_value_is_shown_too(ai: Any, bridge: Any) -> None:
    messages = peer("pydantic_ai.messages")
    picture = messages.BinaryContent(PNG, media_type="image/png")

    def look(how: str) -> Any:
        """Look."""
        more: Any = {"words": "and more", "picture": ["this:", picture]}[how]
        return ai.ToolReturn(return_value="looked", content=more, metadata=7)

    ours = bridge.from_pydantic_ai(ai.Tool(look))
    words, seen = answer(ours, {"how": "words"}), answer(ours, {"how": "picture"})
    assert (words.content, words.artifact) == ((Text("looked"), Text("and more")), 7)
    assert seen.content == (Text("looked"), Text("this:"), Image(PNG, "image/png"))


def test_a_file_that_its_provider_alone_can_read_is_refused(ai: Any, bridge: Any) -> None:
    uploaded = peer("pydantic_ai.messages").UploadedFile("file_1", "openai")

    def show() -> Any:
        """Show."""
        return uploaded

    with pytest.raises(SetupError, match="UploadedFile"):
        answer(bridge.from_pydantic_ai(ai.Tool(show)), {})


def test_pictures_go_there_and_come_back_as_they_were(ai: Any, bridge: Any) -> None:
    given = [
        Text("看"),
        Image(PNG, "image/png", extra={"detail": "high"}),
        Image(url="https://a.example/b.webp", media_type="image/webp"),
        Audio(WAV, "audio/wav"),
        File(PDF, "bill.pdf", "application/pdf"),
        File(url="https://a.example/b.pdf", media_type="application/pdf"),
    ]

    @our_tool
    def show() -> object:
        """Show."""
        return given

    theirs = bridge.to_pydantic_ai(show)
    parts = asyncio.run(theirs.function_schema.call({}, their_context(ai)))
    messages = peer("pydantic_ai.messages")
    kinds = (messages.BinaryContent, messages.ImageUrl, messages.BinaryContent)
    assert [type(part) for part in parts[1:4]] == [*kinds]
    assert answer(bridge.from_pydantic_ai(theirs), {}).content == tuple(given)


def their_context(ai: Any, **more: Any) -> Any:
    usage = peer("pydantic_ai.usage").RunUsage()
    return ai.RunContext(deps=None, model=None, usage=usage, tool_call_id="c1", **more)


def test_a_call_that_needs_a_person_or_the_outside_waits_there(ai: Any, bridge: Any) -> None:
    exceptions = peer("pydantic_ai.exceptions")

    @our_tool(approval=lambda arguments: "a lot" if arguments["amount"] > 9 else False)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    @our_tool(executor=external)
    def form() -> str:
        """Fill a form."""
        raise NotImplementedError

    @our_tool(approval=True)
    def act() -> str:
        """Act."""
        return "acted"

    def run(tool: Any, arguments: Any, **more: Any) -> Any:
        theirs = bridge.to_pydantic_ai(tool)
        return asyncio.run(theirs.function_schema.call(arguments, their_context(ai, **more)))

    assert run(pay, {"amount": 1}) == "paid 1"
    with pytest.raises(exceptions.ApprovalRequired) as asked:
        run(pay, {"amount": 10})
    assert asked.value.metadata == {"reason": "a lot"}
    assert run(pay, {"amount": 10}, tool_call_approved=True) == "paid 10"
    with pytest.raises(exceptions.CallDeferred):
        run(form, {})
    assert bridge.to_pydantic_ai(act).requires_approval
    assert run(act, {}, tool_call_approved=True) == "acted"


@pytest.mark.parametrize("verdict", ["approve", "deny", "edit"])
def test_their_call_that_asks_for_approval_as_it_runs_waits_here(
    ai: Any, bridge: Any, verdict: str
) -> None:
    begun = []

    def pay(ctx: Any, amount: int) -> str:
        """Pay."""
        begun.append(amount)
        if amount > 9 and not ctx.tool_call_approved:
            raise ai.ApprovalRequired()
        return f"paid {amount} {ctx.tool_call_approved}"

    pay.__annotations__ = {"ctx": ai.RunContext[Any], "amount": int}
    agent = Agent(
        Scripted([call("pay", {"amount": 10}), "done"]), [bridge.from_pydantic_ai(ai.Tool(pay))]
    )
    waits = agent.run_sync("go")
    [ticket] = waits.pending
    decision = ticket.edit({"amount": 11}) if verdict == "edit" else getattr(ticket, verdict)()
    ended = agent.run_sync(waits.state, decisions=[decision])
    [result] = [m for m in ended.messages if isinstance(m, ToolMessage)]
    paid = {"approve": "paid 10 True", "edit": "paid 11 True"}
    assert result.text.startswith(paid.get(verdict, "The call of"))
    assert begun == {"approve": [10, 10], "edit": [10, 11], "deny": [10]}[verdict]
    assert (result.kind == "denied") == (verdict == "deny")


def test_their_call_that_is_deferred_is_answered_from_outside_here(ai: Any, bridge: Any) -> None:
    begun = []

    def start(job: str) -> str:
        """Start a job."""
        begun.append(job)
        raise ai.CallDeferred()

    agent = Agent(
        Scripted([call("start", {"job": "a"}), "done"]), [bridge.from_pydantic_ai(ai.Tool(start))]
    )
    waits = agent.run_sync("go")
    ended = agent.run_sync(waits.state, decisions=[waits.pending[0].answer("a is done")])
    assert [m.content for m in ended.messages if isinstance(m, ToolMessage)] == ["a is done"]
    assert begun == ["a"]


def test_a_tool_that_ends_the_run_does_not_go_there(bridge: Any) -> None:
    @our_tool(ends_run=True)
    def last() -> str:
        """Say the last word."""
        return "over"

    with pytest.raises(SetupError, match=r"ends_run=.*output_type"):
        bridge.to_pydantic_ai(last)
