"""Whoever writes another library's word for something is told ours."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest
from mcp.server import Server

import toolkeel
from tests.shared import optional
from toolkeel import Agent, Settings, SetupError, ToolError, Toolset, UserMessage, tool
from toolkeel._common.checked_arguments import checked
from toolkeel._common.other_libraries_words import (
    NAMES,
    check_argument_names,
    explain_foreign,
    load_tables,
    translate,
    unknown_option_error,
)
from toolkeel.agent.agent import RunOptions
from toolkeel.define.tool import ToolOptions
from toolkeel.errors import DefinitionError
from toolkeel.mcp.server import ToolServer
from toolkeel.models import OpenAIChat, connect
from toolkeel.providers.openai_chat.model import ChatOptions
from toolkeel.runs import RunLimits
from toolkeel.testing import Scripted, call


def words(kind: str) -> list[str]:
    """Other libraries' words in a table."""
    return " ".join(load_tables()[kind].values()).split()


def double(n: int) -> int:
    """Double a number."""
    return n * 2


def test_an_option_of_another_librarys_tool_is_refused_with_our_word() -> None:
    for word in words("tool"):
        options: dict[str, Any] = {word: True}
        with pytest.raises(DefinitionError) as caught:
            tool("double", **options)(double)
        assert (
            str(caught.value)
            == f"double: there is no option {word!r}; write {translate('tool', word)}"
        )


def test_an_option_of_another_librarys_agent_is_refused_with_our_word() -> None:
    for word in words("Agent"):
        options: dict[str, Any] = {word: "x"}
        with pytest.raises(DefinitionError) as caught:
            Agent("offline", **options)
        assert (
            str(caught.value)
            == f"Agent: there is no option {word!r}; write {translate('Agent', word)}"
        )


def test_an_option_of_another_librarys_run_is_refused_with_our_word() -> None:
    for word in words("Agent.run"):
        options: dict[str, Any] = {word: "x"}
        with pytest.raises(DefinitionError) as caught:
            Agent("offline").run_sync("hello", **options)
        assert (
            str(caught.value)
            == f"Agent.run: there is no option {word!r}; write {translate('Agent.run', word)}"
        )


def test_a_setting_of_another_library_is_refused_with_ours() -> None:
    for word in words("Settings"):
        options: dict[str, Any] = {word: 1}
        with pytest.raises(DefinitionError) as caught:
            Settings(**options)
        assert (
            str(caught.value)
            == f"Settings: there is no option {word!r}; write {translate('Settings', word)}"
        )
        assert dataclasses.replace(Settings(max_tokens=3), temperature=0.5).max_tokens == 3


def test_a_word_that_is_only_misspelt_gets_the_nearest() -> None:
    options: dict[str, Any] = {"instruction": "x"}
    with pytest.raises(DefinitionError, match="did you mean 'instructions'"):
        Agent("offline", **options)


def test_a_name_of_another_library_is_refused_with_ours() -> None:
    for name in NAMES:
        with pytest.raises(ImportError, match=f"toolkeel has no '{name}'; write ") as caught:
            exec(f"from toolkeel import {name}")
        ours = re.match(
            r"(\w+)(?:, of (toolkeel[\w.]+))?", str(caught.value).partition("write ")[2]
        )
        assert ours is not None and hasattr(import_module(ours[2] or "toolkeel"), ours[1])
        for place, theirs in re.findall(r"(toolkeel_compat\.\w+) has (\w+)", str(caught.value)):
            assert hasattr(optional(place), theirs)


def test_the_package_does_not_have_a_name_of_another_library_as_an_attribute() -> None:
    for name in NAMES:
        assert not hasattr(toolkeel, name)
        assert getattr(toolkeel, name, None) is None
        with pytest.raises(AttributeError, match=f"toolkeel has no '{name}'; write "):
            getattr(toolkeel, name)


def test_an_import_within_a_function_or_under_another_name_is_refused_with_ours_too() -> None:
    def load() -> object:
        from toolkeel import ToolRuntime as Runtime  # type: ignore[attr-defined]

        return Runtime

    with pytest.raises(ImportError, match="write ToolContext"):
        load()
    with pytest.raises(ImportError, match="write tool"):
        exec("from toolkeel import Agent, function_tool, Toolset")
    with pytest.raises(ImportError, match="no_such_name"):
        exec("from toolkeel import no_such_name")


@pytest.mark.parametrize(
    ("word", "options"),
    [("timing", ["instructions"]), ("usages", ["state"]), ("stored", ["history"])],
)
def test_a_word_that_only_shares_letters_with_an_option_suggests_nothing(
    word: str, options: list[str]
) -> None:
    assert str(unknown_option_error("Agent", word, options)).endswith(repr(word))


def test_no_table_names_a_word_that_is_ours() -> None:
    known = {*ToolOptions.__annotations__, "name", "description", "parameters"}
    agent = {*inspect.signature(Agent.__init__).parameters}
    assert not ({*words("tool")} & known or {*words("Agent")} & agent)
    assert not (
        {*words("Agent.run")} & RunOptions.__annotations__.keys() or NAMES.keys() & {*dir(toolkeel)}
    )


def test_every_option_that_a_table_names_is_there() -> None:
    known = {*ToolOptions.__annotations__, "name", "description", "parameters"}
    named = {
        ours.split("=")[0] for ours in load_tables()["tool"] if "=" in ours and "(" not in ours
    }
    assert named <= known


def test_an_attribute_of_another_librarys_agent_is_refused_with_ours() -> None:
    for word in words("Agent."):
        with pytest.raises(AttributeError) as caught:
            getattr(Agent("offline"), word)
        assert str(caught.value) == f"an Agent has no {word!r}; write {translate('Agent.', word)}"


def test_an_attribute_of_another_librarys_result_is_refused_with_ours() -> None:
    for word in words("RunResult."):
        with pytest.raises(AttributeError) as caught:
            getattr(Agent("offline").run_sync("hello"), word)
        assert (
            str(caught.value)
            == f"a RunResult has no {word!r}; write {translate('RunResult.', word)}"
        )


def test_an_attribute_of_another_librarys_set_or_server_is_refused_with_ours() -> None:
    for owner in (Toolset([]), ToolServer([])):
        kind = type(owner).__name__
        for word in words(f"{kind}."):
            with pytest.raises(AttributeError) as caught:
                getattr(owner, word)
            assert str(caught.value).endswith(f" {word!r}; write {translate(f'{kind}.', word)}")


def test_new_messages_are_those_behind_the_ones_that_the_prompt_had() -> None:
    first = Agent("offline").run_sync("one").messages
    prompt = [*first, UserMessage("two")]
    result = Agent("offline").run_sync(prompt)
    assert result.messages[: len(prompt)] == prompt
    assert [type(each).__name__ for each in result.messages[len(prompt) :]] == ["AssistantMessage"]


def test_failures_limit_the_attempts_of_a_model_and_calls_beside_an_answer_run() -> None:
    ran = []

    @tool
    def refuses(n: int) -> str:
        """Refuse."""
        ran.append(n)
        raise ToolError("Not so.")

    wrong: list[Any] = [[call("refuses", {"n": n})] for n in range(4)]
    limits = RunLimits(failures={"refuses": 2})
    Agent(Scripted([*wrong, "done"]), [refuses], limits=limits).run_sync("go")
    assert ran == [0, 1]
    both = [call("final_result", {"result": 1}), call("refuses", {"n": 9})]
    assert Agent(Scripted([both]), [refuses], output_type=int).run_sync("go").output == 1
    assert ran == [0, 1, 9]


def test_an_attribute_of_another_librarys_tool_is_refused_with_ours() -> None:
    for word in words("Tool."):
        with pytest.raises(AttributeError) as caught:
            getattr(tool(double), word)
        assert str(caught.value) == f"a Tool has no {word!r}; write {translate('Tool.', word)}"


@pytest.mark.parametrize(
    ("of", "table"),
    [
        (Agent("offline"), load_tables()["Agent."]),
        (tool(double), load_tables()["Tool."]),
        (Agent("offline").run_sync("hello"), load_tables()["RunResult."]),
    ],
)
def test_an_attribute_that_is_told_instead_exists(of: object, table: Any) -> None:
    for told in table:
        if told.startswith("."):
            assert hasattr(of, re.match(r"\.(\w+)", told)[1]), told  # type: ignore[index]


DOORS = (
    "toolkeel",
    "toolkeel.approvals",
    "toolkeel.executors",
    "toolkeel.mcp.client",
    "toolkeel.mcp.server",
    "toolkeel.models",
    "toolkeel.runs",
    "toolkeel.sessions",
    "toolkeel.steps",
    "toolkeel.testing",
    "toolkeel.tools",
)
HIGHER = "toolkeel_compat.openapi"
"""A door of another distribution."""
ABOVE = {"tool", "Agent", "Agent.run", "Settings"}
OPTIONS = sorted(name for name in load_tables().keys() - ABOVE if "." not in name)


def door(name: str) -> Callable[..., Any]:
    """What programs call by that name."""
    found = [getattr(place, name) for place in map(import_module, DOORS) if hasattr(place, name)]
    made: Callable[..., Any] = found[0] if found else getattr(optional(HIGHER), name)
    return made


def rows() -> Iterator[tuple[str, str, str]]:
    """Each door of the table, with a word of others' and ours."""
    for name in OPTIONS:
        for ours, theirs in load_tables()[name].items():
            yield from ((name, word, ours) for word in theirs.split())


def test_another_librarys_word_is_refused_with_ours() -> None:
    for name, word, ours in rows():
        options: dict[str, Any] = {word: "x"}
        with pytest.raises(DefinitionError) as caught:
            done = door(name)(**options)
            if inspect.iscoroutine(done):
                asyncio.run(done)
        assert str(caught.value) == f"{name}: there is no option {word!r}; write {ours}"


def test_what_is_to_be_written_instead_is_there() -> None:
    for name in OPTIONS:
        given = inspect.signature(door(name)).parameters
        takes_more = any(each.kind is each.VAR_KEYWORD for each in given.values())
        for ours, theirs in load_tables()[name].items():
            named = {one.name for one in given.values() if one.kind is not one.VAR_POSITIONAL}
            assert named.isdisjoint(theirs.split()), name
            if option := re.match(r"(\w+)=$", ours):
                assert takes_more or option[1] in given, f"{name}: {ours}"


def test_no_word_is_an_option_that_a_door_hands_on() -> None:
    sdk = {*inspect.signature(Server.streamable_http_app).parameters} - {"transport_security"}
    handed_on = {
        "asgi": sdk,
        "serve_http": sdk,
        "servers": {*inspect.signature(door("MCPServer")).parameters},
        "Handoff": {*ToolOptions.__annotations__},
        "connect": {*ChatOptions.__annotations__},
    }
    for name, options in handed_on.items():
        assert options.isdisjoint(words(name)), name


def test_every_word_has_one_place_in_a_table() -> None:
    for name, table in load_tables().items():
        words = " ".join(table.values()).split()
        assert len(words) == len({*words}), name


def test_an_option_that_nobody_knows_is_refused_by_checked_doors_and_gets_the_nearest() -> None:
    for name in OPTIONS:
        options: dict[str, Any] = {"zebra": 1}
        given = inspect.signature(door(name)).parameters
        if (
            not any(each.kind is each.VAR_KEYWORD for each in given.values())
            or name == "RunContext"
        ):
            with pytest.raises(DefinitionError, match=f"{name}: there is no option 'zebra'"):
                door(name)(**options)
    assert "did you mean 'calls'" in str(unknown_option_error("CallLimit", "cals", ["calls"]))


def test_a_function_takes_what_it_takes_by_position_and_no_more() -> None:
    @checked
    def cut(text: str, at: int = 1, **more: int) -> str:
        """Cut."""
        return text[: at + sum(more.values())]

    assert (cut("abc"), cut("abc", 2), cut("abc", by=1)) == ("a", "ab", "ab")
    many: list[Any] = ["abc", 1, 2]
    with pytest.raises(DefinitionError, match="takes only text and at by position, not 3"):
        cut(*many)
    check_argument_names("cut", cut.__wrapped__, 2, ["by"])  # type: ignore[attr-defined]


def test_a_models_own_options_are_not_taken_for_others() -> None:
    made = OpenAIChat("m", api_key="x", timeout=3, max_retries=1)
    assert made.name == "m" and translate("OpenAIChat", "timeout") == ""


def test_an_error_of_a_messages_arguments_names_the_message() -> None:
    wrong: dict[str, Any] = {"role": "user", "content": "hi"}
    with pytest.raises(
        TypeError, match=r"^UserMessage\(\) got an unexpected keyword argument 'role'"
    ):
        UserMessage(**wrong)


def made_there(module: str, name: str, *bases: type) -> type:
    return type(name, bases, {"__module__": module})


BASE_TOOL = made_there("langchain_core.tools.base", "BaseTool")


@pytest.mark.parametrize(
    ("cls", "text"),
    [
        (made_there("langchain_core.tools", "Tool", BASE_TOOL), r"from_langchain\(tool\)"),
        (made_there("__main__", "Mine", BASE_TOOL), r"Mine is a tool .* from_langchain\(tool\)"),
        (made_there("agents.tool", "FunctionTool"), r"from_openai_agents\(tool\)"),
        (made_there("pydantic_ai.tools", "Tool"), r"from_pydantic_ai\(tool\)"),
        (
            made_there("langchain_core.messages.human", "HumanMessage"),
            "import HumanMessage from toolkeel_compat.langchain",
        ),
        (made_there("pydantic_ai.agent", "Agent"), "docs/coming-from-pydantic-ai.md"),
    ],
)
def test_an_object_of_another_library_names_its_bridge_or_import(cls: type, text: str) -> None:
    item = cls()
    for use in (
        lambda: Agent("offline", [item]),
        lambda: Toolset([item]),
        lambda: Agent("offline", steps=[item]),
        lambda: Agent(item),
        lambda: connect(item),
        lambda: Agent("offline").run_sync(item),
        lambda: Agent("offline").run_sync([item]),
    ):
        with pytest.raises(SetupError, match=text):
            use()


def test_an_object_of_the_programs_own_module_is_not_foreign() -> None:
    assert explain_foreign(made_there("agents.mine", "FunctionTool")()) == ""
    assert explain_foreign(made_there("langchains", "Tool")()) == ""
    assert explain_foreign(len) == ""


@pytest.mark.parametrize("word", words("Toolset."))
def test_an_attribute_of_another_librarys_toolset_is_refused_with_ours(word: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(Toolset(), word)
    assert str(caught.value) == f"a Toolset has no {word!r}; write {translate('Toolset.', word)}"


@pytest.mark.parametrize("word", words("ToolServer."))
def test_an_attribute_of_another_librarys_server_is_refused_with_ours(word: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(ToolServer([]), word)
    hint = translate("ToolServer.", word)
    assert str(caught.value) == f"a ToolServer has no {word!r}; write {hint}"
