"""Whoever writes another library's word for something is told ours."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from typing import Any

import pytest

import toolkeel
from toolkeel import Agent, Settings, tool
from toolkeel._common.peers_words import (
    AGENT,
    AGENT_ATTRIBUTES,
    NAMES,
    RESULT,
    RUN,
    SETTINGS,
    TOOL,
    TOOL_ATTRIBUTES,
)
from toolkeel._common.unknown_options import our_word
from toolkeel.agent.agent import RunOptions
from toolkeel.define.options import CHECKS
from toolkeel.errors import DefinitionError


def words(table: Mapping[str, str]) -> list[str]:
    """Other libraries' words in a table."""
    return " ".join(table.values()).split()


def double(n: int) -> int:
    """Double a number."""
    return n * 2


@pytest.mark.parametrize("word", words(TOOL))
def test_an_option_of_another_librarys_tool_is_refused_with_our_word(word: str) -> None:
    options: dict[str, Any] = {word: True}
    with pytest.raises(DefinitionError) as caught:
        tool("double", **options)(double)
    assert str(caught.value) == f"double: there is no option {word!r}; write {our_word(TOOL, word)}"


@pytest.mark.parametrize("word", words(AGENT))
def test_an_option_of_another_librarys_agent_is_refused_with_our_word(word: str) -> None:
    options: dict[str, Any] = {word: "x"}
    with pytest.raises(DefinitionError) as caught:
        Agent("offline", **options)
    assert str(caught.value) == f"Agent: there is no option {word!r}; write {our_word(AGENT, word)}"


@pytest.mark.parametrize("word", words(RUN))
def test_an_option_of_another_librarys_run_is_refused_with_our_word(word: str) -> None:
    options: dict[str, Any] = {word: "x"}
    with pytest.raises(DefinitionError) as caught:
        Agent("offline").run_sync("hello", **options)
    assert (
        str(caught.value) == f"Agent.run: there is no option {word!r}; write {our_word(RUN, word)}"
    )


@pytest.mark.parametrize("word", words(SETTINGS))
def test_a_setting_of_another_library_is_refused_with_ours(word: str) -> None:
    options: dict[str, Any] = {word: 1}
    with pytest.raises(DefinitionError) as caught:
        Settings(**options)
    assert (
        str(caught.value)
        == f"Settings: there is no option {word!r}; write {our_word(SETTINGS, word)}"
    )
    assert dataclasses.replace(Settings(max_tokens=3), temperature=0.5).max_tokens == 3


def test_a_word_that_is_only_misspelt_gets_the_nearest() -> None:
    options: dict[str, Any] = {"instruction": "x"}
    with pytest.raises(DefinitionError, match="did you mean 'instructions'"):
        Agent("offline", **options)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_another_library_is_refused_with_ours(name: str) -> None:
    with pytest.raises(ImportError, match=f"toolkeel has no '{name}'; write ") as caught:
        exec(f"from toolkeel import {name}")
    ours = str(caught.value).partition("write ")[2].split(";")[0].split("(")[0]
    assert hasattr(toolkeel, ours)


def test_no_table_names_a_word_that_is_ours() -> None:
    known = {*CHECKS, "name", "description", "parameters"}
    agent = {*inspect.signature(Agent.__init__).parameters}
    assert not ({*words(TOOL)} & known or {*words(AGENT)} & agent)
    assert not (
        {*words(RUN)} & RunOptions.__annotations__.keys() or NAMES.keys() & {*dir(toolkeel)}
    )


def test_every_option_that_a_table_names_is_there() -> None:
    known = {*CHECKS, "name", "description", "parameters"}
    named = {ours.split("=")[0] for ours in TOOL if "=" in ours and "(" not in ours}
    assert named <= known


@pytest.mark.parametrize("word", words(AGENT_ATTRIBUTES))
def test_an_attribute_of_another_librarys_agent_is_refused_with_ours(word: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(Agent("offline"), word)
    assert (
        str(caught.value) == f"an Agent has no {word!r}; write {our_word(AGENT_ATTRIBUTES, word)}"
    )


@pytest.mark.parametrize("word", words(RESULT))
def test_an_attribute_of_another_librarys_result_is_refused_with_ours(word: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(Agent("offline").run_sync("hello"), word)
    assert str(caught.value) == f"a RunResult has no {word!r}; write {our_word(RESULT, word)}"


@pytest.mark.parametrize("word", words(TOOL_ATTRIBUTES))
def test_an_attribute_of_another_librarys_tool_is_refused_with_ours(word: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(tool(double), word)
    assert str(caught.value) == f"a Tool has no {word!r}; write {our_word(TOOL_ATTRIBUTES, word)}"


@pytest.mark.parametrize(
    ("of", "table"),
    [
        (Agent("offline"), AGENT_ATTRIBUTES),
        (tool(double), TOOL_ATTRIBUTES),
        (Agent("offline").run_sync("hello"), RESULT),
    ],
)
def test_an_attribute_that_is_told_instead_exists(of: object, table: Any) -> None:
    for told in table:
        if told.startswith("."):
            assert hasattr(of, re.match(r"\.(\w+)", told)[1]), told  # type: ignore[index]
