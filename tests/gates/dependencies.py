"""What the package declares that it needs, read from pyproject.toml."""

from __future__ import annotations

import importlib.metadata
import tomllib
from functools import cache
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.shared import ROOT


@cache
def project() -> dict[str, Any]:
    """The ``[project]`` table."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def core() -> list[Requirement]:
    """What every install brings."""
    return [Requirement(text) for text in project()["dependencies"]]


# Extras that bring other libraries of our kind: installed by test-all alone, locked apart. With
# each, the module it brings, which is known without installing it.
PEERS = {"langchain": "langchain_core", "openai-agents": "agents", "pydantic-ai": "pydantic_ai"}


def extras() -> list[Requirement]:
    """What the extras bring, the package itself and its peers aside."""
    groups = project()["optional-dependencies"]
    needs = [need for name in groups if name not in PEERS for need in _group(name)]
    return [need for need in needs if canonicalize_name(need.name) != project()["name"]]


def peers() -> list[Requirement]:
    """What the extras of the peers bring."""
    return [need for name in PEERS for need in _group(name)]


def _group(name: str) -> list[Requirement]:
    return [Requirement(text) for text in project()["optional-dependencies"][name]]


def core_names() -> set[str]:
    """Names of the core's dependencies, as the index spells them."""
    return {canonicalize_name(need.name) for need in core()}


def extra_names() -> set[str]:
    """Names of what the extras bring, as the index spells them."""
    return {canonicalize_name(need.name) for need in extras()}


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
