"""Decoding strangers' files (pictures, PDF) in a confined process, with no import path but its own.

A library that decodes runs in a sandbox where there is one: it reads its own packages and nothing
else, writes nothing, reaches nothing, and ends at its limits. Where there is no sandbox it is still
a process of its own with those limits. Where the package is installed is found when it is first
asked for by `package_folder`, which those who need it do when they are imported: before a model
could write a package of that name into a folder that programs are imported from.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from toolkeel.errors import ToolError
from toolkeel.executors.command_limits import Limits
from toolkeel_workspace.sandbox.confine import Sandbox, features

WORKER = Path(__file__).with_name("decode_resize_worker.py")
"""The program that decodes."""
SECONDS = 75.0
"""Time one file may take, the start of the process included."""
MAX_RESPONSE = 64 << 20
"""Bytes of an answer."""
_LIMITS = Limits(
    cpu=75, memory=1 << 30, total_memory=None, file_size=0, processes=64, open_files=64
)


@cache
def package_folder(name: str) -> str:
    """Where an installed package lies; empty if it is not there. Does not import it.

    Args:
        name: Of the package, such as ``PIL``.
    """
    spec = importlib.util.find_spec(name)
    return str(Path(spec.origin).parents[1]) if spec is not None and spec.origin else ""


def decode(order: dict[str, Any], data: bytes, folder: str) -> tuple[dict[str, Any], bytes]:
    """Have a file decoded.

    Args:
        order: ``kind`` and limits; see `decode_resize_worker`.
        data: The file.
        folder: Where the package that decodes it lies.

    Returns:
        What the worker found, and the bytes it made. Both come from the stranger's file: whoever
        uses them checks what they rely on.

    Raises:
        ToolError: the worker ended without an answer.
    """
    line = json.dumps(order).encode() + b"\n"
    words = [sys.executable, "-I", "-S", str(WORKER), folder]
    if sys.platform == "win32":
        return _decoded(subprocess.run([*words], input=line + data, capture_output=True))
    with _sandbox(folder).command(words) as command:
        try:
            done = subprocess.run(
                command.argv,
                env=command.env,
                pass_fds=command.pass_fds,
                input=line + data,
                capture_output=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise ToolError(f"The file cannot be read: it takes more than {SECONDS:g} s.") from None
    return _decoded(done)


@cache
def _sandbox(folder: str) -> Sandbox:
    if features().backend == "none":
        return Sandbox("off", [WORKER.parent], limits=_LIMITS)
    return Sandbox("read-only", [WORKER.parent], readable=[folder], limits=_LIMITS)


def _decoded(done: subprocess.CompletedProcess[bytes]) -> tuple[dict[str, Any], bytes]:
    head, _, made = done.stdout.partition(b"\n")
    try:
        told = json.loads(head) if len(done.stdout) <= MAX_RESPONSE else None
    except (ValueError, RecursionError):
        told = None
    if isinstance(told, dict):
        return told, made
    last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
    raise ToolError(
        f"The file cannot be read: what decodes it ended without an answer ({last or done.returncode})."
    )
