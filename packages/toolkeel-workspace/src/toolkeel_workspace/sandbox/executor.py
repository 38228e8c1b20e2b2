"""The executor named ``sandbox``."""

from __future__ import annotations

from toolkeel.executors import Process
from toolkeel_workspace.sandbox.confine import Sandbox


def sandboxed_process() -> Process:
    """Create the executor named ``sandbox``: each body in a sandbox around the current folder."""
    return Process(Sandbox())
