"""Prepare and check a release of the four distributions.

``python scripts/release.py prepare 0.2.0`` writes the version into every distribution and moves the
changelog's fragments into a section of its own. ``python scripts/release.py check 0.2.0`` fails unless
all distributions have that version. Tag the commit with ``v0.2.0`` to publish it.
"""

from __future__ import annotations

import datetime
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULE = ROOT / "packages/toolkeel/src/toolkeel/__init__.py"
"""Has ``__version__``, for programs whose packages have no metadata, as in a zip."""
PROJECTS = sorted(ROOT.glob("packages/*/pyproject.toml"))
TYPES = ("security", "added", "changed", "deprecated", "removed", "fixed")
VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
MARK = "## [Unreleased]"


def versions() -> dict[str, str]:
    """Return the version of each distribution."""
    tables = [tomllib.loads(file.read_text("utf-8"))["project"] for file in PROJECTS]
    return {table["name"]: table["version"] for table in tables}


def with_version(text: str, version: str) -> str:
    """Set a project's version and its pins on the other distributions.

    >>> with_version('version = "0.1.0"\\ncli = ["toolkeel-studio[cli]==0.1.0"]', "0.2.0")
    'version = "0.2.0"\\ncli = ["toolkeel-studio[cli]==0.2.0"]'
    """
    text = re.sub(r'(?m)^((?:__)?version(?:__)?) = "[^"]+"', rf'\g<1> = "{version}"', text)
    return re.sub(r"(toolkeel(?:-\w+)?(?:\[[\w,-]+\])?)==[\w.]+", rf"\g<1>=={version}", text)


def section(fragments: dict[str, str], version: str, day: datetime.date) -> str:
    """Write the changelog's section of a version.

    Args:
        fragments: Text of each fragment by its file name, ``+name.TYPE.md``.
        version: The new version.
        day: When it is released.

    Raises:
        SystemExit: the type of a fragment is unknown.
    """
    by_type: dict[str, list[str]] = {name: [] for name in TYPES}
    for name, text in sorted(fragments.items()):
        kind = name.split(".")[-2]
        if kind not in by_type:
            raise SystemExit(f"changelog.d/{name}: {kind!r} is none of {', '.join(TYPES)}")
        by_type[kind].append("- " + " ".join(text.split()))
    parts = [f"## [{version}] - {day.isoformat()}"]
    parts += [
        f"### {kind.capitalize()}\n\n" + "\n".join(rows) for kind, rows in by_type.items() if rows
    ]
    return "\n\n".join(parts) + "\n"


def prepare(version: str) -> None:
    """Write the version everywhere, and the changelog."""
    for file in [*PROJECTS, MODULE]:
        file.write_text(with_version(file.read_text("utf-8"), version), "utf-8")
    cite = ROOT / "CITATION.cff"
    today = datetime.date.today()
    text = re.sub(r"(?m)^version: .*", f"version: {version}", cite.read_text("utf-8"))
    cite.write_text(re.sub(r"(?m)^date-released: .*", f"date-released: {today}", text), "utf-8")
    paths = [path for path in (ROOT / "changelog.d").glob("*.md") if path.name != "README.md"]
    made = section({path.name: path.read_text("utf-8") for path in paths}, version, today)
    changelog = ROOT / "CHANGELOG.md"
    before, mark, after = changelog.read_text("utf-8").partition(MARK)
    changelog.write_text(f"{before}{mark}\n\n{made}{after}", "utf-8")
    for path in paths:
        path.unlink()


def check(version: str) -> None:
    """Fail unless every distribution and the module have this version.

    Raises:
        SystemExit: one has another.
    """
    others = {name: found for name, found in versions().items() if found != version}
    if f'__version__ = "{version}"' not in MODULE.read_text("utf-8"):
        others["toolkeel.__version__"] = "another"
    if others:
        raise SystemExit(f"not {version}: {others}")


def main(words: list[str]) -> None:
    """Run one of the two commands."""
    match words:
        case ["prepare", version] if VERSION.fullmatch(version):
            prepare(version)
        case ["check", version]:
            check(version)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
