"""Which extras are installed, by the distributions' own declaration."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires, version

from toolkeel_studio.cli.doctor.section import Check, Section

_NEED = re.compile(r"([A-Za-z0-9._-]+)[^;]*;.*\bextra\s*==\s*['\"]([^'\"]+)['\"]")
_BUNDLES = frozenset({"all"})


def check_extras() -> Section:
    """Check each extra: installed, or the command that installs it."""
    return Section("Extras", tuple(_check(*one) for one in extras().items()))


def extras() -> dict[str, list[str]]:
    """Return the packages of each extra, as declared, without bundles of extras."""
    try:
        needs: Iterable[str] = requires("toolkeel") or ()
    except PackageNotFoundError:
        needs = ()
    found: dict[str, list[str]] = {}
    for need in needs:
        match = _NEED.match(need)
        if match is not None and match[2] not in _BUNDLES:
            found.setdefault(match[2], []).append(match[1])
    return found


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
