"""The words that start bubblewrap."""

from __future__ import annotations

from toolkeel_workspace.sandbox.bubblewrap import make_mount_options, make_options
from toolkeel_workspace.sandbox.mounts import SandboxPaths


def test_folders_are_mounted_before_those_inside_of_them() -> None:
    seen = SandboxPaths(("/usr",), ("/a/b/c",), ("/a", "/a/b"), ())
    made = make_mount_options(seen, str, is_staged=False)
    at = [made.index(path) for path in ("/a", "/a/b", "/a/b/c")]
    assert at == sorted(at)
    assert made[at[2] - 1] == "--ro-bind"


def test_folders_on_the_way_to_a_protected_file_are_mounts_so_that_none_can_be_moved() -> None:
    seen = SandboxPaths((), (), ("/w",), ("/w/.git/hooks",))
    made = " ".join(make_mount_options(seen, str, is_staged=False))
    assert made == "--bind /w /w --bind /w/.git /w/.git --ro-bind /w/.git/hooks /w/.git/hooks"


def test_what_lies_within_a_root_is_mounted_by_the_stage_alone() -> None:
    seen = SandboxPaths((), ("/w/r",), ("/w", "/w/a/b"), ("/w/.git/hooks",))
    assert make_mount_options(seen, str, is_staged=True) == ["--bind", "/w", "/w"]


def test_the_network_is_shared_only_when_it_is_allowed() -> None:
    for network in (True, False):
        made = make_options([], env={}, cwd="/", network=network, tmp_size=1)
        assert ("--share-net" in made) is network
