"""The options of a command make the decisions that they name, all of them or none."""

from __future__ import annotations

import time

import pytest

from toolkeel import SetupError
from toolkeel._records.tickets import Ticket
from toolkeel_studio.cli.decision_options import check_decisions, read_decisions
from toolkeel_studio.cli.exit_codes import UsageProblem

WRITE = Ticket("0f11aa22", "c1", "write", {"text": "猫"}, "d" * 64, time.time() + 86_400)
PICK = Ticket("1e22bb33", "c2", "pick", {}, "d" * 64, time.time() + 86_400, external=True)
WAITING = WRITE, PICK


def test_each_option_decides_the_ticket_that_it_names() -> None:
    made = read_decisions(WAITING, ["0f11"], None, "", ["1e22=yes = no"])
    assert [(each.ticket, each.verdict, each.value) for each in made] == [
        (WRITE.id, "approve", None),
        (PICK.id, "answer", "yes = no"),
    ]
    [denied] = read_decisions(WAITING, None, ["0f11"], "too much", None)
    assert (denied.verdict, denied.reason) == ("deny", "too much")
    assert check_decisions(WAITING, made) == made


def test_a_command_without_a_decision_says_how_to_decide() -> None:
    with pytest.raises(UsageProblem, match="--approve ID"):
        check_decisions(WAITING, read_decisions(WAITING, None, None, "", None))


def test_a_reason_without_a_denial_is_refused() -> None:
    with pytest.raises(UsageProblem, match="--reason"):
        read_decisions(WAITING, ["0f11"], None, "because", None)


def test_an_answer_without_a_text_is_refused() -> None:
    with pytest.raises(UsageProblem, match="ID=TEXT"):
        read_decisions(WAITING, None, None, "", ["1e22"])


def test_a_decision_that_comes_too_late_is_refused_before_any_is_applied() -> None:
    late = Ticket("2d33cc44", "c3", "write", {}, "d" * 64, time.time() - 1)
    with pytest.raises(SetupError, match="expired"):
        check_decisions((WRITE, late), [WRITE.approve(), late.approve()])
