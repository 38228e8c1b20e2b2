"""The core stands on two packages; every other one is an extra, and all are locked."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.gates.dependencies import (
    PEERS,
    core,
    core_names,
    extra_names,
    extras,
    modules_of,
    peers,
)
from tests.gates.layers import chapter_of
from tests.gates.sources import PACKAGES, Module, modules, planted, report
from tests.shared import ROOT

CORE = ("", "words", "define", "call", "agent")
# The pytest plugin is loaded by pytest alone, so pytest is there when it is.
BROUGHT_BY_THE_HOST = {"toolkeel.testing.plugin": {"pytest", "_pytest"}}


def test_the_core_declares_exactly_its_two_dependencies() -> None:
    assert core_names() == {"pydantic", "jsonschema-rs"}


def test_every_core_dependency_has_a_lower_and_an_upper_bound() -> None:
    unbound = [str(n) for n in core() if not {">=", "<"} <= {s.operator for s in n.specifier}]
    assert unbound == []


@pytest.mark.parametrize("lock", ["run.txt", "dev.txt", "core.txt", "peers.txt", "bench.txt"])
def test_a_lock_holds_versions_that_the_declaration_allows(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text("utf-8")
    locked = {canonicalize_name(n): Version(v) for n, v in re.findall(r"(?m)^(\S+?)==(\S+)", text)}
    needs = core() + {"dev.txt": extras(), "peers.txt": peers()}.get(lock, [])
    rows = []
    for need in needs:
        version = locked.get(canonicalize_name(need.name))
        if version is None or version not in need.specifier:
            rows.append(f"requirements/{lock} has {need.name} {version}, not {need}: make lock")
    report(rows)


@pytest.mark.parametrize("lock", ["run.txt", "dev.txt", "core.txt", "peers.txt", "bench.txt"])
def test_every_locked_package_has_a_hash_and_no_address(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text("utf-8")
    entries = re.split(r"(?m)^(?=[A-Za-z0-9])", text)[1:]
    assert entries
    report([entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry])
    assert "://" not in text


def test_every_foreign_import_is_declared_and_the_core_imports_only_its_own() -> None:
    report(undeclared(modules()))


def undeclared(sources: Sequence[Module]) -> list[str]:
    """Imports of packages that the importing chapter may not stand on."""
    own = {module for name in core_names() for module in modules_of(name)}
    # A dependency's own dependency that is part of its interface.
    own |= {"pydantic_core", "annotated_types", "typing_extensions"}
    optional = {module for name in extra_names() for module in modules_of(name)}
    optional |= set(PEERS.values())
    rows = []
    for module in sources:
        is_runtime = module.name.startswith("toolkeel.") or module.name == "toolkeel"
        chapter = chapter_of(module.name) if is_runtime else "another"
        allowed = own if chapter in CORE else own | optional
        allowed = allowed | BROUGHT_BY_THE_HOST.get(module.name, set())
        for name, line in _foreign(module):
            if name not in allowed:
                where = "the core" if chapter in CORE else "the package"
                rows.append(f"{module.path}:{line}: {where} does not declare {name}")
    return rows


STANDARD = sys.stdlib_module_names | {"annotationlib"}
"""Modules of the standard library, those of later Pythons included."""


def _foreign(module: Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names=aliases, lineno=line):
                names = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(name), level=0, lineno=line):
                names = [name]
            case _:
                continue
        tops = {name.partition(".")[0] for name in names}
        yield from ((top, line) for top in tops - {*PACKAGES} - STANDARD)


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("toolkeel.call.batch", "import openai", ["does not declare openai"]),
        ("toolkeel.call.batch", "def f():\n    from rich import print", ["not declare rich"]),
        ("toolkeel.call.batch", "import pydantic, asyncio", []),
        ("toolkeel.providers.openai_chat.encode", "import openai", []),
        ("toolkeel.providers.openai_chat.encode", "import requests", ["not declare requests"]),
    ],
)
def test_a_planted_foreign_import_is_judged_by_its_chapter(
    name: str, text: str, rows: list[str]
) -> None:
    found = undeclared([planted(name, text)])
    assert len(found) == len(rows)
    assert all(part in row for part, row in zip(rows, found, strict=True))
