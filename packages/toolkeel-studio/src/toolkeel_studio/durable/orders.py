"""Orders of durable runs: what is stored in the queue, and checks of what a caller gives for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, NotRequired, TypedDict, get_args

from toolkeel.errors import SetupError
from toolkeel.events import EndReason
from toolkeel.spending import Price, RunLimits

MAX_PRIORITY: Final = 1000
"""Highest priority of a run."""
STATUSES: Final = ("queued", "active", *get_args(EndReason))
"""What a run's status may be."""
DECIDED: Final = "decided-"
"""With which the ids of runs begin that a decision has resumed; the ticket's id follows."""
RETRY: Final = "retry-"
"""With which the ids of runs begin that retry a failed one."""


class PerRun(TypedDict, total=False):
    """Options of one run as JSON, which replace those of the worker's `Durable`."""

    deps: object
    model: str
    limits: dict[str, Any]


class RunOrder(TypedDict):
    """An order to run an agent, as JSON.

    Attributes:
        id: Id of the run; a worker that starts it again uses the same.
        session: Name of its session.
        scope: Scope of the session.
        prompt: The prompt; None to resume without one.
        since: Number of the last entry of the session when the order was made.
        options: Options of this run.
        priority: Its priority, from 0.
    """

    id: str
    session: str
    scope: str
    prompt: str | None
    since: int
    options: NotRequired[PerRun]
    priority: NotRequired[int]


def check_text(**texts: str | None) -> None:
    """Refuse text that cannot be stored.

    Raises:
        SetupError: it has half of a surrogate pair; the error names the parameter and the place.
    """
    for name, text in texts.items():
        try:
            (text or "").encode()
        except UnicodeEncodeError as error:
            raise SetupError(
                f"{name}= has half of a surrogate pair at character {error.start}, which is no text "
                "and cannot be stored: decode its source as UTF-16, or remove it"
            ) from None


def dump_options(deps: object, model: str | None, limits: RunLimits | None) -> PerRun:
    """Return the options of one run as JSON.

    Raises:
        SetupError: ``deps`` is not JSON.
    """
    made = PerRun()
    if deps is not None:
        try:
            same = json.loads(json.dumps(deps, allow_nan=False)) == deps
        except (TypeError, ValueError):
            same = False
        if not same:
            raise SetupError(
                f"start(deps=...) is stored for a worker, so it must be JSON, not "
                f"{type(deps).__name__}: give a dict or an id, and make the object in the worker"
            )
        check_text(deps=json.dumps(deps, ensure_ascii=False))
        made["deps"] = deps
    if model is not None:
        check_text(model=model)
        made["model"] = model
    if limits is not None:
        made["limits"] = {k: _plain(v) for k, v in asdict(limits).items() if v not in (None, {})}
    return made


def _plain(value: object) -> object:
    return (
        {key: _plain(each) for key, each in value.items()} if isinstance(value, Mapping) else value
    )


def load_options(order: RunOrder) -> dict[str, Any]:
    """Return the options of one run, as `Agent.run` takes them."""
    found: dict[str, Any] = dict(order.get("options", {}))
    if "limits" in found:
        stored = dict(found["limits"])
        prices = {name: Price(**price) for name, price in stored.pop("prices", {}).items()}
        found["limits"] = RunLimits(**stored, prices=prices)
    return found
