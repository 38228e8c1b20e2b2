"""What is tried inside of a sandbox finds the walls that are gone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.walls import holes, need, walls
from tests.shared import cannot_run
from toolkeel.executors.process_tree import Command
from toolkeel_workspace.sandbox import bubblewrap, confine, landlock, seccomp, start_stage
from toolkeel_workspace.sandbox.confine import Backend, Sandbox
from toolkeel_workspace.sandbox.escape_probe import probe
from toolkeel_workspace.sandbox.seccomp import INTERNET, UNIX, build_filter


@pytest.fixture(autouse=True)
def tried_before() -> None:
    """What this machine has is remembered, and shall not be tried with walls taken out."""
    confine.detect_features()


@pytest.fixture
def as_root_inside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No other user is taken."""
    monkeypatch.setattr(start_stage, "find_user_obstacle", lambda owned: "it was told so")
    yield


def test_the_probe_sees_settings_of_the_kernel_that_root_may_write(
    as_root_inside: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        cannot_run("the settings are open to root alone")
    monkeypatch.setattr(bubblewrap, "_kernel_options", lambda: iter(()))
    found = {what for kind, what in holes("bubblewrap") if kind == "writes a setting of the kernel"}
    assert "/proc/sys/kernel/core_pattern" in found


def test_a_backend_that_leaves_those_settings_open_is_not_used(
    as_root_inside: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("bubblewrap")
    if os.geteuid() != 0:
        cannot_run("the settings are open to root alone")
    monkeypatch.setattr(bubblewrap, "_kernel_options", lambda: iter(()))
    assert "settings writable" in confine._find_obstacle.__wrapped__("bubblewrap")


def test_the_probe_sees_local_sockets_and_the_network() -> None:
    found = {kind for kind, _ in holes("bubblewrap", network="machine", unix_sockets=True)}
    assert found == {"reaches a local socket", "reaches the machine"}


@walls
def test_with_the_network_no_local_socket_is_reached_by_file_or_abstract(backend: Backend) -> None:
    assert {kind for kind, _ in holes(backend, network="machine")} == {"reaches the machine"}


def test_with_the_public_internet_nothing_of_the_machine_is_reached() -> None:
    assert holes("bubblewrap", network=True) == []
    found = holes("bubblewrap", network=["example.org"], unix_sockets=True)
    assert {kind for kind, _ in found} == {"reaches a local socket"}  # by its file
    assert not [what for _, what in found if what.startswith("abstract")]


def test_the_probe_sees_a_filter_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = build_filter(families=UNIX + INTERNET)[-8:]  # the last instruction: allow
    monkeypatch.setattr(bubblewrap, "build_namespace_filter", lambda unix_sockets: everything)
    found = holes("bubblewrap")
    called = {what for kind, what in found if kind == "a call of the kernel"}
    assert {"io_uring_setup", "unshare(CLONE_NEWUSER)", "ptrace(PTRACE_TRACEME)"} <= called
    kinds = {
        "types into a terminal",
        "reaches a local socket",
        "makes a file that runs as its owner",
    }
    assert kinds <= {kind for kind, _ in found}
    assert ("reaches a local socket", "by a pair for datagrams") in found


ALL_BUT = ["--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup", "--unshare-net"]


def without(name: str) -> list[str]:
    return [word for word in ALL_BUT if word != f"--unshare-{name}"]


@pytest.mark.parametrize(
    ("wall", "gap", "hole"),
    [
        (["--cap-drop", "ALL"], ["--cap-add", "ALL"], ("capabilities", "Cap")),
        (["--unshare-all"], without("pid"), ("shares a namespace", "pid")),
        (["--unshare-all"], without("ipc"), ("shares a namespace", "ipc")),
        (["--unshare-all"], without("net"), ("reaches the machine", "TCP")),
        (["--remount-ro", "/"], [], ("a mount that can be written", "/")),
        (["--remount-ro", "/dev"], [], ("a mount that can be written", "/dev")),
        (
            ["--remount-ro", "/"],
            ["--bind", "/sys", "/sys"],
            ("a mount that can be written", "/sys"),
        ),
    ],
    ids=["capabilities", "processes", "ipc", "network", "the root", "/dev", "/sys"],
)
def test_the_probe_sees_each_word_to_bubblewrap_that_is_gone(
    wall: list[str], gap: list[str], hole: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = bubblewrap.make_options

    def fewer(*given: Any, **named: Any) -> list[str]:
        words = arguments(*given, **named)
        [at, *_] = [n for n in range(len(words)) if words[n : n + len(wall)] == wall]
        return [*words[:at], *gap, *words[at + len(wall) :]]

    monkeypatch.setattr(bubblewrap, "make_options", fewer)
    assert any(kind == hole[0] and what.startswith(hole[1]) for kind, what in holes("bubblewrap"))


@pytest.mark.parametrize(
    ("name", "gap", "hole"),
    [
        ("_NEW_NAMESPACES", 0, "unshare(CLONE_NEWUSER)"),
        ("_TIOCSTI", 1, "TIOCSTI"),
        ("_TIOCLINUX", 1, "TIOCLINUX"),
        ("_SETUID", 0, "setuid"),
        ("_REFUSED", {k: n for k, n in seccomp._REFUSED.items() if "key" not in k}, "add_key"),
        ("_REFUSED", {k: n for k, n in seccomp._REFUSED.items() if k != "open_tree"}, "open_tree"),
        ("_CLONE3", (998, 998), "clone3"),
    ],
)
def test_the_probe_sees_each_rule_of_the_filter_that_is_gone(
    name: str, gap: object, hole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seccomp, name, gap)
    assert hole in {what.rpartition("/")[2] for _, what in holes("bubblewrap")}


class Leaving(Sandbox):
    """Leaves a file open for its commands."""

    def build_command(self, *given: Any, **named: Any) -> Command:
        made = super().build_command(*given, **named)
        made.pass_fds += (os.open("/etc/passwd", os.O_RDONLY),)
        return made


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("reads outside", lambda root: {"readable": [root.parent]}),
        ("writes outside", lambda root: {"roots": [root, root.parent]}),
        ("reads another's environment", lambda root: {"env": dict(os.environ)}),
        ("an inherited descriptor", lambda root: {}),
    ],
    ids=["a readable place", "a writable place", "our variables", "an open file"],
)
@walls
def test_the_probe_sees_what_a_command_was_given_too_much(
    backend: Backend, kind: str, options: Callable[[Path], dict[str, Any]]
) -> None:
    need(backend)

    def make(root: Path) -> Sandbox:
        cls = Leaving if "descriptor" in kind else Sandbox
        return cls("workspace", **{"roots": [root], **options(root)}, backend=backend)

    found = asyncio.run(probe(make))
    assert kind in {each.kind for each in found}, found


def widened(place: str, right: int = landlock.WRITE) -> Callable[..., list[tuple[str, int]]]:
    """Landlock's rules and one more."""
    rules = landlock.make_rules

    def more(*given: object) -> list[tuple[str, int]]:
        return [*rules(*given), (place, right & landlock.handled_rights(True)[0])]  # type: ignore[arg-type]

    return more


def test_the_probe_sees_a_rule_too_many_of_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "make_rules", widened("/"))
    found = {kind for kind, _ in holes("landlock")}
    assert {"reads outside", "writes outside", "links outside", "a device"} <= found
    if os.geteuid() == 0:
        assert "writes a folder" in found and "writes a setting of the kernel" in found


def test_the_probe_sees_signals_that_landlock_lets_through(monkeypatch: pytest.MonkeyPatch) -> None:
    need("landlock")
    if landlock.get_abi_version() < 6:
        cannot_run("this kernel's Landlock holds no signals")
    handled = landlock.handled_rights
    monkeypatch.setattr(landlock, "handled_rights", lambda network: [*handled(network)[:2], 0])
    assert {kind for kind, _ in holes("landlock")} == {"signals processes outside"}


def test_the_probe_sees_the_internet_that_landlocks_filter_lets_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        landlock, "build_landlock_filter", lambda network: build_filter(families=INTERNET)
    )
    assert {kind for kind, _ in holes("landlock")} == {"reaches the machine"}
