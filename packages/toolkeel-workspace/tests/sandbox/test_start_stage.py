"""The stage before bubblewrap: by whom, of what, and why not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.sandbox.walls import need, run, walled
from tests.shared import cannot_run
from toolkeel.errors import SetupError
from toolkeel_workspace.sandbox import start_stage
from toolkeel_workspace.sandbox.confine import Sandbox, detect_features
from toolkeel_workspace.sandbox.mounts import STAGE_SCRIPT, collect_paths
from toolkeel_workspace.sandbox.start_stage import find_user_obstacle, pick_unused_uid


def test_the_number_is_another_each_time_and_belongs_to_nobody() -> None:
    users = {pick_unused_uid() for _ in range(20)}
    assert len(users) > 10 and all(user >= 64_000 for user in users)


def test_who_is_not_root_stays_who_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "not root" in find_user_obstacle.__wrapped__(("/usr",))


def test_a_folder_that_cannot_be_shown_says_why() -> None:
    if os.geteuid() != 0:
        cannot_run("only root can become somebody else")
    assert "cannot be mounted" in start_stage.find_user_obstacle(("/no/such/folder",))


def test_a_root_whose_name_is_no_text_is_worked_in_and_its_protected_files_stay(
    tmp_path: Path,
) -> None:
    need("bubblewrap")
    root = tmp_path / os.fsdecode(b"\xff\n\xe4\xbd\xa0")
    root.mkdir()
    (root / "AGENTS.md").write_text("old")
    run(walled("bubblewrap", root), "echo new > AGENTS.md; echo new > other")
    assert (root / "AGENTS.md").read_text() == "old"
    assert (root / "other").read_text() == "new\n"


def test_a_root_within_another_is_changed_and_can_not_be_moved_aside(tmp_path: Path) -> None:
    need("bubblewrap")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / ".env").write_text("A=1")
    if os.geteuid() == 0:
        os.chown(inner, 1000, 1000)
    sandbox = Sandbox("workspace", [tmp_path, inner], backend="bubblewrap")
    done = run(sandbox, "mv a c; mv a/b a/c; echo x > a/b/.env; echo 1 > a/b/new; echo 2 > new")
    assert done.exit_code == 0, done.stderr
    assert (inner / "new").read_text() == "1\n" and (tmp_path / "new").read_text() == "2\n"
    assert (inner / ".env").read_text() == "A=1"
    assert (inner / "new").stat().st_uid == inner.stat().st_uid


def test_a_machine_that_permits_no_stage_runs_commands_and_says_what_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("bubblewrap")
    for name in ("find_user_obstacle", "find_stage_obstacle"):
        monkeypatch.setattr(start_stage, name, lambda *_: "it was told so")
    (tmp_path / ".env").write_text("A=1")
    done = run(walled("bubblewrap", tmp_path), "echo x > .env; echo 1 > new; cat new")
    assert done.stdout == b"1\n" and (tmp_path / ".env").read_text() == "A=1"
    monkeypatch.setattr(
        "toolkeel_workspace.sandbox.confine.find_stage_obstacle", lambda: "it was told so"
    )
    [note] = [each for each in detect_features().notes if "replaces" in each]
    assert "it was told so" in note


def test_a_root_that_holds_the_environment_of_this_program_by_a_link_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link cannot be kept: by another one a command had its own Python started outside."""
    need("bubblewrap")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    with pytest.raises(
        SetupError, match="through a link that a command could replace: start it by"
    ):
        walled("bubblewrap", tmp_path)
    assert run(Sandbox("read-only", [tmp_path], backend="bubblewrap"), "echo 1").stdout == b"1\n"


def test_the_program_before_the_walls_is_kept_in_a_root_that_holds_it() -> None:
    """Whoever works on this library with it: a command could write what the next one starts."""
    root = Path(start_stage.__file__).parent
    assert str(STAGE_SCRIPT) in collect_paths([root], [], is_writable=True, network=False).protected


def test_a_start_that_hangs_is_an_error_and_the_next_one_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(start_stage, "PROBE_SECONDS", 0.1)
    with pytest.raises(TimeoutError, match=r"did not start within .*; try again"):
        start_stage.run_probe(["/bin/sleep", "60"], {}, ())

    def hang(*about: object) -> None:
        raise TimeoutError("hung")

    handles = len(os.listdir("/proc/self/fd"))
    start_stage.find_stage_obstacle.cache_clear()
    with monkeypatch.context() as hung:
        hung.setattr(start_stage, "run_probe", hang)
        for _ in range(2):
            with pytest.raises(TimeoutError):
                start_stage.find_stage_obstacle()
    assert len(os.listdir("/proc/self/fd")) == handles
    monkeypatch.setattr(start_stage, "PROBE_SECONDS", 30.0)
    assert isinstance(start_stage.find_stage_obstacle(), str)


def test_without_proc_no_user_is_found_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise FileNotFoundError(2, "No such file or directory", "/proc/self/uid_map")

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(start_stage, "pick_unused_uid", fail)
    assert "/proc/self/uid_map" in find_user_obstacle.__wrapped__(("/usr",))
