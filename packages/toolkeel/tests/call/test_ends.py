"""The page "What happens when" says how calls and runs end: each line is made to happen."""

from __future__ import annotations

import typing

import pytest

from tests.claims import CLAIMS, ENDS
from tests.ends import CALLS, PAGE, RUNS, happens, table, written
from toolkeel.events import EndReason
from toolkeel.messages import Kind

DID_NOT = (
    "did not run", "was not run", "was not started", "has not started", "was refused",
    "was not approved", "is not allowed", "is not available", "needs a person's approval",
    "There is no tool", "are not valid",
)  # fmt: skip
"""What is said only of a call whose body has not begun."""
UNKNOWN = ("may still", "not known", "may have taken effect")


def test_the_page_has_the_table_that_comes_out_when_each_end_is_made_to_happen() -> None:
    page = PAGE.read_text("utf-8")
    assert written(page, table()) == page, "run python -m tests.ends"


@pytest.mark.parametrize("cause", CALLS)
def test_what_is_told_of_a_call_that_ended_is_what_became_of_it(cause: str) -> None:
    end = happens(CALLS[cause])
    assert not (end.ran and any(said in end.text for said in DID_NOT)), end
    assert any(said in end.text for said in UNKNOWN) is (end.done.startswith("perhaps")), end
    assert end.ran or "was stopped" not in end.text


def test_each_claim_that_is_held_to_this_table_is_said_in_it() -> None:
    said = [happens(how).text for how in CALLS.values()]
    held = [claim for claim in CLAIMS if claim.before == ENDS]
    assert held and not [each for each in held if not any(each.words in text for text in said)]


def test_every_kind_of_failure_and_every_reason_to_end_has_its_line() -> None:
    kinds = {happens(how).kind for how in CALLS.values()}
    assert kinds == {"", *typing.get_args(Kind)}
    assert {happens(how).kind for how in RUNS.values()} == {*typing.get_args(EndReason)}
