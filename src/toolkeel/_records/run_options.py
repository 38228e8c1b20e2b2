"""What the options of an agent and of a run may be: a mistake is told where it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from toolkeel._records.tickets import Decision
from toolkeel.context import CancelToken
from toolkeel.errors import SetupError
from toolkeel.limits import RunLimits
from toolkeel.model import Settings

Check = tuple[Callable[[Any], bool], str]


def _of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _several(each: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether a value can be gone through, and holds such; what can be read once is not touched."""
    return lambda value: (
        isinstance(value, Iterable)
        and not isinstance(value, str | bytes | Mapping)
        and (not isinstance(value, list | tuple) or all(map(each, value)))
    )


def _maybe(good: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or good(value)


def _number(least: float, *kinds: type) -> Callable[[Any], bool]:
    def good(value: Any) -> bool:
        fits = isinstance(value, kinds or (int, float)) and not isinstance(value, bool)
        return fits and bool(value >= least)

    return good


_SETTINGS: Check = (_maybe(_of(Settings)), "Settings(...)")
_LIMITS: Check = (_maybe(_of(RunLimits)), "RunLimits(...)")
_MANY: Check = (_several(lambda _: True), "a list")
_CALLABLES: Check = (_several(callable), "a list of functions")
AGENT: Mapping[str, Check] = {
    "name": (lambda value: isinstance(value, str) and value != "", "a text"),
    "settings": _SETTINGS,
    "max_turns": (_number(1, int), "a number from 1"),
    "steps": _MANY,
    "search_tools": (_of(bool), "True or False"),
    "used_tickets": (_maybe(_of(str, Path)), "the path of a folder"),
    "output_retries": (_number(0, int), "a number, 0 or more"),
    "limits": _LIMITS,
    "on_refusal": (lambda value: value in ("return", "raise"), "'return' or 'raise'"),
    "handoffs": (lambda value: callable(value) or _MANY[0](value), "a list of agents"),
    "input_guardrails": _MANY,
    "output_guardrails": _MANY,
    "model_steps": _CALLABLES,
    "history": (
        _maybe(lambda value: hasattr(value, "cuts") and not isinstance(value, type)),
        "a policy, such as KeepTurns(20) of toolkeel.sessions",
    ),
}
"""By option of an agent: whether a value is one, and what it should be."""
RUN: Mapping[str, Check] = {
    "state": (_of(MutableMapping), "a dict"),
    "inject": (_of(Mapping), "a dict"),
    "listeners": _CALLABLES,
    "cancel": (_of(CancelToken), "a CancelToken()"),
    "approver": (callable, "a function of the ticket"),
    "decisions": (
        _several(_of(Decision)),
        "a list of decisions, such as [ticket.approve()]",
    ),
    "settings": _SETTINGS,
    "limits": _LIMITS,
    "timeout": (_number(0), "a number of seconds, 0 or more"),
}
"""By option of a run: whether a value is one, and what it should be."""
_FLAG: Check = (_maybe(_of(bool)), "True, False or None")
SETTINGS: Mapping[str, Check] = {
    "tool_choice": (_maybe(_of(str)), "'auto', 'none', 'required' or a tool's name"),
    "parallel_tool_calls": _FLAG,
    "strict": _FLAG,
    "temperature": (_maybe(_number(0)), "a number, 0 or more"),
    "max_tokens": (_maybe(_number(1, int)), "a number from 1"),
    "provider_options": (_of(Mapping), "a dict"),
    "keep_tool_choice": _FLAG,
}
"""By setting: whether a value is one, and what it should be."""


def check_options(where: str, given: Mapping[str, object], checks: Mapping[str, Check]) -> None:
    """See that each option is of its kind.

    Raises:
        SetupError: naming the option and what it should be.

    >>> check_options("Agent.run", {"timeout": "3"}, RUN)
    Traceback (most recent call last):
    toolkeel.errors.SetupError: Agent.run: timeout is '3'; give a number of seconds, 0 or more
    """
    for option, value in given.items():
        good, wanted = checks.get(option, (callable, ""))
        if wanted and not good(value):
            raise SetupError(f"{where}: {option} is {value!r:.60}; give {wanted}")
        if isinstance(value, Settings):
            named = {setting: getattr(value, setting) for setting in SETTINGS}
            check_options("Settings", named, SETTINGS)
