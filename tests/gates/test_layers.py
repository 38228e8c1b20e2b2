"""A file imports only from its left: the order of tests/gates/layers.py holds."""

from __future__ import annotations

import pytest

from tests.gates.layers import CHAPTERS, cycles, violations
from tests.gates.sources import modules, planted, report


def test_every_file_imports_only_from_its_left() -> None:
    report(violations(modules()))


def test_every_chapter_of_the_plan_is_known_once() -> None:
    for chapter, row in CHAPTERS.items():
        assert len(row) == len(set(row)), chapter


LOWER = planted("toolwright.errors", "")
TOOL = planted("toolwright.define.tool", "")
PIPELINE = planted("toolwright.call.pipeline", "")
CHAT = planted("toolwright.providers.openai_chat", "")
SQLITE = planted("toolwright.sessions.sqlite", "")
MAP = planted("toolwright", "from toolwright.define.tool import Tool")


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("toolwright.define.schema", "from toolwright.call.pipeline import x", "comes after"),
        ("toolwright.define.schema", "from ..call import pipeline", "comes after"),
        ("toolwright.define.schema", "from toolwright.define.tool import Tool", "before it in"),
        ("toolwright.define.schema", "from .tool import Tool", "before it in define"),
        ("toolwright.record", "import toolwright.errors", "before it in words"),
        ("toolwright.sessions.sqlite", "import toolwright.providers.openai_chat", "side by side"),
        ("toolwright.providers.sse", "from . import openai_chat", "before it in providers"),
        ("toolwright.call.batch", "from toolwright import Tool", "after everything"),
        ("toolwright.call.batch", "def f():\n    import toolwright.call.pipeline", "late"),
        (
            "toolwright.call.batch",
            "import importlib\nimportlib.import_module('toolwright.call.pipeline')",
            "late",
        ),
        ("toolwright.call.batch", "def __getattr__(name): ...", "late by __getattr__"),
        (
            "toolwright.define.schema",
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from toolwright.call.pipeline import x",
            "comes after",
        ),
        ("toolwright.define.surprise", "", "has no place in CHAPTERS['define']"),
        ("toolwright.novelty.thing", "", "no chapter of this name"),
    ],
)
def test_a_planted_violation_is_found_and_placed(name: str, text: str, complaint: str) -> None:
    others = [m for m in (LOWER, TOOL, PIPELINE, CHAT, SQLITE, MAP) if m.name != name]
    module = planted(name, text)
    rows = violations([*others, module])
    assert len(rows) == 1, rows
    assert rows[0].startswith(module.path) and complaint in rows[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("toolwright.call.batch", "from toolwright.define.tool import Tool"),
        ("toolwright.call.batch", "from toolwright.call.pipeline import run_call"),
        ("toolwright.call.batch", "from toolwright import errors"),
        ("toolwright.cli.main", "def f():\n    import toolwright.providers.openai_chat"),
        (
            "toolwright.providers.connect",
            "def f(name):\n    import_module('toolwright.providers.openai_chat')",
        ),
        (
            "toolwright.providers.connect",
            "def f(name):\n    import_module(f'toolwright.providers.{name}')",
        ),
        ("toolwright.call.batch", "def f():\n    import docstring_parser"),
    ],
)
def test_an_import_from_the_left_is_let_through(name: str, text: str) -> None:
    assert violations([LOWER, TOOL, PIPELINE, CHAT, MAP, planted(name, text)]) == []


def test_a_circle_of_imports_is_found_whole() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert cycles(edges) == [["a", "b", "c", "a"]]
    assert cycles({"a": {"b"}, "b": set()}) == []
