"""A probe of a sandbox for escapes known by name: what can be written, reached, read or called.

::

    holes = await probe(lambda root: Sandbox("workspace", [root]))

It sets traps outside (a file, local sockets, a service on loopback, a process with a secret), runs
`escape_attempts` inside, and tells what got through. Nothing on the machine is changed by it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from toolkeel._common.data_folder import temporary_folder
from toolkeel.errors import SetupError
from toolkeel_workspace.sandbox.bubblewrap import HOME
from toolkeel_workspace.sandbox.confine import Sandbox

ATTEMPTS = Path(__file__).with_name("escape_attempts.py")
"""The program that runs inside."""
_SLEEPER = "import sys; sys.stdin.read()"
_TIMEOUT = 120.0
_NAMESPACES = ("ipc", "mnt", "pid", "user", "uts")  # a shared one of the network is found by use


class Hole(NamedTuple):
    """Something a sandbox lets through.

    Args:
        kind: What was done, such as ``writes outside``.
        what: To what: a path, a call of the kernel, an address.
    """

    kind: str
    what: str


async def probe(make: Callable[[Path], Sandbox]) -> tuple[Hole, ...]:
    """Try to get out of a sandbox. The holes that were found, none for one that holds.

    Args:
        make: Makes the sandbox for a folder.

    Raises:
        SetupError: the attempts could not be made; it says why.
    """
    with (
        tempfile.TemporaryDirectory(dir=temporary_folder()) as folder,
        _traps(Path(folder)) as (root, traps),
    ):
        sandbox = make(root)
        own = _NAMESPACES if sandbox.backend == "bubblewrap" else ()
        traps["namespaces"] = {name: os.readlink(f"/proc/self/ns/{name}") for name in own}
        traps["writable"] = [str(root), HOME]
        words = [sys.executable, "-I", "-S", str(ATTEMPTS)]
        given = json.dumps(traps).encode()
        done = await sandbox.with_readable(ATTEMPTS).run(words, stdin=given, timeout=_TIMEOUT)
    try:
        return tuple(Hole(kind, what) for kind, what in json.loads(done.stdout))
    except ValueError:
        said = done.stderr.decode("utf-8", "replace").strip()[-500:]
        raise SetupError(f"the sandbox could not be probed ({done.exit_code}): {said}") from None


@contextlib.contextmanager
def _traps(folder: Path) -> Iterator[tuple[Path, dict[str, object]]]:
    """Create a root, and files outside of it to be found, for as long as the block is open."""
    root = folder / "root"
    root.mkdir()
    secret = secrets.token_hex(16)
    outside = folder / "outside.txt"
    outside.write_text(secret)
    (root / "link").symlink_to(outside)
    with (
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as local,
        socket.socket() as tcp,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _SLEEPER, secret],
            stdin=subprocess.PIPE,
            env={"SECRET": secret},
        ) as sleeper,
    ):
        if sys.platform == "linux":
            abstract.bind(f"\0{secret}")
            abstract.listen()
        local.bind(str(root / "socket"))
        local.listen()
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        udp.bind(tcp.getsockname())
        threading.Thread(target=_answer, args=(udp,), daemon=True).start()
        traps = {
            "root": str(root),
            "outside": str(outside),
            "links": [str(root / "link"), f"{root}/../outside.txt", f"/proc/1/root{outside}"],
            "abstract": secret,
            "socket": str(root / "socket"),
            "devices": os.listdir("/dev"),
            "port": tcp.getsockname()[1],
            "secret": secret,
            "pid": sleeper.pid,
            "command": _SLEEPER,
        }
        variable = f"TOOLKEEL_{secret}"
        os.environ[variable] = secret  # no command finds it anywhere
        try:
            yield root, traps
        finally:
            del os.environ[variable]
            sleeper.kill()
            with contextlib.suppress(OSError):
                udp.sendto(b"end", udp.getsockname())


def _answer(udp: socket.socket) -> None:
    """Say to whoever sends a datagram that it was heard."""
    with contextlib.suppress(OSError):
        while (said := udp.recvfrom(10))[0] != b"end":
            udp.sendto(b"heard", said[1])
