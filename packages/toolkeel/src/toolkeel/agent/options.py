"""Options of a run, and their types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Annotated, Generic, TypedDict

from typing_extensions import TypeVar

from toolkeel._common.checked_arguments import ArgumentKind, any_list, at_least, kinds_of
from toolkeel._records.tickets import Approver, Decision
from toolkeel.agent.session_interface import SessionReference
from toolkeel.context import CancelToken, Listener
from toolkeel.model_interface import Model, Settings
from toolkeel.spending import RunLimits

C = TypeVar("C")

SESSION = ArgumentKind(
    lambda value: value is not None,
    "a session's name, a path, or one of Sessions(...): sessions['ada']",
)
SECONDS = ArgumentKind(
    lambda value: value is None or (isinstance(value, int | float) and value > 0),
    "a number of seconds above 0, or None",
)
GUARDRAILS = any_list("a list of guardrails")
HANDOFFS = any_list("a list of agents", True)
MODEL = ArgumentKind(
    lambda value: True,
    "a model or its name, which comes first: Agent('openai:gpt-5', [search, send])",
)


class RunOptions(TypedDict, Generic[C], total=False):
    """Options of a run besides the prompt.

    Attributes:
        deps: The user's own object, passed to tools that ask for it.
        state: Data that tools write; saved with the run.
        store: Memory that outlives the run.
        inject: Values of parameters marked with a plain `Injected`, by name.
        listeners: Functions called with each event.
        cancel: A token that stops the run.
        approver: Called when a call needs approval; without one the run waits.
        decisions: Decisions on the tickets of the saved run that is resumed.
        model: The model of this run; a name or a `Model`.
        settings: Sampling settings of this run.
        limits: Limits of this run, runs within it included.
        timeout: Maximum seconds; the run then ends with reason ``limit``.
        session: The conversation that the run continues and is written to: a `Session`, its name
            in the user's data folder, or the path of its file (see ``docs/sessions.md``).
        standalone: True to share nothing with the run whose code starts this one, such as a tool's
            body or a guardrail. By default that run's rules, limits, approver, deadline and cancel
            token apply, and its usage and events include this run.
    """

    deps: C
    state: MutableMapping[str, object]
    store: object
    inject: Mapping[str, object]
    listeners: Iterable[Listener]
    cancel: CancelToken
    approver: Approver
    decisions: Sequence[Decision]
    model: str | Model
    settings: Settings
    limits: RunLimits
    timeout: Annotated[float, at_least(0, "a number of seconds, 0 or more")]
    session: Annotated[SessionReference, SESSION]
    standalone: bool


KINDS = kinds_of(RunOptions.__annotations__, __name__)
"""By option of a run: what it may be."""
