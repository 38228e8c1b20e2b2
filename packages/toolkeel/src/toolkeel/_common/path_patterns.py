"""Paths that match patterns of names, and paths with secrets.

A pattern is one part of a path or several, such as ``*.pem`` or ``.config/gh``, and matches at any depth
and everything below it. Names are compared case-insensitively, as composed Unicode, and without the final
dots and spaces that some disks drop.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from fnmatch import translate
from functools import cache, lru_cache
from typing import TypeAlias

_SECRETS = """
.env .env.* .netrc _netrc .pgpass .my.cnf .npmrc .pypirc .ssh .gnupg .aws .azure .kube
.docker/config.json .config/gcloud .config/gh .config/hub .git-credentials *.pem *.key *.p12 *.pfx
*.jks *.kdbx id_rsa id_dsa id_ecdsa id_ed25519 service-account*.json credentials credentials.json
secrets.* terraform.tfstate* .vault-token .cargo/credentials* .terraform.d
"""

SECRET: tuple[str, ...] = tuple(_SECRETS.split())
"""What holds secrets; changing it asks, too."""

_Match: TypeAlias = Callable[[str], object]
_Compiled: TypeAlias = (
    "tuple[frozenset[str], list[tuple[str, _Match]], list[tuple[str, list[_Match]]]]"
)
_SAMPLES = (".example", ".sample", ".template")
_DOCUMENTS = (".adoc", ".htm", ".html", ".md", ".mdx", ".rst")


def secret_pattern(path: str) -> str:
    """Return the pattern of secret files that a path matches, or an empty string if none matches.

    >>> secret_pattern("deploy/.env.production"), secret_pattern(".env.example")
    ('.env.*', '')
    >>> secret_pattern("secrets.yaml"), secret_pattern("docs/secrets.md")
    ('secrets.*', '')
    """
    return matching_pattern(path, SECRET)


_IGNORED = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)
"""Characters that the file systems of macOS ignore in names."""


def matching_pattern(path: str, patterns: tuple[str, ...]) -> str:
    """Return the pattern that a path matches at its earliest part; empty if it matches none.

    A part is skipped if it is a sample (``.env.example``) and its pattern begins with ``.env``, or a
    document (``secrets.md``) and its pattern is ``secrets.*``.

    Args:
        path: A path with either kind of slash; its parts are folded by `fold_part`.
        patterns: Patterns of at most four parts, written folded.
    """
    parts = [fold_part(part) for part in path.replace("\\", "/").split("/")]
    parts = [part for part in parts if part not in ("", ".")]
    for start in range(len(parts)):
        found = _begins(tuple(parts[start : start + 4]), patterns)
        exempt = (
            _SAMPLES if found.startswith(".env") else _DOCUMENTS if found == "secrets.*" else ()
        )
        if found and not parts[start].endswith(exempt):
            return found
    return ""


@lru_cache(8192)
def _begins(parts: tuple[str, ...], patterns: tuple[str, ...]) -> str:
    """Return the first pattern that the first parts match, or an empty string."""
    plain, single, several = _compiled(patterns)
    if parts[0] in plain:
        return parts[0]
    for pattern, wanted in several:
        if len(parts) >= len(wanted) and all(w(p) for w, p in zip(wanted, parts, strict=False)):
            return pattern
    return next((pattern for pattern, wanted in single if wanted(parts[0])), "")


@cache
def _compiled(patterns: tuple[str, ...]) -> _Compiled:
    """Compile patterns, grouped into plain names, patterns of one part, and patterns of several."""
    plain = frozenset(p for p in patterns if not set("*/") & set(p))
    single: list[tuple[str, _Match]] = [
        (p, re.compile(translate(p)).match) for p in patterns if "*" in p and "/" not in p
    ]
    several: list[tuple[str, list[_Match]]] = [
        (p, [re.compile(translate(part)).match for part in p.split("/")])
        for p in patterns
        if "/" in p
    ]
    return plain, single, several


def may_begin(part: str, patterns: tuple[str, ...]) -> bool:
    """Return True if a part of a path may be the first one of a pattern; a quick test before `matching_pattern`.

    >>> may_begin(".VSCode", (".vscode", "*.pem")), may_begin("main.py", (".vscode", "*.pem"))
    (True, False)
    """
    if not part.isascii() or ":" in part or "~" in part or part[-1:] in ". ":
        return True  # it may be another name to a file system
    plain, begins, ends, other = _first_parts(patterns)
    name = part.lower()
    return name in plain or name.startswith(begins) or name.endswith(ends) or bool(other(name))


@cache
def _first_parts(
    patterns: tuple[str, ...],
) -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...], _Match]:
    """Group the first parts of patterns: plain names, begins of names, ends of names, and all others."""
    first = {pattern.partition("/")[0] for pattern in patterns}
    plain = {name for name in first if "*" not in name}
    begins = {name for name in first - plain if name.find("*") == len(name) - 1}
    ends = {name for name in first - plain - begins if name.rfind("*") == 0}
    other = "|".join(map(translate, sorted(first - plain - begins - ends)))
    return (
        frozenset(plain),
        tuple(name[:-1] for name in begins),
        tuple(name[1:] for name in ends),
        re.compile(other or "(?!)").match,
    )


def fold_part(part: str) -> str:
    """Return a name in the form used to compare paths: NFC, case-folded, without `:stream` and final dots.

    Characters that macOS ignores in names are left out, and Windows' short name of ``.git`` is that name.

    >>> fold_part(".g\u200cit"), fold_part("GIT~1")
    ('.git', '.git')
    """
    visible = part.translate(_IGNORED)
    name = unicodedata.normalize("NFC", visible.partition(":")[0]).casefold()
    folded = unicodedata.normalize("NFC", name).rstrip(". ") or part
    return ".git" if folded == "git~1" else folded
