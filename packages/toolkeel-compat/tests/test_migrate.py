"""A program's imports are rewritten, and what cannot be is said by line."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolkeel_compat.langchain as langchain
import toolkeel_compat.openai_agents as agents
from toolkeel_compat.migrate import migrate, migrate_notebook

PROGRAM = '''"""A program."""
import asyncio

from agents import Agent, Runner  # the names
from agents.decorators import tool as function
from agents.mcp import (
    MCPServerStdio,  # a process
)
if True:
    from agents import trace; x = "é"
from .agents import mine
'''


def test_imports_change_and_nothing_else_does() -> None:
    made = migrate(PROGRAM)
    ours = "toolkeel_compat.openai_agents"
    assert (
        made.source
        == f'''"""A program."""
import asyncio

from {ours} import Agent, Runner  # the names
from {ours} import tool as function
# a process
from {ours} import MCPServerStdio
if True:
    from {ours} import trace; x = "é"
from .agents import mine
'''
    )
    assert not made.notes
    ast.parse(made.source)


def test_a_file_with_a_name_that_cannot_move_stays_as_it_is_and_says_why() -> None:
    program = PROGRAM.replace("trace;", "tool_namespace, trace;")
    made = migrate(program)
    assert made.source == program
    [note] = made.notes
    assert note.line == 10 and "tool_namespace" in note.text and "with_prefix" in note.text
    assert note.text.endswith("until then the file stays as it is")


def test_a_name_of_another_package_is_imported_from_there() -> None:
    made = migrate("from agents import Agent, AsyncOpenAI as Client\n")
    first, second = made.source.splitlines()
    assert first == "from openai import AsyncOpenAI as Client"
    assert second == "from toolkeel_compat.openai_agents import Agent" and not made.notes


def test_names_of_a_module_without_a_counterpart_have_one_advice() -> None:
    text = "from agents import Agent\nfrom agents.sandbox.entries import File\nfrom agents.voice import AudioInput\n"
    made = migrate(text)
    assert made.source == text
    assert [("docs/workspace.md" in n.text, "no speech" in n.text) for n in made.notes] == [
        (True, False), (False, True),
    ]  # fmt: skip


def test_several_imports_of_one_line_are_all_rewritten() -> None:
    ours = "toolkeel_compat.openai_agents"
    line = "from agents.items import ItemHelpers as IH; import agents.tracing as tr; from agents import (\n  Agent,\n); x = 1\n"
    made = migrate(f"def f():\n    {line}")
    first, second = f"from {ours} import ItemHelpers as IH", f"from {ours} import Agent; x = 1"
    tracing = "from toolkeel_compat import openai_agents as tr"
    assert made.source == f"def f():\n    {first}; {tracing}; {second}\n"


def test_lines_end_as_they_did() -> None:
    made = migrate("from agents import Agent, items\r\nx = 1\r\n").source
    assert made.count("\r\n") == made.count("\n") == 3


def test_a_module_that_is_named_in_a_text_is_told() -> None:
    program = "import importlib\nm = importlib.import_module('agents.mcp')\nimport_module(name)\n"
    [note] = migrate(program).notes
    assert note.line == 2 and "import_module('agents.mcp')" in note.text


def test_a_notebooks_cells_are_rewritten_and_told_by_number() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["from agents import Agent"]},
        {"cell_type": "code", "source": ["%pip install x\n", "from agents import Agent\n", " !ls"]},
        {"cell_type": "code", "source": "import agents\nawait agents.gone()"},
    ]
    book = json.dumps({"cells": cells})
    blocked = migrate_notebook(book)
    [note] = blocked.notes
    assert (note.line, note.text[:19]) == (2, "cell 3: agents.gone")
    assert note.blocks and blocked.source == book
    made = migrate_notebook(book.replace("agents.gone", "agents.Agent"))
    markdown, first, second = (cell["source"] for cell in json.loads(made.source)["cells"])
    assert markdown == cells[0]["source"]
    assert first == [
        "%pip install x\n",
        "from toolkeel_compat.openai_agents import Agent\n",
        " !ls",
    ]
    assert second.startswith("from toolkeel_compat import openai_agents as agents\nawait")
    assert not made.notes
    kept = json.dumps({"cells": cells[:1]})
    assert migrate_notebook(kept).source == kept


def test_langchain_and_langgraph_go_to_one_place() -> None:
    made = migrate(
        "from langchain_core.tools import tool, BaseTool\nfrom langgraph.prebuilt import ToolNode\n"
    )
    assert made.source == (
        "from toolkeel_compat.langchain import tool, BaseTool\n"
        "from toolkeel_compat.langchain import ToolNode\n"
    )
    assert not made.notes


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("import agents.mcp", "import the names you use"),
        ("from agents.extensions import experimental", "no counterpart"),
        ("from agents import *", "name what is used"),
        ("from pydantic_ai.models.function import DeltaToolCall", "Scripted of toolkeel.testing"),
        ("from langgraph.graph import StateGraph, START", "there are no graphs"),
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
    moves = {*names} <= {*agents.__all__}
    for module, name, alias in imported:
        assert alias == (f"_{name}" if renamed else None)
        assert (module == "toolkeel_compat.openai_agents") == moves
    assert len(made.notes) == sum(name not in agents.__all__ for name in names)


def test_every_name_of_langchains_is_taken_over() -> None:
    made = migrate(f"from langchain_core.tools import {', '.join(langchain.__all__)}\n")
    assert not made.notes


def test_a_whole_module_becomes_the_place_where_all_names_stand() -> None:
    program = (
        "import agents, os\n"
        "import agents.mcp as m\n"
        "from agents.extensions import handoff_filters\n"
        "from langchain_core import tools as t\n"
        "assert agents.Agent and handoff_filters.remove_all_tools and t.tool\n"
        "m.MCPServerStdio\n"
    )
    made = migrate(program)
    assert not made.notes and made.source == (
        "from toolkeel_compat import openai_agents as agents\n"
        "import os\n"
        "from toolkeel_compat import openai_agents as m\n"
        "from toolkeel_compat import openai_agents as handoff_filters\n"
        "from toolkeel_compat import langchain as t\n"
        "assert agents.Agent and handoff_filters.remove_all_tools and t.tool\n"
        "m.MCPServerStdio\n"
    )
    exec(made.source, {})
    lost = program.replace("m.MCPServerStdio", "m.tool_namespace")
    blocked = migrate(lost)
    [note] = blocked.notes
    assert note.line == 6 and "with_prefix" in note.text
    assert note.blocks and blocked.source == lost
    dotted = "import agents.mcp\nfrom agents import Agent\n"
    assert migrate(dotted).source == dotted and migrate(dotted).notes[0].line == 1


LINE = "from langchain_core.tools import tool"
OURS = "from toolkeel_compat.langchain import tool"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("odd", ["\x0b", "\x0c", "\x1c", "\x1d", "\x85", "\u2028", "\u2029"])
def test_what_ends_a_line_for_others_and_not_for_python_is_left_where_it_is(
    odd: str, end: str
) -> None:
    before = f"word = '你{odd}好'  # a{odd}b{end}"
    made = migrate(f"{before}{LINE}{end}last = 1{end}").source
    assert made == f"{before}{OURS}{end}last = 1{end}"
    cell = {"cell_type": "code", "source": f"x = '{odd}'\n{LINE}\n"}
    [changed] = json.loads(migrate_notebook(json.dumps({"cells": [cell]})).source)["cells"]
    assert changed["source"] == f"x = '{odd}'\n{OURS}\n"


def test_comments_within_an_import_stand_above_it() -> None:
    made = migrate(
        f"def f():\n    {LINE[:-4]}(\n        tool,  # 一\n        # two\n    )  # three\n"
    )
    assert made.source == f"def f():\n    # 一\n    # two\n    {OURS}  # three\n"
    text = "from langchain_core.tools \\\n    import tool\n"
    assert migrate(text).source == f"{OURS}\n"


def test_names_of_partner_packages_move_if_they_are_here_and_stay_with_a_note_if_not() -> None:
    source = "from langchain_openai import AzureChatOpenAI, ChatOpenAI\nfrom langchain_community.tools import Search, tool\n"
    made = migrate(source)
    assert made.source.splitlines() == [
        "from toolkeel_compat.langchain import ChatOpenAI",
        "from langchain_openai import AzureChatOpenAI",
        "from toolkeel_compat.langchain import tool",
        "from langchain_community.tools import Search",
    ]
    assert [(note.line, note.text.partition(": ")[2]) for note in made.notes] == [
        (1, "init_chat_model('vendor:model')"),
        (2, "stays; a tool comes along by from_langchain(tool), of toolkeel_compat.bridges"),
    ]


def test_what_annotations_in_quotes_use_of_a_module_is_told_by_line() -> None:
    program = (
        "from __future__ import annotations\n"
        "import agents\n"
        "from typing import Annotated, TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from agents import Agent, tool_namespace\n"
        "def f(a: 'list[agents.gone]', b: Annotated['agents.Agent', 'no (code'],\n"
        "      c: 'Agent') -> 'agents.lost': ...\n"
        "x: 'agents.also_gone'\n"
    )
    made = migrate(program)
    told = [(note.line, note.text.split(":")[0]) for note in made.notes]
    assert told == [
        (5, "agents.tool_namespace"),
        (6, "agents.gone"),
        (7, "agents.lost"),
        (8, "agents.also_gone"),
    ]


def test_imports_that_a_text_holds_stay_and_are_told() -> None:
    program = (
        '"""Example.\n\n>>> from agents import Agent\n"""\n'
        'exec("import os\\nfrom langchain_core.tools import tool\\n")\n'
        'said = "from agents of the state"\nplace = "import agents/tools"\n'
    )
    made = migrate(program)
    assert made.source == program
    assert [(note.line, note.text[:40]) for note in made.notes] == [
        (1, "a text holds '>>> from agents import Age"),
        (5, "a text holds 'from langchain_core.tools "),
    ]


def test_a_module_of_the_programs_own_stays_though_it_is_called_so() -> None:
    program = "import agents\nfrom agents.clerk import Clerk\nfrom langgraph.types import Command\n"
    made = migrate(program, ["agents"])
    assert made.source.splitlines() == [
        *program.splitlines()[:2],
        "from toolkeel_compat.langchain import Command",
    ]
    assert [note.line for note in made.notes] == [1, 2]
    assert "of its own" in made.notes[0].text


def test_a_cell_that_is_no_python_stays_and_is_told() -> None:
    cells = [
        {"cell_type": "code", "source": "%%writefile app.py\nfrom agents import Agent"},
        {"cell_type": "code", "source": ["files = !ls\n", "from agents import Agent"]},
        {"cell_type": "code", "source": "%%time\nfrom agents import Agent"},
        {"cell_type": "code", "source": "%%bash\nls | wc -l > (odd"},
    ]
    made = migrate_notebook(json.dumps({"cells": cells}))
    first, second, third, _ = (cell["source"] for cell in json.loads(made.source)["cells"])
    assert (first, second) == (cells[0]["source"], cells[1]["source"])
    assert third == "%%time\nfrom toolkeel_compat.openai_agents import Agent"
    assert [note.text[:12] for note in made.notes] == ["cell 1 stays", "cell 2 stays"]


@pytest.mark.parametrize("deep", ["x = " + "(" * 9000, "x = " + "-" * 99_999 + "1"], ids=len)
def test_a_program_that_is_nested_too_deeply_is_no_python(deep: str) -> None:
    with pytest.raises(SyntaxError):
        migrate(f"from agents import Agent\n{deep}\n")


def test_odd_files_lose_nothing() -> None:
    ours = "from toolkeel_compat.openai_agents import"
    made = migrate(
        "# -*- coding: utf-8 -*-\r\n\x0cfrom agents import Agent, \\\r\n\tRunner\r\n"
        "try:\r\n\tfrom agents import trace # type: ignore\r\nexcept ImportError:\r\n\ttrace = None\r\n"
        "def f(a):\r\n\t# type: (agents.Agent) -> None\r\n\tfrom agents import Agent as A\r\n\tpass\r\n"
        "__all__ = ['Agent', '\u2028é']\r\n"
    )
    assert made.source == (
        f"# -*- coding: utf-8 -*-\r\n\x0c{ours} Agent, Runner\r\n"
        f"try:\r\n\t{ours} trace # type: ignore\r\nexcept ImportError:\r\n\ttrace = None\r\n"
        f"def f(a):\r\n\t# type: (agents.Agent) -> None\r\n\t{ours} Agent as A\r\n\tpass\r\n"
        "__all__ = ['Agent', '\u2028é']\r\n"
    )
    assert not made.notes


def test_programs_of_pydantic_ai_go_to_one_place() -> None:
    made = migrate(
        "from pydantic_ai import Agent, RunContext, ModelRetry\n"
        "from pydantic_ai.models.test import TestModel\n"
        "from pydantic_ai.usage import UsageLimits\n"
    )
    assert made.source == (
        "from toolkeel_compat.pydantic_ai import Agent, RunContext, ModelRetry\n"
        "from toolkeel_compat.pydantic_ai import TestModel\n"
        "from toolkeel_compat.pydantic_ai import UsageLimits\n"
    )
    assert not made.notes
