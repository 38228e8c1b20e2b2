"""What comes with each extra is locked with hashes, under a known licence, and listed (T48)."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from scripts.sbom import LOCK, bill, closure, extras, licence, locked, plain
from tests.gates.dependencies import projects
from tests.gates.documents import documents
from tests.shared import ROOT

ALLOWED = re.compile(
    r"(?:MIT|BSD|Apache|ISC|PSF|Python Software Foundation|0BSD|CC0|Zlib|MPL|Mozilla Public)", re.I
)
"""Licences that let a program stand on a package and keep its own."""
OTHERS = {"psycopg": "LGPL-3.0-only", "psycopg-binary": "LGPL-3.0-only"}
"""Imported as they are, in an extra that nobody gets unasked."""
INSTALL = re.compile(r"(?:pip|uv pip) install ([^\n`|#)]+)")


def strangers(text: str, known: set[str]) -> list[str]:
    """Names in the install lines of a text that are no package we know: typed wrongly, or taken."""
    found = []
    for line in INSTALL.findall(text):
        words = shlex.split(line.strip().rstrip("\\"))
        names = [
            w
            for at, w in enumerate(words)
            if not w.startswith(("-", ".")) and words[at - 1] != "-r"
        ]
        found += [name for name in names if plain(Requirement(name).name) not in known]
    return found


def known_names() -> set[str]:
    locks = (ROOT / "requirements").glob("*.txt")
    return {"toolkeel", *(name for lock in locks for name in locked(lock.read_text("utf-8")))}


@pytest.mark.parametrize("extra", extras())
def test_all_that_an_extra_brings_is_locked_with_hashes_and_may_be_used(extra: str) -> None:
    pins = locked(LOCK.read_text("utf-8"))
    for name, made in closure(extras()[extra]).items():
        assert pins.get(name, ("", []))[1], f"{name} is in no lock: make lock"
        said = licence(made)
        assert OTHERS.get(name) == said or ALLOWED.search(said), f"{name}: {said or 'no licence'}"


def test_a_bill_of_materials_names_version_hashes_and_licence_of_each() -> None:
    made = bill("web", ["httpx2"])
    components = made["components"]
    assert isinstance(components, list) and {"httpx2", "h11"} <= {one["name"] for one in components}
    for one in components:
        assert one["purl"] == f"pkg:pypi/{one['name']}@{one['version']}"
        assert one["hashes"] and one["licenses"][0]["license"]["name"]
    assert bill("web", ["httpx2"]) == made


def test_a_bill_with_a_hole_is_none_and_what_is_for_another_system_belongs_to_none() -> None:
    with pytest.raises(PackageNotFoundError, match="no-such-thing"):
        bill("web", ["httpx2", "no-such-thing"])
    assert closure(["no-such-thing ; python_version < '3'"]) == {}


def test_every_package_that_the_documents_have_installed_is_one_we_know() -> None:
    known = known_names()
    texts: list[Path] = [*documents(), *(ROOT / "examples").rglob("*.py")]
    for path in texts:
        text = path.read_text("utf-8")
        assert not strangers(text, known), path


def test_a_name_with_a_letter_too_many_is_found() -> None:
    known = known_names()
    assert strangers("pip install 'toolkeel[openai]' matplotlib", known) == []
    text = "pip install toolkeell\npip install -r x.txt 'tool-keel[cli]' mathplotlib"
    assert strangers(text, known) == ["toolkeell", "tool-keel[cli]", "mathplotlib"]
    assert strangers("pip install requets", known) == ["requets"]


def test_of_several_versions_in_the_lock_the_one_for_this_python_counts() -> None:
    first = "numpy==2.4.6 ; python_version < '3.0' \\\n    --hash=sha256:" + "a" * 64
    other = "numpy==2.5.5 ; python_version >= '3.0' \\\n    --hash=sha256:" + "b" * 64
    for text in (f"{first}\n{other}\n", f"{other}\n{first}\n"):
        assert locked(text) == {"numpy": ("2.5.5", ["b" * 64])}


@pytest.mark.slow
def test_the_bills_of_a_release_name_what_its_wheel_installs(tmp_path: Path) -> None:
    """Each extra of the wheel, as pip resolves it under the lock: versions, and files by hash."""
    pins = locked(LOCK.read_text("utf-8"))
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, (version, _) in pins.items()))
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    for project in ROOT.glob("packages/*"):
        subprocess.run(words, cwd=project, check=True, capture_output=True)
    [wheel] = tmp_path.glob("toolkeel-*.whl")
    subprocess.run([sys.executable, "-m", "scripts.sbom", str(tmp_path)], cwd=ROOT, check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq"]
    known = [
        "-c",
        str(constraints),
        "--find-links",
        str(tmp_path),
        "--find-links",
        str(tmp_path / "all"),
    ]
    # The index is asked once: each extra asking it for itself takes an hour on a slow line.
    words = [*pip, "download", "-d", str(tmp_path / "all"), *known]
    subprocess.run([*words, f"toolkeel[all] @ {wheel.as_uri()}"], check=True, capture_output=True)
    for extra in extras():
        of_wheel = f"toolkeel[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
        words = [*pip, "install", "--dry-run", "--ignore-installed", "--no-index", "--report", "-"]
        done = subprocess.run(
            [*words, *known, of_wheel], check=True, capture_output=True, text=True
        )
        found = {
            plain(each["metadata"]["name"]): each for each in json.loads(done.stdout)["install"]
        }
        assert found.pop("toolkeel")["metadata"]["version"] == distribution("toolkeel").version
        found = {each: found[each] for each in found if each not in projects()}
        name = f"toolkeel-{extra}.cdx.json" if extra else "toolkeel.cdx.json"
        listed = {
            each["name"]: each for each in json.loads((tmp_path / name).read_text())["components"]
        }
        assert listed.keys() == found.keys(), extra
        for package, each in found.items():
            assert listed[package]["version"] == each["metadata"]["version"]
            digest = each["download_info"]["archive_info"]["hashes"]["sha256"]
            assert digest in {one["content"] for one in listed[package]["hashes"]}, package
