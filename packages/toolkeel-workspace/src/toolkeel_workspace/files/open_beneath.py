"""Open what is beneath a folder, and nothing else.

The folder stays open as a handle, so renaming its parents has no effect. On Linux the kernel walks the
path (`openat2` with ``RESOLVE_BENEATH``: links may point anywhere below the folder, none may leave it, and
there is no gap between check and use). Elsewhere, and where `openat2` is disabled, each component is
opened from the one before without following links. The result must be a regular file or a folder; a pipe
or a device never blocks.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import stat
import sys
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from toolkeel._common.data_folder import absolute_path
from toolkeel._common.nearest_names import nearest_names
from toolkeel.call.steps.rules import spelling
from toolkeel.effects import Resource
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.files.line_window import escape_name
from toolkeel_workspace.files.relative_path import clean_path, explain_unencodable

_OPENAT2 = 437  # the same number on every architecture, since it came after 5.1
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
_READ |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)

TEMPORARY_NAME = re.compile(r"\.toolkeel-\d+-[0-9a-f]{12}\.tmp")
"""Names of temporary files of a replacement: never listed."""
MAX_ENTRIES = 20_000
"""Most names read from one folder."""


class Entry(NamedTuple):
    """One name in a folder, with its kind; links are not followed."""

    name: str
    kind: Literal["file", "folder", "link", "other"]


class _OpenHow(ctypes.Structure):
    """``struct open_how`` of openat2(2)."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class OpenFolder(NamedTuple):
    """A file or folder below a root, opened to look at it or to work in it.

    With a handle, names are looked up in the folder itself, even if it is renamed meanwhile. Windows has no
    such handles: there, the path was checked when the folder was opened.

    Attributes:
        handle: Its descriptor, as the ``dir_fd`` of functions of `os`, or None.
        path: Its path.
    """

    handle: int | None
    path: Path

    @property
    def listed(self) -> int | Path:
        """Return what `os.scandir` lists."""
        return self.path if self.handle is None or os.scandir not in os.supports_fd else self.handle

    def name_of(self, name: str) -> str:
        """Return the path of a name in it, for functions of `os` with its handle as ``dir_fd``."""
        return name if self.handle is not None else str(self.path / name)

    def is_folder(self) -> bool:
        """Return True for a folder, False for a file."""
        return stat.S_ISDIR(os.stat(self.path if self.handle is None else self.handle).st_mode)

    def close(self) -> None:
        """Close the handle."""
        if self.handle is not None:
            os.close(self.handle)


class Root:
    """A folder that stays open.

    Args:
        path: The folder.

    Raises:
        SetupError: if it is not a folder that can be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(absolute_path(path))
        self.names = tuple(dict.fromkeys((str(self.path), os.path.abspath(path))))
        self._handle = -1
        if not self.path.is_dir():
            raise SetupError(f"The root {str(path)!r} is not a folder.")
        if os.open in os.supports_dir_fd:
            self._handle = os.open(self.path, _READ | getattr(os, "O_DIRECTORY", 0))
            weakref.finalize(self, os.close, self._handle)

    def clean(self, path: str) -> str:
        """Return a path relative to the root, with plain components.

        An absolute path may start with the root's own.

        Raises:
            ToolError: if it cannot be below the root.
        """
        return clean_path(path, self.names)

    def resolve(self, path: str) -> str:
        """Resolve a path to an absolute one without links. It need not exist.

        Raises:
            ToolError: if it cannot be below the root.
        """
        return os.path.realpath(self.path / self.match_spelling(path))

    def open_file(self, path: str) -> int:
        """Open a regular file for reading. The caller closes the descriptor.

        Raises:
            ToolError: saying why not.
        """
        descriptor = self._open(path)
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            return descriptor
        os.close(descriptor)
        what = "a folder; list it instead" if stat.S_ISDIR(mode) else "a special file"
        raise ToolError(f"{path!r} cannot be read: it is {what}.")

    def list_entries(self, path: str) -> list[Entry]:
        """List what a folder contains, unsorted, at most `MAX_ENTRIES`.

        Raises:
            ToolError: saying why not.
        """
        folder = self._open_any(path)
        try:
            if not folder.is_folder():
                raise ToolError(f"{path!r} is a file, not a folder; read it instead.")
            with os.scandir(folder.listed) as found:
                shown = (each for each in found if not TEMPORARY_NAME.fullmatch(each.name))
                return [_make_entry(item) for item in islice(shown, MAX_ENTRIES)]
        finally:
            folder.close()

    def match_spelling(self, path: str) -> str:
        """Return a path in the folder's own spelling, if a name there is visually the same.

        macOS makes names with decomposed accents, narrow spaces and curly apostrophes, which models
        do not distinguish from plain ones. Names shown with escapes are found by those.

        Raises:
            ToolError: if the path cannot be below the root.
        """
        relative = self.clean(path)
        with suppress(ToolError):
            self._open_any(relative).close()
            return relative
        found = list[str]()
        for part in relative.split("/"):
            try:
                names = [entry.name for entry in self.list_entries("/".join(found) or ".")]
            except ToolError:
                return relative
            wanted = part, spelling(part)
            alike = [n for n in names if spelling(n) in wanted or escape_name(n) == part]
            if part not in names and len(alike) != 1:
                return relative
            found.append(part if part in names else alike[0])
        return "/".join(found)

    def open_folder(self, path: str, *, create: bool = False) -> OpenFolder:
        """Open a folder. The caller closes it.

        Args:
            path: Relative to the root.
            create: Create missing folders.

        Raises:
            ToolError: saying why not.
        """
        parts = self.clean(path).split("/")
        for end in range(1, len(parts) + 1) if create else ():
            parent = self._open_any("/".join(parts[: end - 1]) or ".")
            try:
                os.mkdir(parent.name_of(parts[end - 1]), dir_fd=parent.handle)
            except FileExistsError:
                pass
            except OSError as error:
                raise ToolError(f"{path!r} cannot be made: {error.strerror}.") from None
            finally:
                parent.close()
        folder = self._open_any(path)
        if not folder.is_folder():
            folder.close()
            raise ToolError(f"{path!r} is a file, not a folder.")
        return folder

    def is_folder(self, path: str) -> bool:
        """Return true if the path is a folder, false if it is a file."""
        opened = self._open_any(path)
        try:
            return opened.is_folder()
        finally:
            opened.close()

    def _open_any(self, path: str) -> OpenFolder:
        """Open a file or folder, to look at it or into it."""
        relative = self.clean(path)
        if self._handle >= 0:
            return OpenFolder(self._open(path), self.path / relative)
        with self._tool_errors(path, relative):  # Windows has no handles of folders
            return OpenFolder(None, _resolve_beneath(self.path, relative))

    def _open(self, path: str) -> int:
        relative = self.clean(path)
        with self._tool_errors(path, relative):
            if self._handle < 0:
                return _open_by_path(self.path, relative)
            return (_openat2 if _HAS_OPENAT2 else _open_stepwise)(self._handle, relative)

    @contextmanager
    def _tool_errors(self, path: str, relative: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise ToolError(
                f"{path!r} {_describe_error(error)}.{self._suggest_names(relative)}"
            ) from None
        except (OSError, UnicodeEncodeError) as error:
            raise ToolError(f"{path!r} {_describe_error(error)}.") from None

    def _suggest_names(self, missing: str) -> str:
        """Suggest the most similar names in the folder of a missing path, as a sentence."""
        folder, _, name = missing.rpartition("/")
        if not folder and name == ".":
            return ""
        with suppress(OSError, ValueError):  # no link
            return f" It is a link to {os.readlink(self.path / missing)!r}."
        try:
            names = sorted(entry.name for entry in self.list_entries(folder or "."))
        except ToolError:
            return ""
        prefix = f"{folder}/" if folder else ""
        found = " or ".join(f"'{escape_name(prefix + n)}'" for n in nearest_names(name, names))
        return f" Did you mean {found}?" if found else ""


class FileResource(Resource):
    """The resource ``file:{path}`` below a root, identified by where the path leads.

    A path that cannot be below the root, which the tool will refuse, identifies the root.

    Args:
        root: The folder the paths start at.
        parameter: The argument with the path.
    """

    _root: Root
    _parameter: str

    def __new__(cls, root: Root, parameter: str) -> FileResource:
        made = super().__new__(cls, f"file:{{{parameter}}}")
        made._root, made._parameter = root, parameter
        return made

    def key(self, arguments: Mapping[str, object]) -> str:
        """Return the file as an absolute path without links."""
        path = str(arguments.get(self._parameter, "."))
        try:
            return f"file:{self._root.resolve(path)}"
        except (ToolError, ValueError):
            return f"file:{self._root.path}"

    def resolve(self, parameter: str, path: str) -> tuple[str, ...]:
        """Return the absolute path without links, and the same from the root."""
        if parameter != self._parameter:
            return ()
        try:
            place = self._root.resolve(path)
        except (ToolError, ValueError):  # the tool refuses it
            return ()
        return place, os.path.relpath(place, os.path.realpath(self._root.path))


def _make_entry(item: os.DirEntry[str]) -> Entry:
    if item.is_symlink():
        return Entry(item.name, "link")
    if item.is_dir(follow_symlinks=False):
        return Entry(item.name, "folder")
    return Entry(item.name, "file" if item.is_file(follow_symlinks=False) else "other")


def _openat2(handle: int, path: str) -> int:
    """Open by `openat2`; raises `OSError` with ``EXDEV`` if the path leaves the folder."""
    assert _LIBC is not None
    how = _OpenHow(_READ, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    arguments = (
        ctypes.c_long(_OPENAT2),
        ctypes.c_long(handle),
        ctypes.c_char_p(os.fsencode(path)),
        ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )
    code = errno.EAGAIN
    for _ in range(100):  # EAGAIN: something was renamed during the walk
        result = int(_LIBC.syscall(*arguments))
        if result >= 0:
            return result
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code), path)


def _open_stepwise(handle: int, path: str) -> int:
    """Open component by component, following no link at all."""
    current = os.dup(handle)
    try:
        for part in path.split("/"):
            following = os.open(part, _READ | _NOFOLLOW, dir_fd=current)
            os.close(current)
            current = following
    except BaseException:
        os.close(current)
        raise
    return current


def _resolve_beneath(root: Path, path: str) -> Path:
    """Resolve a path without directory handles. Raises `OSError` with ``EXDEV`` if it leaves the root."""
    target = (root / path).resolve(strict=True)
    if target != root and root not in target.parents:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    return target


def _open_by_path(root: Path, path: str) -> int:
    """Open without directory handles: resolve, compare, open, and compare again."""
    target = _resolve_beneath(root, path)
    if target.is_dir():  # which Windows does not open
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    descriptor = os.open(target, _READ | getattr(os, "O_BINARY", 0))
    if not os.path.samestat(os.fstat(descriptor), os.lstat(target)):
        os.close(descriptor)
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    return descriptor


_REASONS = {
    errno.EISDIR: "cannot be read: it is a folder; list it instead",
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not exist: a part of it is a file, not a folder",
    errno.EXDEV: "leaves the root through a link",
    errno.ELOOP: "goes through a link, which is not followed",
    errno.EACCES: "may not be read: permission denied",
    errno.EPERM: "may not be read: not permitted",
    errno.ENXIO: "is a special file that cannot be read",
    errno.ENAMETOOLONG: "is too long a name",
    errno.EINVAL: "is not a valid name",
}


def _describe_error(error: OSError | UnicodeEncodeError) -> str:
    if isinstance(error, UnicodeEncodeError):
        return f"is not a valid name: it {explain_unencodable(error.object)}"
    return _REASONS.get(error.errno or 0) or f"cannot be opened: {error.strerror}"


def _is_openat2_usable() -> bool:
    """Return true if the kernel has openat2 and allows it; sandboxes may not."""
    if _LIBC is None:
        return False
    handle = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(_openat2(handle, "."))
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None
_HAS_OPENAT2 = _is_openat2_usable()
