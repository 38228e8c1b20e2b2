"""A mistake in a tool's options is told where the tool is defined, with the option and the fix."""

from __future__ import annotations

import asyncio
import functools
import math
from typing import Any

import pytest

from toolkeel import BaseTool, Effects, Tool, Toolset, tool
from toolkeel.define.tool import ToolOptions, option_kinds
from toolkeel.errors import DefinitionError, SetupError, ToolError
from toolkeel.hosted import Hosted

GOOD: dict[str, list[Any]] = {
    "effects": [Effects(), Effects(resources=("file:a",), safe_after=("private", "secret"))],
    "timeout": [None, 1, 0.5, math.inf],
    "inline": [True, False],
    "executor": [None, print, "process"],
    "resources": [None],
    "sequential": [True, False],
    "ends_run": [True],
    "returns": ["content", "content_and_artifact"],
    "unknown_keys": ["forbid", "ignore"],
    "on_error": [True, False, "a text", str, None],
    "on_invalid": [True, "a text", str],
    "on_crash": [True, "a text", str, OSError, (OSError, KeyError)],
    "max_output": [None, 1, 0],
    "approval": [True, len],
    "enabled": [False, bool],
    "steps": [[], [print], (step for step in (print,))],
    "tags": [[], ["a"], ("a", "b"), {"a"}],
    "metadata": [{"a": 1}],
    "provider_options": [{"cache_control": {}}],
    "hosted": [None, Hosted()],
    "docstring": ["parse", "strict", "plain"],
}
WRONG_EFFECTS: list[dict[str, Any]] = [
    *({flag: "no"} for flag in ("read_only", "destructive", "idempotent", "open_world")),
    *({flag: 1} for flag in ("private", "stranger")),
    *({several: "file:a"} for several in ("resources", "target", "safe_after")),
    *({several: (3,)} for several in ("resources", "target", "safe_after")),
    {"resources": 3},
    {"safe_after": ("strangers",)},
]
BAD: dict[str, list[Any]] = {
    "effects": [None, {"read_only": True}, Effects],
    "timeout": [0, -1, "5", True, math.nan, []],
    "inline": [None, 1, "yes"],
    "executor": ["processes", True, Effects],
    "resources": [["num_gpus"], "gpu", 1],
    "sequential": [0],
    "ends_run": ["no"],
    "returns": ["artifact", None, []],
    "unknown_keys": ["deny", True],
    "on_error": [5, ["a text"]],
    "on_invalid": [object()],
    "on_crash": [1.5],
    "max_output": [-5, 10.5, "10", True],
    "approval": ["always", None, 1],
    "enabled": ["yes", None],
    "steps": [print, ["log"], None, "log"],
    "tags": ["web", [1], None, 5],
    "metadata": [[("a", 1)], "a"],
    "provider_options": [["a"]],
    "hosted": [{}, "gemini"],
    "docstring": ["google", False, None],
}


@pytest.mark.parametrize("wrong", WRONG_EFFECTS)
def test_effects_are_checked_where_they_are_written(wrong: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match=rf"Effects\({next(iter(wrong))}=...\): expected "):
        Effects(**wrong)


def work(n: int) -> str:
    """Work."""
    return str(n)


def test_every_option_is_checked() -> None:
    assert set(option_kinds()) == set(GOOD) == set(BAD) == set(ToolOptions.__annotations__)


@pytest.mark.parametrize("option", GOOD)
def test_an_option_takes_what_it_says(option: str) -> None:
    for value in GOOD[option]:
        options: Any = {option: value}
        assert tool(**options)(work).name == "work"


@pytest.mark.parametrize(("option", "value"), [(o, v) for o, values in BAD.items() for v in values])
def test_what_an_option_cannot_be_is_refused_with_the_fix(option: str, value: Any) -> None:
    options: Any = {option: value}
    expected = "step" if option == "steps" else rf"work\({option}=...\): expected "
    with pytest.raises(DefinitionError, match=expected):
        tool(**options)(work)
    with pytest.raises(DefinitionError, match=expected):
        Tool.from_schema("work", "", {}, lambda context, arguments: "", **options)


@pytest.mark.parametrize("option", ["on_error", "on_invalid", "on_crash"])
def test_an_async_function_for_the_text_of_an_error_is_refused(option: str) -> None:
    async def words(error: Exception) -> str:
        return str(error)

    options: Any = {option: words}
    with pytest.raises(
        DefinitionError, match=rf"work: {option} is an async function.*def {option}"
    ):
        tool(**options)(work)


def test_a_class_is_held_to_the_same() -> None:
    class Work(BaseTool):
        """Work."""

        name = "work"
        timeout = "5"  # type: ignore[assignment]

        def _run(self, n: int) -> str:
            return str(n)

    with pytest.raises(
        DefinitionError,
        match=r"timeout=...\): expected a number of seconds above 0 or None, got '5'",
    ):
        Toolset([Work()])


def test_an_option_there_is_not_is_refused_with_the_nearest() -> None:
    with pytest.raises(DefinitionError, match=r"no option 'timeot'; did you mean 'timeout'"):
        tool(timeot=5)(work)  # type: ignore[call-overload]
    with pytest.raises(DefinitionError, match=r"no option 'zzz'$"):
        tool(zzz=5)(work)  # type: ignore[call-overload]


@pytest.mark.parametrize("given", [{"name": 5}, {"description": 5}, {"description": ["a"]}])
def test_a_name_and_a_description_are_texts(given: Any) -> None:
    with pytest.raises(DefinitionError, match=r"the (name|description) of a tool is a text, not"):
        tool(**given)(work)


def takes_one(arguments: object) -> str:
    return ""


def takes_names(*, context: object, arguments: object) -> str:
    return ""


@pytest.mark.parametrize("function", [takes_one, takes_names, 1, lambda: 1])
def test_a_function_for_a_schema_takes_context_and_arguments(function: Any) -> None:
    with pytest.raises(DefinitionError, match=r"work: on_invoke (takes|is) "):
        Tool.from_schema("work", "", {}, function)


@pytest.mark.parametrize(
    "function", [lambda *both: 1, lambda c, a, more=1: 1, functools.partial(max, 1), max]
)
def test_any_way_to_take_both_will_do(function: Any) -> None:
    assert Tool.from_schema("work", "", {}, function).name == "work"


async def forgets(prepared: Any, context: Any, proceed: Any) -> Any:
    await proceed(prepared)


async def forgets_at_last(prepared: Any, context: Any, proceed: Any) -> Any:
    try:
        value = await proceed(prepared)
        print(value)
    finally:
        print("done")


class Forgets:
    async def __call__(self, prepared: Any, context: Any, proceed: Any) -> None:
        async with asyncio.timeout(1):
            await proceed(prepared)
        return


async def passes(prepared: Any, context: Any, proceed: Any) -> Any:
    async with asyncio.timeout(1):
        return await proceed(prepared)


async def sometimes(prepared: Any, context: Any, proceed: Any) -> Any:
    if prepared.arguments:
        return None
    return await proceed(prepared)


async def refuses(prepared: Any, context: Any, proceed: Any) -> Any:
    raise ToolError("no")


async def refuses_what_ran(prepared: Any, context: Any, proceed: Any) -> Any:
    await proceed(prepared)
    raise ToolError("no")


async def answers_nothing(prepared: Any, context: Any, proceed: Any) -> Any:
    return None


@pytest.mark.parametrize("step", [forgets, forgets_at_last, Forgets(), Forgets().__call__])
def test_a_step_that_goes_on_and_forgets_the_result_is_found_when_it_is_given(step: Any) -> None:
    for give in (lambda: tool("t", steps=[step]), lambda: Toolset([], steps=[step])):
        with pytest.raises(DefinitionError, match=r"orgets.* return await proceed\(prepared\)"):
            give()(lambda: 1)


@pytest.mark.parametrize(
    "step",
    [
        passes,
        sometimes,
        refuses,
        refuses_what_ran,
        answers_nothing,
        lambda prepared, context, proceed: proceed(prepared),
        functools.partial(passes),
    ],
)
def test_a_step_that_gives_back_something_or_never_goes_on_is_one(step: Any) -> None:
    Toolset([tool("t", steps=[step])(lambda: 1)], steps=[step])


def test_a_step_with_another_signature_is_found_when_it_is_given() -> None:
    async def short(prepared: Any, context: Any) -> Any: ...

    with pytest.raises(DefinitionError, match=r"step .*short' cannot be called with \(prepared"):
        Toolset([], steps=[short])  # type: ignore[list-item]


def two_parameters(path: str, content: str) -> str:
    return path + content


@pytest.mark.parametrize(
    "preview", [two_parameters, lambda: "", lambda arguments, *, context: "", "a text", True, []]
)
def test_a_preview_that_cannot_be_called_with_the_arguments_is_refused(preview: Any) -> None:
    with pytest.raises(DefinitionError, match=r"t: the preview .* write def preview\(arguments\)"):
        tool("t", metadata={"preview": preview})(lambda: 1)


@pytest.mark.parametrize("preview", [lambda arguments: "", lambda arguments, more=1: "", str, None])
def test_a_preview_of_one_parameter_is_accepted(preview: Any) -> None:
    assert tool("t", metadata={"preview": preview})(lambda: 1).metadata["preview"] is preview
