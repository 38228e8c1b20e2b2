"""Find files below a root by name."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice, takewhile

from toolkeel.call.steps.rules import spelling
from toolkeel.errors import ToolError
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.line_window import MAX_BYTES, escape_name, pluralize
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.patterns.linear_regex import compile_regex, escape_regex
from toolkeel_workspace.files.walk import FileWalk

MAX_NAMES = 200_000
"""Most visited names."""
MAX_LINKS = 100
"""Most links of which it is checked that they lead to folders."""
MAX_GLOB_CHARS = 4096
"""Most characters of a glob: no path is longer."""
_PARTS = re.compile(r"(\*\*/|\*\*|\*|\?|\[[^\]/]{1,64}\])")  # without a limit, quadratic
_WILDCARDS = {"**/": "(?:[^/]+/)*", "**": "(?:[^/]|/)*", "*": "[^/]*", "?": "[^/]"}


def compile_glob(glob: str, *, ignore_case: bool = False) -> Callable[[str], bool]:
    """Compile a glob to a function that matches paths: ``*``, ``**``, ``?``, ``[a-z]``, ``{ts,tsx}``.

    A glob without a slash matches the name alone.

    Raises:
        ToolError: if it is empty or too long, or its braces have too many alternatives.

    >>> compile_glob("*.{ts,tsx}")("src/app.tsx")
    True
    >>> compile_glob("src/**/*.py")("src/a.py"), compile_glob("a/*")("a/b/c")
    (True, False)
    """
    if not glob.strip("/"):
        raise ToolError("The pattern is empty. '*' finds every file.")
    if len(glob) > MAX_GLOB_CHARS:
        raise ToolError(
            f"The pattern is longer than any path: {MAX_GLOB_CHARS:,} characters at most."
        )
    choices = [_glob_to_regex(each.lstrip("/")) for each in _expand_braces(glob)]
    try:
        return compile_regex(f"{'(?i)' * ignore_case}^(?:{'|'.join(choices)})$")
    except ValueError:
        raise ToolError(f"{glob[:200]!r} is not a pattern of file names.") from None


def clean_glob(glob: str, root: Root, path: str = ".") -> str:
    """Return a glob relative to a folder below the root, as it may be written otherwise.

    Args:
        glob: The glob; it may begin with ``./``, or with the root's own path.
        root: The root.
        path: The folder.

    Raises:
        ToolError: it leads out of the root.
    """
    for name in root.names:
        if glob.startswith(f"{name}/"):
            folder = "" if path == "." else f"{path}/"
            glob = glob.removeprefix(f"{name}/").removeprefix(folder)
            break
    glob = re.sub(r"\A(?:\./+)+", "", glob)
    if ".." in glob.split("/"):
        raise ToolError(f"{glob[:200]!r} leaves the root. Give a pattern below it, without '..'.")
    return glob


def _glob_to_regex(glob: str) -> str:
    parts = _PARTS.split(glob if "/" in glob else f"**/{glob}")
    return "".join(_WILDCARDS.get(p) or _class_to_regex(p) for p in parts)


def _class_to_regex(part: str) -> str:
    if not part.startswith("[") or not part.endswith("]"):
        return escape_regex(part)
    inner = part[1:-1]
    negated = "^/" if inner.startswith("!") else ""
    ends = re.sub(r"([\\\]\[^&~|])", r"\\\1", inner.removeprefix("!"))
    try:
        re.compile(f"[{negated}{ends}]")
    except re.error:
        return escape_regex(part)
    return f"(?:[{negated}{ends}]|{escape_regex(part)})"  # a file may be named "[id].tsx"


def _expand_braces(glob: str) -> list[str]:
    done, pending = list[str](), [glob]
    while pending:
        each = pending.pop()
        found = re.search(r"\{([^{},]*,[^{}]*)\}", each)
        if found is None:
            done.append(each)
        else:
            before, after = each[: found.start()], each[found.end() :]
            pending += [before + choice + after for choice in found[1].split(",")]
        if len(done) + len(pending) > 100:
            raise ToolError("The pattern's braces have too many meanings.")
    return done


def find_files(root: Root, pattern: str, path: str, limit: int) -> ToolOutput:
    """Return the files whose path below `path` matches, sorted, with a notice of what is left out.

    A folder that the pattern begins with was named on purpose, even if git ignores it.

    Raises:
        ToolError: if the pattern or the folder is invalid.
    """
    if limit < 1:
        raise ToolError("limit counts from 1.")
    given, pattern = pattern, clean_glob(pattern, root, path)
    wanted, finds_files = compile_glob(pattern.rstrip("/") or pattern), not pattern.endswith("/")
    prefix = "" if path == "." else f"{path}/"
    start = _find_start(root, pattern, path)
    looked, names = 0, list[str]()
    for name in (walk := FileWalk(root, start, include_links=True)):
        looked += 1
        if finds_files and wanted(name.removeprefix(prefix)):
            names.append(name)
        if looked == MAX_NAMES:
            break
    shown = _limit_bytes(sorted(names)[:limit])
    notice = f"{pluralize(len(names), 'file')} found; looked at {looked}"
    if len(shown) < len(names):
        notice = f"First {len(shown)} of {len(names)} files shown. Narrow the pattern or the path"
    if looked == MAX_NAMES:
        notice += ", and there are more files than were looked at"
    if walk.truncated_folders:
        notice += f". Not all of {' and '.join(map(escape_name, walk.truncated_folders[:5]))} was looked at"
    notice += _describe_others(walk, lambda name: wanted(name.removeprefix(prefix)), bool(names))
    if not names:
        notice += _describe_links(root, walk) + _explain_nothing(root, given, pattern, path)
    details = {"files": len(names), "shown": len(shown), "looked_at": looked}
    return ToolOutput("\n".join([*shown, *([""] if shown else []), f"[{notice}.]"]), None, details)


def _limit_bytes(names: Sequence[str]) -> list[str]:
    """Return as many names as can be shown, as text."""
    shown, used = list[str](), 0
    for name in map(escape_name, names):
        used += len(name.encode()) + 1
        if used > MAX_BYTES:
            break
        shown.append(name)
    return shown


def _find_start(root: Root, pattern: str, path: str) -> str:
    """Return the folder that a pattern begins with, as far as it exists; else the path."""
    *folders, _ = pattern.strip("/").split("/")
    named = list(takewhile(lambda part: not _PARTS.search(part) and "{" not in part, folders))
    for end in range(len(named), 0, -1):
        start = posixpath.normpath(posixpath.join(path, *named[:end]))
        with suppress(ToolError):
            if ".." not in named and root.is_folder(start):
                return start
    return path


def _describe_others(walk: FileWalk, wanted: Callable[[str], bool], found: bool) -> str:
    """Describe what else a pattern may mean: folders, and what was not looked at."""
    said = ""
    if folders := [f"{name}/" for name in walk.folders if wanted(name)]:
        too = ", too" if found else ""
        said += f". It matches {pluralize(len(folders), 'folder')}{too}: {list_names(folders)}"
    ignored = [name for name in walk.skipped if wanted(name.rstrip("/"))]
    if ignored:
        said += f". Left out of searches, and not counted: {list_names(ignored)}"
    closed = [name for name in walk.skipped if name.endswith("/") and name not in ignored]
    if closed:
        said += f". Not looked into: {list_names(closed)}"
    if closed and not found:
        said += "; such a folder is, when given as path or at the start of the pattern"
    if walk.unreadable:
        said += f". Could not be listed: {list_names(walk.unreadable)}"
    if not closed and walk.skipped_count > len(walk.skipped):
        said += f". {walk.skipped_count:,} names were left out of the search"
    return said


def _describe_links(root: Root, walk: FileWalk) -> str:
    """Describe the links to folders, which are not followed."""
    folders = list[str]()
    for name in walk.links[:MAX_LINKS]:
        with suppress(ToolError):
            if root.is_folder(name):
                folders.append(f"{name}/")
    return f". Links that were not followed: {list_names(folders)}" if folders else ""


def _explain_nothing(root: Root, given: str, pattern: str, path: str) -> str:
    """Explain why a pattern matched nothing, as far as that shows."""
    said = ""
    if given.startswith(("/", "~")) and pattern.startswith(("/", "~")):
        said += ". Nothing outside of the root is looked at: the pattern was tried below it"
    if alike := _find_alike(root, pattern, path):
        said += f". In another spelling or case: {list_names(alike)}"
    elif part := _find_containing(root, pattern, path):
        said += f". The pattern must match all of a name; '*{pattern}*' matches {list_names(part)}"
    elif missing := _find_missing_folder(root, pattern, path):
        said += f". {missing.rstrip('.')}"
    literal = "".join(_PARTS.sub("", choice) for choice in _expand_braces(pattern))
    signs = [sign for sign in "[]{}\\^$|()" if sign in literal]
    if signs := ["!"] * pattern.startswith("!") + signs:
        said += f". Plain characters in this pattern: {' '.join(signs)}"
    if "," in literal or " *" in pattern:
        said += ". Write several patterns as {a,b}"
    return said


def _find_alike(root: Root, pattern: str, path: str) -> list[str]:
    """Find files and folders that match with other case, composed letters, slashes or outer spaces."""
    prefix = "" if path == "." else f"{path}/"
    plain = pattern.strip().replace("\\", "/").rstrip("/") or pattern
    exact = compile_glob(pattern.rstrip("/") or pattern)
    is_file_name = pattern.endswith("/") and not _PARTS.search(pattern)
    wanted = compile_glob(spelling(plain), ignore_case=True)
    walk = FileWalk(root, path, include_links=True)
    names = [*islice(walk, MAX_NAMES), *(f"{folder}/" for folder in walk.folders)]
    short = {name: name.removeprefix(prefix).rstrip("/") for name in names}
    return [
        name
        for name, end in short.items()
        if wanted(spelling(end)) and not (exact(end) and (name.endswith("/") or not is_file_name))
    ]


def _find_containing(root: Root, pattern: str, path: str) -> list[str]:
    """Find files whose name has a pattern without wildcards as a part."""
    if "/" in pattern or _PARTS.search(pattern) or "{" in pattern:
        return []
    walk = FileWalk(root, path, include_links=True)
    return [name for name in islice(walk, MAX_NAMES) if pattern in posixpath.basename(name)]


def _find_missing_folder(root: Root, pattern: str, path: str) -> str:
    """Return why the first folder of a pattern that is not there cannot be entered; empty if all are."""
    *folders, _ = pattern.strip("/").split("/")
    named = list(takewhile(lambda part: not _PARTS.search(part) and "{" not in part, folders))
    for end in range(1, len(named) + 1):
        place = posixpath.normpath(posixpath.join(path, *named[:end]))
        try:
            if not root.is_folder(place):
                return f"{place!r} is a file, not a folder"
        except ToolError as error:
            return error.text
    return ""


def list_names(names: Sequence[str]) -> str:
    """Return the first five names as text, with the number of the others."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(escape_name, names[:5])) + more
