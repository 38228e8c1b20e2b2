"""A Ray cluster of one node, for tests: it asks for a token, and is ended whole."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import until_sync
from toolkeel.executors.command_limits import Limits
from toolkeel_workspace.sandbox.confine import Sandbox

FREE = Limits(
    cpu=None, memory=None, total_memory=None, file_size=None, processes=None, open_files=None
)
CPUS = 2


def start_words(folder: Path, *options: str) -> list[str]:
    """The command that starts a head and stays."""
    return [
        str(Path(sys.executable).with_name("ray")),
        *("start", "--head", "--block", f"--num-cpus={CPUS}", "--port=0", f"--temp-dir={folder}"),
        *("--include-dashboard=false", "--object-store-memory=80000000", "--disable-usage-stats"),
        *options,
    ]


def address_in(folder: Path, process: subprocess.Popen[bytes]) -> str:
    """Where a head that was just started listens."""
    told = folder / "ray_current_cluster"

    def is_there() -> bool:
        assert process.poll() is None, (folder / "log").read_text()
        return told.exists() and bool(told.read_text().strip())

    until_sync(is_there, 60)
    return told.read_text().strip()


@contextmanager
def started() -> Iterator[str]:
    """A head's address; it asks for the token of this process."""
    with _running(start_words) as (folder, process):
        yield address_in(folder, process)
        import ray

        ray.shutdown()


@contextmanager
def joined(head: str) -> Iterator[int]:
    """Another node of a head's cluster, which alone has `other`: the process that all of it is below."""
    ray = str(Path(sys.executable).with_name("ray"))
    own = ("--num-cpus=1", "--resources", '{"other": 1}', "--object-store-memory=80000000")
    words = [ray, "start", f"--address={head}", "--block", "--disable-usage-stats", *own]
    with _running(lambda _: words) as (_, process):
        yield process.pid


@contextmanager
def _running(
    words: Callable[[Path], list[str]],
) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A node that is ended whole: its folder, and the process that began it."""
    folder = Path(tempfile.mkdtemp(prefix="keel-ray-"))  # short: it holds names of sockets
    try:
        with (
            open(folder / "log", "wb") as log,
            Sandbox("off", [folder], limits=FREE).build_command(words(folder)) as command,
        ):
            process = subprocess.Popen(
                command.argv, env=command.env, pass_fds=command.pass_fds, stdout=log, stderr=log
            )
            command.close_passed_fds()
            try:
                yield folder, process
            finally:
                if not command.stop():
                    process.kill()
                process.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
