"""Whoever reads the documents imports by topic: from the package's doors, two steps deep at most."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module

from tests.gates.documents import blocks, documents
from tests.gates.doors import PUBLIC, deep_imports, opened, shown
from tests.gates.layers import DOORS
from tests.gates.sources import PACKAGE, Module, modules, planted, report
from tests.shared import ROOT


@cache
def doors() -> list[Module]:
    """Every module that is a door."""
    return [module for module in modules() if opened(module)]


def test_every_door_opens_the_names_that_it_shows_to_type_checkers() -> None:
    known = {module.name for module in modules() if isinstance(module.tree.body, list)}
    assert {f"{PACKAGE}.{name}" for name in DOORS} <= known
    report(
        [
            f"{module.path}: {opened(module) ^ shown(module)}"
            for module in doors()
            if opened(module) != shown(module)
        ]
    )


def test_a_door_holds_nothing_but_what_is_behind_it() -> None:
    places = [one for one in doors() if one.name.removeprefix(f"{PACKAGE}.") in DOORS]
    assert all(len(module.tree.body) == 4 for module in places)  # docstring, two imports, the names


def test_public_places_are_at_most_two_steps_deep_and_exist() -> None:
    known = {module.name for module in modules()}
    assert all(name.count(".") <= 2 for name in PUBLIC)
    assert PUBLIC - known <= {f"{PACKAGE}.sessions"}


def test_documents_import_from_doors_alone() -> None:
    rows = []
    for path in documents():
        for block in blocks(path.read_text("utf-8")):
            if block.language in ("python", "py"):
                rows += [
                    f"{path.relative_to(ROOT)}:{block.line + line - 1}: {name}"
                    for line, name in deep_imports(block.code)
                ]
    report(rows)


def test_examples_import_from_doors_alone() -> None:
    rows = []
    for path in sorted((ROOT / "examples").rglob("*.py")):
        for line, name in deep_imports(path.read_text("utf-8")):
            rows.append(f"{path.relative_to(ROOT)}:{line}: {name}")
    report(rows)


def test_names_in_the_text_of_documents_can_be_imported_as_they_stand() -> None:
    """What stands in code font, such as `toolkeel.steps.Retry`, is a place, or a name of one."""
    rows = []
    for path in documents():
        for name in re.findall(rf"`({PACKAGE}(?:_\w+)?\.[\w.]+)[`(]", path.read_text("utf-8")):
            place, _, last = name.rpartition(".")
            is_there = name in PUBLIC or (place in PUBLIC and hasattr(import_module(place), last))
            if not is_there:
                rows.append(f"{path.relative_to(ROOT)}: {name}")
    report(rows)


def test_an_import_past_a_door_is_found() -> None:
    code = (
        "from toolkeel.call.steps.call_limits import CallLimit\n"
        "from toolkeel.steps import CallLimit\n"
        "from toolkeel.providers import openai_chat\n"
        "from toolkeel import define\n"
        "import toolkeel.define.tool, json\n"
    )
    assert list(deep_imports(code)) == [
        (1, "toolkeel.call.steps.call_limits"),
        (4, "toolkeel.define"),
        (5, "toolkeel.define.tool"),
    ]


def test_a_name_that_a_door_shows_and_does_not_open_is_found() -> None:
    text = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from toolkeel.call.steps.call_limits import CallLimit as CallLimit\n"
        "else:\n    __getattr__, _, _ = door(__name__, {'toolkeel.call.steps.call_limits': 'ConcurrencyLimit'})\n"
    )
    module = planted(f"{PACKAGE}.steps", text)
    assert shown(module) == {("toolkeel.call.steps.call_limits", "CallLimit")}
    assert opened(module) == {("toolkeel.call.steps.call_limits", "ConcurrencyLimit")}
