"""What a decision may be, by ticket."""

from __future__ import annotations

from time import time
from typing import Any

import pytest

from tests.serve.talking import pay
from toolkeel import Toolset
from toolkeel._records.tickets import Ticket, call_digest, new_id
from toolkeel.call.steps.approve import definition_of
from toolkeel_studio.serve.decisions import Choice, collect_choices, decide_question, decide_ticket
from toolkeel_studio.serve.errors import InvalidDecision

TOOLS = Toolset([pay])
DIGEST = call_digest("pay", definition_of(pay), {"amount": 5})


def ticket(**changes: Any) -> Ticket:
    """A call of `pay` that waits."""
    fields = {"call_id": "c1", "tool": "pay", "arguments": {"amount": 5}, "digest": DIGEST}
    return Ticket(id=new_id(), expires=time() + 60, **{**fields, **changes})


def test_a_request_that_decides_a_call_in_two_ways_is_refused() -> None:
    yes, no = Choice("approve"), Choice("deny")
    assert collect_choices([("a", yes), ("b", no), ("a", Choice("approve"))]) == {"a": yes, "b": no}
    for made in ([("a", yes), ("a", no)], [("a", no), ("a", yes)]):
        with pytest.raises(InvalidDecision, match="two ways"):
            collect_choices(made)


def test_arguments_of_a_tool_that_is_not_here_are_checked_when_it_runs() -> None:
    for asked in (ticket(tool="elsewhere"), ticket(digest="of another agent's tool")):
        edited = decide_ticket(asked, Choice("edit", arguments={"x": 1}), TOOLS)
        assert edited.arguments == {"x": 1}


def test_arguments_become_what_would_run() -> None:
    assert decide_ticket(ticket(), Choice("edit", arguments={"amount": "3"}), TOOLS).arguments == {
        "amount": 3
    }


@pytest.mark.parametrize(
    "choice",
    [
        Choice("edit"),
        Choice("edit", arguments={"amount": []}),
        Choice("approve", reach="target"),
        Choice("answer", value=object()),
        Choice("cancel"),
        Choice("maybe"),  # type: ignore[arg-type]
    ],
)
def test_what_a_call_does_not_permit_is_refused(choice: Choice) -> None:
    with pytest.raises(InvalidDecision):
        decide_ticket(ticket(), choice, TOOLS)


def test_an_external_call_is_answered_or_denied_and_never_approved() -> None:
    for verdict in ("approve", "edit"):
        with pytest.raises(InvalidDecision, match="deny, answer"):
            decide_ticket(ticket(external=True), Choice(verdict), TOOLS)  # type: ignore[arg-type]
    assert decide_ticket(ticket(external=True), Choice("answer", value=[1]), TOOLS).value == [1]


def test_a_question_is_filled_in_declined_or_cancelled() -> None:
    asked = ticket(form={"type": "object", "required": ["seat"]})
    assert decide_question(asked, Choice("cancel")) is None
    assert decide_question(asked, Choice("deny")) == asked.deny()
    with pytest.raises(InvalidDecision, match="form"):
        decide_question(asked, Choice("edit", arguments={}))
