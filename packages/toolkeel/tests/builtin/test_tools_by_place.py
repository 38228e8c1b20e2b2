"""A target in one word: what each form brings, and what is said when it brings nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared import optional
from toolkeel.builtin.tools_by_place import load_object, load_target, load_targets
from toolkeel.errors import DuplicateToolError, SetupError
from toolkeel.messages import ToolCall

TOOLS = '''
from toolkeel import Toolset, tool

@tool
def search(query: str, limit: int = 3) -> list[str]:
    """搜索。"""
    return [query] * limit

@tool("read_page")
def page(url: str) -> str:
    """Read a page."""
    return url

def helper(x: int) -> int:
    """Documented, but there are tools."""
    return x

class Counter:
    def __init__(self) -> None:
        self.count = 0

    @tool
    def up(self, by: int = 1) -> int:
        """Count up."""
        self.count += by
        return self.count

counter = Counter()
_private = [search]
both = [search, helper]
named = {"find": search, "加倍": helper}
_prefixed = Toolset([search]).with_prefix("my_")
'''

PLAIN = '''
from json import dumps

def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

def bare(a: int) -> int:
    return a

def _hidden() -> None:
    """Hidden."""
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tools(folder: Path) -> Path:
    """The current folder with a file of tools and a file of plain functions."""
    (folder / "tools.py").write_text(TOOLS, "utf-8")
    (folder / "plain.py").write_text(PLAIN, "utf-8")
    return folder


def _problem(target: str) -> str:
    with pytest.raises(SetupError) as caught:
        load_target(target)
    return str(caught.value)


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("tools.py", ("search", "read_page")),
        ("./tools.py", ("search", "read_page")),
        ("tools.py:search", ("search",)),
        ("tools.py:helper", ("helper",)),
        ("tools.py:counter", ("up",)),
        ("tools.py:counter.up", ("up",)),
        ("tools.py:_private", ("search",)),
        ("tools.py:both", ("search", "helper")),
        ("tools.py:named", ("find", "加倍")),
        ("tools.py:_prefixed", ("my_search",)),
        ("plain.py", ("add",)),
        ("plain.py:bare", ("bare",)),
    ],
)
def test_a_file_and_its_names_bring_these_tools(
    tools: Path, target: str, names: tuple[str, ...]
) -> None:
    assert load_target(target).names == names


def test_an_absolute_path_is_a_target_too(tools: Path) -> None:
    assert load_target(f"{tools / 'tools.py'}:search").names == ("search",)


def test_a_loaded_tool_runs_and_answers(tools: Path) -> None:
    call = ToolCall("1", "加倍", '{"x": 4}')
    [message] = load_target("tools.py:named").run_sync([call])
    assert message.content == "4"


def test_what_a_file_lists_in_all_is_what_it_offers(folder: Path) -> None:
    (folder / "listed.py").write_text(TOOLS + "\n__all__ = ['page']\n", "utf-8")
    assert load_target("listed.py").names == ("read_page",)


def test_a_module_in_the_current_folder_is_a_target(tools: Path) -> None:
    (tools / "pack_of_targets").mkdir()
    (tools / "pack_of_targets" / "deep.py").write_text(PLAIN, "utf-8")
    assert load_target("pack_of_targets.deep").names == ("add",)
    assert load_target("pack_of_targets.deep:bare").names == ("bare",)


def test_a_folder_brings_the_tools_that_its_files_define(folder: Path) -> None:
    (folder / "kit").mkdir()
    (folder / "kit" / "first.py").write_text(PLAIN, "utf-8")
    second = "from toolkeel import tool\nfrom first import add\n@tool\ndef sub(a: int) -> int:\n"
    (folder / "kit" / "second.py").write_text(second + '    "Subtract."\n    return a\n', "utf-8")
    assert load_target("kit").names == ("add", "sub")
    assert load_target("kit/").names == ("add", "sub")
    assert load_target("kit:sub").names == ("sub",)


def test_a_package_brings_the_tools_of_its_modules_with_their_relative_imports(
    folder: Path,
) -> None:
    kit = folder / "kit_that_is_a_package"
    kit.mkdir()
    (kit / "__init__.py").write_text("")
    (kit / "_shared.py").write_text("FACTOR = 3\n")
    (kit / "times.py").write_text(
        'from ._shared import FACTOR\ndef triple(x: int) -> int:\n    "Triple."\n'
        "    return FACTOR * x\n"
    )
    tools = load_target("kit_that_is_a_package")
    [message] = tools.run_sync([ToolCall("1", "triple", '{"x": 2}')])
    assert message.content == "6"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("tool.py", "there is no file 'tool.py'; did you mean 'tools.py'?"),
        ("tools.py:serch", "tools.py has no 'serch'; did you mean 'search'?"),
        ("tools.py:read_page", "keeps the tool 'read_page' as 'page'; say tools.py:page"),
        ("tools.py:counter.upp", "Counter in tools.py has no 'upp'; did you mean 'up'?"),
        ("tools.py:Counter", "tools.py:Counter is a class; name an object of the class instead"),
        ("tools.py:__doc__", "tools.py:__doc__ is 'NoneType', which is no tool and holds none"),
        ("plain.py:_hidde", "plain.py has no '_hidde'"),
        ("tool", "is no file, no folder, no module and no builtin; did you mean 'tools.py'"),
        ("calculater", "did you mean 'calculator'?"),
        ("no/such/folder", "there is no file 'no/such/folder'"),
        ("clock:klock", "clock has no tool 'klock'; did you mean 'clock'?"),
        ("", "this one is empty"),
    ],
)
def test_a_target_that_brings_nothing_is_told_what_there_is(
    tools: Path, target: str, said: str
) -> None:
    assert said in _problem(target)


def test_a_file_without_tools_says_how_to_make_some(folder: Path) -> None:
    (folder / "empty.py").write_text("x = 1\n")
    (folder / "undocumented.py").write_text("def f(a: int) -> int:\n    return a\n")
    assert _problem("empty.py") == (
        "empty.py has no tools: decorate functions with @tool, or give them docstrings"
    )
    assert "its functions (f) have no docstrings" in _problem("undocumented.py")
    assert "or name it: undocumented.py:f" in _problem("undocumented.py")


def test_builtins_are_targets_alone_and_together() -> None:
    optional("toolkeel_workspace")
    together = load_target("builtin").names
    assert {"calculator", "clock", "weather", "read"} <= set(together)
    assert load_target("calculator").names == ("calculator",)
    assert load_target("files").names == ("read", "ls", "grep")
    assert load_target("files:grep").names == ("grep",)
    assert load_target("builtin:files").names == ("read", "ls", "grep")


def test_a_builtin_takes_options_in_its_target(folder: Path) -> None:
    optional("toolkeel_workspace")
    (folder / "docs").mkdir()
    (folder / "docs" / "猫.txt").write_text("一只猫\n", "utf-8")
    [message] = load_target("files:root=docs").run_sync([ToolCall("1", "ls", "{}")])
    assert "猫.txt" in message.text
    assert "has no option 'rot'" in _problem("files:rot=docs,root=.")


def test_an_option_of_a_builtin_may_hold_a_colon() -> None:
    optional("toolkeel_workspace")
    assert load_target("weather:base_url=http://127.0.0.1:9").names == ("weather",)


def test_targets_are_merged_and_the_same_tool_counts_once(tools: Path) -> None:
    merged = load_targets(["tools.py:search", "tools.py:both", "plain.py", "calculator"])
    assert merged.names == ("search", "helper", "add", "calculator")


def test_different_tools_of_one_name_are_refused_with_both_targets(tools: Path) -> None:
    (tools / "other.py").write_text(PLAIN, "utf-8")
    with pytest.raises(DuplicateToolError, match=r"both plain\.py and other\.py .*'add'"):
        load_targets(["plain.py", "other.py"])


def test_any_object_of_a_file_can_be_had(tools: Path) -> None:
    assert load_object("plain.py:dumps") is __import__("json").dumps
    with pytest.raises(SetupError, match="names no object"):
        load_object("plain.py")


def test_one_target_that_is_a_toolset_stays_that_toolset(folder: Path) -> None:
    text = "from toolkeel import Toolset\ndef f(a: int) -> int:\n    'Give.'\n    return a\n"
    (folder / "sets.py").write_text(
        text + "tools = Toolset([f], parallel=False, max_concurrency=1)\n"
    )
    made = load_object("sets.py:tools")
    assert load_target("sets.py:tools") is made
    assert load_target("sets.py") is made
    assert load_targets(["sets.py"]) is made
