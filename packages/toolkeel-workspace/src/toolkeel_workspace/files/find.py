"""Find files below a root by their names."""

from __future__ import annotations

import re
from collections.abc import Callable

from toolkeel.errors import ToolError
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.line_window import MAX_BYTES, count, printable
from toolkeel_workspace.files.linear_regex import compiled, escaped
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.walk import Walk

MAX_WALK = 200_000
"""Most names looked at."""
LONGEST = 4096
"""Most characters of a glob: no path is longer."""
_PARTS = re.compile(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\])")
_MEANING = {"**/": "(?:[^/]+/)*", "**": "(?:[^/]|/)*", "*": "[^/]*", "?": "[^/]"}


def matcher(glob: str) -> Callable[[str], bool]:
    """Whether a path fits a glob: ``*``, ``**``, ``?``, ``[a-z]`` and ``{ts,tsx}``.

    Without a slash it is about the name alone.

    Raises:
        ToolError: if there is nothing in it, it is too long, or its braces have too many meanings.

    >>> matcher("*.{ts,tsx}")("src/app.tsx")
    True
    >>> matcher("src/**/*.py")("src/a.py"), matcher("a/*")("a/b/c")
    (True, False)
    """
    if not glob.strip("/"):
        raise ToolError("The pattern is empty. '*' finds every file.")
    if len(glob) > LONGEST:
        raise ToolError(f"The pattern is longer than any path: {LONGEST:,} characters at most.")
    choices = [_regex(each.lstrip("/")) for each in _braces(glob)]
    try:
        return compiled(f"^(?:{'|'.join(choices)})$")
    except ValueError:
        raise ToolError(f"{glob[:200]!r} is not a pattern of file names.") from None


def _regex(glob: str) -> str:
    parts = _PARTS.split(glob if "/" in glob else f"**/{glob}")
    return "".join(_MEANING.get(p) or _character_class(p) for p in parts)


def _character_class(part: str) -> str:
    if not part.startswith("[") or not part.endswith("]"):
        return escaped(part)
    inner = part[1:-1]
    negated = "^/" if inner.startswith("!") else ""
    ends = re.sub(r"([\\\]\[^&~|])", r"\\\1", inner.removeprefix("!"))
    try:
        re.compile(f"[{negated}{ends}]")
    except re.error:
        return escaped(part)
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
    for name in (walk := Walk(root, path, links=True)):
        looked += 1
        if wanted(name.removeprefix(prefix)):
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
    if walk.cut:
        notice += f". Not all of {' and '.join(map(printable, walk.cut[:5]))} was looked at"
    details = {"files": len(names), "shown": len(shown), "looked_at": looked}
    return ToolOutput("\n".join([*shown, *([""] if shown else []), f"[{notice}.]"]), None, details)
