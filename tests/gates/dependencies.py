"""What the four distributions declare that they need, read from packages/*/pyproject.toml."""

from __future__ import annotations

import importlib.metadata
import tomllib
from functools import cache
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.shared import ROOT


@cache
def projects() -> dict[str, dict[str, Any]]:
    """Read the ``[project]`` table of each distribution, by its name."""
    files = sorted(ROOT.glob("packages/*/pyproject.toml"))
    tables = [tomllib.loads(file.read_text("utf-8"))["project"] for file in files]
    return {table["name"]: table for table in tables}


def core() -> list[Requirement]:
    """What every install brings."""
    return [Requirement(text) for text in projects()["toolkeel"]["dependencies"]]


# Extras that bring other libraries of our kind: installed by test-all alone, locked apart. With
# each, the module it brings, which is known without installing it.
PEERS = {"langchain": "langchain_core", "openai-agents": "agents", "pydantic-ai": "pydantic_ai"}


def extras() -> list[Requirement]:
    """What the extras bring, the package itself and its peers aside."""
    needs = [
        Requirement(text)
        for project in projects().values()
        for extra, texts in project["optional-dependencies"].items()
        if extra not in PEERS
        for text in texts
    ]
    return [need for need in needs if canonicalize_name(need.name) not in projects()]


def peers() -> list[Requirement]:
    """What the extras of the peers bring."""
    return [need for name in PEERS for need in _group(name)]


def _group(name: str) -> list[Requirement]:
    groups = projects()["toolkeel-compat"]["optional-dependencies"]
    return [Requirement(text) for text in groups[name]]


def core_names() -> set[str]:
    """Names of the core's dependencies, as the index spells them."""
    return {canonicalize_name(need.name) for need in core()}


def extra_names() -> set[str]:
    """Names of what the extras and the distributions beside the core bring, as the index spells them."""
    needs = [Requirement(text) for each in projects().values() for text in each["dependencies"]]
    names = {canonicalize_name(need.name) for need in [*extras(), *needs]}
    return names - {*projects()}


@cache
def _modules_by_distribution() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for module, names in importlib.metadata.packages_distributions().items():
        for name in names:
            found.setdefault(canonicalize_name(name), []).append(module)
    return found


def modules_of(distribution: str) -> list[str]:
    """Top-level modules that a distribution brings; if it is not installed, one of its name."""
    name = canonicalize_name(distribution)
    return _modules_by_distribution().get(name, [name.replace("-", "_")])
