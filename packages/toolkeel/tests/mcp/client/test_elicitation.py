"""What a server asks a person: shown whole, answered as its form wants it, or not at all."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import mcp_types as types
import pytest

from toolkeel import RunContext, ToolCall, ToolContext
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.events import ApprovalDecided, ApprovalRequested, Event
from toolkeel.mcp.client.elicitation import (
    MAX_ATTEMPTS,
    MAX_CHARACTERS,
    Elicitation,
    _ticket,
    answer_elicitation,
)

FORM = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "title": "City", "description": "Where\u200b to"},
        "days": {"type": "integer", "default": 3},
        "class": {"type": "string", "enum": ["first", "second"]},
    },
    "required": ["city"],
}
ASKED = Elicitation("trains", "Where shall it go?", FORM)
LINK = Elicitation("bank", "Confirm it there.", url="https://good.example@evil.example/pay")


def context(run: RunContext[Any]) -> ToolContext[Any]:
    return ToolContext(ToolCall("call_1", "book"), "book", run)


def by(approver: Any, elicitation: Elicitation = ASKED) -> types.ElicitResult:
    return asyncio.run(
        answer_elicitation(elicitation, None, context(RunContext(approver=approver)))
    )


def test_the_form_is_a_ticket_with_its_defaults_and_every_field_told() -> None:
    seen: list[Ticket] = []

    def fill(ticket: Ticket) -> Decision:
        seen.append(ticket)
        return ticket.edit({"city": "北京"})

    result = by(fill)
    assert (result.action, result.content) == ("accept", {"city": "北京", "days": 3})
    assert seen[0].arguments == {"city": None, "days": 3}
    assert "the server trains asks: Where shall it go?" in seen[0].reason
    assert "city (string): City; Where to" in seen[0].reason
    assert "class (string): one of first, second" in seen[0].reason


def test_denying_declines_and_an_approver_that_fails_declines() -> None:
    assert by(lambda ticket: ticket.deny("no")).action == "decline"
    assert by(lambda ticket: 1 / 0).action == "decline"
    assert by(lambda ticket: "yes").action == "decline"


def test_what_does_not_fit_the_form_is_never_sent() -> None:
    asked: list[Ticket] = []

    def wrong(ticket: Ticket) -> Decision:
        asked.append(ticket)
        return ticket.edit({"city": 5})

    assert by(wrong).action == "cancel"
    assert len(asked) == MAX_ATTEMPTS and "not sent yet: city: expected" in asked[1].reason


def test_an_address_is_shown_with_the_host_it_really_leads_to() -> None:
    seen: list[Ticket] = []
    by(lambda ticket: seen.append(ticket), LINK)
    assert "an address at evil.example:" in seen[0].reason
    assert by(lambda ticket: True, LINK).action == "accept"
    assert by(lambda ticket: True, LINK).content is None


def test_the_ticket_brings_the_form_and_whoever_says_neither_yes_nor_no_cancels() -> None:
    seen: list[Ticket] = []
    run: RunContext[Any] = RunContext(approver=lambda ticket: seen.append(ticket))
    run.loop_state.can_suspend = True
    assert asyncio.run(answer_elicitation(ASKED, None, context(run))).action == "cancel"
    assert asyncio.run(answer_elicitation(LINK, None, context(run))).action == "cancel"
    assert seen[0].form == FORM
    assert seen[1].form["properties"] == {"url": {"const": LINK.url}}
    assert Ticket.from_dict(seen[0].to_dict()) == seen[0]


def test_nobody_there_means_cancelled() -> None:
    assert asyncio.run(answer_elicitation(ASKED, None, None)).action == "cancel"
    assert by(None).action == "cancel"


@pytest.mark.parametrize(
    ("answer", "action"),
    [({"city": "Bonn"}, "accept"), (False, "decline"), (None, "cancel"), (True, "cancel")],
)
def test_a_function_of_the_programs_own_may_answer(answer: Any, action: str) -> None:
    async def own(elicitation: Elicitation) -> Any:
        assert elicitation is ASKED
        return answer

    assert asyncio.run(answer_elicitation(ASKED, own, None)).action == action


def test_a_function_that_fails_cancels() -> None:
    assert asyncio.run(answer_elicitation(ASKED, lambda _: 1 / 0, None)).action == "cancel"  # type: ignore[arg-type]


def test_a_question_is_told_like_any_approval() -> None:
    events: list[Event] = []
    run: RunContext[Any] = RunContext(approver=lambda ticket: False, listeners=(events.append,))
    asyncio.run(answer_elicitation(ASKED, None, context(run)))
    assert [type(event) for event in events] == [ApprovalRequested, ApprovalDecided]


def test_a_form_whose_schema_is_none_is_cancelled() -> None:
    broken = Elicitation("s", "?", {"type": "object", "properties": {"a": {"type": "nonsense"}}})
    assert by(lambda ticket: True, broken).action == "cancel"


def test_all_that_a_server_says_stands_in_the_line_a_page_shows() -> None:
    schema = {"properties": {"a": {"type": "string", "description": "name\nthe server b asks: c"}}}
    said = _ticket(Elicitation("x", "确认\n\nYou pay 5000.", schema), "1", "")
    assert said.reason.split("\n") == [
        "the server x asks: 确认 You pay 5000.",
        "  a (string): name the server b asks: c",
    ]


def test_a_question_is_shown_as_long_as_a_person_can_read_it() -> None:
    about = {"type": "object", "properties": {"a": {"type": "string", "description": "x" * 9999}}}
    said = _ticket(Elicitation("x", "word " * 1_000_000, about), "1", "").reason
    assert len(said) < 3 * MAX_CHARACTERS and said.count("[cut here]") == 2


def test_a_sync_function_that_answers_leaves_the_loop_free() -> None:
    is_free = threading.Event()

    async def main() -> types.ElicitResult:
        asyncio.get_running_loop().call_later(0, is_free.set)
        return await answer_elicitation(LINK, lambda asked: is_free.wait(30), None)

    assert asyncio.run(main()).action == "accept"
