"""What tests of the sandbox share: the backends that are here, and folders to work in."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.shared import cannot_run
from toolkeel.executors.command_limits import Limits
from toolkeel.executors.process_tree import CommandResult
from toolkeel_workspace.sandbox.confine import Backend, Network, Sandbox, detect_features
from toolkeel_workspace.sandbox.escape_probe import Hole, probe

BACKENDS: tuple[Backend, ...] = ("bubblewrap", "landlock")
walls = pytest.mark.parametrize("backend", BACKENDS)
everywhere = pytest.mark.parametrize("backend", [*BACKENDS, "none"])
rest_slow = pytest.mark.parametrize(
    "backend",
    ["bubblewrap", *(pytest.param(b, marks=pytest.mark.slow) for b in BACKENDS[1:] + ("none",))],
)


def walled(
    backend: Backend,
    root: Path,
    *,
    network: bool = False,
    limits: Limits | None = None,
    readable: tuple[Path, ...] = (),
    env: dict[str, str] | None = None,
) -> Sandbox:
    """A sandbox of one backend, or of none with ``mode="off"``."""
    if backend == "none":
        return Sandbox("off", [root], limits=limits)
    need(backend)
    options = {"network": network, "limits": limits, "readable": readable, "env": env}
    return Sandbox("workspace", [root], backend=backend, **options)  # type: ignore[arg-type]


def need(backend: Backend) -> None:
    """End the test if this machine has no such backend."""
    said = getattr(detect_features(), backend)
    if said.startswith(("is ", "does ", "needs ", "has ")):
        cannot_run(f"{backend} {said}")


def need_number_of_processes() -> None:
    """End the test if nothing here holds our user to a number of processes."""
    for note in detect_features().notes:
        if "processes is not limited" in note:
            cannot_run(note)


def holes(backend: Backend, *, network: Network = False, unix_sockets: bool = False) -> list[Hole]:
    """What the probe finds open in a sandbox of one backend."""
    need(backend)

    def make(root: Path) -> Sandbox:
        return Sandbox(
            "workspace", [root], backend=backend, network=network, unix_sockets=unix_sockets
        )

    return list(asyncio.run(probe(make)))


def run(sandbox: Sandbox, line: str, timeout: float = 60) -> CommandResult:
    """What came of a line of shell."""
    return asyncio.run(sandbox.run(["bash", "-c", line], timeout=timeout))
