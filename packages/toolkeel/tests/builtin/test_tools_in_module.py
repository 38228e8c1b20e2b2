"""What a module or an object brings, with everything that stands around its tools."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from toolkeel import BaseTool, Prepared, Proceed, Rules, ToolContext, Toolset, tool
from toolkeel.builtin.tools_in_module import (
    collect_tools,
    find_tools,
    flatten,
    is_defined_in,
    merge_parts,
    suggest_or_list,
)
from toolkeel.errors import DuplicateToolError, SetupError
from toolkeel.messages import ToolCall


@tool
def first(a: int) -> int:
    """Give the first."""
    return a


@tool
def second(a: int) -> int:
    """Give the second."""
    return a


async def shout(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
    """A step that shows that it ran."""
    return f"{await proceed(prepared)}!"


def _module(**names: object) -> ModuleType:
    made = ModuleType("made_for_a_test")
    vars(made).update(names)
    return made


def _names(parts: list[Any]) -> tuple[str, ...]:
    return merge_parts(parts).names


def test_a_toolset_of_a_module_comes_before_its_bare_tools() -> None:
    guarded = Toolset([first], steps=[shout])
    assert find_tools(_module(first=first, second=second, tools=guarded)) == [guarded]


def test_tools_come_before_functions_and_functions_need_docstrings() -> None:
    def plain(a: int) -> int:
        """Give."""
        return a

    def bare(a: int) -> int:
        return a

    for function in (plain, bare):
        function.__module__ = "made_for_a_test"
    assert _names(find_tools(_module(first=first, plain=plain))) == ("first",)
    assert _names(find_tools(_module(plain=plain, bare=bare))) == ("plain",)
    assert find_tools(_module(bare=bare)) == []


def test_the_same_tool_under_two_names_counts_once() -> None:
    assert _names(find_tools(_module(first=first, also=first, _hidden=second))) == ("first",)


def test_a_tool_object_brings_the_tool_it_describes() -> None:
    class Greet(BaseTool):
        name = "greet"
        description = "Greet somebody."

        def _run(self, who: str) -> str:
            return f"Hello, {who}!"

    assert _names(find_tools(_module(greet=Greet()))) == ("greet",)
    assert _names(collect_tools([Greet(), first], "here")) == ("greet", "first")


def test_a_toolset_alone_stays_itself_and_a_mixed_one_keeps_its_steps() -> None:
    guarded = Toolset([first], steps=[shout])
    assert merge_parts([guarded]) is guarded
    mixed = merge_parts([guarded, second])
    results = mixed.run_sync(
        [ToolCall("1", "first", '{"a": 1}'), ToolCall("2", "second", '{"a": 2}')]
    )
    assert [result.content for result in results] == ["1!", "2"]


def test_a_toolset_that_runs_in_order_still_does_when_it_is_mixed() -> None:
    ordered = Toolset([first], parallel=False)
    assert [item.sequential for item in flatten(ordered)] == [True]
    assert [item.sequential for item in flatten(Toolset([first]))] == [False]


def test_rules_are_never_lost_by_mixing() -> None:
    ruled = Toolset([first], rules=Rules())
    assert merge_parts([ruled]) is ruled
    with pytest.raises(SetupError, match="a toolset with rules cannot be mixed"):
        merge_parts([ruled, second])


def test_a_provider_is_asked_for_its_tools() -> None:
    class Provider:
        async def get_tools(self) -> list[Any]:
            return [first, second]

    assert _names(collect_tools(Provider(), "here")) == ("first", "second")


def test_a_dict_names_its_tools() -> None:
    assert _names(collect_tools({"eins": first, "zwei": second}, "here")) == ("eins", "zwei")
    with pytest.raises(SetupError, match=r"here\['both'\] holds 2 tools"):
        collect_tools({"both": [first, second]}, "here")


def test_different_tools_of_one_name_are_refused() -> None:
    other = tool("first")(lambda a: a)
    with pytest.raises(DuplicateToolError):
        merge_parts([first, other])


def test_what_a_module_imported_from_a_neighbour_is_not_its_own() -> None:
    module = _module()
    assert not is_defined_in(first, module)
    assert not is_defined_in(Toolset([first]), module)
    assert is_defined_in(Toolset([first], steps=[shout]), module)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("serch", "did you mean 'search'?"),
        ("sreach", "did you mean 'search'?"),
        ("read_page", "did you mean 'read_pages' or 'read_paper'?"),
        ("猫", "there is search, echo, read_pages, read_paper"),
    ],
)
def test_only_what_is_near_enough_is_meant(wrong: str, said: str) -> None:
    assert suggest_or_list(wrong, ["search", "echo", "read_pages", "read_paper"]) == said


def test_long_lists_are_cut_and_empty_ones_said() -> None:
    assert suggest_or_list("x", [f"name{n}" for n in range(20)]).endswith("name11 ...")
    assert suggest_or_list("x", ["__doc__"]) == "there is none"
