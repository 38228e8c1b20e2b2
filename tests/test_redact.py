"""What is secret is taken out of texts, data, records and logs, wherever it turns up."""

from __future__ import annotations

import dataclasses
import json
import logging
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolwright.errors import FieldError
from toolwright.messages import ToolMessage
from toolwright.redact import KEPT, MASK, SHORTEST, Redactor, keep_out_of_logs

SECRET = st.text(min_size=SHORTEST, max_size=20).filter(lambda t: MASK not in t and t.strip("*"))


@given(SECRET, st.text(max_size=20), st.text(max_size=20))
def test_a_known_secret_is_in_no_text_however_it_is_written(
    secret: str, before: str, after: str
) -> None:
    known = Redactor([secret])
    for written in (
        secret,
        json.dumps(secret),
        json.dumps(secret, ensure_ascii=False),
        repr(secret),
    ):
        masked = known.text(before + written + after)
        assert secret not in masked
        assert MASK in masked


@given(SECRET, st.text(max_size=30))
def test_a_text_without_a_secret_is_left_alone(secret: str, text: str) -> None:
    known = Redactor([secret])
    assume(known.text(text) == text)
    assert known.deep([text])[0] is text


def test_a_secret_within_another_leaves_nothing_of_the_longer() -> None:
    known = Redactor(["hunter2", "hunter2hunter3"])
    assert known.text("a hunter2hunter3 b hunter2") == "a *** b ***"


def test_what_is_too_short_to_be_looked_for_is_passed_over() -> None:
    known = Redactor(["", "a", "abc"])
    assert not known
    assert known.text("abc") == "abc"


def test_the_latest_are_kept_where_there_is_a_limit() -> None:
    known = Redactor([f"secret {n}" for n in range(10)], limit=3)
    assert [known.text(f"secret {n}") == MASK for n in range(10)] == [False] * 7 + [True] * 3


@dataclasses.dataclass(frozen=True)
class Settings:
    token: str
    others: tuple[str, ...] = ()


class Odd:
    """A record that cannot be made anew from its fields."""


@dataclasses.dataclass
class OneWay:
    token: str

    def __post_init__(self) -> None:
        if MASK in self.token:
            raise ValueError("no")


def test_data_and_records_are_searched_all_the_way_down() -> None:
    known = Redactor(["hunter2"])
    thing = Odd()
    value: dict[str, Any] = {
        "hunter2": 1,
        "list": ["hunter2", ["x hunter2"]],
        "tuple": ("hunter2", 5),
        "record": Settings("hunter2", ("a", "hunter2")),
        "error": FieldError(("a",), "text", "hunter2"),
        "strange": OneWay("hunter2"),
        "object": thing,
        "number": 1.5,
        "none": None,
    }
    masked = known.deep(value)
    assert "hunter2" not in repr(masked)
    assert masked["record"] == Settings(MASK, ("a", MASK))
    assert masked["strange"] == MASK
    assert masked["object"] is thing
    assert "hunter2" in repr(value)


def test_what_holds_no_secret_is_given_back_itself() -> None:
    known = Redactor(["hunter2"])
    for value in ({"a": ["b", {"c": ("d",)}]}, ToolMessage("x", "1", details={"a": "b"}), [1], "x"):
        assert known.deep(value) is value


def test_logs_hold_no_secret_in_message_arguments_or_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = logging.getLogger("toolwright.test_redact")
    keep_out_of_logs(["hunter2"], log)
    keep_out_of_logs(["hunter3"], log)
    assert len(log.filters) == 1
    try:
        raise ValueError("login with hunter2")
    except ValueError:
        log.exception("failed: %s", {"password": "hunter3"})
    log.warning("fine")
    assert caplog.messages == ["failed: {'password': '***'}", "fine"]
    assert "hunter" not in caplog.text
    assert "ValueError: login with ***" in caplog.text


def test_logs_remember_a_bounded_number_of_secrets() -> None:
    log = logging.getLogger("toolwright.test_redact.bounded")
    keep_out_of_logs((f"secret number {n}" for n in range(KEPT + 10)), log)
    record = log.makeRecord(log.name, logging.INFO, "", 0, "secret number %d", (KEPT + 5,), None)
    log.filter(record)
    assert record.getMessage() == MASK
