"""What this machine has to confine commands with; each is tried for real."""

from __future__ import annotations

from toolwright.cli.check import Check, Section
from toolwright.engines.sandbox import Features, features

_INSTALL = "apt-get install bubblewrap, or Workspace(..., sandbox=None) to run no commands"


def look() -> Section:
    """The sandbox that is used, and what it leaves open."""
    return section(features())


def section(found: Features) -> Section:
    """What was found, as checks."""
    data = {"bubblewrap": found.bubblewrap, "landlock": found.landlock, "notes": found.notes}
    text = f"bubblewrap: {found.bubblewrap}; landlock: {found.landlock}"
    if found.backend == "none":
        return Section("Sandbox", (Check("none", "missing", text, _INSTALL, data),))
    return Section("Sandbox", (Check(found.backend, "ok", text, data=data),), found.notes)
