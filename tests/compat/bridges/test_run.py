"""One of our tools, run for another library's call."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest

from toolkeel import RunContext, ToolContext, tool
from toolkeel.compat.bridges.run import Ours
from toolkeel.compat.langchain import InjectedState, InjectedStore, InjectedToolArg
from toolkeel.errors import SetupError


@tool
def look(
    word: str,
    context: ToolContext[Any],
    state: Annotated[dict[str, Any], InjectedState],
    store: Annotated[str, InjectedStore],
    user: Annotated[str, InjectedToolArg],
) -> str:
    state["seen"] = word
    return f"{word} {context.deps} {store} {user} {context.call.id}"


def test_it_is_filled_from_the_run_given_beforehand_and_from_the_call() -> None:
    run = RunContext("mine", state={}, store="store", inject={"user": "ada"})
    ours = Ours(look, run)
    message = asyncio.run(ours.run_call({"word": "a"}, call_id="c1"))
    assert message.content == "a mine store ada c1"
    message = asyncio.run(ours.run_call('{"word": "b"}', "theirs", "c2", user="bob"))
    assert message.content == "b theirs store bob c2"
    assert run.state == {"seen": "b"}


def test_a_call_without_an_id_gets_one_and_a_failure_is_a_message() -> None:
    ours = Ours(look, RunContext(store="s", inject={"user": "u"}))
    message = asyncio.run(ours.run_call({"word": "a"}))
    assert message.tool_call_id
    assert asyncio.run(ours.run_call({"no": 1})).kind == "invalid_arguments"


def test_what_the_program_forgot_to_give_is_its_own_fault() -> None:
    with pytest.raises(SetupError, match="user"):
        asyncio.run(Ours(look, RunContext(store="s")).run_call({"word": "a"}))
