"""Output functions: the model's answer is their arguments, their result the output."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from pydantic import BaseModel

from toolkeel import SetupError
from toolkeel.testing import Scripted, call
from toolkeel_compat.pydantic_ai import (
    Agent,
    ModelRetry,
    NativeOutput,
    RunContext,
    TextOutput,
    ToolOutput,
    UnexpectedModelBehavior,
)


class Row(BaseModel):
    name: str


def query(sql: str, limit: int = 3) -> list[str]:
    """Run a query.

    Args:
        sql: The text.
    """
    if "drop" in sql:
        raise ModelRetry("only select")
    if "boom" in sql:
        raise ValueError("boom")
    return [sql, str(limit)]


async def take(ctx: RunContext[int], row: Row) -> str:
    """Take a row."""
    await asyncio.sleep(0)
    return f"{ctx.deps} {row.name} {ctx.tool_name} {ctx.retry}"


def shout(ctx: RunContext[int], text: str) -> str:
    if text == "no":
        raise ModelRetry("say yes")
    return text.upper()


def run(asked: Any, *replies: Any, **options: Any) -> tuple[Scripted, Any]:
    model = Scripted([*replies])
    return model, Agent(model, output_type=asked, **options).run_sync("go", deps=7)


@pytest.mark.parametrize(
    ("asked", "reply", "output"),
    [
        (query, call("final_result", {"sql": "a"}), ["a", "3"]),
        ([query, Row], call("final_result_query", {"sql": "a", "limit": 1}), ["a", "1"]),
        (take, call("final_result", {"name": "b"}), "7 b final_result 0"),
        (ToolOutput(query, name="q"), call("q", {"sql": "a"}), ["a", "3"]),
        (query, '{"sql": "a"}', ["a", "3"]),
        (NativeOutput([query]), '{"sql": "a"}', ["a", "3"]),
        (TextOutput(shout), "yes", "YES"),
        ([query, TextOutput(shout)], "yes", "YES"),
        ([query, str], "yes", "yes"),
    ],
)
def test_its_result_is_the_output(asked: Any, reply: Any, output: Any) -> None:
    assert run(asked, reply)[1].output == output


def test_its_parameters_and_docstring_describe_the_tool() -> None:
    model, _ = run([query, take], call("final_result_Row", {"name": "b"}))
    first, second = model.requests[0].tools
    assert (first.name, first.description) == ("final_result_query", "Run a query.")
    assert first.parameters["properties"]["sql"]["description"] == "The text."
    assert first.parameters["required"] == ["sql"]
    assert (second.description, [*second.parameters["properties"]]) == ("Take a row.", ["name"])


def test_it_may_ask_for_another_answer() -> None:
    model, result = run(
        query, call("final_result", {"sql": "drop"}), call("final_result", {"sql": "a"})
    )
    assert (result.output, model.requests[1].messages[-1].text) == (["a", "3"], "only select")
    model, result = run(TextOutput(shout), "no", "yes")
    assert result.output == "YES" and "say yes" in model.requests[1].messages[-1].text
    with pytest.raises(UnexpectedModelBehavior, match=r"output retries \(1\)") as caught:
        run(query, *[call("final_result", {"sql": "drop"})] * 3)
    assert isinstance(caught.value.__cause__, ModelRetry)


def test_another_exception_ends_the_run() -> None:
    with pytest.raises(ValueError, match="boom"):
        run(query, call("final_result", {"sql": "boom"}))


def test_of_several_answers_the_first_counts_and_the_others_do_not_run() -> None:
    ran: list[int] = []

    def note(number: int) -> int:
        ran.append(number)
        return number

    turn = [call("final_result", {"number": n}, id=str(n)) for n in (1, 2)]
    _, result = run(note, turn)
    assert (result.output, ran, result.usage.tool_calls) == (1, [1], 0)
    assert result.all_messages()[-1].parts[1].content.startswith("Output tool not used")


def test_validators_see_its_result() -> None:
    agent = Agent(Scripted([call("final_result", {"sql": "a"})]), output_type=query)
    agent.output_validator(lambda value: ("checked", value))
    assert agent.run_sync("go").output == ("checked", ["a", "3"])


def test_open_parameters_are_refused() -> None:
    def several(*numbers: int) -> int:
        return sum(numbers)

    with pytest.raises(SetupError, match="name the parameters of several"):
        run(several, "x")
    with pytest.raises(SetupError, match="one TextOutput"):
        run([TextOutput(shout), TextOutput(shout)], "x")


def test_a_function_of_the_text_gets_the_context_only_if_it_asks_for_it() -> None:
    def parse(text: str, sep: str = " ") -> list[str]:
        return [*text.split(sep), str(threading.current_thread() is threading.main_thread())]

    assert Agent(Scripted(["a b"]), output_type=TextOutput(parse)).run_sync("go").output == [
        "a", "b", "False"
    ]  # fmt: skip


def test_a_parameter_by_position_alone_is_refused() -> None:
    def query(sql: str, /, limit: int) -> str:
        return sql

    with pytest.raises(SetupError, match=r"sql of query is given by name"):
        Agent(Scripted(["a"]), output_type=query).run_sync("go")
