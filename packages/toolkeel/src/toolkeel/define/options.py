"""What a tool's options may be: a mistake in one is reported where the tool is defined."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, ParamSpec, TypeAlias

from toolkeel._common.checked_arguments import ArgumentKind, check_values
from toolkeel._common.other_libraries_words import unknown_option_error
from toolkeel.define.executor_names import resolve_executor
from toolkeel.errors import DefinitionError, Refused

P = ParamSpec("P")
Ask: TypeAlias = Callable[P, bool | str | Awaitable[bool | str]]
"""A function that says whether a person must approve a call; a text says why."""
PREVIEW = "preview"
"""Metadata key of a function of the arguments that shows an approver what a call would change."""
_FRONT = ("name", "description", "parameters")
"""What the front doors take besides."""


def validate_options(
    name: str, options: Mapping[str, object], kinds: Mapping[str, ArgumentKind | None]
) -> dict[str, Any]:
    """Return the options of a tool with lists as tuples and a named executor made, or raise if one is wrong.

    Args:
        name: The tool's name, for messages.
        options: Values by option.
        kinds: Accepted kind of each option.

    Raises:
        DefinitionError: there is no such option, or it cannot be this; naming what it should be.
        SetupError: the executor cannot run here, or is not installed.
    """
    passed: dict[str, Any] = dict(options)
    for plural in ("steps", "tags"):
        values = passed.get(plural)
        if isinstance(values, Iterable) and not isinstance(values, str):
            passed[plural] = tuple(values)
    for option in passed:
        if option not in kinds:
            raise unknown_option_error(name, option, [*kinds, *_FRONT], "tool")
    check_values(name, passed, kinds, DefinitionError)
    check_steps(passed.get("steps", ()))
    check_preview(name, passed.get("metadata"))
    check_callbacks(name, passed)
    resolve_executor(name, passed)
    return passed


def check_names(name: object, description: object) -> None:
    """Raise unless name and description are texts or None.

    Raises:
        DefinitionError: naming the one that is not.
    """
    for what, value in (("name", name), ("description", description)):
        if not (value is None or isinstance(value, str)):
            raise DefinitionError(f"the {what} of a tool is a text, not {value!r:.80}")


async def external(prepared: object, context: object) -> object:
    """Mark a tool whose result comes from outside: ``@tool(executor=external)``.

    No body runs here. A call waits as for approval, and `Ticket.answer` gives its result: a form
    that a person fills, a job elsewhere, what a browser did. Guards, rules and limits hold for it.

    Raises:
        Refused: always, because nothing here can run the call.
    """
    raise Refused("Nothing here runs this call: its result comes from outside.")


def validate_on_invoke(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a tool's `on_invoke` unchanged if it can be called with the context and a dict of the arguments.

    Raises:
        DefinitionError: it is no function, or cannot be called so.
    """
    if not callable(function):
        raise DefinitionError(f"{name}: on_invoke is {function!r:.80}; give it a function")
    called_with = "the context and a dict of the arguments"
    write = "on_invoke(context, arguments)"
    _check_call(f"{name}: on_invoke", function, [(None, {})], called_with, write)
    return function


def _check_call(
    what: str,
    function: Callable[..., Any],
    ways: Iterable[tuple[object, ...]],
    called_with: str,
    write: str,
) -> None:
    """Raise unless a function can be called in one of the ways.

    Args:
        what: The tool and the option.
        function: The option's value.
        ways: Positional arguments.
        called_with: Those, in words.
        write: What to write.

    Raises:
        DefinitionError: the function takes other parameters.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C, without saying what it takes
        return
    for way in ways:
        with suppress(TypeError):
            signature.bind(*way)
            return
    raise DefinitionError(
        f"{what} takes {signature}, but is called with {called_with}; write {write}"
    )


_Callback: TypeAlias = tuple[list[tuple[object, ...]], str, str]
_ERROR: _Callback = ([(None,)], "the exception", "def on_error(error) -> str")
_CALLBACKS: dict[str, _Callback] = {
    "enabled": ([(None,)], "the ToolContext", "def enabled(context) -> bool"),
    "approval": (
        [(None,), (None, None)],
        "a dict of the arguments, or those and the ToolContext",
        "def approval(arguments), or def approval(arguments, context)",
    ),
    "on_error": _ERROR,
    "on_invalid": _ERROR,
    "on_crash": _ERROR,
}
"""By option: how a function is called, the same in words, and what to write."""


def check_callbacks(name: str, options: Mapping[str, object]) -> None:
    """Raise unless the functions among a tool's options take what they are called with; error handlers must be sync.

    Raises:
        DefinitionError: naming the option and what to write.
    """
    for option, (ways, called_with, write) in _CALLBACKS.items():
        function = options.get(option)
        if callable(function) and not isinstance(function, type):
            write = write.replace("on_error", option)
            _check_call(f"{name}: {option}", function, ways, called_with, write)
            if ways is _ERROR[0] and inspect.iscoroutinefunction(function):
                raise DefinitionError(
                    f"{name}: {option} is an async function, and is called without await; write {write}"
                )


def check_preview(name: str, metadata: object) -> None:
    """Raise unless the preview in a tool's metadata, if there is one, can be called.

    Raises:
        DefinitionError: the preview is no function, or takes other parameters than the dict of the
            arguments.
    """
    preview = metadata.get(PREVIEW) if isinstance(metadata, Mapping) else None
    if preview is None:
        return
    what = f"{name}: the preview in metadata"
    if not callable(preview):
        raise DefinitionError(
            f"{what} is {preview!r:.60}; write def preview(arguments), which returns the text, or give "
            "your value another key"
        )
    _check_call(what, preview, [({},)], "one dict of all arguments", "def preview(arguments)")


def check_steps(steps: Iterable[Any]) -> None:
    """Raise `DefinitionError` unless each step takes three arguments and returns a value.

    Raises:
        DefinitionError: naming the one that cannot, or that goes on and forgets to return.
    """
    if not isinstance(steps, Iterable):
        raise DefinitionError(f"steps are {steps!r:.60}; give a list of them: steps=[...]")
    for step in steps:
        message = getattr(step, "__qualname__", None) or type(step).__name__
        try:
            inspect.signature(step).bind(None, None, None)
        except TypeError as error:
            raise DefinitionError(
                f"step {message!r} cannot be called with (prepared, context, proceed): {error}; write "
                "async def step(prepared, context, proceed)"
            ) from None
        except ValueError:  # written in C, without saying what it takes
            continue
        if _forgets_return(step if inspect.isroutine(step) else type(step).__call__):
            raise DefinitionError(
                f"step {message!r} goes on and gives back nothing, so the tool's result would be "
                "lost; write return await proceed(prepared)"
            )


def _forgets_return(step: Any) -> bool:
    """Return True if an async step uses its last parameter and always returns None."""
    code = getattr(inspect.unwrap(step), "__code__", None)
    if not inspect.iscoroutinefunction(step) or code is None:
        return False
    import dis  # late: for steps alone

    nothing, before, goes_on = False, None, False
    last = code.co_varnames[: code.co_argcount][-1:]
    for each in dis.get_instructions(code):
        goes_on = goes_on or (each.opname.startswith("LOAD_") and each.argval in last)
        if each.opname in ("RETURN_VALUE", "RETURN_CONST"):
            source = before if each.opname == "RETURN_VALUE" else each
            if source is None or source.argval is not None or "CONST" not in source.opname:
                return False
            nothing = True
        before = each
    return goes_on and nothing
