"""What comes with toolkeel and each of its extras, as CycloneDX 1.6: name, version, hashes, licence.

    make sbom        # writes build/sbom/toolkeel.cdx.json, and one file an extra

Versions and hashes are those of the lock (``requirements/dev.txt``) for the Python that runs this; which package needs which, and its licence, is read from what is installed. Nothing is
asked of the network.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "dev.txt"
_PIN = re.compile(
    r"(?m)^([\w.-]+)(?:\[[^\]]*\])?==([^\s;\\]+)(?: ; ([^\\\n]+))?(.*(?:\n[ \t]+--hash.*)*)"
)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_LICENCE = "License ::"


def plain(name: str) -> str:
    """A distribution's name as all compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(text: str) -> dict[str, tuple[str, list[str]]]:
    """Version and SHA-256 of each distribution of a lock; of several versions, that for this Python."""
    pins = sorted(_PIN.findall(text), key=lambda pin: not pin[2] or Marker(pin[2]).evaluate())
    return {plain(name): (version, _HASH.findall(rest)) for name, version, _, rest in pins}


def extras() -> dict[str, list[str]]:
    """What each extra declares; the core under an empty name. Those of other libraries are theirs."""
    file = ROOT / "packages" / "toolkeel" / "pyproject.toml"
    project: dict[str, Any] = tomllib.loads(file.read_text("utf-8"))["project"]
    declared: dict[str, list[str]] = project["optional-dependencies"]
    own = ",".join(re.findall(r"\[([\w,-]+)\]", " ".join(declared["all"]))).split(",")
    return {"": project["dependencies"], **{name: declared[name] for name in own}}


def closure(needs: Sequence[str]) -> dict[str, Distribution]:
    """All that comes with some requirements, of what is installed, by name.

    Raises:
        PackageNotFoundError: a part of it is not installed, so nobody knows what that brings.
    """
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [need for need in map(Requirement, needs) if _holds(need, set())]
    while waiting:
        need = waiting.pop()
        key = (plain(need.name), frozenset(need.extras))
        if key in seen:
            continue
        seen.add(key)
        made = distribution(need.name)
        if not (
            ROOT / "packages" / plain(need.name)
        ).is_dir():  # one of the four: only what it needs
            found[plain(need.name)] = made
        waiting += [
            each for each in map(Requirement, made.requires or ()) if _holds(each, need.extras)
        ]
    return found


def _holds(need: Requirement, extras: set[str]) -> bool:
    return need.marker is None or any(need.marker.evaluate({"extra": e}) for e in ("", *extras))


def licence(made: Distribution) -> str:
    """What a distribution says of its licence, in its own words; empty if nothing."""
    said = made.metadata.get("License-Expression")
    classified = (c for c in made.metadata.get_all("Classifier") or () if c.startswith(_LICENCE))
    named = "; ".join(c.rpartition(" :: ")[2] for c in classified)
    lines = str(made.metadata.get("License") or "").splitlines()
    return said or named or (lines[0] if lines else "") or _licence_of_file(made)


def _licence_of_file(made: Distribution) -> str:
    """The first words of the licence that comes with a distribution; empty if none does."""
    files = [file for file in made.files or () if file.name.startswith(("LICENSE", "LICENCE"))]
    return " ".join(files[0].read_text("utf-8").split()[:6]) if files else ""


def bill(extra: str, needs: Sequence[str]) -> dict[str, object]:
    """The bill of materials of an extra, with the core."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "name": f"toolkeel[{extra}]" if extra else "toolkeel",
                "version": distribution("toolkeel").version,
            }
        },
        "components": list(_components(needs)),
    }


def _components(needs: Sequence[str]) -> Iterator[dict[str, object]]:
    pins = locked(LOCK.read_text("utf-8"))
    for name, made in sorted(closure(needs).items()):
        version, hashes = pins[name]
        yield {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "licenses": [{"license": {"name": licence(made)}}],
            "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
        }


def main() -> None:
    """Write them all."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    declared = extras()
    for extra, needs in declared.items():
        path = folder / f"toolkeel{f'-{extra}' if extra else ''}.cdx.json"
        text = json.dumps(bill(extra, [*declared[""], *needs]), indent=1, ensure_ascii=False)
        path.write_text(text + "\n", "utf-8")
        print(path)


if __name__ == "__main__":
    main()
