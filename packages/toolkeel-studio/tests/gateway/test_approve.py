"""The first who decides counts, in the host or beside it; nobody's silence is a yes."""

from __future__ import annotations

import asyncio
from time import time
from typing import Any

import mcp_types as types
import pytest

from tests.gateway.behind import Asked
from toolkeel._records.tickets import Approver, Decision, Ticket, new_id
from toolkeel_studio.gateway import approve
from toolkeel_studio.gateway.approve import make_answered_result, request_approval


def ticket() -> Ticket:
    return Ticket(new_id(), "1", "git__push", {"to": "北京"}, "d", time() + 60, "rule: ask git__*")


class Form(Asked):
    """A host whose person fills the form, after a while."""

    def __init__(self, action: str, approves: bool = False, seconds: float = 0.0) -> None:
        super().__init__()
        self.said = {"action": action, "content": {"approve": approves}}
        self.seconds = seconds
        self.shown: list[str] = []
        self.taken_back = False

    async def ask(self, key: str, question: Any, kind: Any) -> Any:
        self.shown.append(question.params.message)
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.taken_back = True
            raise
        return kind(**self.said)


def ask(form: Form, approver: Approver | None = None) -> Decision:
    return asyncio.run(request_approval(ticket(), form, approver))


@pytest.mark.parametrize(
    ("action", "approves", "verdict"),
    [("accept", True, "approve"), ("accept", False, "deny"), ("decline", True, "deny"),
     ("cancel", True, "deny")],
)  # fmt: skip
def test_only_a_clear_yes_in_the_form_is_one(action: str, approves: bool, verdict: str) -> None:
    form = Form(action, approves)
    assert ask(form).verdict == verdict
    assert "git__push" in form.shown[0] and "北京" in form.shown[0] and "rule: ask" in form.shown[0]


@pytest.mark.parametrize("hidden", ["\u202e", "\u2028", "\u00a0", "\u2800", "\U000e0041", "\x9b"])
def test_characters_that_nobody_sees_are_shown_to_whoever_decides(hidden: str) -> None:
    form = Form("accept", True)
    asked = Ticket(new_id(), "1", "t", {"to": f"a{hidden}b 北京"}, "d", time() + 60, "rule")
    asyncio.run(request_approval(asked, form, None))
    assert hidden not in form.shown[0] and f"a\\u{ord(hidden):04x}b 北京" in form.shown[0]


def test_who_decides_beside_first_counts_and_the_form_is_taken_back() -> None:
    form = Form("accept", True, 5.0)
    found = ask(form, lambda ticket: ticket.deny("not today"))
    assert (found.verdict, found.reason) == ("deny", "not today") and form.taken_back


def test_the_form_first_takes_the_question_back_beside() -> None:
    ended: list[str] = []

    async def beside(_: Ticket) -> bool:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            ended.append("taken back")
            raise
        return False

    assert ask(Form("accept", True), beside).verdict == "approve" and ended == ["taken back"]


def test_a_decision_beside_that_was_there_before_the_forms_counts() -> None:
    async def desk(ticket: Ticket) -> Decision:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return ticket.deny("was first")  # as a desk does that looks only now and then
        raise AssertionError

    assert ask(Form("accept", True), desk).reason == "was first"


def test_a_form_that_was_closed_leaves_it_to_who_is_asked_beside() -> None:
    async def beside(_: Ticket) -> bool:
        await asyncio.sleep(0.05)
        return True

    assert ask(Form("cancel"), beside).verdict == "approve"


@pytest.mark.parametrize(("said", "verdict"), [(True, "approve"), (False, "deny"), (None, "deny")])
def test_a_function_decides_where_the_host_shows_no_forms(said: Any, verdict: str) -> None:
    form = Form("accept", True)
    assert form.request is not None
    form.request.session.client_capabilities = None  # type: ignore[misc]
    assert ask(form, lambda _: said).verdict == verdict and form.shown == []


def test_a_host_that_waits_is_told_that_the_gateway_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approve, "PROGRESS_SECONDS", 0.05)
    told: list[float] = []

    async def report(done: float, total: object, message: str) -> None:
        told.append(done)

    form = Form("accept", True, 0.4)
    form.request.session.report_progress = report  # type: ignore[union-attr,method-assign]
    assert ask(form).verdict == "approve"
    assert len(told) > 2 and told == sorted(set(told)) and told[-1] < 1


def test_a_host_that_gives_up_leaves_nothing_waiting() -> None:
    ended: list[str] = []

    async def beside(_: Ticket) -> bool:
        try:
            await asyncio.sleep(5)
        finally:
            ended.append("beside")
        return True

    async def use() -> None:
        form = Form("accept", True, 5.0)
        task = asyncio.create_task(request_approval(ticket(), form, beside))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.05)
        assert form.taken_back and ended == ["beside"]

    asyncio.run(use())


def _declares(schema: dict[str, object] | None) -> types.Tool:
    return types.Tool(name="t", input_schema={"type": "object"}, output_schema=schema)


NUMBER: dict[str, object] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}
WRAPPED: dict[str, object] = {
    "type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "value", "structured", "text"),
    [
        (None, "北京", None, "北京"),
        (None, {"a": "北京"}, None, '{"a": "北京"}'),
        (NUMBER, {"n": 5}, {"n": 5}, '{"n": 5}'),
        (NUMBER, '{"n": 5}', {"n": 5}, '{"n": 5}'),
        (WRAPPED, 5, {"result": 5}, '{"result": 5}'),
        (WRAPPED, {"result": 5}, {"result": 5}, '{"result": 5}'),
    ],
)
def test_an_answer_is_a_result_as_the_tool_declares_it(
    schema: dict[str, object] | None, value: object, structured: object, text: str
) -> None:
    made = make_answered_result(_declares(schema), value)
    assert made.get("structuredContent") == structured
    assert made["content"] == [{"type": "text", "text": text}]


@pytest.mark.parametrize(
    ("schema", "value"), [(NUMBER, "many"), (NUMBER, {"n": "x"}), (WRAPPED, "x")]
)
def test_an_answer_that_the_tool_does_not_declare_is_refused(
    schema: dict[str, object], value: object
) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        make_answered_result(_declares(schema), value)
