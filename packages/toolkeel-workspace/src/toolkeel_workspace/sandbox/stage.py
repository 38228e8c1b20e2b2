"""Put together what a command sees, in front of the program that walls it in.

This file is a program of its own and imports nothing of the library, like `supervise`. A command
may swap a folder for a link while another one of the same root is starting; whoever then mounts by
a path mounts what the link leads to, or where it leads. So the places are opened here part by part,
no link followed, and mounted by these handles alone: the folders as `STAGE` ``/0``, ``/1`` and so
on, what lies within one (protected files, the folders on the way) onto itself. All of it stands in
a mount namespace of its own, that no other command is in.

From root it also makes a user that is nobody else. To root inside of a namespace that has one user,
all files are root's own: the kernel's settings, keys and limits know no walls then. So a number that
nobody has is taken, and the places are shown under that number (mounts whose ids are mapped, Linux
5.12). Outside the files belong to whom they belonged to, new ones too.

::

    python -I -S stage.py USER PLACES -- COMMAND ...

``USER`` is a number, or -1 to stay who it is. The file descriptor ``PLACES`` gives what `written`
makes of places, the folders first. It imports little: each command waits for it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn

STAGE = "/tmp"
"""Where the places are shown; nothing else is there."""
NOT_CONFINED = 125
"""Exit code when that could not be done; nothing has run then."""

_MOUNT_SETATTR, _MOVE_MOUNT, _OPEN_TREE = 442, 429, 428
_NEW_NAMESPACE, _NEW_USER = 0x20000, 0x10000000
_CLONE_TREE = 0x1 | 0x80000 | 0x8000  # OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC, AT_RECURSIVE
_EMPTY_PATH, _RECURSIVE = 0x1000, 0x8000
_BY_HANDLES = 0x4 | 0x40  # MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _IDMAP = 0x1, 0x2, 0x4, 0x100000
_PRIVATE, _REC, _NOSUID, _NODEV = 1 << 18, 1 << 14, 2, 4
_SHOWN = getattr(os, "O_PATH", 0) | os.O_CLOEXEC

_LIBC = ctypes.CDLL(None, use_errno=True)


class Place:
    """A folder or file to be shown.

    Args:
        path: Absolute, without links.
        within: The folder before it in the list that it lies in; empty for one of its own.
        writes: Whether it may be changed.
        owner: Whose it is, who shall be the user.
        group: The same of its group.
    """

    def __init__(self, path: str, within: str, writes: bool, owner: int, group: int) -> None:
        self.path = path
        self.within = within
        self.writes = writes
        self.ids = owner, group


def written(places: Iterable[Place]) -> bytes:
    """Places as bytes, for `read_places`."""
    rows = ((each.path, each.within, "w" if each.writes else "", *each.ids) for each in places)
    return "".join(f"{field}\0" for row in rows for field in row).encode("utf-8", "surrogateescape")


def read_places(data: bytes) -> list[Place]:
    """What `written` has made."""
    fields = iter(data.decode("utf-8", "surrogateescape").split("\0")[:-1])
    rows = zip(*[fields] * 5, strict=True)
    return [Place(path, in_, bool(writes), int(u), int(g)) for path, in_, writes, u, g in rows]


def main(user: int, places: list[Place], argv: list[str]) -> NoReturn:
    """Show the places, become the user, and then the command."""
    try:
        owners = {each.ids for each in places} if user >= 0 else ()
        namespaces = {each: _user_namespace(*each, user) for each in owners}
        _own_namespace()
        _show(places, namespaces)
        if user >= 0:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        os.execv(argv[0], argv)
    except OSError as error:
        text = f"toolkeel: what the command may see cannot be put together: {error}\n"
        os.write(2, text.encode("utf-8", "backslashreplace"))
        os._exit(NOT_CONFINED)


def _show(places: list[Place], namespaces: dict[tuple[int, int], int]) -> None:
    """Mount each where it is to be found, with its ids as in the user namespace of its owner."""
    top = os.open("/", _SHOWN)
    folders = [each for each in places if not each.within]
    handles = {each.path: _walk(top, each.path) for each in folders}
    trees = {each.path: _tree(handles[each.path], each, namespaces) for each in folders}
    options = b"mode=755,size=1m"
    _check(_LIBC.mount(b"none", STAGE.encode(), b"tmpfs", _NOSUID | _NODEV, options))
    for number, each in enumerate(folders):
        at = _mount_point(f"{STAGE}/{number}", os.fstat(handles[each.path]).st_mode)
        _system(_MOVE_MOUNT, trees[each.path], b"", at, b"", _BY_HANDLES)
    for each in places[len(folders) :]:
        handle, at = (_walk(tops[each.within], each.path, each.within) for tops in (handles, trees))
        if not os.path.samestat(os.fstat(handle), os.fstat(at)):
            raise OSError(errno.ESTALE, f"something else has taken the place of {each.path}")
        tree = _tree(handle, each, namespaces)
        _system(_MOVE_MOUNT, tree, b"", at, b"", _BY_HANDLES)
        for done in (handle, at, tree):
            os.close(done)


def _own_namespace() -> None:
    """Leave the mounts of all others; who may not is root in a namespace of users for it."""
    user, group = os.geteuid(), os.getegid()
    if _LIBC.unshare(_NEW_NAMESPACE) < 0:
        _check(_LIBC.unshare(_NEW_NAMESPACE | _NEW_USER))
        lines = {
            "setgroups": "deny",
            "uid_map": f"{user} {user} 1",
            "gid_map": f"{group} {group} 1",
        }
        for name, line in lines.items():
            with open(f"/proc/self/{name}", "w") as file:
                file.write(line)
    _check(_LIBC.mount(None, b"/", None, _PRIVATE | _REC, None))


def _walk(place: int, path: str, above_it: str = "") -> int:
    """A handle of a path from that of a folder above it, by names alone: no link is followed."""
    place = os.dup(place)
    for part in path[len(above_it) :].split("/"):
        if part:
            above = place
            place = os.open(part, _SHOWN | os.O_NOFOLLOW, dir_fd=above)
            os.close(above)
    if stat.S_ISLNK(os.fstat(place).st_mode):
        raise OSError(errno.ELOOP, f"a link has taken the place of {path} or of one above")
    return place


def _tree(handle: int, place: Place, namespaces: dict[tuple[int, int], int]) -> int:
    """A mount of a place that is nowhere yet."""
    namespace = namespaces.get(place.ids)
    tree = _system(_OPEN_TREE, handle, b"", _CLONE_TREE | _EMPTY_PATH)
    # All that bubblewrap wants of a mount is set here: it would set it by a path, of another one
    # if need be. What is read-only here cannot be made anything else there.
    wanted = _NO_SETUID | _NO_DEVICES | (0 if place.writes else _READ_ONLY)
    wanted |= 0 if namespace is None else _IDMAP
    attributes = struct.pack("=4Q", wanted, 0, 0, namespace or 0)  # to set, to clear, propagation
    _system(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH | _RECURSIVE, attributes, len(attributes))
    return tree


def _mount_point(at: str, mode: int) -> int:
    """A handle of a new folder or file, to mount one of that mode onto."""
    if stat.S_ISDIR(mode):
        os.mkdir(at)
    else:
        os.close(os.open(at, os.O_CREAT | os.O_WRONLY, 0o600))
    return os.open(at, _SHOWN)


def _user_namespace(owner: int, group: int, user: int) -> int:
    """A handle of a user namespace in which an owner and a group of files are the user."""
    ready, told = os.pipe()
    ends, life = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(life)
        os.write(told, b"1" if _LIBC.unshare(_NEW_USER) == 0 else b"0")
        os.read(ends, 1)
        os._exit(0)
    try:
        if os.read(ready, 1) != b"1":
            raise OSError("there are no user namespaces")
        for name, line in (("uid", f"{owner} {user} 1"), ("gid", f"{group} {user} 1")):
            with open(f"/proc/{child}/{name}_map", "w") as file:
                file.write(line)
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for end in (ready, told, ends, life):
            os.close(end)
        os.waitpid(child, 0)


def _system(number: int, *arguments: object) -> int:
    longs = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _check(int(_LIBC.syscall(ctypes.c_long(number), *longs)))


def _check(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


if __name__ == "__main__":
    with open(int(sys.argv[2]), "rb") as given:
        wanted_places = read_places(given.read())
    main(int(sys.argv[1]), wanted_places, sys.argv[4:])
