"""Commands that see and change no more of the machine than they were given.

::

    sandbox = Sandbox(roots=["."])                     # workspace: the roots may be changed
    finished = await sandbox.run(["pytest", "-q"], timeout=60)

Two things confine a command, whichever is there: bubblewrap (namespaces) or Landlock, each behind
a filter of system calls. Where neither is, nothing runs: a sandbox never gets weaker silently.
``mode="off"`` is the same machine without walls; only limits, and the end of everything that a
command started, remain. Whether anybody is asked first is another dial: approval.
"""

from __future__ import annotations

import copy
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Literal, TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.executors import cgroup_pids
from toolkeel.executors.command_limits import Limits, shell_setting
from toolkeel.executors.process_tree import (
    Command,
    Finished,
    NotStarted,
    Sink,
    finish,
    memory_file,
    start,
)
from toolkeel.executors.supervised import SUPERVISOR, Walls, process_group, supervised
from toolkeel_workspace.sandbox import bubblewrap, landlock
from toolkeel_workspace.sandbox.mounts import (
    Places,
    environment,
    led_by_link,
    opened_all,
    places,
    resolved,
    runs_from,
)
from toolkeel_workspace.sandbox.network_gate import NetworkGate
from toolkeel_workspace.sandbox.reachable_hosts import Reach
from toolkeel_workspace.sandbox.seccomp import MACHINES
from toolkeel_workspace.sandbox.start_stage import cannot_become, cannot_stage, stage_of

Mode = Literal["read-only", "workspace", "off"]
Backend = Literal["bubblewrap", "landlock", "none"]
Network: TypeAlias = bool | Literal["machine"] | Sequence[str]
_TRIAL = "(: >> /proc/sys/kernel/core_pattern) 2>/dev/null && exit 43; exit 42"
"""Opens a setting of the kernel, by which a command could leave, and writes nothing to it."""


@checked
class Sandbox:
    """What commands may see, change and reach.

    Args:
        mode: ``workspace``: the roots may be changed. ``read-only``: nothing may. ``off``: no
            walls at all.
        roots: The folders that are worked in; the first is where commands start.
        readable: More files and folders that may be read. The system's programs, this Python
            and its packages always are; home folders are not.
        network: What may be reached, over http and https, by a proxy that variables of the
            environment name: the public internet with True, or these hosts alone
            (``["example.org", "*.example.net"]``; one with a port need not be public).
            ``"machine"`` is this machine's own network with all that it reaches, services on it
            too; Landlock can hold to nothing less.
        env: Variables of the command, beside ``PATH``, ``HOME``, ``TMPDIR`` and those of language
            and terminal. With ``mode="off"`` it has all of ours.
        limits: What it may use at most.
        backend: What to confine with; by default the best this machine has.
        unix_sockets: Whether local sockets may be opened: to services that listen below the
            folders it sees, and with the network to abstract ones. A pair of connected ones
            always may.

    Raises:
        SetupError: if a folder is not there, or nothing on this machine can confine a command.
    """

    def __init__(
        self,
        mode: Mode = "workspace",
        roots: Sequence[str | os.PathLike[str]] = (".",),
        *,
        readable: Sequence[str | os.PathLike[str]] = (),
        network: Network = False,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        backend: Backend | None = None,
        unix_sockets: bool = False,
    ) -> None:
        if sys.platform == "win32":
            raise SetupError("commands cannot be run on Windows; they can in WSL")
        self.mode: Mode = mode
        self.roots = resolved(roots, "root")
        self.readable = resolved(readable, "readable place")
        self.network = network
        self.unix_sockets = unix_sockets
        self.env = dict(env or {})
        self.limits = limits or Limits()
        self.backend: Backend = "none" if mode == "off" else backend or best_backend()
        if self.backend == "landlock" and self._reach() is not None:
            raise SetupError(
                f"network={network!r} needs bubblewrap (on Debian: apt-get install bubblewrap): "
                "Landlock holds nobody to the public internet. Give network='machine' for all that "
                "this machine reaches, services on it too"
            )
        if self.backend != "none" and mode == "workspace":
            self._spare_what_starts_commands()

    def _spare_what_starts_commands(self) -> None:
        for root in self.roots:
            if links := [p for p in runs_from(root) if led_by_link(str(p), [str(root)])]:
                raise SetupError(
                    f"this program runs from {str(links[0])!r}, by a link that a command could swap: "
                    f"start it by its own name, with {os.path.realpath(links[0])}/bin/python"
                )
            for place in runs_from(root, SUPERVISOR) if self.backend == "landlock" else ():
                raise SetupError(
                    f"a command could change {str(place)!r}, from which the next one is started "
                    "outside of all walls, and Landlock cannot keep it: install bubblewrap (on "
                    "Debian: apt-get install bubblewrap), or run this program from an environment "
                    f"that is not in {str(root)!r}"
                )

    def reading(self, *more: Path) -> Sandbox:
        """The same sandbox in which more may be read."""
        made = copy.copy(self)
        made.readable = resolved((*self.readable, *more), "readable place")
        return made

    def command(
        self,
        argv: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        terminal: bool = False,
    ) -> Command:
        """A command as it must be started to be confined.

        Args:
            argv: Its words; the first is looked up in the sandbox's ``PATH``.
            cwd: Where it starts; the first root by default.
            terminal: Whether it shall share our terminal.
        """
        words = list(argv)
        start = str(Path(cwd).resolve()) if cwd is not None else str(self.roots[0])
        if self.backend == "bubblewrap":
            return self._in_bubblewrap(words, start, terminal)
        return self._supervised(words, start, terminal)

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        stdin: bytes = b"",
        timeout: float | None = None,
        sink: Sink | None = None,
        max_output: int = 16 << 20,
    ) -> Finished:
        """Run a command to its end; when it has ended, nothing it started is left.

        Args:
            argv: Its words; the first is looked up in the sandbox's ``PATH``.
            cwd: Where it starts; the first root by default.
            stdin: Its standard input.
            timeout: Seconds after which it is ended; None for no limit.
            sink: Given each piece of output, standard output and error in one stream; without
                one they are kept apart and returned.
            max_output: Bytes of output after which it is ended.

        Raises:
            asyncio.CancelledError: if the caller is cancelled; the command has ended by then.
            NotStarted: if it cannot be started.
        """
        with ExitStack() as stack:
            try:
                command = stack.enter_context(self.command(argv, cwd=cwd))
                running = await start(command, merged=sink is not None)
            except OSError as error:
                raise NotStarted(error.errno, error.strerror) from error
            return await finish(
                running,
                stdin=stdin,
                timeout=timeout,
                sink=sink,
                max_output=max_output,
                max_memory=self.limits.total_memory,
            )

    def _reach(self) -> Reach | None:
        """What a proxy lets a command reach; None where there is none."""
        if isinstance(self.network, bool | str):
            return Reach() if self.network is True else None
        allow = [host for host in self.network if ":" in host]
        return Reach(allow, [host.partition(":")[0] for host in self.network])

    def _places(self) -> Places:
        writes = self.mode == "workspace"
        return places(self.roots, self.readable, writes=writes, network=bool(self.network))

    def _env(self, seen: Places, home: str) -> dict[str, str]:
        search = (*seen.system, *seen.readable, *seen.writable)
        return environment(home, search, self.env)

    def _in_bubblewrap(self, argv: list[str], cwd: str, terminal: bool) -> Command:
        seen, reach = self._places(), self._reach()
        stage, env = stage_of(seen), self._env(seen, bubblewrap.HOME)
        gate = NetworkGate(reach) if reach is not None else None
        env |= gate.env() if gate else {}
        mounts = bubblewrap.mounting(seen, stage or str, staged=stage is not None)
        options = bubblewrap.arguments(
            mounts,
            env=env,
            cwd=cwd,
            network=self.network == "machine",
            tmp_size=self.limits.tmp_size,
        )
        if not terminal:
            options.append("--new-session")
        told = memory_file("\0".join(options).encode("utf-8", "surrogateescape"))
        filter_ = memory_file(bubblewrap.seccomp(self.unix_sockets))
        words = [bubblewrap.found(), "--args", str(told), "--seccomp", str(filter_), "--"]
        given = [told, filter_]
        words += [*shell_setting(self.limits.values()), *(gate.words(given) if gate else ()), *argv]
        if stage is not None:
            words = stage.words(given) + words
        ends = [gate.close] if gate else []
        return Command(words, {}, tuple(given), ends=ends, group=process_group(self.limits))

    def _supervised(self, argv: list[str], cwd: str, terminal: bool) -> Command:
        walls = (
            self._landlock() if self.backend == "landlock" else Walls({**os.environ, **self.env})
        )
        return supervised(argv, cwd, self.limits, walls, terminal=terminal)

    def _landlock(self) -> Walls:
        seen = self._places()
        opened = opened_all((*seen.readable, *seen.writable))
        home = tempfile.mkdtemp(prefix="toolkeel-")
        rules = [(opened.get(path, path), right) for path, right in landlock.rules(seen, home)]
        return Walls(
            self._env(seen, home),
            landlock={"handled": landlock.handled(bool(self.network)), "rules": rules},
            seccomp=landlock.seccomp(bool(self.network)).hex(),
            descriptors=tuple(opened.values()),
            ends=(partial(shutil.rmtree, home, ignore_errors=True),),
        )


# — what this machine has —


@record
class Features:
    """What this machine has to confine commands with.

    Args:
        backend: What is used; ``none`` if nothing can be, and then no command runs confined.
        bubblewrap: Its version, or why it cannot be used.
        landlock: The kernel's version of it, or why it cannot be used.
        notes: What the backend leaves open, each as a sentence; empty for nothing known.
    """

    backend: Backend
    bubblewrap: str
    landlock: str
    notes: tuple[str, ...]


def features() -> Features:
    """Try what this machine has, for real; the result is remembered while the process lives.

    >>> features().backend in ("bubblewrap", "landlock", "none")
    True
    """
    lacks = {name: _lacks(name) for name in ("bubblewrap", "landlock")}
    backend: Backend = "none"
    if not lacks["landlock"]:
        backend = "landlock"
    if not lacks["bubblewrap"]:
        backend = "bubblewrap"
    notes = [*landlock.open_ends()] if backend == "landlock" else []
    if backend == "bubblewrap" and (why := cannot_stage()):
        notes.append(f"What a command swaps while another one starts may be mounted there ({why}).")
    if backend == "bubblewrap" and os.geteuid() == 0:
        with tempfile.TemporaryDirectory() as folder:
            why = cannot_become((folder,))
        if why:
            notes.append(f"Commands run as root, walled in: another user cannot be taken ({why}).")
    if cgroup_pids.needed() and not cgroup_pids.possible():
        notes.append("Root is held to no number of processes: run as another user.")
    version = f"version {landlock.version()}"
    return Features(
        backend,
        lacks["bubblewrap"] or bubblewrap.found(),
        lacks["landlock"] or version,
        tuple(notes),
    )


def best_backend() -> Backend:
    """What commands are confined with on this machine.

    Raises:
        SetupError: if there is nothing; it says what to install.
    """
    found = features()
    if found.backend == "none":
        raise SetupError(
            "there is no sandbox on this machine, so no command is run: "
            f"bubblewrap {found.bubblewrap}; landlock {found.landlock}. Install bubblewrap "
            "(on Debian: apt-get install bubblewrap), or switch the sandbox off (mode='off')"
        )
    return found.backend


@cache
def _lacks(name: Backend) -> str:
    """Why a backend cannot be used; empty if a command has just run in it."""
    if not sys.platform.startswith("linux"):
        return "needs Linux"
    if os.uname().machine not in MACHINES:
        return f"has no filter of system calls for {os.uname().machine}"
    if name == "bubblewrap" and not bubblewrap.found():
        return "is not installed"
    if name == "landlock" and landlock.version() < landlock.MIN_VERSION:
        return f"is version {landlock.version()} in this kernel, {landlock.MIN_VERSION} is needed"
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Sandbox("read-only", [folder], backend=name)
        with sandbox.command(["/bin/sh", "-c", _TRIAL]) as command:
            done = subprocess.run(
                command.argv,
                env=command.env,
                pass_fds=command.pass_fds,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=30,
            )
    if done.returncode == 43:
        return "leaves the kernel's settings open for writing"
    said = done.stderr.decode("utf-8", "replace").strip()
    return "" if done.returncode == 42 else f"does not work here: {said[:300] or done.returncode}"
