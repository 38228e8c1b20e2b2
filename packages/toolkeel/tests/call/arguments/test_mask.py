"""A canary goes through every way a call can take, and is found nowhere but in the body."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from tests.waiting import run as run_loop
from toolkeel import (
    Agent,
    AssistantMessage,
    CancelToken,
    Effects,
    RunContext,
    RunState,
    Secret,
    ToolCall,
    ToolContext,
    ToolError,
    ToolMessage,
    Toolset,
    tool,
)
from toolkeel._common.redact_secrets import MASK
from toolkeel._records.tickets import Ticket
from toolkeel.call.steps.guard import Allow, Reject, input_guard, output_guard
from toolkeel.call.steps.retry import Retry
from toolkeel.events import ApprovalRequested, Event, Replied, Streamed, ToolStarted, event_dict
from toolkeel.model_interface import CallDelta, Finish
from toolkeel.testing.scripted import Scripted, call

CANARY = "canary-7f3a\n鸟"
PLAIN = "canary"
"""What of it no artefact may hold, however it is written."""


class Login(BaseModel):
    user: str
    password: SecretStr


class Vault:
    """Tools with secrets, and what really arrived in their bodies."""

    def __init__(self) -> None:
        self.got: list[str] = []

    def tools(self, *steps: Any, **options: Any) -> Toolset:
        def see(password: str) -> None:
            self.got.append(password)

        @tool(steps=steps, **options)
        async def login(
            user: str,
            password: Annotated[str, Secret()],
            how: str = "fine",
            context: ToolContext | None = None,
        ) -> object:
            """Log in."""
            see(password)
            return await self._end(how, password, context)

        @tool(steps=steps, **options)
        def nested(login: Login, times: int = 1) -> str:
            """Log in with a model."""
            see(login.password.get_secret_value())
            return login.model_dump_json()

        @tool
        def echo(text: str) -> str:
            """Say it again."""
            return text

        return Toolset([login, nested, echo])

    async def _end(self, how: str, password: str, context: ToolContext[Any] | None) -> object:
        if how == "crash":
            raise RuntimeError(f"bad password {password!r}")
        if how == "error":
            raise ToolError(f"wrong password {password}", {"tried": [password]})
        if how == "hang":
            await asyncio.sleep(60)
        if how == "resist":
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                raise ValueError(f"cleaning up {password}") from None
        if how == "progress" and context is not None:
            context.progress(f"trying {password}")
        if how == "strange":
            return object()
        return f"logged in with {password}" if how == "echo" else "logged in"


class Artefacts:
    """Everything a run leaves behind, but for the transcript itself."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.tickets: list[Ticket] = []
        self.failures: list[ToolMessage] = []
        self.logged: list[str] = []

    def approver(self, answer: Callable[[Ticket], Any]) -> Callable[[Ticket], Any]:
        def approve(ticket: Ticket) -> Any:
            self.tickets.append(ticket)
            return answer(ticket)

        return approve

    def note(self, messages: Any) -> None:
        self.failures += [m for m in messages if isinstance(m, ToolMessage) and m.failed]

    def text(self) -> str:
        parts = [
            json.dumps([event_dict(e) for e in self.events], ensure_ascii=False),
            repr(self.events),
            repr(self.tickets),
            json.dumps([t.to_dict() for t in self.tickets], ensure_ascii=False),
            repr(self.failures),
            "".join(m.text for m in self.failures),
            *self.logged,
        ]
        return "\n".join(parts)


class Catch(logging.Handler):
    def __init__(self, into: list[str]) -> None:
        super().__init__()
        self.into = into
        self.setFormatter(logging.Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.into.append(self.format(record) + repr(vars(record)))


def play(
    tools: Toolset, *calls: ToolCall, answer: Callable[[Ticket], Any] | None = None, **options: Any
) -> tuple[Artefacts, list[ToolMessage]]:
    """Run calls as an agent does, and gather what is left behind."""
    left = Artefacts()
    handler = Catch(left.logged)
    log = logging.getLogger("toolkeel")
    log.addHandler(handler)
    level = log.level
    log.setLevel(logging.DEBUG)
    if answer is not None:
        options["approver"] = left.approver(answer)
    try:
        agent = Agent(Scripted([list(calls), "done"]), tools)
        result = agent.run_sync("log in", listeners=[left.events.append], **options)
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
    left.note(result.messages)
    left.tickets += result.pending
    return left, [m for m in result.messages if isinstance(m, ToolMessage)]


def arguments(**more: object) -> dict[str, object]:
    return {"user": "ada", "password": CANARY, **more}


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("fine", None),
        ("echo", None),
        ("crash", "crashed"),
        ("error", "tool_error"),
        ("hang", "timeout"),
        ("resist", "timeout"),
        ("progress", None),
        ("strange", "invalid_output"),
    ],
)
@pytest.mark.parametrize("as_text", [True, False])
def test_however_a_call_ends_the_secret_is_in_the_body_alone(
    how: str, kind: str | None, as_text: bool
) -> None:
    vault = Vault()
    given = arguments(how=how)
    sent = json.dumps(given) if as_text else given
    left, [message] = play(vault.tools(timeout=0.05, on_crash=True), call("login", sent))
    assert (message.kind, vault.got) == (kind, [CANARY])
    assert PLAIN not in left.text()
    started = [e.call.arguments for e in left.events if isinstance(e, ToolStarted)]
    shown: Any = json.loads(str(started[0])) if as_text else started[0]
    assert shown == {"user": "ada", "password": MASK, "how": how}
    if how == "echo":
        assert CANARY in message.text, "what a tool answers to the model is the tool's affair"


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        ({"user": "ada", "password": [CANARY]}, "invalid_arguments"),
        ({"user": 5, "password": CANARY}, "invalid_arguments"),
        ({"user": "ada", "pasword": CANARY}, "invalid_arguments"),
        ({"user": "ada", "password": {"text": CANARY}}, "invalid_arguments"),
        ('{"user": "ada", "password": "canary', "malformed_arguments"),
        ('{"user": "ada", "password": "canary", "password": "canary"}', "malformed_arguments"),
        ("canary", "malformed_arguments"),
        ('["canary"]', "malformed_arguments"),
        ('{"user": "ada", "password": "canary\\ud83d"}', "malformed_arguments"),
    ],
)
def test_arguments_that_are_refused_are_refused_without_a_word_of_them(
    sent: Any, kind: str
) -> None:
    vault = Vault()
    left, [message] = play(vault.tools(), call("login", sent))
    assert (message.kind, vault.got) == (kind, [])
    assert PLAIN not in left.text()


def test_what_is_not_secret_is_still_told_in_full() -> None:
    left, [message] = play(Vault().tools(), call("login", {"user": 15, "password": CANARY}))
    assert "user: expected a string, got 15" in message.text
    assert PLAIN not in left.text()
    left, [message] = play(Vault().tools(), call("nested", {"login": {"user": 5, "password": 1}}))
    assert message.text.count("got 5") == 1
    assert "got ***" in message.text
    left, [message] = play(Vault().tools(), call("login", {"user": "ada", "pasword": CANARY}))
    assert "pasword: expected" in message.text and "got an unknown key" in message.text


def test_a_secret_in_the_wrong_place_is_masked_if_it_is_in_the_right_one_too() -> None:
    left, _ = play(Vault().tools(), call("login", {"user": CANARY, "password": CANARY}))
    assert PLAIN not in left.text()


def test_an_unknown_tool_may_be_a_known_one_misspelt() -> None:
    calls = call("logn", arguments()), call("echo", {"text": "hi"})
    left, [message, _] = play(Vault().tools(), *calls)
    assert message.kind == "unknown_tool"
    assert PLAIN not in left.text()
    assert '"text": "hi"' in left.text()


def test_arguments_that_were_mended_are_told_without_their_values() -> None:
    vault = Vault()

    @tool
    def pin(number: Annotated[int, Secret()], times: int) -> str:
        """Take a number."""
        vault.got.append(str(number))
        return "fine"

    left, [message] = play(Toolset([pin]), call("pin", {"number": "31337", "times": "2"}))
    assert vault.got == ["31337"]
    assert "31337" not in left.text()
    assert 'times: "2" was taken as 2' in str(message.details)
    assert "31337" not in str(message.details)


def test_guards_that_fail_or_talk_say_nothing_secret() -> None:
    def broken(prepared: Any, context: Any) -> Any:
        raise KeyError(prepared.arguments["password"])

    def chatty(prepared: Any, context: Any) -> Any:
        return Reject(f"not with {prepared.arguments['password']}")

    def broken_out(prepared: Any, outcome: Any, context: Any) -> Any:
        raise KeyError(prepared.arguments["password"])

    for guard in (input_guard(broken), input_guard(chatty), output_guard(broken_out)):
        left, [message] = play(Vault().tools(guard), call("login", arguments()))
        assert message.kind == "refused"
        assert PLAIN not in left.text()


def test_a_secret_that_a_guard_put_in_is_masked_too() -> None:
    vault = Vault()
    guard = input_guard(lambda p, c: Allow({**p.arguments, "password": "other canary"}))
    sent = {"user": "ada", "password": "weak", "how": "crash"}
    left, _ = play(vault.tools(guard, on_crash=True), call("login", sent))
    assert vault.got == ["other canary"]
    assert PLAIN not in left.text()


def test_retries_log_nothing_secret() -> None:
    vault = Vault()
    tools = vault.tools(Retry(3, wait=0.001), effects=Effects(idempotent=True))
    left, _ = play(tools, call("login", arguments(how="crash")))
    assert vault.got == [CANARY] * 3
    assert left.logged
    assert PLAIN not in left.text()


def test_a_cancelled_run_tells_nothing_secret() -> None:
    token = CancelToken()
    vault = Vault()
    tools = vault.tools(input_guard(lambda p, c: token.cancel("canary stop") or Allow()))
    left, [message] = play(tools, call("login", arguments(how="hang")), cancel=token)
    assert message.kind == "cancelled"
    assert "canary-" not in left.text()


# — approvals —


def test_who_approves_sees_the_call_without_its_secrets_and_the_body_gets_them() -> None:
    for name, sent in (
        ("login", arguments()),
        ("nested", {"login": {"user": "ada", "password": CANARY}}),
    ):
        vault = Vault()
        left, _ = play(vault.tools(approval=True), call(name, sent), answer=lambda t: True)
        assert vault.got == [CANARY]
        assert left.tickets
        assert PLAIN not in left.text()
        requested = [e for e in left.events if isinstance(e, ApprovalRequested)]
        assert MASK in str(requested[0].ticket.arguments)


def test_an_edit_of_what_was_shown_keeps_the_secret_that_was_not_shown() -> None:
    vault = Vault()
    left, _ = play(
        vault.tools(approval=True),
        call("login", arguments()),
        call("login", arguments()),
        answer=lambda t: (
            t.edit({**t.arguments, "user": "eve"})
            if len(vault.got) == 0
            else t.edit({**t.arguments, "password": "canary two"})
        ),
    )
    assert CANARY in vault.got
    assert PLAIN not in left.text()


def test_a_run_that_waits_tells_nothing_secret_and_goes_on_with_it() -> None:
    vault = Vault()
    left, _ = play(vault.tools(approval=True), call("login", arguments()))
    [ticket] = left.tickets
    assert ticket.arguments == {"user": "ada", "password": MASK, "how": "fine"}
    assert PLAIN not in left.text()
    model = Scripted([[call("login", arguments())], "done"])
    first = Agent(model, vault.tools(approval=True)).run_sync("go")
    saved = RunState.from_json(first.state.to_json())
    Agent(model, vault.tools(approval=True)).run_sync(saved, decisions=[saved.pending[0].approve()])
    assert vault.got == [CANARY]


def test_an_approval_is_bound_to_the_secret_it_did_not_show() -> None:
    vault = Vault()
    tools = vault.tools(approval=True)
    first = Agent(Scripted([[call("login", arguments())]]), tools).run_sync("go")
    [*before, reply] = first.messages
    assert isinstance(reply, AssistantMessage)
    other = ToolCall(reply.tool_calls[0].id, "login", arguments(password="another"))
    forged = RunState((*before, AssistantMessage("", (other,), "tool_calls")), first.pending)
    result = Agent(Scripted(["done"]), tools).run_sync(
        forged, decisions=[first.pending[0].approve()]
    )
    assert (result.reason, vault.got) == ("waiting", [])


# — streams —


def test_arguments_with_secrets_are_not_streamed_and_the_others_are() -> None:
    deltas = [
        CallDelta(0, "c1", "login", '{"user": "ada", '),
        CallDelta(1, "c2", "echo", '{"text": "he'),
        CallDelta(0, arguments='"password": "can'),
        CallDelta(0, arguments='ary"}'),
        CallDelta(1, arguments='llo"}'),
        Finish("tool_calls"),
    ]

    async def main() -> list[Event]:
        vault = Vault()
        agent = Agent(Scripted([deltas, "done"]), vault.tools())
        events = [event async for event in agent.stream("go")]
        assert vault.got == ["canary"]
        return events

    events = run_loop(main)
    assert PLAIN not in json.dumps([event_dict(e) for e in events])
    pieces = [e.delta for e in events if isinstance(e, Streamed) and isinstance(e.delta, CallDelta)]
    assert "".join(p.arguments for p in pieces if p.index == 1) == '{"text": "hello"}'
    assert [p.name for p in pieces if p.index == 0] == ["login", "", ""]
    [replied] = [e.message for e in events if isinstance(e, Replied) and e.message.tool_calls]
    assert [c.arguments for c in replied.tool_calls] == [
        '{"user": "ada", "password": "***"}',
        '{"text": "hello"}',
    ]


def test_what_else_a_provider_sent_with_a_secret_call_is_not_told() -> None:
    reply = AssistantMessage(
        "",
        (ToolCall("1", "login", json.dumps(arguments()), provider_options={"raw": CANARY}),),
        "tool_calls",
        provider_options={"items": [{"arguments": json.dumps(arguments())}]},
    )
    events: list[Event] = []
    Agent(Scripted([reply, "done"]), Vault().tools()).run_sync("go", listeners=[events.append])
    assert PLAIN not in repr(events)


def test_a_later_event_that_repeats_a_secret_is_masked() -> None:
    vault = Vault()
    events: list[Event] = []
    model = Scripted(
        [[call("login", arguments())], [call("echo", {"text": CANARY})], f"I used {CANARY}"]
    )
    result = Agent(model, vault.tools()).run_sync("go", listeners=[events.append])
    assert PLAIN not in repr(events)
    assert CANARY in result.output


def test_a_name_on_the_wire_means_the_tool_it_stands_for() -> None:
    vault = Vault()
    tools = vault.tools().rename({"login": "登录.now"})
    alias = tools.wire_names["登录.now"]
    left, [message] = play(tools, call(alias, arguments()))
    assert (message.kind, vault.got) == (None, [CANARY])
    assert PLAIN not in left.text()
    assert '"user": "ada"' in left.text()


# — the rest —


def test_a_run_without_secrets_has_no_masking_at_all() -> None:
    @tool
    def echo(text: str) -> str:
        """Say it again."""
        return text

    state = RunContext(listeners=(lambda event: None,))
    Toolset([echo]).run_sync([call("echo", {"text": "x"}, "1")], state)
    assert state.mask is None


def test_a_tool_run_by_itself_logs_nothing_secret() -> None:
    left = Artefacts()
    handler = Catch(left.logged)
    log = logging.getLogger("toolkeel")
    log.addHandler(handler)
    try:
        with pytest.raises(Exception, match="bad password"):
            Vault().tools()["login"].invoke(arguments(how="crash"))
        log.warning("later: %s", CANARY)
    finally:
        log.removeHandler(handler)
    assert PLAIN not in "".join(left.logged)


@given(
    st.text(min_size=4, max_size=30).filter(
        lambda t: t.strip("*") and t not in "login ada fine hello"
    ),
    st.sampled_from(["fine", "crash", "error", "progress", "echo"]),
    st.booleans(),
)
def test_any_secret_stays_secret(secret: str, how: str, as_text: bool) -> None:
    marked = f"<{secret}>\u2063{secret}"  # so that it is in no text by accident
    vault = Vault()
    given = {"user": "ada", "password": marked, "how": how}
    try:
        sent = json.dumps(given, ensure_ascii=False) if as_text else given
        sent.encode() if isinstance(sent, str) else marked.encode()
    except UnicodeEncodeError:
        return
    left, _ = play(vault.tools(on_crash=True), call("login", sent))
    assert vault.got == [marked]
    told = json.dumps([event_dict(e) for e in left.events], ensure_ascii=False)
    assert json.dumps(marked, ensure_ascii=False)[1:-1] not in told
    assert marked not in "".join(m.text for m in left.failures)
