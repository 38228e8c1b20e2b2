"""The number of waiting calls is counted off the pages' path, bounded, and again soon."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from toolkeel.sessions.errors import SessionError
from toolkeel_studio.inspector import waiting_count
from toolkeel_studio.inspector.waiting_count import MOST, REUSE, WaitingCount


def test_a_number_is_counted_again_after_twenty_times_the_time_that_it_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, found = [0.0], [object()]

    def slow() -> Iterator[object]:
        now[0] += 1.0
        yield from found

    monkeypatch.setattr(waiting_count, "monotonic", lambda: now[0])
    count = WaitingCount(slow)
    assert count() == "1"
    found.append(object())
    now[0] += REUSE - 0.5
    assert count() == "1" and now[0] == REUSE + 0.5
    now[0] += 0.5
    assert count() == "2"
    found.clear()
    assert count() == "2"
    count.forget()
    assert count() == ""


def test_no_more_is_read_than_is_shown_and_a_store_that_fails_has_no_number() -> None:
    endless = iter(int, 1)
    assert WaitingCount(lambda: endless)() == f"{MOST}+"

    def failing() -> Iterator[object]:
        raise SessionError("the disk is gone")
        yield

    assert WaitingCount(failing)() == ""


def test_a_decision_during_a_count_makes_the_next_one_count_again() -> None:
    found = [object()]

    def decided_meanwhile() -> Iterator[object]:
        yield from found
        if found:
            found.clear()
            count.forget()

    count = WaitingCount(decided_meanwhile)
    assert (count(), count()) == ("1", "")
