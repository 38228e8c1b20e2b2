"""Options of a run, and what those of an agent may be: a mistake is told where it is made."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Generic, TypedDict

from typing_extensions import TypeVar

from toolkeel._records.tickets import Approver, Decision
from toolkeel.agent.session_interface import Named
from toolkeel.context import CancelToken, Listener
from toolkeel.define.options import Check, choice, maybe, number, of, several
from toolkeel.errors import SetupError
from toolkeel.model_interface import Model, Settings
from toolkeel.spending import RunLimits

C = TypeVar("C")


class RunOptions(TypedDict, Generic[C], total=False):
    """What a run may be given besides the prompt.

    Attributes:
        deps: The user's own object, handed to tools that ask for it.
        state: Data that tools write; saved with the run.
        store: Memory that outlives the run.
        inject: Values of parameters marked with a plain `Injected`, by name.
        listeners: Called with each event.
        cancel: Stops the run.
        approver: Asked when a call needs approval; without one the run waits.
        decisions: Answers to the tickets of the saved run it goes on from.
        model: Who answers in this run; a name or a `Model`.
        settings: How to sample in this run.
        limits: What this run may spend, runs within it included.
        timeout: Seconds it may take; then it ends with ``limit``.
        session: A conversation that the run goes on with and is written to: a `Session`, its name
            in the user's data folder, or the path of its file (see ``docs/sessions.md``).
    """

    deps: C
    state: MutableMapping[str, object]
    store: object
    inject: Mapping[str, object]
    listeners: Sequence[Listener]
    cancel: CancelToken
    approver: Approver
    decisions: Sequence[Decision]
    model: str | Model
    settings: Settings
    limits: RunLimits
    timeout: float
    session: Named


_SETTINGS: Check = (maybe(of(Settings)), "Settings(...)")
_LIMITS: Check = (maybe(of(RunLimits)), "RunLimits(...)")
_MANY: Check = (several(lambda _: True), "a list")
_CALLABLES: Check = (several(callable), "a list of functions")
AGENT: Mapping[str, Check] = {
    "name": (lambda value: isinstance(value, str) and value != "", "a text"),
    "settings": _SETTINGS,
    "max_turns": (number(1, int), "a number from 1"),
    "steps": _MANY,
    "search_tools": (of(bool), "True or False"),
    "used_tickets": (maybe(of(str, Path)), "the path of a folder"),
    "output_retries": (number(0, int), "a number, 0 or more"),
    "limits": _LIMITS,
    "on_refusal": choice("return", "raise"),
    "handoffs": (lambda value: callable(value) or _MANY[0](value), "a list of agents"),
    "input_guardrails": _MANY,
    "output_guardrails": _MANY,
    "model_steps": _CALLABLES,
    "history": (
        maybe(lambda value: hasattr(value, "cuts") and not isinstance(value, type)),
        "a policy, such as KeepTurns(20) of toolkeel.sessions",
    ),
}
"""By option of an agent: whether a value is one, and what it should be."""
RUN: Mapping[str, Check] = {
    "state": (of(MutableMapping), "a dict"),
    "inject": (of(Mapping), "a dict"),
    "listeners": _CALLABLES,
    "cancel": (of(CancelToken), "a CancelToken()"),
    "approver": (callable, "a function of the ticket"),
    "decisions": (several(of(Decision)), "a list of decisions, such as [ticket.approve()]"),
    "settings": _SETTINGS,
    "limits": _LIMITS,
    "timeout": (number(0), "a number of seconds, 0 or more"),
}
"""By option of a run: whether a value is one, and what it should be."""
_FLAG: Check = (maybe(of(bool)), "True, False or None")
SETTINGS: Mapping[str, Check] = {
    "tool_choice": (maybe(of(str)), "'auto', 'none', 'required' or a tool's name"),
    "parallel_tool_calls": _FLAG,
    "strict": _FLAG,
    "temperature": (maybe(number(0)), "a number, 0 or more"),
    "max_tokens": (maybe(number(1, int)), "a number from 1"),
    "provider_options": (of(Mapping), "a dict"),
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
