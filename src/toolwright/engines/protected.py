"""Files whose change would widen what an agent may do, or run code behind its user's back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

PROTECTED: tuple[str, ...] = (
    ".git/hooks",
    ".git/config",
    ".gitmodules",
    ".gitattributes",
    ".husky",
    ".pre-commit-config.yaml",
    ".github",
    ".gitlab-ci.yml",
    ".circleci",
    ".env",
    ".envrc",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".ssh",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".mcp.json",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".toolwright",
    ".vscode",
    ".idea",
    ".devcontainer",
    "toolwright.toml",
)
"""Paths that stay as they are, at any depth: each with all that lies below it."""

MAX_LOOKED_AT = 5_000
"""Most files in one protected folder that are looked at for changes."""


def protected_part(path: str) -> str:
    """The protected pattern that a path falls under; empty if none does.

    Letter case does not matter, since on some disks it does not. Variants of ``.env`` such as
    ``.env.local`` count, samples of it do not.

    Args:
        path: Relative, with slashes.

    >>> protected_part("lib/.git/hooks/pre-commit"), protected_part("src/hooks/a.py")
    ('.git/hooks', '')
    """
    parts = [part for part in path.casefold().split("/") if part not in ("", ".")]
    for pattern in PROTECTED:
        wanted = pattern.split("/")
        for start in range(len(parts) - len(wanted) + 1):
            if parts[start : start + len(wanted)] == wanted:
                return pattern
    name = parts[-1] if parts else ""
    samples = (".example", ".sample", ".template")
    return ".env" if name.startswith(".env.") and not name.endswith(samples) else ""


def protected_below(root: Path) -> Iterator[Path]:
    """What is there of the protected files directly below a folder."""
    for pattern in PROTECTED:
        if (root / pattern).exists():
            yield root / pattern
    yield from (path for path in root.glob(".env.*") if protected_part(path.name))


def protected_state(root: Path) -> dict[str, int]:
    """The same, each with a number that is another one once anything in it was changed.

    By the times and sizes that the file system keeps, which a command cannot set back.
    """
    return {str(path): _state(path) for path in protected_below(root)}


def _state(path: Path) -> int:
    inside = islice(path.rglob("*"), MAX_LOOKED_AT) if path.is_dir() else ()
    seen = []
    for each in (path, *inside):
        with suppress(OSError):
            found = each.lstat()
            seen.append((str(each), found.st_ino, found.st_size, found.st_mode, found.st_ctime_ns))
    return hash(tuple(sorted(seen)))
