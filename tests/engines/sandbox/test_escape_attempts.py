"""What is tried inside of a sandbox finds the walls that are gone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from tests.engines.walls import holes, need, walls
from tests.shared import cannot_run
from toolkeel.engines.sandbox import bubblewrap, confine, landlock, start_stage
from toolkeel.engines.sandbox.confine import Backend
from toolkeel.engines.sandbox.seccomp import INTERNET, UNIX, program


@pytest.fixture(autouse=True)
def tried_before() -> None:
    """What this machine has is remembered, and shall not be tried with walls taken out."""
    confine.features()


@pytest.fixture
def as_root_inside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No other user is taken."""
    monkeypatch.setattr(start_stage, "cannot_become", lambda owned: "it was told so")
    yield


def test_the_probe_sees_settings_of_the_kernel_that_root_may_write(
    as_root_inside: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        cannot_run("the settings are open to root alone")
    monkeypatch.setattr(bubblewrap, "_kernel", lambda: iter(()))
    found = {what for kind, what in holes("bubblewrap") if kind == "writes a setting of the kernel"}
    assert "/proc/sys/kernel/core_pattern" in found


def test_a_backend_that_leaves_those_settings_open_is_not_used(
    as_root_inside: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("bubblewrap")
    if os.geteuid() != 0:
        cannot_run("the settings are open to root alone")
    monkeypatch.setattr(bubblewrap, "_kernel", lambda: iter(()))
    assert "settings open" in confine._lacks.__wrapped__("bubblewrap")


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
    everything = program(families=UNIX + INTERNET)[-8:]  # the last instruction: allow
    monkeypatch.setattr(bubblewrap, "seccomp", lambda unix_sockets: everything)
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


def widened(place: str) -> Callable[..., list[tuple[str, int]]]:
    """Landlock's rules and one more."""
    rules = landlock.rules

    def more(*given: object) -> list[tuple[str, int]]:
        return [*rules(*given), (place, landlock.WRITE & landlock.handled(True)[0])]  # type: ignore[arg-type]

    return more


def test_the_probe_sees_a_rule_too_many_of_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "rules", widened("/"))
    found = {kind for kind, _ in holes("landlock")}
    assert {"reads outside", "writes outside"} <= found
    if os.geteuid() == 0:
        assert "writes a folder" in found and "writes a setting of the kernel" in found
