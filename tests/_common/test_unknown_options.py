"""Whoever calls a front door with another library's word is told ours; the rest is refused, too."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

from toolkeel import Agent, UserMessage, tool
from toolkeel._common.peers_words import OPTIONS
from toolkeel._common.unknown_options import check_places, naming, our_word, unknown_option
from toolkeel.errors import DefinitionError
from toolkeel.models import OpenAIChat

DOORS = (
    "toolkeel",
    "toolkeel.approvals",
    "toolkeel.compat.openapi",
    "toolkeel.engines",
    "toolkeel.mcp.client",
    "toolkeel.mcp.server",
    "toolkeel.models",
    "toolkeel.runs",
    "toolkeel.sessions",
    "toolkeel.steps",
    "toolkeel.testing",
    "toolkeel.tools",
)
IN_THEIR_OWN_TESTS = {"tool", "Agent", "Agent.run"}


def door(name: str) -> Callable[..., Any]:
    """What programs call by that name."""
    found = [getattr(place, name) for place in map(import_module, DOORS) if hasattr(place, name)]
    made: Callable[..., Any] = found[0]
    return made


def rows() -> Iterator[tuple[str, str, str]]:
    """Each door of the table, with a word of others' and ours."""
    for name in sorted(OPTIONS.keys() - IN_THEIR_OWN_TESTS):
        for ours, theirs in OPTIONS[name].items():
            yield from ((name, word, ours) for word in theirs.split())


@pytest.mark.parametrize(("name", "word", "ours"), [*rows()])
def test_another_librarys_word_is_refused_with_ours(name: str, word: str, ours: str) -> None:
    options: dict[str, Any] = {word: "x"}
    with pytest.raises(DefinitionError) as caught:
        done = door(name)(**options)
        if inspect.iscoroutine(done):
            asyncio.run(done)
    assert str(caught.value) == f"{name}: there is no option {word!r}; write {ours}"


def test_what_is_to_be_written_instead_is_there() -> None:
    for name in OPTIONS.keys() - IN_THEIR_OWN_TESTS:
        given = inspect.signature(door(name)).parameters
        takes_more = any(each.kind is each.VAR_KEYWORD for each in given.values())
        for ours, theirs in OPTIONS[name].items():
            named = {one.name for one in given.values() if one.kind is not one.VAR_POSITIONAL}
            assert named.isdisjoint(theirs.split()), name
            if option := re.match(r"(\w+)=$", ours):
                assert takes_more or option[1] in given, f"{name}: {ours}"


def test_every_word_has_one_place_in_a_table() -> None:
    for name, table in OPTIONS.items():
        words = " ".join(table.values()).split()
        assert len(words) == len({*words}), name


def test_an_option_that_nobody_knows_is_refused_by_checked_doors_and_gets_the_nearest() -> None:
    for name in OPTIONS.keys() - IN_THEIR_OWN_TESTS:
        options: dict[str, Any] = {"zebra": 1}
        given = inspect.signature(door(name)).parameters
        if (
            not any(each.kind is each.VAR_KEYWORD for each in given.values())
            or name == "RunContext"
        ):
            with pytest.raises(DefinitionError, match=f"{name}: there is no option 'zebra'"):
                door(name)(**options)
    assert "did you mean 'calls'" in str(unknown_option("Budget", "cals", ["calls"]))


def test_a_function_takes_what_it_takes_by_position_and_no_more() -> None:
    @naming
    def cut(text: str, at: int = 1, **more: int) -> str:
        """Cut."""
        return text[: at + sum(more.values())]

    assert (cut("abc"), cut("abc", 2), cut("abc", by=1)) == ("a", "ab", "ab")
    many: list[Any] = ["abc", 1, 2]
    with pytest.raises(DefinitionError, match="takes only text and at by position, not 3"):
        cut(*many)
    check_places("cut", cut.__wrapped__, 2, ["by"])  # type: ignore[attr-defined]


def test_a_models_own_options_are_not_taken_for_others() -> None:
    made = OpenAIChat("m", api_key="x", timeout=3, max_retries=1)
    assert made.name == "m" and our_word(OPTIONS["OpenAIChat"], "timeout") == ""


def test_an_error_of_a_messages_arguments_names_the_message() -> None:
    wrong: dict[str, Any] = {"role": "user", "content": "hi"}
    with pytest.raises(
        TypeError, match=r"^UserMessage\(\) got an unexpected keyword argument 'role'"
    ):
        UserMessage(**wrong)


def test_agents_and_tools_use_the_same_tables() -> None:
    options: dict[str, Any] = {"max_steps": 3}
    with pytest.raises(DefinitionError, match="write max_turns="):
        Agent("offline", **options)
    options = {"return_direct": True}
    with pytest.raises(DefinitionError, match="write ends_run="):
        tool(**options)(door)
