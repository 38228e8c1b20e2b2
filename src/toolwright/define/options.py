"""What a tool's options may be: a mistake in one is told where the tool is defined."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from toolwright.effects import Effects
from toolwright.errors import DefinitionError
from toolwright.hosted import Hosted

Check = tuple[Callable[[Any], bool], str]


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_rule(value: object) -> bool:
    return isinstance(value, bool) or callable(value)


def _is_handler(value: object) -> bool:
    return value is None or isinstance(value, bool | str) or callable(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


_FLAG: Check = (_is_flag, "True or False")
_RULE: Check = (_is_rule, "True, False or a function")
_HANDLER: Check = (_is_handler, "True, False, a text or a function of the error")
_MAPPING: Check = (lambda value: isinstance(value, Mapping), "a dict")
CHECKS: Mapping[str, Check] = {
    "effects": (lambda value: isinstance(value, Effects), "Effects(...)"),
    "timeout": (
        lambda value: value is None or (_is_number(value) and value > 0),
        "a number of seconds above 0, or None for no limit",
    ),
    "inline": _FLAG,
    "executor": (
        lambda value: value is None or (callable(value) and not isinstance(value, type)),
        "what runs it elsewhere, such as Process()",
    ),
    "sequential": _FLAG,
    "return_direct": _FLAG,
    "response_format": (
        lambda value: value in ("content", "content_and_artifact"),
        "'content' or 'content_and_artifact'",
    ),
    "extra": (
        lambda value: value in ("forbid", "ignore", "allow"),
        "'forbid', 'ignore' or 'allow'",
    ),
    "handle_tool_error": _HANDLER,
    "handle_validation_error": _HANDLER,
    "handle_crash": _HANDLER,
    "max_output": (
        lambda value: value is None or (isinstance(value, int) and _is_number(value)),
        "a number of characters, or None for no limit",
    ),
    "approval": _RULE,
    "enabled": _RULE,
    "steps": (lambda value: all(map(callable, value)), "a list of steps, which can be called"),
    "tags": (
        lambda value: not isinstance(value, str) and all(isinstance(tag, str) for tag in value),
        "a list of texts",
    ),
    "metadata": _MAPPING,
    "extras": _MAPPING,
    "hosted": (
        lambda value: value is None or isinstance(value, Hosted),
        "Hosted({wire: Native(...)})",
    ),
    "parse_docstring": _FLAG,
    "error_on_invalid_docstring": _FLAG,
}
"""By option: whether a value is one, and what it should be."""
_FRONT = ("name", "description", "args_schema")
"""What the front doors take besides."""


def checked(name: str, options: Mapping[str, object]) -> dict[str, Any]:
    """The options; what holds several is a tuple.

    Args:
        name: The tool's, for messages.
        options: Values by option.

    Raises:
        DefinitionError: there is no such option, or it cannot be this; naming what it should be.
    """
    given: dict[str, Any] = dict(options)
    for plural in ("steps", "tags"):
        several = given.get(plural)
        if isinstance(several, Iterable) and not isinstance(several, str):
            given[plural] = tuple(several)
    for option, value in given.items():
        if option not in CHECKS:
            import difflib  # late: for mistakes alone

            near = difflib.get_close_matches(option, [*CHECKS, *_FRONT], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise DefinitionError(f"{name}: there is no option {option!r}{hint}")
        good, wanted = CHECKS[option]
        try:
            fits = good(value)
        except TypeError:  # what cannot be gone through holds no steps and no tags
            fits = False
        if not fits:
            raise DefinitionError(f"{name}: {option} is {value!r:.80}; give it {wanted}")
    check_steps(given.get("steps", ()))
    return given


def check_names(name: object, description: object) -> None:
    """See that name and description are texts, if they are given.

    Raises:
        DefinitionError: naming the one that is not.
    """
    for what, value in (("name", name), ("description", description)):
        if not (value is None or isinstance(value, str)):
            raise DefinitionError(f"the {what} of a tool is a text, not {value!r:.80}")


def check_on_invoke(name: str, function: object) -> None:
    """See that a function takes the context and the arguments, as `Tool.from_schema` calls it.

    Raises:
        DefinitionError: if it cannot be called so.
    """
    if not callable(function):
        raise DefinitionError(f"{name}: on_invoke is {function!r:.80}; give it a function")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C, without saying what it takes
        return
    try:
        signature.bind(None, {})
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
