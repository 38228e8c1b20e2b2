"""Try to get out of each sandbox of this machine, by every way that is known: ``python -m tests.security.probe``.

The attempts are the library's own (`toolkeel_workspace.sandbox.escape_attempts`), as ``toolkeel doctor --deep``
makes them; nothing is harmed. The exit code is the number of holes. `packages/toolkeel-workspace/tests/sandbox/test_escape_probe.py`
runs them as root and as a user, `test_escape_attempts.py` with each wall taken out.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from toolkeel.errors import SetupError
from toolkeel_workspace.sandbox.confine import Backend, Sandbox, detect_features
from toolkeel_workspace.sandbox.escape_probe import Hole, probe

BACKENDS: tuple[Backend, ...] = ("bubblewrap", "landlock")


def holes(backend: Backend) -> tuple[Hole, ...]:
    """What gets out of one backend, without a network and, where it holds one, with it.

    Raises:
        SetupError: it cannot be used here.
    """
    found = asyncio.run(probe(lambda root: Sandbox("workspace", [root], backend=backend)))
    if backend == "landlock":
        return found

    def reaching(root: Path) -> Sandbox:
        return Sandbox("workspace", [root], backend=backend, network=True)

    return (*found, *asyncio.run(probe(reaching)))


def main() -> int:
    """Probe each backend and print what was found."""
    print(detect_features())
    found = 0
    for backend in BACKENDS:
        try:
            each = holes(backend)
        except (SetupError, OSError) as error:
            print(f"{backend}: not tried: {error}")
            continue
        found += len(each)
        print(
            f"{backend}: {len(each)} holes", *(f"  {kind}: {what}" for kind, what in each), sep="\n"
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
