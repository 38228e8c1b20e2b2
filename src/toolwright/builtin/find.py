"""Find files below a root by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolwright.builtin.beneath import Root
from toolwright.builtin.grep import SKIPPED
from toolwright.builtin.window import MAX_BYTES, count, printable
from toolwright.errors import ToolError
from toolwright.messages import ToolOutput

MAX_WALK = 200_000
"""Most names looked at."""
_PARTS = re.compile(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\])")
_MEANING = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matcher(glob: str) -> re.Pattern[str]:
    """What a glob means for a path: ``*``, ``**``, ``?``, ``[a-z]`` and ``{ts,tsx}``.

    Without a slash it is about the name alone.

    Raises:
        ToolError: if there is nothing in it, or its braces have too many meanings.

    >>> bool(matcher("*.{ts,tsx}").fullmatch("src/app.tsx"))
    True
    >>> bool(matcher("src/**/*.py").fullmatch("src/a.py")), bool(matcher("a/*").fullmatch("a/b/c"))
    (True, False)
    """
    if not glob.strip("/"):
        raise ToolError("The pattern is empty. '*' finds every file.")
    choices = [_regex(each.lstrip("/")) for each in _braces(glob)]
    return re.compile("|".join(choices))


def _regex(glob: str) -> str:
    parts = _PARTS.split(glob if "/" in glob else f"**/{glob}")
    return "".join(_MEANING.get(p) or _plain(p) for p in parts)


def _plain(part: str) -> str:
    if not part.startswith("[") or not part.endswith("]"):
        return re.escape(part)
    inner = part[1:-1]
    negated = "^/" if inner.startswith("!") else ""
    ends = re.sub(r"([\\\]\[^&~|])", r"\\\1", inner.removeprefix("!"))
    try:
        re.compile(f"[{negated}{ends}]")
    except re.error:
        return re.escape(part)
    return f"[{negated}{ends}]"


def _braces(glob: str) -> list[str]:
    done, pending = list[str](), [glob]
    while pending:
        each = pending.pop()
        found = re.search(r"\{([^{}]*,[^{}]*)\}", each)
        if found is None:
            done.append(each)
        else:
            before, after = each[: found.start()], each[found.end() :]
            pending += [before + choice + after for choice in found[1].split(",")]
        if len(done) + len(pending) > 100:
            raise ToolError("The pattern's braces have too many meanings.")
    return done


def find_files(root: Root, pattern: str, path: str, limit: int) -> ToolOutput:
    """The files whose path below `path` matches, sorted, with what was left out.

    Raises:
        ToolError: if the pattern or the folder is wrong.
    """
    if limit < 1:
        raise ToolError("limit counts from 1.")
    wanted = matcher(pattern)
    prefix = "" if path == "." else f"{path}/"
    looked, names = 0, list[str]()
    for name in _walk(root, path):
        looked += 1
        if wanted.fullmatch(name.removeprefix(prefix)):
            names.append(name)
        if looked == MAX_WALK:
            break
    shown, used = list[str](), 0
    for name in map(printable, sorted(names)[:limit]):
        used += len(name.encode()) + 1
        if used > MAX_BYTES:
            break
        shown.append(name)
    notice = f"{count(len(names), 'file')} found; looked at {looked}"
    if len(shown) < len(names):
        notice = f"First {len(shown)} of {len(names)} files shown. Narrow the pattern or the path"
    if looked == MAX_WALK:
        notice += ", and there are more files than were looked at"
    details = {"files": len(names), "shown": len(shown), "looked_at": looked}
    return ToolOutput("\n".join([*shown, *([""] if shown else []), f"[{notice}.]"]), None, details)


def _walk(root: Root, folder: str) -> Iterator[str]:
    pending = [folder]
    while pending:
        here = pending.pop()
        prefix = "" if here == "." else f"{here}/"
        try:
            entries = sorted(root.entries(here))
        except ToolError:
            if here == folder:
                raise
            continue  # it went away, or may not be read
        yield from (prefix + e.name for e in entries if e.kind in ("file", "link"))
        below = [e.name for e in entries if e.kind == "folder" and e.name not in SKIPPED]
        pending.extend(prefix + name for name in reversed(below))
