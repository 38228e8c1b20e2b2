"""What is secret is taken out of texts, data, records and logs, wherever it turns up."""

from __future__ import annotations

import dataclasses
import io
import json
import logging
from base64 import b64encode, urlsafe_b64encode
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolkeel._common.redact_secrets import (
    KEPT,
    MASK,
    SHORTEST,
    SHORTEST_IN_BASE64,
    Redactor,
    escape_line,
    indent_lines,
    protect_logger,
    redact_in_logs,
)
from toolkeel.errors import FieldError
from toolkeel.messages import ToolMessage

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
        masked = known.redact_text(before + written + after)
        assert secret not in masked
        assert MASK in masked


@given(SECRET)
def test_a_known_secret_is_in_no_escaped_text_that_is_escaped_again(secret: str) -> None:
    known = Redactor([secret])
    for inside in (json.dumps(secret), json.dumps(secret, ensure_ascii=False), repr(secret)):
        for escape in (json.dumps, repr):  # as of a body in `KeyError(body)`
            assert escape(inside[1:-1])[1:-1] not in known.redact_text(f"{escape(inside)}!")
            assert MASK in known.redact_text(repr(KeyError(inside[1:-1])))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


PASSWORD = st.text(
    st.characters(exclude_categories=["C"]), min_size=SHORTEST_IN_BASE64, max_size=20
)


@given(PASSWORD.filter(lambda s: "*" not in s), TEXT, TEXT)
def test_a_known_secret_is_in_no_address_and_no_base64(
    secret: str, before: str, after: str
) -> None:
    assume(MASK not in before + after)
    known = Redactor([secret])
    assert MASK in known.redact_text(f"https://x/?q={quote(secret)}&n=1")
    assert MASK in known.redact_text(urlencode({"q": secret}))
    for encode in (b64encode, urlsafe_b64encode):
        assert MASK in known.redact_text(
            "Basic " + encode(f"{before}{secret}{after}".encode()).decode()
        )


@given(SECRET, st.text(max_size=30))
def test_a_text_without_a_secret_is_left_alone(secret: str, text: str) -> None:
    known = Redactor([secret])
    assume(known.redact_text(text) == text)
    assert known.redact([text])[0] is text


def test_a_secret_within_another_leaves_nothing_of_the_longer() -> None:
    known = Redactor(["hunter2", "hunter2hunter3"])
    assert known.redact_text("a hunter2hunter3 b hunter2") == "a *** b ***"


def test_what_is_too_short_to_be_looked_for_is_passed_over() -> None:
    known = Redactor(["", "a", "abc"])
    assert not known
    assert known.redact_text("abc") == "abc"


def test_the_latest_are_kept_where_there_is_a_limit() -> None:
    known = Redactor([f"secret {n}" for n in range(10)], limit=3)
    assert [known.redact_text(f"secret {n}") == MASK for n in range(10)] == [False] * 7 + [True] * 3


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
    masked = known.redact(value)
    assert "hunter2" not in repr(masked)
    assert masked["record"] == Settings(MASK, ("a", MASK))
    assert masked["strange"] == MASK
    assert masked["object"] is thing
    assert "hunter2" in repr(value)


def test_what_holds_no_secret_is_given_back_itself() -> None:
    known = Redactor(["hunter2"])
    for value in ({"a": ["b", {"c": ("d",)}]}, ToolMessage("x", "1", details={"a": "b"}), [1], "x"):
        assert known.redact(value) is value


def test_logs_hold_no_secret_in_message_arguments_or_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = logging.getLogger("toolkeel.test_redact")
    redact_in_logs(["hunter2", "hunter3"])
    assert protect_logger(protect_logger(log)) is log and len(log.filters) == 1
    try:
        raise ValueError("login with hunter2")
    except ValueError:
        log.exception("failed: %s", {"password": "hunter3"})
    log.warning("fine")
    assert caplog.messages == ["failed: {'password': '***'}", "fine"]
    assert "hunter" not in caplog.text
    assert "ValueError: login with ***" in caplog.text


def test_logs_remember_a_bounded_number_of_secrets() -> None:
    log = protect_logger(logging.getLogger("toolkeel.test_redact.bounded"))
    redact_in_logs(f"secret number {n}" for n in range(KEPT + 10))
    record = log.makeRecord(log.name, logging.INFO, "", 0, "secret number %d", (KEPT + 5,), None)
    log.filter(record)
    assert record.getMessage() == MASK


@pytest.mark.parametrize("name", ["toolkeel", "toolkeel.mcp"])
@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_no_text_in_a_log_forges_a_line(name: str, end: str) -> None:
    import toolkeel.mcp  # noqa: F401  (whose logger is the other one)

    log, written = logging.getLogger(name), io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    log.addHandler(handler)
    try:
        log.warning("%s failed", f"tool{end}ERROR paid")
        try:
            raise ValueError(f"no{end}ERROR paid")
        except ValueError:
            log.exception("failed")
    finally:
        log.removeHandler(handler)
    lines = written.getvalue().splitlines()
    assert [line for line in lines if line.startswith("ERROR")] == ["ERROR failed"]


def test_what_cannot_be_shown_in_a_log_breaks_nobody_who_logs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("no name")

    log = protect_logger(logging.getLogger("toolkeel.test_redact.broken"))
    log.propagate = False
    log.addHandler(logging.StreamHandler(io.StringIO()))
    log.warning("%r gave no tools", Broken())
    assert "no name" in capsys.readouterr().err  # logging's own way of telling


def test_an_error_tracker_still_gets_the_exception_if_it_tells_no_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    redact_in_logs(["hunter22"])
    for text in ("plain", "with hunter22"):
        try:
            raise ValueError(text)
        except ValueError:
            logging.getLogger("toolkeel").exception("failed")
    assert [record.exc_info is not None for record in caplog.records] == [True, False]


ANY = st.text(st.characters() | st.sampled_from("\n\r\x0b\x85\u2028\u2029\u202e\ud800"))


@given(ANY)
def test_a_text_stays_on_one_line_and_can_be_written(text: str) -> None:
    line = escape_line(text)
    assert len(line.splitlines()) <= 1
    line.encode()


@given(ANY)
def test_only_the_first_line_of_a_trace_begins_at_the_margin(text: str) -> None:
    _, *rest = indent_lines(text).splitlines() or [""]
    assert all(line.startswith("  ") for line in rest)
