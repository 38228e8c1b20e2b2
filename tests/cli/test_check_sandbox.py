"""The sandbox in ``toolwright doctor``."""

from __future__ import annotations

from toolwright.cli.check_sandbox import look, section
from toolwright.engines.sandbox import Features, features


def test_the_backend_that_is_used_is_told_with_what_it_leaves_open() -> None:
    told = section(Features("landlock", "is not installed", "version 7", ("Open.",)))
    [check] = told.checks
    assert (check.name, check.state, check.next) == ("landlock", "ok", "")
    assert "is not installed" in check.text and told.next == ("Open.",)


def test_a_machine_without_any_is_told_what_to_install() -> None:
    [check] = section(Features("none", "is not installed", "is version 0", ())).checks
    assert check.state == "missing" and "apt-get install bubblewrap" in check.next


def test_this_machine_is_looked_at() -> None:
    assert look().checks[0].name == features().backend
