"""Mount what a command may see, before bubblewrap starts.

This file is a separate program and imports nothing of toolkeel, like `supervise`. A command may replace a
folder by a link while another command with the same root is starting; a mount by path would then follow
the link. So the paths are opened here component by component, following no link, and mounted by handle:
folders at `STAGE_FOLDER` ``/0``, ``/1`` and so on, nested paths (protected files, the folders on the way)
onto themselves. All of it is in a mount namespace that no other command shares.

As root it also becomes an unused user. In a user namespace with one user, root owns root's files: the
kernel's settings, keys and limits would be accessible. So it takes a user id that nothing belongs to, and
shows the paths with ids mapped to it (idmapped mounts, Linux 5.12). Outside, files keep their owners, new
ones too.

::

    python -I -S stage.py USER PATHS -- COMMAND ...

``USER`` is a number, or -1 to keep the user. ``PATHS`` is a descriptor with the result of `encode_paths`,
top-level folders first. The program imports little, because each command waits for it.
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

STAGE_FOLDER = "/tmp"
"""Where top-level paths are mounted; nothing else is there."""
EXIT_NOT_CONFINED = 125
"""Exit code when mounting failed; the command has not run then."""

_MOUNT_SETATTR, _MOVE_MOUNT, _OPEN_TREE = 442, 429, 428
_NEW_NAMESPACE, _NEW_USER = 0x20000, 0x10000000
_CLONE_TREE = 0x1 | 0x80000 | 0x8000  # OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC, AT_RECURSIVE
_EMPTY_PATH, _RECURSIVE = 0x1000, 0x8000
_BY_HANDLES = 0x4 | 0x40  # MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _IDMAP = 0x1, 0x2, 0x4, 0x100000
_PRIVATE, _REC, _NOSUID, _NODEV = 1 << 18, 1 << 14, 2, 4
_HANDLE_FLAGS = getattr(os, "O_PATH", 0) | getattr(os, "O_CLOEXEC", 0)

_LIBC = ctypes.CDLL(None, use_errno=True)


class StagedPath:
    """A folder or file to mount.

    Args:
        path: Absolute, without links.
        parent: The earlier folder in the list that contains it; empty for a top-level one.
        is_writable: It may be changed.
        owner: The user id of files that is mapped to the command's user.
        group: The same for the group.
    """

    def __init__(self, path: str, parent: str, is_writable: bool, owner: int, group: int) -> None:
        self.path = path
        self.parent = parent
        self.is_writable = is_writable
        self.ids = owner, group


def encode_paths(paths: Iterable[StagedPath]) -> bytes:
    """Encode paths for `decode_paths`."""
    rows = ((each.path, each.parent, "w" if each.is_writable else "", *each.ids) for each in paths)
    return "".join(f"{field}\0" for row in rows for field in row).encode("utf-8", "surrogateescape")


def decode_paths(data: bytes) -> list[StagedPath]:
    """Decode the paths of `encode_paths`."""
    fields = iter(data.decode("utf-8", "surrogateescape").split("\0")[:-1])
    rows = zip(*[fields] * 5, strict=True)
    return [StagedPath(path, in_, bool(writes), int(u), int(g)) for path, in_, writes, u, g in rows]


def main(user: int, paths: list[StagedPath], argv: list[str]) -> NoReturn:
    """Mount the paths, become the user, and execute the command."""
    try:
        owners = {each.ids for each in paths} if user >= 0 else ()
        namespaces = {each: _open_user_namespace(*each, user) for each in owners}
        _enter_mount_namespace()
        _mount_paths(paths, namespaces)
        if user >= 0:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        os.execv(argv[0], argv)
    except OSError as error:
        text = f"toolkeel: the sandbox's paths cannot be mounted: {error}\n"
        os.write(2, text.encode("utf-8", "backslashreplace"))
        os._exit(EXIT_NOT_CONFINED)


def _mount_paths(paths: list[StagedPath], namespaces: dict[tuple[int, int], int]) -> None:
    """Mount each path, with its ids as in the user namespace of its owner."""
    top = os.open("/", _HANDLE_FLAGS)
    folders = [each for each in paths if not each.parent]
    handles = {each.path: _open_beneath(top, each.path) for each in folders}
    trees = {each.path: _clone_mount(handles[each.path], each, namespaces) for each in folders}
    options = b"mode=755,size=1m"
    _check_result(_LIBC.mount(b"none", STAGE_FOLDER.encode(), b"tmpfs", _NOSUID | _NODEV, options))
    for number, each in enumerate(folders):
        at = _make_mount_point(f"{STAGE_FOLDER}/{number}", os.fstat(handles[each.path]).st_mode)
        _syscall(_MOVE_MOUNT, trees[each.path], b"", at, b"", _BY_HANDLES)
    for each in paths[len(folders) :]:
        handle, at = (
            _open_beneath(tops[each.parent], each.path, each.parent) for tops in (handles, trees)
        )
        if not os.path.samestat(os.fstat(handle), os.fstat(at)):
            raise OSError(errno.ESTALE, f"something else has taken the place of {each.path}")
        tree = _clone_mount(handle, each, namespaces)
        _syscall(_MOVE_MOUNT, tree, b"", at, b"", _BY_HANDLES)
        for done in (handle, at, tree):
            os.close(done)


def _enter_mount_namespace() -> None:
    """Enter a mount namespace; without the right to, in a user namespace as root."""
    user, group = os.geteuid(), os.getegid()
    if _LIBC.unshare(_NEW_NAMESPACE) < 0:
        _check_result(_LIBC.unshare(_NEW_NAMESPACE | _NEW_USER))
        lines = {
            "setgroups": "deny",
            "uid_map": f"{user} {user} 1",
            "gid_map": f"{group} {group} 1",
        }
        for name, line in lines.items():
            with open(f"/proc/self/{name}", "w") as file:
                file.write(line)
    _check_result(_LIBC.mount(None, b"/", None, _PRIVATE | _REC, None))


def _open_beneath(top: int, path: str, base: str = "") -> int:
    """Open a path below a folder's handle, following no link."""
    top = os.dup(top)
    for part in path[len(base) :].split("/"):
        if part:
            above = top
            top = os.open(part, _HANDLE_FLAGS | os.O_NOFOLLOW, dir_fd=above)
            os.close(above)
    if stat.S_ISLNK(os.fstat(top).st_mode):
        raise OSError(errno.ELOOP, f"a link has taken the place of {path} or of one above")
    return top


def _clone_mount(handle: int, path: StagedPath, namespaces: dict[tuple[int, int], int]) -> int:
    """Clone a mount of a path, attached nowhere yet."""
    namespace = namespaces.get(path.ids)
    tree = _syscall(_OPEN_TREE, handle, b"", _CLONE_TREE | _EMPTY_PATH)
    # All attributes that bubblewrap sets are set here: bubblewrap would set them by path, perhaps on
    # another mount. A mount that is read-only here cannot be made writable there.
    wanted = _NO_SETUID | _NO_DEVICES | (0 if path.is_writable else _READ_ONLY)
    wanted |= 0 if namespace is None else _IDMAP
    attributes = struct.pack("=4Q", wanted, 0, 0, namespace or 0)  # to set, to clear, propagation
    _syscall(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH | _RECURSIVE, attributes, len(attributes))
    return tree


def _make_mount_point(at: str, mode: int) -> int:
    """Create a file or folder to mount on, and open it."""
    if stat.S_ISDIR(mode):
        os.mkdir(at)
    else:
        os.close(os.open(at, os.O_CREAT | os.O_WRONLY, 0o600))
    return os.open(at, _HANDLE_FLAGS)


def _open_user_namespace(owner: int, group: int, user: int) -> int:
    """Open a user namespace that maps an owner and a group to the user."""
    ready, child_ready = os.pipe()
    ends, life = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(life)
        os.write(child_ready, b"1" if _LIBC.unshare(_NEW_USER) == 0 else b"0")
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
        for end in (ready, child_ready, ends, life):
            os.close(end)
        os.waitpid(child, 0)


def _syscall(number: int, *arguments: object) -> int:
    longs = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _check_result(int(_LIBC.syscall(ctypes.c_long(number), *longs)))


def _check_result(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


if __name__ == "__main__":
    with open(int(sys.argv[2]), "rb") as paths_file:
        staged_paths = decode_paths(paths_file.read())
    main(int(sys.argv[1]), staged_paths, sys.argv[4:])
