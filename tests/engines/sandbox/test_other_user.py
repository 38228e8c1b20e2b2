"""The user that commands of root run as."""

from __future__ import annotations

import os
import sys

import pytest

from tests.shared import cannot_run
from toolkeel.engines.sandbox import other_user
from toolkeel.engines.sandbox.other_user import BECOME, becoming, cannot_become


def test_the_number_is_another_each_time_and_belongs_to_nobody() -> None:
    words = [becoming(3) for _ in range(20)]
    assert {tuple(each[:4]) for each in words} == {(sys.executable, "-I", "-S", str(BECOME))}
    users = {int(each[4]) for each in words}
    assert len(users) > 10 and all(user >= 64_000 for user in users)


def test_who_is_not_root_stays_who_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "not root" in cannot_become.__wrapped__(("/usr",))


def test_a_folder_that_cannot_be_shown_says_why() -> None:
    if os.geteuid() != 0:
        cannot_run("only root can become somebody else")
    assert "cannot become another user" in other_user.cannot_become(("/no/such/folder",))
