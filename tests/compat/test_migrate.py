"""A program's imports are rewritten, and what cannot be is said by line."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolkeel.compat.langchain as langchain
import toolkeel.compat.openai_agents as agents
from toolkeel.compat.migrate import migrate

PROGRAM = '''"""A program."""
import asyncio

from agents import Agent, Runner  # the names
from agents.decorators import tool as function
from agents.mcp import (
    MCPServerStdio,  # a process
)
if True:
    from agents import tool_namespace, trace; x = "é"
from .agents import mine
'''


def test_imports_change_and_nothing_else_does() -> None:
    made = migrate(PROGRAM)
    ours = "toolkeel.compat.openai_agents"
    assert (
        made.source
        == f'''"""A program."""
import asyncio

from {ours} import Agent, Runner  # the names
from {ours} import tool as function
from {ours} import MCPServerStdio
if True:
    from {ours} import trace
    from agents import tool_namespace; x = "é"
from .agents import mine
'''
    )
    [note] = made.notes
    assert note.line == 10 and "tool_namespace" in note.text and "with_prefix" in note.text
    ast.parse(made.source)


def test_langchain_and_langgraph_go_to_one_place() -> None:
    made = migrate(
        "from langchain_core.tools import tool, BaseTool\nfrom langgraph.prebuilt import ToolNode\n"
    )
    assert made.source == (
        "from toolkeel.compat.langchain import tool, BaseTool\n"
        "from toolkeel.compat.langchain import ToolNode\n"
    )
    assert not made.notes


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("import agents.mcp", "import the names you use"),
        ("from agents.extensions import experimental", "no counterpart"),
        ("from agents import *", "name what is used"),
        ("from pydantic_ai import Agent", "coming-from-pydantic-ai"),
        ("from langchain_core.tools import no_such_tool", "no counterpart"),
    ],
)
def test_what_cannot_be_rewritten_stays_and_is_told(line: str, named: str) -> None:
    made = migrate(f"{line}\n")
    assert made.source == f"{line}\n"
    assert named in made.notes[0].text


def test_a_program_of_no_other_library_stays_as_it_is() -> None:
    source = "import os\r\nfrom x import y\r\n"
    assert migrate(source) == type(migrate(source))(source, ())


NAMES = st.lists(
    st.sampled_from([*agents.__all__, "tool_namespace", "Model", "nothing_at_all"]),
    min_size=1,
    max_size=12,
    unique=True,
)
FORMS = st.sampled_from(
    [
        "from agents import {}",
        "def f():\n    from agents import {}\n    return 1",
        "x = 'ü'; from agents import {}",
    ]
)


@given(FORMS, NAMES, st.booleans())
def test_any_import_stays_python_and_every_name_comes_from_one_of_both(
    form: str, names: list[str], renamed: bool
) -> None:
    words = ", ".join(f"{name} as _{name}" if renamed else name for name in names)
    made = migrate(form.format(words))
    imported = [
        (node.module, alias.name, alias.asname)
        for node in ast.walk(ast.parse(made.source))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert sorted(name for _, name, _ in imported) == sorted(names)
    for module, name, alias in imported:
        assert alias == (f"_{name}" if renamed else None)
        here = module == "toolkeel.compat.openai_agents"
        assert here == (name in agents.__all__)
    assert len(made.notes) == sum(name not in agents.__all__ for name in names)


def test_every_name_of_langchains_is_taken_over() -> None:
    made = migrate(f"from langchain_core.tools import {', '.join(langchain.__all__)}\n")
    assert not made.notes


def test_a_whole_module_becomes_the_place_where_all_names_stand() -> None:
    made = migrate(
        "import agents, os\n"
        "import agents.mcp as m\n"
        "from agents.extensions import handoff_filters, experimental\n"
        "from langchain_core import tools as t\n"
        "assert agents.Agent and handoff_filters.remove_all_tools and t.tool\n"
        "m.tool_namespace\n"
    )
    assert made.source == (
        "from toolkeel.compat import openai_agents as agents\n"
        "import os\n"
        "from toolkeel.compat import openai_agents as m\n"
        "from toolkeel.compat import openai_agents as handoff_filters\n"
        "from agents.extensions import experimental\n"
        "from toolkeel.compat import langchain as t\n"
        "assert agents.Agent and handoff_filters.remove_all_tools and t.tool\n"
        "m.tool_namespace\n"
    )
    assert [note.line for note in made.notes] == [3, 6]
    assert "experimental" in made.notes[0].text and "with_prefix" in made.notes[1].text
    left = "from agents.extensions import experimental\n"
    exec(made.source.replace(left, "").replace("m.tool_namespace\n", ""), {})
