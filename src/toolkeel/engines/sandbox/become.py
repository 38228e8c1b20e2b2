"""Turn from root into a user that is nobody else, in front of a command, whose files stay root's.

This file is a program of its own and imports nothing of the library, like `supervise`. To root
inside of a namespace that has one user, all files are root's own: the kernel's settings, keys and
limits know no walls then. So this takes a number that nobody has, shows the folders of the sandbox
under that number (a mount whose ids are mapped, Linux 5.12), and only then becomes the command.
Outside the files belong to whom they belonged to, new ones too.

::

    python -I -S become.py USER PLACES -- COMMAND ...

The file descriptor ``PLACES`` gives a JSON list of the folders and files to show, each as an open
handle and the owner and group that shall be the user; the command finds them as `STAGE` ``/0``, ``/1``
and so on, in a mount namespace of its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import stat
import sys
from typing import NoReturn

STAGE = "/tmp"
"""Where the places are shown; nothing else is there."""
NOT_CONFINED = 125
"""Exit code when that could not be done; nothing has run then."""

_MOUNT_SETATTR, _MOVE_MOUNT, _OPEN_TREE = 442, 429, 428
_NEW_NAMESPACE, _NEW_USER = 0x20000, 0x10000000
_CLONE_TREE = 0x1 | 0x80000 | 0x8000  # OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC, AT_RECURSIVE
_EMPTY_PATH, _RECURSIVE = 0x1000, 0x8000
_IDMAP = 0x100000
_PRIVATE, _REC, _NOSUID, _NODEV = 1 << 18, 1 << 14, 2, 4
_HERE = -100

_LIBC = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """``struct mount_attr`` of mount_setattr(2)."""

    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def main(user: int, places: list[tuple[int, int, int]], argv: list[str]) -> NoReturn:
    """Show the places, become the user, and then the command."""
    try:
        owners = {(owner, group) for _, owner, group in places}
        namespaces = {each: _user_namespace(*each, user) for each in owners}
        trees = [_tree(place, namespaces[owner, group]) for place, owner, group in places]
        _check(_LIBC.unshare(_NEW_NAMESPACE))
        _check(_LIBC.mount(None, b"/", None, _PRIVATE | _REC, None))
        _check(
            _LIBC.mount(b"none", STAGE.encode(), b"tmpfs", _NOSUID | _NODEV, b"mode=755,size=1m")
        )
        for number, (tree, folder) in enumerate(trees):
            at = f"{STAGE}/{number}"
            if folder:
                os.mkdir(at)
            else:
                os.close(os.open(at, os.O_CREAT | os.O_WRONLY, 0o600))
            _system(_MOVE_MOUNT, tree, b"", _HERE, at.encode(), 0x4)
            os.close(tree)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    except OSError as error:
        _give_up(f"cannot become another user: {error}")
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        _give_up(f"{argv[0]}: {error.strerror}")


def _tree(place: int, namespace: int) -> tuple[int, bool]:
    """A mount of a place with its ids as in a user namespace; and whether it is a folder."""
    folder = stat.S_ISDIR(os.fstat(place).st_mode)
    tree = _system(_OPEN_TREE, place, b"", _CLONE_TREE | _EMPTY_PATH)
    os.close(place)
    wanted = _Attributes(_IDMAP, 0, 0, namespace)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    _system(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH | _RECURSIVE, ctypes.byref(wanted), size)
    return tree, folder


def _user_namespace(owner: int, group: int, user: int) -> int:
    """A handle of a user namespace in which an owner and a group of files are the user."""
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(told, b"1" if _LIBC.unshare(_NEW_USER) == 0 else b"0")
        signal.pause()
        os._exit(0)
    try:
        if os.read(ready, 1) != b"1":
            raise OSError("there are no user namespaces")
        for name, line in (("uid", f"{owner} {user} 1"), ("gid", f"{group} {user} 1")):
            with open(f"/proc/{child}/{name}_map", "w") as file:
                file.write(line)
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(told)


def _system(number: int, *arguments: object) -> int:
    longs = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _check(int(_LIBC.syscall(ctypes.c_long(number), *longs)))


def _check(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _give_up(text: str) -> NoReturn:
    os.write(2, f"toolkeel: {text}\n".encode("utf-8", "backslashreplace"))
    os._exit(NOT_CONFINED)


if __name__ == "__main__":
    with os.fdopen(int(sys.argv[2]), "rb") as given:
        wanted_places = json.load(given)
    main(int(sys.argv[1]), wanted_places, sys.argv[4:])
