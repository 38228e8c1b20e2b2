"""What newcomers get wrong first, each told in one sentence with the fix, when it is made."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from toolkeel import Agent, Effects, Rules, Tool, ToolCall, ToolContext, Toolset, tool
from toolkeel.errors import ToolkeelError
from toolkeel.model_interface import Settings
from toolkeel.runs import RunLimits

any_tool: Any = tool
any_agent: Any = Agent
AnyToolset: Any = Toolset
AnyTool: Any = Tool
AnyRules: Any = Rules
AnyEffects: Any = Effects
any_limits: Any = RunLimits


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


any_add: Any = tool(add)


class Weather:
    """Look up the weather."""

    def get(self, city: str) -> str:
        """Look it up."""
        return city


SCHEMA = {"type": "function", "function": {"name": "add", "parameters": {}}}
MISTAKES: Mapping[str, tuple[Callable[[], object], str]] = {
    # what is done: how, and what the sentence must hold
    "a class for a tool": (lambda: Toolset([Weather]), "[Weather(...).method]"),
    "an object for a tool": (lambda: AnyToolset([Weather()]), "[weather.method]"),
    "a method without its object": (lambda: Toolset([Weather.get]), "instance.get"),
    "a set within a list": (lambda: AnyToolset([Toolset([add]), add]), "join sets with +"),
    "a list within a list": (lambda: AnyToolset([[add]]), "[*them]"),
    "an agent for a tool": (lambda: AnyToolset([Agent("offline")]), "agent.as_tool()"),
    "a name for a tool": (lambda: AnyToolset(["add"]), "the function itself, [add]"),
    "a text for the tools": (lambda: AnyToolset("add"), "a list of functions: [add]"),
    "a function for the tools": (lambda: any_agent("offline", add), "give a list"),
    "a dict for the tools": (lambda: AnyToolset({"add": add}), "list(tools.values())"),
    "a function's result for it": (lambda: AnyToolset([add(1)]), "without the brackets"),
    "a module for a tool": (lambda: AnyToolset([math]), "[math.a_function]"),
    "a schema for a tool": (lambda: AnyToolset([SCHEMA]), "Tool.from_schema("),
    "Tool for tool": (lambda: AnyTool(add), "tool(f)"),
    "another library's Tool": (lambda: AnyTool(name="add", func=add), "tool(f)"),
    "a tool twice": (lambda: tool(tool(add)), "it is a tool already"),
    "a nameless function": (lambda: Toolset([lambda x: x]), "tool('name')(lambda ...)"),
    "a description for a name": (lambda: tool("Add two numbers")(add), "description="),
    "tools before the model": (lambda: any_agent([add], "offline"), "Agent('openai:gpt-5', ["),
    "instructions before all": (lambda: Agent("You are helpful."), "instructions="),
    "a model's class": (
        lambda: any_agent(Weather, [add]),
        "a model or its name, which comes first",
    ),
    "no vendor": (lambda: Agent("gpt-5"), "openai:gpt-5"),
    "another library's option": (lambda: any_agent("offline", system_prompt=""), "instructions="),
    "another library's tool option": (lambda: any_tool(name_override="x")(add), "name="),
    "a sampling option": (lambda: any_agent("offline", temperature=0), "Settings(temperature="),
    "an approver of all runs": (lambda: any_agent("offline", approver=bool), "run(prompt, appro"),
    "a dict of settings": (
        lambda: any_agent("offline", settings={"a": 1}),
        "expected Settings(...) or None",
    ),
    "a number of limits": (
        lambda: any_agent("offline", limits=5),
        "expected RunLimits(...) or None",
    ),
    "no turn at all": (lambda: Agent("offline", max_turns=0), "a number from 1"),
    "one step for steps": (lambda: AnyToolset([add], steps=print), "steps=[...]"),
    "one rule for rules": (lambda: AnyRules(deny="add"), "write deny=[...]"),
    "a rule for nothing": (lambda: Toolset([add], rules=Rules(deny=["ad"])), "did you mean 'add'?"),
    "a rule for no argument": (
        lambda: Toolset([add], rules=Rules(deny=["add(c=1)"])),
        "no argument 'c'; it has a, b",
    ),
    "an agent's rule for nothing": (
        lambda: Agent("offline", [add], rules=Rules(ask=["sum"])),
        "no tool is called 'sum'",
    ),
    "a limit for nothing": (
        lambda: Agent("offline", [add], limits=RunLimits(calls={"ad": 1})),
        "RunLimits: no tool is called 'ad'; did you mean 'add'?",
    ),
    "a choice of nothing": (
        lambda: Agent("offline", [add], settings=Settings(tool_choice="ad")),
        "did you mean 'add'?",
    ),
    "a call without a list": (
        lambda: AnyToolset([add]).run_sync(ToolCall("1", "add", "{}")),
        "in a list of calls",
    ),
    "a call of another library": (
        lambda: AnyToolset([add]).run_sync([{"name": "add"}]),
        "decode_calls(reply)",
    ),
    "messages of another library": (
        lambda: any_agent("offline").run_sync([{"role": "user", "content": "hi"}]),
        "UserMessage(",
    ),
    "tools without a list": (lambda: AnyToolset(add, add), "Toolset([search, send])"),
    "a name for a toolset": (lambda: AnyToolset([add], "sums"), "only tools by position"),
    "instructions by position": (lambda: any_agent("offline", [add], "Be brief."), "instructions="),
    "a tool's words by position": (lambda: any_tool(add, "Add two."), "description="),
    "a function after its name": (lambda: any_tool("add", add), "tool(function, name="),
    "deps by position": (lambda: any_agent("offline").run_sync("hi", {"user": 1}), "deps=..."),
    "two prompts": (lambda: any_agent("offline").start("hi", "there"), "messages as one list"),
    "an unknown option of a set": (lambda: AnyToolset([add], step=[]), "did you mean 'steps'?"),
    "an unknown effect": (lambda: AnyEffects(readonly=True), "did you mean 'read_only'?"),
    "an unknown limit": (lambda: any_limits(max_turns=3), "write requests="),
    "a config for an invoke": (
        lambda: any_add.invoke({"a": 1}, {"configurable": 1}),
        "RunContext(",
    ),
    "a number for a timeout": (lambda: any_tool(timeout="5")(add), "a number of seconds"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_each_mistake_is_told_in_one_sentence_with_the_fix_when_it_is_made(what: str) -> None:
    mistake, fix = MISTAKES[what]
    with pytest.raises(ToolkeelError) as told:
        mistake()
    text = str(told.value)
    assert fix in text and "\n" not in text and len(text) < 500


def test_a_function_without_a_docstring_is_a_tool_and_its_author_is_told() -> None:
    def bare(a: int) -> int:
        return a

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tool(add)
        tool(description="Say it.")(bare)
    with pytest.warns(UserWarning, match="'bare' has no docstring"):
        tool(docstring="plain")(bare)
    with pytest.warns(UserWarning, match="'bare' has no docstring.*description=") as told:
        assert tool(bare).description == "bare"
    assert (told[0].filename, told[0].lineno) == (__file__, bare.__code__.co_firstlineno)


@pytest.mark.parametrize("name", ["content", "data", "final_output", "text"])
def test_another_librarys_attribute_of_a_result_names_ours(name: str) -> None:
    result = Agent("offline", [add]).run_sync("hello")
    with pytest.raises(AttributeError, match=r"write \.output"):
        getattr(result, name)


def test_a_rule_may_name_what_a_body_that_has_the_context_calls(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool
    def ask(question: str, context: ToolContext[Any]) -> str:
        """Ask somebody."""
        return question

    Toolset([ask], rules=Rules(deny=["pay"]))
    assert "no tool is called 'pay'" in caplog.text


def test_sets_made_of_a_set_keep_rules_about_tools_that_went() -> None:
    both = Toolset([add, tool("sub")(add)], rules=Rules(deny=["sub"]))
    assert both.filter(lambda item: item.name == "add").names == ("add",)
    assert both.with_tools([add]).rules is both.rules
