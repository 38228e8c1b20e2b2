"""Which extras are installed, by the distributions' own declaration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from toolkeel_studio.cli.doctor.section import Check, Section

_NEED = re.compile(r"([A-Za-z0-9._-]+)[^;]*;.*\bextra\s*==\s*['\"]([^'\"]+)['\"]")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?")
_BUNDLES = frozenset({"all"})


def check_extras() -> Section:
    """Check each extra: installed, or the command that installs it."""
    return Section("Extras", tuple(_check(*one) for one in extras().items()))


def extras() -> dict[str, list[str]]:
    """Return the packages of each extra, as declared, without bundles of extras.

    An extra that points to one of another distribution brings that distribution and its packages.
    """
    found: dict[str, list[str]] = {}
    for name, need in _needs("toolkeel"):
        if name not in _BUNDLES:
            found.setdefault(name, []).extend(_packages(need))
    return found


def _needs(distribution: str) -> Iterator[tuple[str, str]]:
    """Yield the name of an extra and what it needs, as declared."""
    try:
        declared = requires(distribution) or ()
    except PackageNotFoundError:
        return
    for need in declared:
        match = _NEED.match(need)
        if match is not None:
            yield match[2], need.partition(";")[0]


def _packages(need: str) -> Iterator[str]:
    """Yield the package that a requirement names, and those of the extras that it requests."""
    match = _REQUIREMENT.match(need)
    if match is None:
        return
    yield match[1]
    wanted = {extra.strip() for extra in (match[2] or "").split(",")}
    if match[1].startswith("toolkeel"):
        for extra, inner in _needs(match[1]):
            if extra in wanted:
                yield from _packages(inner)


def _check(extra: str, packages: list[str]) -> Check:
    versions = {name: _version(name) for name in packages}
    there = ", ".join(f"{name} {found}" for name, found in versions.items() if found)
    missing = [name for name, found in versions.items() if not found]
    data = {"packages": versions}
    if not missing:
        return Check(extra, "ok", there, data=data)
    text = f"without {', '.join(missing)}" if there else "not installed"
    return Check(extra, "missing", text, f"pip install 'toolkeel[{extra}]'", data)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
