"""The tests of a distribution need what it declares, its extras and its group ``test`` alone.

`make distribution` runs them so; a test that needs more says so with `tests.shared.optional`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache

import pytest
from packaging.requirements import Requirement

from scripts.distribution import constraints, declared, own_extras, own_name, project
from tests.gates.dependencies import modules_of, projects
from tests.gates.sources import report
from tests.gates.suite import TestFile, read, suite_files
from tests.shared import ROOT

# What pydantic's interface is made of, and the programs of the repository.
COMMON = {"pydantic_core", "annotated_types", "typing_extensions", "benchmarks", "scripts", "tests"}


def brings(text: str) -> Iterator[str]:
    """What a requirement installs: itself, or what a distribution of ours declares."""
    need = Requirement(text)
    if not own_name(text):
        yield need.name
        return
    own = projects()[need.name]
    for extra in need.extras:
        for each in own["optional-dependencies"][extra]:
            yield from brings(each)
    for each in own["dependencies"]:
        yield from brings(each)


@cache
def available(name: str) -> set[str]:
    """Modules that tests of a distribution may import."""
    extras = ",".join(own_extras(name))
    needs = [f"{name}[{extras}]", *project(name)["dependency-groups"]["test"]]
    found = {module for need in needs for each in brings(need) for module in modules_of(each)}
    return COMMON | found | {each.replace("-", "_") for each in declared(name)}


def undeclared(file: TestFile, name: str) -> Iterator[str]:
    """Imports of a test file that its distribution does not declare."""
    allowed = available(name)
    for node in ast.walk(file.tree):
        match node:
            case ast.Import(names=aliases):
                modules = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(module), level=0):
                modules = [module]
            case _:
                continue
        for module in modules:
            top, owner = module.partition(".")[0], owner_of(module)
            if top not in allowed | sys.stdlib_module_names or owner not in {"", *declared(name)}:
                yield f"{file.path}:{node.lineno}: {name} does not declare {owner or top}"


def owner_of(module: str) -> str:
    """Return the distribution that has a module of tests; empty for other modules."""
    place = module.replace(".", "/")
    if not module.startswith("tests.") or (ROOT / place).with_suffix(".py").is_file():
        return ""
    folders = (ROOT / "packages" / each for each in projects())
    found = [folder.name for folder in folders if (folder / f"{place}.py").is_file()]
    return found[0] if found else ""


def test_tests_import_only_what_their_distribution_declares() -> None:
    rows = []
    for file in suite_files():
        first, *rest = file.path.split("/")
        rows += undeclared(file, rest[0]) if first == "packages" else []
    report(rows)


@pytest.mark.parametrize(
    ("name", "text", "missing"),
    [
        ("toolkeel", "from toolkeel_workspace import Workspace", "toolkeel_workspace"),
        ("toolkeel", "def f():\n    from tests.sandbox.walls import need", "toolkeel-workspace"),
        ("toolkeel", "import openai, pydantic, hypothesis, tests.shared", ""),
        ("toolkeel-workspace", "import typer", "typer"),
        ("toolkeel-compat", "from tests.sandbox.walls import need", ""),
        ("toolkeel-compat", "import toolkeel_studio", "toolkeel_studio"),
    ],
)
def test_a_planted_import_is_judged_by_what_the_distribution_declares(
    name: str, text: str, missing: str
) -> None:
    file = read(f"packages/{name}/tests/test_x.py", text)
    told = f"{name} does not declare {missing}"
    assert [row.partition(": ")[2] for row in undeclared(file, name)] == [told] * bool(missing)


def test_what_tests_need_is_locked() -> None:
    locked = {Requirement(line).name for line in constraints().splitlines()}
    needs = {need for name in projects() for need in project(name)["dependency-groups"]["test"]}
    assert {Requirement(need).name for need in needs} <= locked | {*projects()}


def test_extras_that_only_point_at_higher_distributions_are_not_the_cores_own() -> None:
    assert {"openai", "mcp"} <= own_extras("toolkeel").keys()
    assert not {"cli", "web", "all"} & own_extras("toolkeel").keys()
    assert declared("toolkeel") == ["toolkeel"]
    assert "toolkeel-compat" in declared("toolkeel-studio")
