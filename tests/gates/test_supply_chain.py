"""What comes with each extra is locked with hashes, under a known licence, and listed (T48)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from scripts.sbom import LOCK, bill, closure, extras, licence, locked, plain
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
