"""Commands see, change and reach no more than they were given, and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.executors.survivors import survivors
from tests.sandbox.walls import everywhere, need, rest_slow, run, walled, walls
from tests.shared import cannot_run
from tests.waiting import until_sync
from toolkeel.errors import SetupError
from toolkeel.executors.process_tree import CommandNotStarted, CommandResult
from toolkeel_workspace.sandbox import confine, start_stage
from toolkeel_workspace.sandbox.confine import Backend, Network, Sandbox, choose_backend
from toolkeel_workspace.sandbox.start_stage import find_stage_obstacle, find_user_obstacle


@everywhere
def test_a_command_has_its_input_its_two_outputs_and_its_code(
    backend: Backend, tmp_path: Path
) -> None:
    words = ["sh", "-c", "cat; echo bad >&2; exit 3"]
    finished = asyncio.run(walled(backend, tmp_path).run(words, stdin="你好\n".encode()))
    assert finished.stdout.decode() == "你好\n"
    assert (finished.stderr, finished.exit_code, finished.end_reason) == (b"bad\n", 3, "exit")


@walls
def test_files_outside_the_roots_are_neither_read_nor_written(
    backend: Backend, tmp_path: Path
) -> None:
    root, secret = tmp_path / "root", tmp_path / "secret.txt"
    root.mkdir()
    secret.write_text("canary")
    (root / "link").symlink_to(secret)
    line = f"cat {secret} link ../secret.txt /proc/*/root{secret}; echo x > {secret}; echo y > in"
    finished = run(walled(backend, root), line)
    assert b"canary" not in finished.stdout + finished.stderr
    assert secret.read_text() == "canary"
    assert (root / "in").read_text() == "y\n"


@walls
def test_a_link_in_the_place_of_a_root_or_a_readable_folder_leads_nowhere(
    backend: Backend, tmp_path: Path
) -> None:
    """A command puts them there; the next one would have been given what they lead to."""
    root, secret = tmp_path / "root", tmp_path / "secret.txt"
    secret.write_text("canary")
    for folder, which in (("a/b", "roots"), ("c/d", "readable")):
        (root / folder).mkdir(parents=True)
        more = (root / folder,)
        sandbox = walled(backend, root, readable=more if which == "readable" else ())
        if which == "roots":
            sandbox = Sandbox("workspace", [root, *more], backend=backend)
        top = folder[0]
        other = walled(backend, root)  # to which that folder is one as any other
        run(other, f"mv {top} old-{top}; mkdir {top}; ln -s ../.. {folder}")
        with pytest.raises(CommandNotStarted, match="a link has taken the place"):
            run(sandbox, f"cat {secret}; echo x > {tmp_path}/planted")
    assert not (tmp_path / "planted").exists()


SWAPS = """
import ctypes, os, random, time
os.mkdir("sub")
os.mkdir("__pycache__")  # where no protected files are looked for
open("sub/AGENTS.md", "w").close()
os.symlink("..", "__pycache__/other")
swap = ctypes.CDLL(None).renameat2
end = time.monotonic() + 4
while time.monotonic() < end:
    for most in (0.002, 0.0003):  # longer a folder than a link: so it is found, and then led away
        pause = time.perf_counter() + random.random() * most
        while time.perf_counter() < pause:
            pass
        swap(-100, b"sub", -100, b"__pycache__/other", 2)
"""


@pytest.mark.parametrize("user", ["another", "the same"])
def test_what_a_command_swaps_while_another_one_starts_leads_nowhere(
    user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is a foreign folder mounted, nor a protected file left out or mounted elsewhere."""
    need("bubblewrap")
    if why := find_stage_obstacle():
        cannot_run(f"what lies within a root cannot be mounted by handles here: {why}")
    if user == "the same":
        monkeypatch.setattr(
            start_stage, "find_user_obstacle", lambda owned: "as for an ordinary user"
        )
    elif why := find_user_obstacle((str(tmp_path),)):
        cannot_run(f"no other user can be taken here: {why}")
    root, secret = tmp_path / "root", tmp_path / "secret.txt"
    root.mkdir()
    secret.write_text("canary")
    sandbox = walled("bubblewrap", root)

    async def others(swaps: asyncio.Task[CommandResult]) -> None:
        while not swaps.done():
            try:
                said = (await sandbox.run(["cat", str(secret), "/proc/self/mountinfo"])).stdout
            except CommandNotStarted:
                await asyncio.sleep(0)
                continue
            assert b"canary" not in said
            rows = [row.split()[4:6] for row in said.decode().splitlines()]
            below = [how for place, how in rows if place.startswith(f"{tmp_path}")]
            # Of a sub that was a link at the look, nothing is protected: it was no folder.
            read_only = [how for how in below if how.startswith("ro,")]
            assert (len(below), len(read_only)) in {(0, 0), (1, 0), (3, 1)}, said.decode()

    async def all_of_them() -> None:
        swaps = asyncio.create_task(sandbox.run([sys.executable, "-c", SWAPS]))
        await asyncio.gather(others(swaps), others(swaps))
        assert (await swaps).exit_code == 0, swaps.result().stderr

    asyncio.run(all_of_them())


@walls
def test_system_folders_and_homes_cannot_be_written(backend: Backend, tmp_path: Path) -> None:
    line = "for d in / /usr /etc /dev /proc /root /home /var /sys; do echo x > $d/tw-x; done"
    run(walled(backend, tmp_path), line)
    for folder in ("/", "/usr", "/etc", "/dev", "/root", "/home", "/var"):
        assert not Path(folder, "tw-x").exists()


@walls
def test_in_read_only_mode_even_the_roots_stay_as_they_are(
    backend: Backend, tmp_path: Path
) -> None:
    need(backend)
    (tmp_path / "a").write_text("old")
    sandbox = Sandbox("read-only", [tmp_path], backend=backend)
    finished = run(
        sandbox, "cat a; echo new > a; rm a; touch b; echo ok > $TMPDIR/t && cat $TMPDIR/t"
    )
    assert finished.stdout == b"oldok\n"
    assert (tmp_path / "a").read_text() == "old" and not (tmp_path / "b").exists()


def test_protected_files_inside_the_root_stay_read_only(tmp_path: Path) -> None:
    need("bubblewrap")
    hooks = tmp_path / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (tmp_path / ".env").write_text("A=1")
    line = "echo x > .git/hooks/pre-commit; mv .git g; rm -rf .env; echo B=2 > .env; touch .git/ok"
    run(walled("bubblewrap", tmp_path), line)
    assert list(hooks.iterdir()) == []
    assert (tmp_path / ".env").read_text() == "A=1"
    assert (tmp_path / ".git" / "ok").exists()


def test_repositories_within_the_root_and_files_with_names_elsewhere_stay_as_they_are(
    tmp_path: Path,
) -> None:
    """A hook planted in a nested repository, its folder moved aside; a package of all projects."""
    need("bubblewrap")
    root, cache = tmp_path / "root", tmp_path / "cache.py"
    hooks = root / "sub" / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (root / ".venv").mkdir()
    cache.write_text("good")
    (root / ".venv" / "x.py").hardlink_to(cache)
    line = (
        "echo x > sub/.git/hooks/pre-commit; mv sub x; mkdir -p sub/.git/hooks; "
        "echo y > sub/.git/hooks/pre-commit; echo bad > .venv/x.py; touch sub/fine"
    )
    run(walled("bubblewrap", root), line)
    assert list(hooks.iterdir()) == [] and (root / "sub" / "fine").exists()
    assert cache.read_text() == "good"


def test_git_commits_inside_of_the_sandbox_and_takes_no_hook_nor_setting(tmp_path: Path) -> None:
    need("bubblewrap")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    if shutil.which("git") is None:
        cannot_run("git is not installed")
    subprocess.run([*git, "init", "-q"], check=True)
    line = (
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b;"
        "echo 1 > a; git add a && git commit -qm one && git log --oneline | wc -l;"
        "git config core.fsmonitor ./x; echo x > .git/hooks/pre-commit; ls .git/hooks | grep -v sample"
    )
    finished = run(walled("bubblewrap", tmp_path), line)
    assert finished.stdout == b"1\n", finished.stderr
    assert b"fsmonitor" not in (tmp_path / ".git" / "config").read_bytes()


@walls
def test_no_environment_that_can_be_read_inside_holds_our_secrets(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = secrets.token_hex(16)
    monkeypatch.setenv("OPENAI_API_KEY", canary)
    # Our own /proc entry was made before the variable; a child of ours carries it for sure.
    child = subprocess.Popen(["sleep", "60"])
    try:
        line = "env; cat /proc/*/environ /proc/*/task/*/environ | tr '\\0' '\\n'; ls /proc"
        finished = run(walled(backend, tmp_path), line)
    finally:
        child.kill()
        child.wait()
    assert b"PATH=" in finished.stdout
    assert canary.encode() not in finished.stdout + finished.stderr


@walls
def test_a_variable_that_is_given_is_there_and_ours_are_not(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "canary")
    finished = run(walled(backend, tmp_path, env={"GIVEN": "你"}), "env")
    assert "GIVEN=你" in finished.stdout.decode() and b"canary" not in finished.stdout


NET = """
import socket, sys
port = int(sys.argv[1])
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        s = socket.socket(socket.AF_INET, kind)
        s.connect(("127.0.0.1", port))
        s.send(b"out")
        print("sent")
    except OSError as error:
        print("refused")
"""


@pytest.mark.parametrize("network", [False, "machine"])
@walls
def test_the_network_is_off_for_tcp_and_udp_unless_it_is_allowed(
    backend: Backend, network: Network, tmp_path: Path
) -> None:
    (tmp_path / "net.py").write_text(NET)
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        udp.setblocking(False)
        tcp.setblocking(False)
        finished = run(walled(backend, tmp_path, network=network), f"python3 net.py {port}")
        if network:
            assert finished.stdout == b"sent\nsent\n", finished.stderr
            return
        with pytest.raises(BlockingIOError):
            udp.recv(10)
        with pytest.raises(BlockingIOError):
            tcp.accept()


@walls
def test_a_local_socket_of_a_service_cannot_be_reached(backend: Backend, tmp_path: Path) -> None:
    root = tmp_path / "r"
    root.mkdir()
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(tmp_path / "s"))
        service.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect('{tmp_path}/s')"
        sandbox = walled(backend, root, network="machine")
        finished = asyncio.run(sandbox.run(["python3", "-c", code]))
    assert finished.exit_code == 1 and b"Error" in finished.stderr


DAEMONS = (
    "setsid sleep {0} & (nohup sleep {0} &) ; "
    "setsid bash -c 'setsid sleep {0} & disown; exit' & "
    "python3 -c 'import os,time;os.fork() and os._exit(0);os.setsid();os.fork() and os._exit(0);"
    'os.execvp("sleep",["sleep","{0}"])\' & sleep 0.3; echo started; '
)


@pytest.mark.parametrize("how", ["end", "cancel", pytest.param("timeout", marks=pytest.mark.slow)])
@everywhere
def test_no_daemon_outlives_its_command(backend: Backend, how: str, tmp_path: Path) -> None:
    mark = f"98{secrets.randbelow(10**9)}.5"
    line = DAEMONS.format(mark) + ("" if how == "end" else "sleep 100")
    sandbox = walled(backend, tmp_path)

    async def main() -> None:
        started = asyncio.Event()

        def sink(piece: bytes) -> None:
            if b"started" in piece:
                started.set()

        limit = 1.5 if how == "timeout" else 60
        running = asyncio.create_task(sandbox.run(["bash", "-c", line], timeout=limit, sink=sink))
        if how == "cancel":
            await started.wait()
            assert survivors(mark)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        else:
            assert (await running).end_reason == ("exit" if how == "end" else "timeout")

    asyncio.run(main())
    until_sync(lambda: not survivors(mark))


@rest_slow
def test_a_command_dies_with_the_process_that_started_it(backend: Backend, tmp_path: Path) -> None:
    mark = f"97{secrets.randbelow(10**9)}.5"
    walled(backend, tmp_path)
    mode = "off" if backend == "none" else "workspace"
    code = (
        "import asyncio\n"
        "from toolkeel_workspace.sandbox.confine import Sandbox\n"
        f"s = Sandbox({mode!r}, [{str(tmp_path)!r}], backend={backend!r})\n"
        f"asyncio.run(s.run(['bash', '-c', 'setsid sleep {mark} & sleep {mark}']))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code])
    try:
        until_sync(lambda: len(survivors(f"sleep\0{mark}")) == 2)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    until_sync(lambda: not survivors(f"sleep\0{mark}"))


@rest_slow
def test_a_flood_of_output_is_ended_and_what_fits_is_kept(backend: Backend, tmp_path: Path) -> None:
    sandbox = walled(backend, tmp_path)
    finished = asyncio.run(sandbox.run(["yes"], max_output=1 << 20, timeout=60))
    assert (finished.end_reason, len(finished.stdout)) == ("output", 1 << 20)


@walls
def test_what_opened_sandboxes_before_is_refused(backend: Backend, tmp_path: Path) -> None:
    code = (
        "import ctypes, errno\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "for name, number, args in (('unshare', 272, (0x10000000,)), ('mount', 165, ()),\n"
        "        ('ptrace', 101, (0,)), ('io_uring_setup', 425, (1, 0)), ('bpf', 321, ()),\n"
        "        ('keyctl', 250, ()), ('clone3', 435, ()), ('x32 getpid', 0x40000027, ())):\n"
        "    assert libc.syscall(number, *args) == -1, name\n"
        "    assert ctypes.get_errno() in (errno.EPERM, errno.ENOSYS), (name, ctypes.get_errno())\n"
        "import fcntl\n"
        "try:\n"
        "    fcntl.ioctl(0, 0x5412, b'x')\n"
        "    raise SystemExit('typed into the terminal')\n"
        "except PermissionError:\n"
        "    pass\n"
    )
    if os.uname().machine != "x86_64":
        cannot_run("the numbers of the system calls in it are those of x86_64")
    finished = asyncio.run(walled(backend, tmp_path).run(["python3", "-c", code]))
    assert finished.exit_code == 0, finished.stderr


@walls
def test_processes_outside_cannot_be_signalled(backend: Backend, tmp_path: Path) -> None:
    child = subprocess.Popen(["sleep", "60"])
    try:
        run(walled(backend, tmp_path), f"kill -9 {child.pid}; kill -9 {os.getpid()}; kill -9 $PPID")
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_off_is_the_same_machine_without_walls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARK", "here")
    (tmp_path / "r").mkdir()
    finished = run(Sandbox("off", [tmp_path / "r"]), "echo $MARK; echo x > ../out")
    assert finished.stdout == b"here\n" and (tmp_path / "out").exists()


def test_a_folder_more_can_be_read_and_not_written(tmp_path: Path) -> None:
    need("bubblewrap")
    more = tmp_path / "more"
    (tmp_path / "r").mkdir()
    more.mkdir()
    (more / "a").write_text("text")
    sandbox = walled("bubblewrap", tmp_path / "r", readable=(more,))
    finished = run(sandbox, f"cat {more}/a; echo x > {more}/a")
    assert finished.stdout == b"text" and (more / "a").read_text() == "text"


def test_a_command_that_is_not_there_ends_with_127(tmp_path: Path) -> None:
    finished = asyncio.run(Sandbox("off", [tmp_path]).run(["no-such-program"]))
    assert finished.exit_code == 127 and b"not found" in finished.stderr


@pytest.mark.parametrize("root", ["/", "/usr", "/no/such/folder"])
def test_roots_that_are_too_much_or_not_there_are_refused(root: str) -> None:
    with pytest.raises(SetupError, match=r"root"):
        Sandbox("off", [root])


def test_landlock_is_refused_what_the_next_command_is_started_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rules keep nothing inside of a root, and this Python starts commands outside of walls."""
    need("landlock")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    with pytest.raises(SetupError, match="install bubblewrap"):
        Sandbox("workspace", [tmp_path], backend="landlock")
    Sandbox("read-only", [tmp_path], backend="landlock")
    monkeypatch.undo()
    with pytest.raises(SetupError, match=r"supervise\.py"):
        Sandbox("workspace", [confine.SUPERVISOR_SCRIPT.parents[1]], backend="landlock")


def test_an_unknown_mode_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="got 'none'"):
        Sandbox("none", [tmp_path])  # type: ignore[arg-type]


HIDDEN = """
from toolkeel_workspace.sandbox import bubblewrap, confine as sandbox, landlock
bubblewrap.SEARCH_PATH = "/nowhere"
{more}
from toolkeel.errors import SetupError
try:
    print(sandbox.Sandbox("workspace", ["{root}"]).backend)
except SetupError as error:
    print("refused:", error)
"""


def test_without_bubblewrap_landlock_is_used_and_without_both_nothing_runs(tmp_path: Path) -> None:
    need("landlock")

    def said(more: str) -> str:
        code = HIDDEN.format(more=more, root=tmp_path)
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout

    assert said("") == "landlock\n"
    refused = said("landlock.MIN_ABI_VERSION = 99")
    assert refused.startswith("refused: this machine has no sandbox")
    assert "apt-get install bubblewrap" in refused


def test_a_false_bubblewrap_in_our_path_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("bubblewrap")
    false = tmp_path / "bwrap"
    false.write_text(f"#!/bin/sh\ntouch {tmp_path}/taken\n")
    false.chmod(false.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert run(walled("bubblewrap", tmp_path), "echo hi").stdout == b"hi\n"
    assert not (tmp_path / "taken").exists()


def test_commands_side_by_side_keep_their_own_output(tmp_path: Path) -> None:
    sandbox = walled(choose_backend(), tmp_path)

    async def main() -> list[CommandResult]:
        return await asyncio.gather(*(sandbox.run(["echo", str(n)]) for n in range(12)))

    assert [f.stdout for f in asyncio.run(main())] == [b"%d\n" % n for n in range(12)]


def test_a_command_runs_on_a_loop_in_another_thread(tmp_path: Path) -> None:
    sandbox, found = walled(choose_backend(), tmp_path), list[bytes]()
    thread = threading.Thread(
        target=lambda: found.append(asyncio.run(sandbox.run(["echo", "hi"])).stdout)
    )
    thread.start()
    thread.join()
    assert found == [b"hi\n"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"network": "no"}, "expected True or False or 'machine' or a list of texts, got 'no'"),
        ({"unix_sockets": 1}, "expected True or False, got 1"),
        ({"limits": {"memory": 1}}, r"expected Limits\(\.\.\.\) or None, got dict of int"),
        ({"roots": "/tmp"}, "a list of texts or paths, got '/tmp'"),
        ({"readable": Path("/usr")}, "a list of texts or paths, got "),
    ],
)
def test_what_opens_a_wall_is_of_its_kind(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SetupError, match=said):
        Sandbox(**options)


def test_an_archive_has_no_backend_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confine, "SUPERVISOR_SCRIPT", tmp_path / "supervise.py")
    confine._find_obstacle.cache_clear()
    try:
        assert confine.detect_features().backend == "none"
        with pytest.raises(SetupError, match="needs toolkeel installed in a folder"):
            confine.choose_backend()
    finally:
        confine._find_obstacle.cache_clear()
