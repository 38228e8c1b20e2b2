"""The rights that Landlock is asked for; what they come to is seen in the sandbox's tests."""

from __future__ import annotations

from toolkeel_workspace.sandbox import landlock
from toolkeel_workspace.sandbox.mounts import SandboxPaths


def test_what_is_only_readable_has_no_right_to_write() -> None:
    rules = dict(landlock.make_rules(SandboxPaths(("/usr",), ("/r",), ("/w",), ()), "/home-of-it"))
    for path in ("/usr", "/r", "/proc"):
        assert rules[path] & ~landlock.READ == 0
    for path in ("/w", "/home-of-it"):
        assert rules[path] & landlock.WRITE_FILE


def test_no_devices_can_be_made_anywhere() -> None:
    for _, rights in landlock.make_rules(SandboxPaths(("/usr",), (), ("/w",), ()), "/h"):
        assert not rights & (landlock.MAKE_CHAR | landlock.MAKE_BLOCK)


def test_what_it_leaves_open_is_said() -> None:
    assert any("Protected files" in note for note in landlock.list_gaps())
