"""The sandbox in ``toolkeel doctor``."""

from __future__ import annotations

from toolkeel_studio.cli.doctor.sandbox import check_sandbox, probe_sandboxes, section, verdict
from toolkeel_workspace.sandbox.confine import Features, detect_features
from toolkeel_workspace.sandbox.escape_probe import Hole


def test_the_backend_that_is_used_is_told_with_what_it_leaves_open() -> None:
    told = section(Features("landlock", "is not installed", "version 7", ("Open.",)))
    [check] = told.checks
    assert (check.name, check.state, check.next) == ("landlock", "ok", "")
    assert "is not installed" in check.text and told.next == ("Open.",)


def test_a_machine_without_any_is_told_what_to_install() -> None:
    [check] = section(Features("none", "is not installed", "is version 0", ())).checks
    assert check.state == "missing" and "apt-get install bubblewrap" in check.next


def test_this_machine_is_looked_at() -> None:
    assert check_sandbox().checks[0].name == detect_features().backend


def test_a_deep_look_finds_nothing_open_on_this_machine() -> None:
    section = probe_sandboxes()
    assert section.checks or detect_features().backend == "none"
    assert [check.state for check in section.checks] == ["ok"] * len(section.checks)


def test_what_gets_out_is_a_problem_told_with_its_first_holes() -> None:
    holes = tuple(Hole("writes outside", f"/x{n}") for n in range(7))
    check = verdict("bubblewrap", holes)
    assert check.state == "problem" and "/x4; and 2 more" in check.text and check.next
    assert len(check.data["holes"]) == 7  # type: ignore[arg-type]
