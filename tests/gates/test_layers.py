"""A file imports only from its left: the order of tests/gates/layers.py holds."""

from __future__ import annotations

import pytest

from tests.gates.layers import LAYERS, cycles, violations
from tests.gates.sources import modules, planted, report


def test_every_file_imports_only_from_its_left() -> None:
    report(violations(modules()))


def test_every_folder_has_one_layer() -> None:
    for package, layers in LAYERS.items():
        names = [name for layer in layers for name in layer]
        assert len(names) == len(set(names)), package


LOWER = planted("toolkeel.errors", "")
TOOL = planted("toolkeel.define.tool", "")
PIPELINE = planted("toolkeel.call.pipeline", "")
CHAT = planted("toolkeel.providers.openai_chat.encode", "")
SQLITE = planted("toolkeel.sessions.stores.sqlite", "")
EDIT = planted("toolkeel_workspace.files.edit", "")
MAIN = planted("toolkeel_studio.cli.main", "")
MAP = planted("toolkeel", "from toolkeel.define.tool import Tool")


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        (
            "toolkeel.define.schema.argument_schema",
            "from toolkeel.call.pipeline import x",
            "comes after",
        ),
        ("toolkeel.define.schema.argument_schema", "from ..call import pipeline", "comes after"),
        (
            "toolkeel.sessions.stores.sqlite",
            "import toolkeel.providers.openai_chat.encode",
            "comes after sessions",
        ),
        (
            "toolkeel.testing.taped",
            "import toolkeel.providers.openai_chat.encode",
            "side by side",
        ),
        ("toolkeel.call.batch", "from toolkeel import Tool", "after everything"),
        ("toolkeel.call.batch", "def f():\n    import toolkeel.call.pipeline", "late"),
        (
            "toolkeel.call.batch",
            "import importlib\nimportlib.import_module('toolkeel.call.pipeline')",
            "late",
        ),
        ("toolkeel.call.batch", "def __getattr__(name): ...", "late by __getattr__"),
        (
            "toolkeel.define.schema.argument_schema",
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from toolkeel.call.pipeline import x",
            "comes after",
        ),
        ("toolkeel.novelty.thing", "", "'novelty' is in no layer"),
        ("toolkeel.call.batch", "import toolkeel_workspace.files.edit", "comes after toolkeel"),
        (
            "toolkeel_workspace.files.edit",
            "import toolkeel_studio.cli.main",
            "comes after toolkeel_w",
        ),
        ("toolkeel_compat.migrate", "import toolkeel_studio.cli.main", "comes after toolkeel_c"),
    ],
)
def test_a_planted_violation_is_found_and_placed(name: str, text: str, complaint: str) -> None:
    others = [m for m in (LOWER, TOOL, PIPELINE, CHAT, SQLITE, EDIT, MAIN, MAP) if m.name != name]
    module = planted(name, text)
    rows = violations([*others, module])
    assert len(rows) == 1, rows
    assert rows[0].startswith(module.path) and complaint in rows[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("toolkeel.call.batch", "from toolkeel.define.tool import Tool"),
        ("toolkeel.call.batch", "from toolkeel.call.pipeline import run_call"),
        ("toolkeel.call.batch", "from toolkeel import errors"),
        ("toolkeel_studio.cli.main", "def f():\n    import toolkeel.providers.openai_chat.encode"),
        (
            "toolkeel.providers.model_by_name",
            "def f(name):\n    import_module('toolkeel.providers.openai_chat.encode')",
        ),
        (
            "toolkeel.providers.model_by_name",
            "def f(name):\n    import_module(f'toolkeel.providers.{name}')",
        ),
        ("toolkeel.call.batch", "def f():\n    import jsonschema_rs"),
    ],
)
def test_an_import_from_the_left_is_let_through(name: str, text: str) -> None:
    assert violations([LOWER, TOOL, PIPELINE, CHAT, MAP, planted(name, text)]) == []


def test_a_circle_of_imports_is_found_whole() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert cycles(edges) == [["a", "b", "c", "a"]]
    assert cycles({"a": {"b"}, "b": set()}) == []
