"""What a tool's options may be: a mistake in one is told where the tool is defined."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from toolkeel._common.other_libraries_words import unknown_option
from toolkeel.define.executor_names import EXECUTOR_NAMES, take_executor
from toolkeel.effects import LABELS, Effects
from toolkeel.errors import DefinitionError, Refused
from toolkeel.hosted import Hosted

Check = tuple[Callable[[Any], bool], str]
"""Whether a value is one, and what to give instead, in words."""


def of(*kinds: type) -> Callable[[Any], bool]:
    """Whether a value is of one of these classes."""
    return lambda value: isinstance(value, kinds)


def maybe(good: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether a value is good, or None."""
    return lambda value: value is None or good(value)


def either(*good: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether a value is good by one of these."""
    return lambda value: any(each(value) for each in good)


def number(least: float, *kinds: type) -> Callable[[Any], bool]:
    """Whether a value is a number, of these classes if they are given, and not below the least."""

    def good(value: Any) -> bool:
        fits = isinstance(value, kinds or (int, float)) and not isinstance(value, bool)
        return fits and bool(value >= least)

    return good


def several(each: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether a value can be gone through, and holds such; what can be read once is not touched."""
    return lambda value: (
        isinstance(value, Iterable)
        and not isinstance(value, str | bytes | Mapping)
        and (not isinstance(value, Collection) or all(map(each, value)))
    )


def choice(*words: str) -> Check:
    """One of these words."""
    return (lambda value: value in words), f"{', '.join(map(repr, words[:-1]))} or {words[-1]!r}"


def _are_effects(value: object) -> bool:
    """Whether each flag is one and each list holds texts: a text for a flag would always be true."""
    if not isinstance(value, Effects):
        return False
    flags = (value.read_only, value.destructive, value.idempotent, value.open_world)
    lists = (value.resources, value.target, value.safe_after)
    return (
        all(map(of(bool), (*flags, value.private, value.stranger)))
        and all(map(several(of(str)), lists))
        and set(value.safe_after) <= set(LABELS)
    )


_SECONDS = number(0)
_FLAG: Check = (of(bool), "True or False")
_RULE: Check = (either(of(bool), callable), "True, False or a function")
_HANDLER: Check = (
    maybe(either(of(bool, str), callable)),
    "True, False, a text or a function of the error",
)
_MAPPING: Check = (of(Mapping), "a dict")
CHECKS: Mapping[str, Check] = {
    "effects": (
        _are_effects,
        "Effects(...) with True or False for flags, lists of texts, and labels for safe_after",
    ),
    "timeout": (
        maybe(lambda value: _SECONDS(value) and value > 0),
        "a number of seconds above 0, or None for no limit",
    ),
    "inline": _FLAG,
    "executor": (
        maybe(
            lambda value: (
                value in EXECUTOR_NAMES or (callable(value) and not isinstance(value, type))
            )
        ),
        f"a name ({', '.join(EXECUTOR_NAMES)}), or one such as Process(width=4) of toolkeel.executors",
    ),
    "resources": (maybe(of(Mapping)), "a dict"),
    "sequential": _FLAG,
    "ends_run": _FLAG,
    "returns": choice("content", "content_and_artifact"),
    "unknown_keys": choice("forbid", "ignore", "allow"),
    "on_error": _HANDLER,
    "on_invalid": _HANDLER,
    "on_crash": _HANDLER,
    "max_output": (maybe(number(0, int)), "a number of characters, or None for no limit"),
    "approval": _RULE,
    "enabled": _RULE,
    "steps": (several(callable), "a list of steps, which can be called"),
    "tags": (several(of(str)), "a list of texts"),
    "metadata": _MAPPING,
    "provider_options": _MAPPING,
    "hosted": (maybe(of(Hosted)), "Hosted({wire: Native(...)})"),
    "docstring": choice("parse", "strict", "plain"),
}
"""By option: whether a value is one, and what it should be."""
_FRONT = ("name", "description", "parameters")
"""What the front doors take besides."""


def checked_options(name: str, options: Mapping[str, object]) -> dict[str, Any]:
    """The options; what holds several is a tuple.

    Args:
        name: The tool's, for messages.
        options: Values by option.

    Raises:
        DefinitionError: there is no such option, or it cannot be this; naming what it should be.
    """
    given: dict[str, Any] = dict(options)
    for plural in ("steps", "tags"):
        values = given.get(plural)
        if isinstance(values, Iterable) and not isinstance(values, str):
            given[plural] = tuple(values)
    for option, value in given.items():
        if option not in CHECKS:
            raise unknown_option(name, option, [*CHECKS, *_FRONT], "tool")
        good, wanted = CHECKS[option]
        if not good(value):
            raise DefinitionError(f"{name}: {option} is {value!r:.80}; give it {wanted}")
    check_steps(given.get("steps", ()))
    take_executor(name, given)
    return given


def check_names(name: object, description: object) -> None:
    """See that name and description are texts, if they are given.

    Raises:
        DefinitionError: naming the one that is not.
    """
    for what, value in (("name", name), ("description", description)):
        if not (value is None or isinstance(value, str)):
            raise DefinitionError(f"the {what} of a tool is a text, not {value!r:.80}")


async def external(prepared: object, context: object) -> object:
    """Where a tool runs whose result comes from outside: ``@tool(executor=external)``.

    No body runs here. A call waits as for approval, and `Ticket.answer` gives its result: a form
    that a person fills, a job elsewhere, what a browser did. Guards, rules and limits hold for it.
    """
    raise Refused("Nothing here runs this call: its result comes from outside.")


def check_on_invoke(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which takes the context and the arguments, as `Tool.from_schema` calls it.

    Raises:
        DefinitionError: if it cannot be called so.
    """
    if not callable(function):
        raise DefinitionError(f"{name}: on_invoke is {function!r:.80}; give it a function")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C, without saying what it takes
        return function
    try:
        signature.bind(None, {})
        return function
    except TypeError:
        raise DefinitionError(
            f"{name}: on_invoke takes {signature}, but is called with the context and a dict of "
            "the arguments; write on_invoke(context, arguments)"
        ) from None


def check_steps(steps: Iterable[Any]) -> None:
    """See that each can be called as a step is, and gives back what it goes on to.

    Raises:
        DefinitionError: naming the one that cannot, or that goes on and forgets to return.
    """
    if not isinstance(steps, Iterable):
        raise DefinitionError(f"steps are {steps!r:.60}; give a list of them: steps=[...]")
    for step in steps:
        told = getattr(step, "__qualname__", None) or type(step).__name__
        try:
            inspect.signature(step).bind(None, None, None)
        except TypeError as error:
            raise DefinitionError(
                f"step {told!r} cannot be called with (prepared, context, proceed): {error}; write "
                "async def step(prepared, context, proceed)"
            ) from None
        except ValueError:  # written in C, without saying what it takes
            continue
        if _forgets(step if inspect.isroutine(step) else type(step).__call__):
            raise DefinitionError(
                f"step {told!r} goes on and gives back nothing, so the tool's result would be "
                "lost; write return await proceed(prepared)"
            )


def _forgets(step: Any) -> bool:
    """Whether it uses what it is called with to go on, and has no way to return a value."""
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
