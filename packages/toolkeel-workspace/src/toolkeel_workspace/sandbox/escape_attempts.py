"""Attempts to get out, made by a program inside of a sandbox; nothing is harmed if one succeeds.

This file is a program of its own and imports nothing of the library: it runs inside. What may be
written is opened for writing and closed again, never written to; devices and triggers whose opening
acts are left alone; calls of the kernel get arguments that do nothing. It reads one JSON object on
standard input (`escape_probe` writes it: what stands outside to be found) and prints a JSON list of the holes, each
``[kind, what]``. An empty list is what a sandbox should give.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

Hole = tuple[str, str]
SECONDS = 20.0
"""How long looking for writable files may take."""
_OPENING_ACTS = ("sysrq-trigger", "watchdog", "kmsg", "tpm", "mem")
_DEVICES = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"}
_WRITABLE_FILE_SYSTEMS = ("/dev/pts", "/dev/shm", "/dev/mqueue", "/dev/ptmx")
_REFUSED = {errno.EPERM, errno.ENOSYS, errno.EACCES}
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_LIBC = ctypes.CDLL(None, use_errno=True)

# Name, numbers on x86_64 and aarch64, arguments that do nothing.
_CALLS: tuple[tuple[str, int, int, tuple[int, ...]], ...] = (
    ("unshare(CLONE_NEWUSER)", 272, 97, (0x10000000,)),
    ("ptrace(PTRACE_TRACEME)", 101, 117, (0,)),
    ("process_vm_readv", 310, 270, (0, 0, 0, 0, 0, 0)),
    ("io_uring_setup", 425, 425, (0, 0)),
    ("userfaultfd", 323, 282, (1,)),
    ("keyctl(KEYCTL_GET_KEYRING_ID)", 250, 219, (0, -3, 0)),
    ("add_key", 248, 217, (0, 0, 0, 0, 0)),
    ("bpf", 321, 280, (0, 0, 0)),
    ("perf_event_open", 298, 241, (0, 0, -1, -1, 0)),
    ("mount", 165, 40, (0, 0, 0, 0, 0)),
    ("move_mount", 429, 429, (-1, 0, -1, 0, 0)),
    ("open_tree", 428, 428, (-1, 0, 0)),
    ("open_tree_attr", 467, 467, (-1, 0, 0, 0, 0)),
    ("fsopen", 430, 430, (0, 0)),
    ("setns", 308, 268, (-1, 0)),
    ("open_by_handle_at", 304, 265, (-1, 0, 0)),
    ("fanotify_init", 300, 262, (0, 0)),
    ("statmount", 457, 457, (0, 0, 0, 0)),
    ("personality(READ_IMPLIES_EXEC)", 135, 92, (0x0400000,)),
    ("clone3", 435, 435, (0, 0)),
    ("a call newer than any that was looked at", 900, 900, (0,)),
)
_FAMILIES = {"AF_VSOCK": 40, "AF_PACKET": 17, "AF_ALG": 38, "AF_BLUETOOTH": 31, "AF_XDP": 44}


def main() -> None:
    """Make every attempt, and print what succeeded."""
    traps: dict[str, Any] = json.load(sys.stdin)
    found: list[Hole] = []
    # What was inherited is looked at before calls of the kernel open something.
    first = (_descriptors, _files_outside, _owners)
    then = (_files_of_the_kernel, _mounts, _devices, _rights, _calls, _sockets, _processes)
    for look in first + then:
        try:
            found += look(traps)
        except Exception as error:  # a look that cannot be taken is told, not passed over
            found.append(("not looked at", f"{look.__name__}: {type(error).__name__}: {error}"))
    print(json.dumps(found))


def _files_outside(traps: dict[str, Any]) -> Iterator[Hole]:
    outside: str = traps["outside"]
    for path in (outside, *traps["links"]):
        if _opens(path, os.O_RDONLY):
            yield "reads outside", path
        if _opens(path, os.O_WRONLY):
            yield "writes outside", path
    with suppress(OSError):
        os.link(outside, os.path.join(traps["root"], "hard-link"))
        yield "links outside", outside
    for folder in ("/", "/usr", "/etc", "/root", "/home", "/var", "/sys", "/run", "/opt"):
        with suppress(OSError):  # a file without a name: gone as soon as it is closed
            os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC))
            yield "writes a folder", folder


def _owners(traps: dict[str, Any]) -> Iterator[Hole]:
    """Files that run as their owner, who is the person outside, or root."""
    path = os.path.join(traps["root"], "setuid")
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o4700))
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o700))
        os.chmod(path, 0o2700)
    with suppress(OSError):
        if os.stat(path).st_mode & 0o6000:
            yield "makes a file that runs as its owner", path


def _files_of_the_kernel(traps: dict[str, Any]) -> Iterator[Hole]:
    end = time.monotonic() + SECONDS
    for top in ("/proc", "/sys"):
        for folder, names, files in os.walk(top):
            if folder == "/proc":
                own = {"self", "thread-self", *filter(str.isdigit, names)}
                names[:] = [name for name in names if name not in own]
            for name in files:
                path = os.path.join(folder, name)
                if not name.startswith(_OPENING_ACTS) and _opens(path, os.O_WRONLY):
                    yield "writes a setting of the kernel", path
            if time.monotonic() > end:
                yield "not looked at", f"all of {top}: it takes too long"
                return
    trigger = "/proc/sysrq-trigger"
    with suppress(OSError):  # asked, not opened
        regular = stat.S_ISREG(os.stat(trigger).st_mode)
        if regular and traps["namespaces"] and os.access(trigger, os.W_OK):
            yield "writes a setting of the kernel", trigger


def _mounts(traps: dict[str, Any]) -> Iterator[Hole]:
    """Mounts that can be written and are none of ours; under Landlock they are judged by opening."""
    if not traps["namespaces"]:
        return
    allowed = (*traps["writable"], *_WRITABLE_FILE_SYSTEMS)
    with open("/proc/self/mountinfo") as file:
        for line in file:
            place, options = line.split()[4:6]
            inside = any(place == path or place.startswith(f"{path}/") for path in allowed)
            device = place.startswith("/dev/") and place[5:] in {*_DEVICES, "console"}
            if "ro" not in options.split(",") and not inside and not device and place != "/proc":
                yield "a mount that can be written", place


def _devices(traps: dict[str, Any]) -> Iterator[Hole]:
    """Devices by name; under Landlock, which hides none, those that can be opened harmlessly."""
    for name in traps["devices"]:
        path = os.path.join("/dev", name)
        with suppress(OSError):
            mode = os.lstat(path).st_mode
            special = stat.S_ISBLK(mode) or stat.S_ISCHR(mode)
            if not special or name in {*_DEVICES, "console"}:
                continue
            harmless = stat.S_ISCHR(mode) and not name.startswith((*_OPENING_ACTS, "tty", "vcs"))
            if traps["namespaces"] or (harmless and _opens_device(path)):
                yield "a device", path


def _opens_device(path: str) -> bool:
    with suppress(OSError):
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC))
        return True
    return False


def _rights(traps: dict[str, Any]) -> Iterator[Hole]:
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    bound = status.get("NoNewPrivs", "0").strip() == "1"  # the bounding set is out of reach then
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", *(() if bound else ("CapBnd",))):
        if int(status[name], 16):
            yield "capabilities", f"{name} {status[name]}"
    if not bound:
        yield "new privileges", "a program may still give them"
    if status.get("Seccomp", "2").strip() != "2":
        yield "no filter", "every call of the kernel may be made"


def _calls(traps: dict[str, Any]) -> Iterator[Hole]:
    arm = os.uname().machine == "aarch64"
    for name, on_x86, on_arm, values in _CALLS:
        arguments = [ctypes.c_long(value) for value in values]
        ctypes.set_errno(0)
        result = _LIBC.syscall(ctypes.c_long(on_arm if arm else on_x86), *arguments)
        if result >= 0 or ctypes.get_errno() not in _REFUSED:
            yield "a call of the kernel", name
    for word, number in (("TIOCSTI", _TIOCSTI), ("TIOCLINUX", _TIOCLINUX)):
        for request in (number, number | (1 << 32)):
            got = _LIBC.ioctl(0, ctypes.c_ulong(request), ctypes.c_char_p(b"\0"))
            if got >= 0 or ctypes.get_errno() not in _REFUSED:  # no terminal: the filter is first
                yield "types into a terminal", word


def _sockets(traps: dict[str, Any]) -> Iterator[Hole]:
    for name, family in _FAMILIES.items():
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            with suppress(OSError):
                socket.socket(family, kind).close()
                yield "a socket", name
    with suppress(OSError):  # connected, and its datagrams can be sent to any socket all the same
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].close()
        yield "reaches a local socket", "by a pair for datagrams"
    for what, address in (("abstract", traps["abstract"]), ("file", traps["socket"])):
        with suppress(OSError), socket.socket(socket.AF_UNIX) as local:
            local.connect("\0" + address if what == "abstract" else address)
            yield "reaches a local socket", f"{what} {address}"
    for kind, word in ((socket.SOCK_STREAM, "TCP"), (socket.SOCK_DGRAM, "UDP")):
        with suppress(OSError), socket.socket(socket.AF_INET, kind) as out:
            out.settimeout(2)
            out.connect(("127.0.0.1", traps["port"]))
            out.send(b"out")
            if word == "TCP" or _was_heard(out):
                yield "reaches the machine", f"{word} 127.0.0.1:{traps['port']}"


def _was_heard(out: socket.socket) -> bool:
    """Return True if a datagram was answered: sending one always succeeds where there is a route."""
    with suppress(OSError):
        return out.recv(10) == b"heard"
    return False


def _descriptors(traps: dict[str, Any]) -> Iterator[Hole]:
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            with suppress(OSError):  # the listing's own is closed again
                yield "an inherited descriptor", f"{name}: {os.readlink(f'/proc/self/fd/{name}')}"


def _processes(traps: dict[str, Any]) -> Iterator[Hole]:
    for name, outside in traps["namespaces"].items():
        if os.readlink(f"/proc/self/ns/{name}") == outside:
            yield "shares a namespace", name
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
            if traps["secret"].encode() in file.read():
                yield "reads another's environment", name
    pid: int = traps["pid"]
    with suppress(OSError):
        os.kill(pid, 0)
        if _is_outside(pid, traps["command"]):
            yield "signals processes outside", str(pid)
    with suppress(OSError), open(f"/proc/{pid}/mem", "rb"):
        if _is_outside(pid, traps["command"]):
            yield "reads another's memory", str(pid)


def _is_outside(pid: int, command: str) -> bool:
    """Return True if a number means the process outside, and not one of ours that has it here."""
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return command.encode() in file.read()
    return False


def _opens(path: str, flags: int) -> bool:
    with suppress(OSError):
        if flags != os.O_RDONLY and not stat.S_ISREG(os.stat(path).st_mode):
            return False
        os.close(os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC))
        return True
    return False


if __name__ == "__main__":
    signal.alarm(120)
    main()
