"""The executor that ``executor="sandbox"`` names."""

from __future__ import annotations

from toolkeel.executors import Process
from toolkeel_workspace.sandbox.confine import Sandbox


def sandboxed_process() -> Process:
    """Make an executor that runs each body in a sandbox around the current folder."""
    return Process(Sandbox())
