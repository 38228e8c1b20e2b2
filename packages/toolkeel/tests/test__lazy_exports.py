"""A door loads what is behind a name when the name is asked for, and says which names it has."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import toolkeel.steps
from tests.gates.fresh import fresh
from tests.shared import optional
from toolkeel.call.steps.call_limits import CallLimit


def test_a_door_gives_the_very_object_that_is_behind_it() -> None:
    assert toolkeel.steps.CallLimit is CallLimit
    assert vars(toolkeel.steps)["CallLimit"] is CallLimit  # found without the door from then on


def test_a_door_lists_its_names_and_refuses_others_by_name() -> None:
    assert set(toolkeel.steps.__all__) <= set(dir(toolkeel.steps))
    with pytest.raises(AttributeError, match=r"'toolkeel\.steps' has no attribute 'Bugdet'"):
        toolkeel.steps.Bugdet  # type: ignore[attr-defined]


def test_doors_load_nothing_until_a_name_is_asked_for(tmp_path: Path) -> None:
    code = (
        "import json, sys, toolkeel\n"
        "before = set(sys.modules)\n"
        "import toolkeel.models, toolkeel.steps, toolkeel.tools, toolkeel.runs, toolkeel.schemas\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    names = ("models", "runs", "schemas", "steps", "tools")
    assert fresh(code, tmp_path) == [f"toolkeel.{name}" for name in names]


@pytest.mark.parametrize(
    ("module", "name", "place"),
    [
        ("toolkeel.mcp", "ToolServer", "toolkeel.mcp.server"),
        ("toolkeel.mcp", "MCPServer", "toolkeel.mcp.client"),
        ("toolkeel.mcp.server", "MCPServer", "toolkeel.mcp.client"),
        ("toolkeel", "RunLimits", "toolkeel.runs"),
        ("toolkeel.runs", "OutputError", "toolkeel.errors"),
        ("toolkeel", "Workspace", "toolkeel.tools"),
    ],
)
def test_a_name_that_another_door_has_is_refused_with_that_door(
    module: str, name: str, place: str
) -> None:
    if name == "Workspace":
        optional("toolkeel_workspace")
    message = f"^{module} has no '{name}'; it is in {place}$"
    with pytest.raises(ImportError, match=message):
        exec(f"from {module} import {name}")
    with pytest.raises(AttributeError, match=message):
        getattr(import_module(module), name)
    assert hasattr(import_module(place), name)
