"""The sandbox: commands confined to the files and the network they are allowed.

::

    sandbox = Sandbox(roots=["."])                     # workspace: the roots may be changed
    finished = await sandbox.run(["pytest", "-q"], timeout=60)

`toolkeel_workspace.sandbox` has the theory of operation, with a state diagram.
"""

from __future__ import annotations

import copy
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Literal, TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._common.data_folder import temporary_folder
from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.executors import cgroup_pids
from toolkeel.executors.command_limits import Limits, make_ulimit_argv
from toolkeel.executors.process_tree import (
    Command,
    CommandNotStarted,
    CommandResult,
    Sink,
    finish_command,
    open_memory_file,
    start_command,
)
from toolkeel.executors.supervised import (
    SUPERVISOR_SCRIPT,
    SupervisorConfinement,
    build_supervised_command,
    create_process_group,
)
from toolkeel_workspace.sandbox import bubblewrap, landlock
from toolkeel_workspace.sandbox.mounts import (
    SandboxPaths,
    collect_paths,
    find_runtime_paths,
    is_behind_link,
    make_environment,
    open_paths,
    resolve_paths,
)
from toolkeel_workspace.sandbox.network_gate import NetworkGate
from toolkeel_workspace.sandbox.reachable_hosts import HostPolicy
from toolkeel_workspace.sandbox.seccomp import ARCHITECTURES
from toolkeel_workspace.sandbox.start_stage import (
    find_stage_obstacle,
    find_user_obstacle,
    make_stage,
    run_probe,
)

Mode = Literal["read-only", "workspace", "off"]
Backend = Literal["bubblewrap", "landlock", "none"]
Network: TypeAlias = bool | Literal["machine"] | Sequence[str]
_PROBE_COMMAND = "(: >> /proc/sys/kernel/core_pattern) 2>/dev/null && exit 43; exit 42"
"""Opens a kernel setting that would let a command escape, and writes nothing to it."""


@checked
class Sandbox:
    """What commands may read, change and reach.

    Args:
        mode: ``workspace``: the roots are writable. ``read-only``: nothing is. ``off``: no
            confinement.
        roots: The folders commands work in; they start in the first.
        readable: More readable files and folders. The system's programs, this Python and its
            packages always are; home folders are not.
        network: What can be reached over http and https, through a proxy named by environment
            variables: the public internet with True, or only these hosts
            (``["example.org", "*.example.net"]``; one with a port need not be public).
            ``"machine"`` is this machine's own network with everything it reaches, including local
            services; it is the only choice with Landlock.
        env: The command's variables, besides ``PATH``, ``HOME``, ``TMPDIR`` and those for language
            and terminal. With ``mode="off"`` it has all of ours.
        limits: Resource limits.
        backend: What confines commands; by default the best one available.
        unix_sockets: Allow Unix sockets: to services that listen below visible folders, and with
            the network to abstract ones. Socket pairs are always allowed.

    Attributes:
        home_files: Texts of files in the home that a confined command has to itself, by name.
        report_leftovers: Print behind a command's output which processes it left running.

    Raises:
        SetupError: if a folder is missing, or this machine cannot confine a command.
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
        self.roots = resolve_paths(roots, "root")
        self.readable = resolve_paths(readable, "readable place")
        self.network = network
        self.unix_sockets = unix_sockets
        self.env = dict(env or {})
        self.limits = limits or Limits()
        self.home_files: Mapping[str, str] = {}
        self.report_leftovers = False
        self.backend: Backend = "none" if mode == "off" else backend or choose_backend()
        if self.backend == "landlock" and self._make_host_policy() is not None:
            raise SetupError(
                f"network={network!r} needs bubblewrap (on Debian: apt-get install bubblewrap): "
                "Landlock cannot restrict a command to public hosts. Pass network='machine' for "
                "everything this machine reaches, its own services too"
            )
        if self.backend != "none" and mode == "workspace":
            self._reject_writable_runtime()

    def _reject_writable_runtime(self) -> None:
        for root in self.roots:
            if links := [
                p for p in find_runtime_paths(root) if is_behind_link(str(p), [str(root)])
            ]:
                raise SetupError(
                    f"this program runs from {str(links[0])!r}, through a link that a command could replace: "
                    f"start it by its real path, with {os.path.realpath(links[0])}/bin/python"
                )
            for place in (
                find_runtime_paths(root, SUPERVISOR_SCRIPT) if self.backend == "landlock" else ()
            ):
                raise SetupError(
                    f"a command could change {str(place)!r}, which runs outside of "
                    "the sandbox for the next command, and Landlock cannot protect it: install bubblewrap (on "
                    "Debian: apt-get install bubblewrap), or run this program from an environment "
                    f"outside of {str(root)!r}"
                )

    def with_roots(self, *roots: Path) -> Sandbox:
        """Return a copy whose commands work in other folders.

        Raises:
            SetupError: a folder is missing, or commands cannot be confined there.
        """
        made = copy.copy(self)
        made.roots = resolve_paths(roots, "root")
        if made.backend != "none" and made.mode == "workspace":
            made._reject_writable_runtime()
        return made

    def with_readable(self, *more: Path) -> Sandbox:
        """Return a copy in which more paths are readable."""
        made = copy.copy(self)
        made.readable = resolve_paths((*self.readable, *more), "readable place")
        return made

    def build_command(
        self,
        argv: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        terminal: bool = False,
    ) -> Command:
        """Build the command that runs an argv confined.

        Args:
            argv: The program and its arguments; the program is looked up in the sandbox's ``PATH``.
            cwd: Where it starts; the first root by default.
            terminal: Share our terminal.
        """
        words = list(argv)
        start = str(Path(cwd).resolve()) if cwd is not None else str(self.roots[0])
        if self.backend == "bubblewrap":
            return self._build_bubblewrap_command(words, start, terminal)
        return self._build_supervised_command(words, start, terminal)

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        stdin: bytes = b"",
        timeout: float | None = None,
        sink: Sink | None = None,
        max_output: int = 16 << 20,
    ) -> CommandResult:
        """Run a command to its end; nothing it started is left then.

        Args:
            argv: The program and its arguments; the program is looked up in the sandbox's ``PATH``.
            cwd: Where it starts; the first root by default.
            stdin: Its standard input.
            timeout: Seconds after which it is killed; None for no limit.
            sink: Called with each piece of output, standard output and error in one stream; without
                a sink they are collected separately and returned.
            max_output: Bytes of output after which it is killed.

        Raises:
            asyncio.CancelledError: if the caller is cancelled; the command has ended by then.
            CommandNotStarted: if it cannot be started.
        """
        with ExitStack() as stack:
            try:
                command = stack.enter_context(self.build_command(argv, cwd=cwd))
                running = await start_command(command, merge_stderr=sink is not None)
            except OSError as error:
                raise CommandNotStarted(error.errno, error.strerror) from error
            return await finish_command(
                running,
                stdin=stdin,
                timeout=timeout,
                sink=sink,
                max_output=max_output,
                max_memory=self.limits.total_memory,
            )

    def _make_host_policy(self) -> HostPolicy | None:
        """Return what the proxy lets a command reach, or None without a proxy."""
        if isinstance(self.network, bool | str):
            return HostPolicy() if self.network is True else None
        allow = [host for host in self.network if ":" in host]
        return HostPolicy(allow, [host.partition(":")[0] for host in self.network])

    def _collect_paths(self) -> SandboxPaths:
        writes = self.mode == "workspace"
        return collect_paths(
            self.roots, self.readable, is_writable=writes, network=bool(self.network)
        )

    def _make_env(self, paths: SandboxPaths, home: str) -> dict[str, str]:
        search = (*paths.system, *paths.readable, *paths.writable)
        return make_environment(home, search, self.env)

    def _build_bubblewrap_command(self, argv: list[str], cwd: str, terminal: bool) -> Command:
        seen, reach = self._collect_paths(), self._make_host_policy()
        stage, env = make_stage(seen), self._make_env(seen, bubblewrap.HOME)
        gate = NetworkGate(reach) if reach is not None else None
        env |= gate.make_env() if gate else {}
        mounts = bubblewrap.make_mount_options(seen, stage or str, is_staged=stage is not None)
        files = {name: open_memory_file(text.encode()) for name, text in self.home_files.items()}
        mounts += bubblewrap.make_file_options(files)
        options = bubblewrap.make_options(
            mounts,
            env=env,
            cwd=cwd,
            network=self.network == "machine",
            tmp_size=self.limits.tmp_size,
        )
        if not terminal:
            options.append("--new-session")
        options_fd = open_memory_file("\0".join(options).encode("utf-8", "surrogateescape"))
        filter_ = open_memory_file(bubblewrap.build_namespace_filter(self.unix_sockets))
        pass_fds = [options_fd, filter_, *files.values()]
        words = [
            *(bubblewrap.find_bubblewrap(), "--args", str(options_fd)),
            *("--seccomp", str(filter_), "--"),
            *make_ulimit_argv(self.limits.to_rlimits()),
            *(gate.make_argv(pass_fds) if gate else ()),
            *(bubblewrap.make_reporting_argv(argv) if self.report_leftovers else argv),
        ]
        if stage is not None:
            words = stage.make_argv(pass_fds) + words
        ends, group = [gate.close] if gate else [], create_process_group(self.limits)
        return Command(words, {}, tuple(pass_fds), on_close=ends, group=group)

    def _build_supervised_command(self, argv: list[str], cwd: str, terminal: bool) -> Command:
        confinement = SupervisorConfinement({**os.environ, **self.env})
        if self.backend == "landlock":
            confinement = self._make_landlock_confinement()
        return build_supervised_command(
            *(argv, cwd, self.limits, confinement),
            terminal=terminal,
            report_leftovers=self.report_leftovers,
        )

    def _make_landlock_confinement(self) -> SupervisorConfinement:
        paths = self._collect_paths()
        handles = open_paths((*paths.readable, *paths.writable))
        home = tempfile.mkdtemp(prefix="toolkeel-", dir=temporary_folder())
        for name, text in self.home_files.items():
            Path(home, name).write_text(text, encoding="utf-8")
        rights = landlock.make_rules(paths, home)
        rules = [(handles.get(path, path), right) for path, right in rights]
        return SupervisorConfinement(
            self._make_env(paths, home),
            landlock={"handled": landlock.handled_rights(bool(self.network)), "rules": rules},
            seccomp=landlock.build_landlock_filter(bool(self.network)).hex(),
            pass_fds=tuple(handles.values()),
            on_close=(partial(shutil.rmtree, home, ignore_errors=True),),
        )


# — backends of this machine —


@record
class Features:
    """What this machine can confine commands with.

    Args:
        backend: The one that is used; ``none`` if no command can run confined.
        bubblewrap: Its path, or why it cannot be used.
        landlock: The kernel's version of it, or why it cannot be used.
        notes: What the backend leaves open, each as a sentence; empty for nothing known.
    """

    backend: Backend
    bubblewrap: str
    landlock: str
    notes: tuple[str, ...]


def detect_features() -> Features:
    """Try each backend by running a command in it. The result is cached for the process.

    >>> detect_features().backend in ("bubblewrap", "landlock", "none")
    True
    """
    lacks = {name: _find_obstacle(name) for name in ("bubblewrap", "landlock")}
    backend: Backend = "none"
    if not lacks["landlock"]:
        backend = "landlock"
    if not lacks["bubblewrap"]:
        backend = "bubblewrap"
    notes = [*landlock.list_gaps()] if backend == "landlock" else []
    if backend == "bubblewrap" and (why := find_stage_obstacle()):
        notes.append(
            f"A path that a command replaces while another starts may be mounted there ({why})."
        )
    if backend == "bubblewrap" and os.geteuid() == 0:
        with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
            why = find_user_obstacle((folder,))
        if why:
            notes.append(
                f"Commands run as root inside the sandbox: no other user can be used ({why})."
            )
    if cgroup_pids.is_needed() and not cgroup_pids.can_create_group():
        notes.append("The number of root's processes is not limited: run as another user.")
    version = f"version {landlock.get_abi_version()}"
    return Features(
        backend,
        lacks["bubblewrap"] or bubblewrap.find_bubblewrap(),
        lacks["landlock"] or version,
        tuple(notes),
    )


def choose_backend() -> Backend:
    """Return the best backend of this machine.

    Raises:
        SetupError: if there is none; the message says what to install.
    """
    found = detect_features()
    if found.backend == "none":
        raise SetupError(
            "this machine has no sandbox, so no command is run: "
            f"bubblewrap {found.bubblewrap}; landlock {found.landlock}. Install bubblewrap "
            "(on Debian: apt-get install bubblewrap), or turn the sandbox off (mode='off')"
        )
    return found.backend


@cache
def _find_obstacle(name: Backend) -> str:
    """Return why a backend cannot be used, or an empty string if a command has run in it."""
    if not sys.platform.startswith("linux"):
        return "needs Linux"
    if os.uname().machine not in ARCHITECTURES:
        return f"has no system call filter for {os.uname().machine}"
    if name == "bubblewrap" and not bubblewrap.find_bubblewrap():
        return "is not installed"
    if name == "landlock" and landlock.get_abi_version() < landlock.MIN_ABI_VERSION:
        return f"is version {landlock.get_abi_version()} in this kernel, {landlock.MIN_ABI_VERSION} is needed"
    if not SUPERVISOR_SCRIPT.is_file():
        return "needs toolkeel installed in a folder, not imported from an archive"
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        sandbox = Sandbox("read-only", [folder], backend=name)
        with sandbox.build_command(["/bin/sh", "-c", _PROBE_COMMAND]) as command:
            done = run_probe(command.argv, command.env, command.pass_fds)
    if done.returncode == 43:
        return "leaves the kernel's settings writable"
    why = done.stderr.decode("utf-8", "replace").strip()[:300] or done.returncode
    return "" if done.returncode == 42 else f"does not work here: {why}"
