"""The cancel token: given once, by whoever is first, heard by everybody."""

from __future__ import annotations

import logging
import signal
import threading
import time
from typing import Any

import pytest

from toolkeel._common.cancel import CancelToken
from toolkeel.errors import Cancelled


def test_a_cancel_reaches_each_watcher_once_and_late_ones_at_once() -> None:
    token, seen = CancelToken(), []
    token.watch(lambda: seen.append("early"))
    token.cancel("first")
    token.cancel("second")
    token.watch(lambda: seen.append("late"))
    assert seen == ["early", "late"]
    assert (token.cancelled, token.reason) == (True, "first")


def test_a_callback_taken_back_is_not_called() -> None:
    token, seen = CancelToken(), []
    take_back = token.watch(lambda: seen.append(1))
    token.watch(lambda: seen.append(2))
    take_back()
    take_back()
    token.cancel()
    assert seen == [2]


def test_a_check_raises_with_the_reason_once_the_wish_was_given() -> None:
    token = CancelToken()
    token.raise_if_cancelled()
    token.cancel("the user left")
    with pytest.raises(Cancelled, match="the user left") as raised:
        token.raise_if_cancelled()
    assert raised.value.kind == "cancelled"


def test_of_many_threads_that_cancel_one_wins_and_each_watcher_hears_once() -> None:
    token, heard = CancelToken(), []
    for number in range(20):
        token.watch(lambda n=number: heard.append(n))
    ready = threading.Barrier(8)

    def cancel(number: int) -> None:
        ready.wait()
        token.cancel(str(number))

    threads = [threading.Thread(target=cancel, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(heard) == list(range(20))
    assert token.reason in {str(number) for number in range(8)}


def test_a_watcher_that_fails_is_logged_and_the_others_are_called(
    caplog: pytest.LogCaptureFixture,
) -> None:
    token, heard = CancelToken(), list[int]()

    def broken() -> None:
        raise RuntimeError("watcher")

    token.watch(lambda: heard.append(1))
    token.watch(broken)
    token.watch(lambda: heard.append(2))
    with caplog.at_level(logging.ERROR, "toolkeel"):
        token.cancel()
    assert heard == [1, 2]
    assert "watcher" in caplog.text


def test_a_signal_handler_may_cancel_while_the_token_is_being_watched() -> None:
    """It interrupts the very code that it would have to wait for, were there a lock."""
    token, heard = CancelToken(), list[int]()
    usual = signal.signal(signal.SIGALRM, lambda *_: token.cancel("signal"))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        end = time.monotonic() + 5
        watched = 0
        while not token.cancelled:
            assert time.monotonic() < end
            token.watch(lambda: heard.append(1))
            watched += 1
        token.watch(lambda: heard.append(1))
    finally:
        signal.signal(signal.SIGALRM, usual)
    assert len(heard) == watched + 1


def test_watching_and_cancelling_at_once_from_many_threads_calls_each_watcher_once() -> None:
    for _ in range(50):
        token, heard = CancelToken(), list[int]()
        ready = threading.Barrier(5)

        def watch(base: int, token: CancelToken = token, ready: Any = ready) -> None:
            ready.wait()
            for number in range(base, base + 20):
                token.watch(lambda n=number: heard.append(n))  # noqa: B023 - joined below

        threads = [threading.Thread(target=watch, args=(base,)) for base in (0, 20, 40, 60)]
        for thread in threads:
            thread.start()
        ready.wait()
        token.cancel()
        for thread in threads:
            thread.join()
        assert sorted(heard) == list(range(80))


def test_a_watcher_may_take_another_back_or_cancel_again() -> None:
    token, heard = CancelToken(), list[str]()
    token.watch(lambda: take_back())
    token.watch(lambda: token.cancel("again"))
    take_back = token.watch(lambda: heard.append("taken back"))
    token.watch(lambda: heard.append("last"))
    token.cancel("first")
    assert (heard, token.reason) == (["last"], "first")
