"""Decode untrusted files (pictures, PDF) in a confined process with one import path.

Where a sandbox is available, the decoding library reads its own package and nothing else, writes
nothing, has no network and is limited. Without a sandbox it is still a process of its own with the same
limits. `package_folder` finds the package when the modules that need it are imported, before a model
could write a package of that name into a folder on the import path.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from toolkeel._common.package_data import require_file
from toolkeel.errors import ToolError
from toolkeel.executors.command_limits import Limits
from toolkeel_workspace.sandbox.confine import Sandbox, detect_features

WORKER_SCRIPT = Path(__file__).with_name("decode_resize_worker.py")
"""The program that decodes."""
TIMEOUT_SECONDS = 75.0
"""Seconds for one file, including the start of the process."""
MAX_RESPONSE_BYTES = 64 << 20
"""Bytes of a response."""
_LIMITS = Limits(
    cpu=75, memory=1 << 30, total_memory=None, file_size=0, processes=64, open_files=64
)


@cache
def package_folder(name: str) -> str:
    """Return the folder a package is installed in, without importing it, or empty if it is missing.

    Args:
        name: The package, such as ``PIL``.
    """
    spec = importlib.util.find_spec(name)
    return str(Path(spec.origin).parents[1]) if spec is not None and spec.origin else ""


def decode_file(request: dict[str, Any], data: bytes, folder: str) -> tuple[dict[str, Any], bytes]:
    """Decode a file in a worker process.

    Args:
        request: ``kind`` and limits; see `decode_resize_worker`.
        data: The file.
        folder: Where the package that decodes it is installed.

    Returns:
        The worker's response and the bytes it made. Both derive from the untrusted file: check what you
        rely on.

    Raises:
        ToolError: if the worker took too long or ended without a response.
    """
    line = json.dumps(request).encode() + b"\n"
    words = [sys.executable, "-I", "-S", str(require_file(WORKER_SCRIPT)), folder]
    if sys.platform == "win32":
        return _parse_response(subprocess.run([*words], input=line + data, capture_output=True))
    with _make_sandbox(folder).build_command(words) as command:
        try:
            done = subprocess.run(
                command.argv,
                env=command.env,
                pass_fds=command.pass_fds,
                input=line + data,
                capture_output=True,
                timeout=TIMEOUT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise ToolError(
                f"The file cannot be read: it takes more than {TIMEOUT_SECONDS:g} s."
            ) from None
    return _parse_response(done)


@cache
def _make_sandbox(folder: str) -> Sandbox:
    if detect_features().backend == "none":
        return Sandbox("off", [WORKER_SCRIPT.parent], limits=_LIMITS)
    return Sandbox("read-only", [WORKER_SCRIPT.parent], readable=[folder], limits=_LIMITS)


def _parse_response(done: subprocess.CompletedProcess[bytes]) -> tuple[dict[str, Any], bytes]:
    head, _, made = done.stdout.partition(b"\n")
    try:
        response = json.loads(head) if len(done.stdout) <= MAX_RESPONSE_BYTES else None
    except (ValueError, RecursionError):
        response = None
    if isinstance(response, dict):
        return response, made
    last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
    raise ToolError(
        f"The file cannot be read: the decoder ended without a response ({last or done.returncode})."
    )
