"""Replace a file below a root in one step: readers see the old content or the new one.

The new content is written to a temporary file in the same folder, flushed to the disk, and renamed over
the old one, all through the folder's open handle, so that nothing can be swapped in between (except on
Windows, which has no such handles). Links are
not written through, nor are files with several hard links, which may be outside.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from toolkeel._records.taint_sources import FILE_MARK
from toolkeel.errors import ToolError
from toolkeel_workspace.files.open_beneath import OpenFolder, Root
from toolkeel_workspace.sandbox.protected_files import find_protected_pattern

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CHANGED_MESSAGE = "{!r} was changed since it was read. Read it again, then edit it."
_LOCK_SECONDS = 2.0  # seconds for the lock of a folder
_PREFIX = ".toolkeel-"
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_CREATE |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "it would be larger than is allowed",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "not permitted",
    errno.ENOTDIR: "a part of the path is a file",
    errno.ENAMETOOLONG: "the name is too long",
}


def replace_file(
    root: Root, path: str, data: bytes, expected: os.stat_result | None = None
) -> bool:
    """Replace a file's content. Missing folders are created.

    Args:
        root: The folder.
        path: Relative to it.
        data: The content.
        expected: The file's state when it was read; it must be unchanged.

    Returns:
        True if the file is new.

    Raises:
        ToolError: saying why not; the old content is untouched then.
    """
    relative = root.clean(path)
    folder, _, name = relative.rpartition("/")
    if name in ("", "."):
        raise ToolError(f"{path!r} is a folder, not a file.")
    opened = root.open_folder(folder or ".", create=True)
    was = None
    try:
        _check_not_protected(root, opened, relative)
        was = find_writable(opened, name, path)
        _remove_leftovers(opened)
        _write_file(opened, name, data, was, lambda: _check_unchanged(opened, name, expected, path))
        return was is None
    except OSError as error:
        why = _REASONS.get(error.errno or 0) or error.strerror
        raise ToolError(
            f"{path!r} was not written: {why}. {'It is as it was' if was else 'There is no such file yet'}."
        ) from None
    finally:
        opened.close()


def _check_not_protected(root: Root, folder: OpenFolder, relative: str) -> None:
    """Refuse a path that leads through a link to a protected file, judged by the open folder.

    A protected file named by its own path needs approval before this.
    """
    with suppress(OSError):
        true = (
            str(folder.path)
            if folder.handle is None
            else os.readlink(f"/proc/self/fd/{folder.handle}")
        )
        place = os.path.join(os.path.relpath(true, root.path), os.path.basename(relative))
        part = find_protected_pattern(place)
        if part and not find_protected_pattern(relative):
            raise ToolError(f"{relative!r} leads to {place!r}, which is protected: name it so.")


def find_writable(folder: OpenFolder, name: str, path: str) -> os.stat_result | None:
    """Return the state of an existing file, or None.

    Raises:
        ToolError: it is not to be written to.
    """
    try:
        found = os.stat(folder.name_of(name), dir_fd=folder.handle, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found.st_mode):
        target = os.readlink(folder.name_of(name), dir_fd=folder.handle)
        raise ToolError(f"{path!r} is a link to {target!r}. Name the file itself.")
    if stat.S_ISDIR(found.st_mode):
        raise ToolError(f"{path!r} is a folder, not a file.")
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"{path!r} is a special file, which is not written to.")
    if found.st_nlink > 1:
        raise ToolError(
            f"{path!r} is not written to: it has {found.st_nlink} names (hard links), and another "
            "of them may lie outside. Remove it first, then write it anew."
        )
    is_allowed = os.access(folder.name_of(name), os.W_OK, dir_fd=folder.handle)
    if not (is_allowed and found.st_mode & _WRITABLE):  # an administrator may write to any
        mode = f"{stat.S_IMODE(found.st_mode):o}"
        raise ToolError(
            f"{path!r} is not to be written to: it is read-only (mode {mode}). If it is meant to change, "
            "make it writable first, with chmod u+w."
        )
    return found


def _check_unchanged(
    folder: OpenFolder, name: str, expected: os.stat_result | None, path: str
) -> None:
    if expected is None:
        return
    try:
        now = os.stat(folder.name_of(name), dir_fd=folder.handle, follow_symlinks=False)
    except FileNotFoundError:
        raise ToolError(CHANGED_MESSAGE.format(path)) from None
    same = (expected.st_ino, expected.st_size, expected.st_mtime_ns) == (
        now.st_ino,
        now.st_size,
        now.st_mtime_ns,
    )
    if not same:
        raise ToolError(CHANGED_MESSAGE.format(path))


def _write_file(
    folder: OpenFolder,
    name: str,
    data: bytes,
    was: os.stat_result | None,
    check: Callable[[], None],
) -> None:
    temporary = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(6)}.tmp"
    descriptor = os.open(folder.name_of(temporary), _CREATE, 0o666, dir_fd=folder.handle)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if was is not None and folder.handle is not None:
                _copy_metadata(folder, name, was, file.fileno())
            os.fsync(file.fileno())
        with _lock_folder(folder):
            check()
            at = folder.handle
            names = folder.name_of(temporary), folder.name_of(name)
            os.replace(*names, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        with suppress(OSError):
            os.unlink(folder.name_of(temporary), dir_fd=folder.handle)
        raise
    with suppress(OSError):  # the file is written, even if folders cannot be synced
        if folder.handle is not None:
            os.fsync(folder.handle)


def _copy_metadata(folder: OpenFolder, name: str, was: os.stat_result, target: int) -> None:
    """Give a new file the owner, the mode and the attributes of the one that it replaces, as far as allowed."""
    now = os.fstat(target)
    for owner, group in ((was.st_uid, was.st_gid), (-1, was.st_gid)):
        if (owner, group) in ((now.st_uid, now.st_gid), (-1, now.st_gid)):
            break
        with suppress(OSError):  # only an administrator gives files away
            os.fchown(target, owner, group)
            break
    if sys.platform == "linux":
        path = f"/proc/self/fd/{folder.handle}/{name}"
        with suppress(OSError):  # not every file system has attributes
            for key in os.listxattr(path, follow_symlinks=False):
                # The mark is of the old content: a call that edits a marked file marks the new one.
                if key.startswith(("user.", "system.posix_acl_access")) and key != FILE_MARK:
                    value = os.getxattr(path, key, follow_symlinks=False)
                    os.setxattr(target, key, value)
    os.fchmod(target, stat.S_IMODE(was.st_mode))


@contextmanager
def _lock_folder(folder: OpenFolder) -> Iterator[None]:
    """Lock a folder between the last check of the file and the rename.

    Waits a limited time for other programs that use this module.
    """
    end = time.monotonic() + _LOCK_SECONDS
    while fcntl is not None and folder.handle is not None:
        try:
            fcntl.flock(folder.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                break
            time.sleep(0.001)
        except OSError:  # a file system without locks
            break
        else:
            break
    yield  # closing the folder releases the lock


def _remove_leftovers(folder: OpenFolder) -> None:
    """Remove temporary files of processes that were killed while writing."""
    with os.scandir(folder.listed) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(_PREFIX)]
    for name in names:
        pid = name.removeprefix(_PREFIX).partition("-")[0]
        if name.endswith(".tmp") and pid.isdigit() and not _is_process_alive(int(pid)):
            with suppress(OSError):
                os.unlink(folder.name_of(name), dir_fd=folder.handle)


def _is_process_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
