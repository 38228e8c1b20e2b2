"""What this machine has to confine commands with; each is tried for real."""

from __future__ import annotations

import asyncio

from toolkeel.errors import SetupError
from toolkeel_studio.cli.doctor.section import Check, Section
from toolkeel_workspace.sandbox.confine import Backend, Features, Sandbox, detect_features
from toolkeel_workspace.sandbox.escape_probe import Hole, probe

_INSTALL = "apt-get install bubblewrap, or Workspace(..., sandbox=None) to run no commands"


def check_sandbox() -> Section:
    """Check the sandbox in use, and its open ends."""
    return section(detect_features())


def section(found: Features) -> Section:
    """Convert what was found to checks."""
    data = {"bubblewrap": found.bubblewrap, "landlock": found.landlock, "notes": found.notes}
    text = f"bubblewrap: {found.bubblewrap}; landlock: {found.landlock}"
    if found.backend == "none":
        return Section("Sandbox", (Check("none", "missing", text, _INSTALL, data),))
    return Section("Sandbox", (Check(found.backend, "ok", text, data=data),), found.notes)


def probe_sandboxes() -> Section:
    """Check each sandbox of this machine with a command in it that tries to escape."""
    found = detect_features()
    backends: tuple[Backend, ...] = ("bubblewrap", "landlock")
    absent = ("is ", "does ", "needs ", "has ", "leaves ")
    here: list[Backend] = [name for name in backends if not getattr(found, name).startswith(absent)]
    return Section("Sandbox, probed from inside", tuple(_tried(name) for name in here))


def _tried(backend: Backend) -> Check:
    try:
        holes = asyncio.run(probe(lambda root: Sandbox("workspace", [root], backend=backend)))
    except SetupError as error:
        return Check(backend, "problem", str(error))
    return verdict(backend, holes)


def verdict(backend: str, holes: tuple[Hole, ...]) -> Check:
    """Judge the result of the attempts to escape."""
    data = {"holes": [list(hole) for hole in holes]}
    if not holes:
        return Check(backend, "ok", "nothing that was tried gets out", data=data)
    shown = "; ".join(f"{hole.kind} {hole.what}" for hole in holes[:5])
    more = f"; and {len(holes) - 5} more (--json tells all)" if len(holes) > 5 else ""
    next_ = "run no commands of a model with this sandbox, and report it"
    return Check(backend, "problem", f"{shown}{more}", next_, data)
