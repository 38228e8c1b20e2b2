"""Executors by their names: ``@tool(executor="process")`` is ``@tool(executor=Process())``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal

from toolkeel.errors import DefinitionError

ExecutorName = Literal["inline", "thread", "process", "sandbox", "ray"]
EXECUTORS: Mapping[str, str] = MappingProxyType(
    {
        "inline": "toolkeel.executors.local:Inline",
        "thread": "toolkeel.executors.local:Thread",
        "process": "toolkeel.executors.process:Process",
        "sandbox": "toolkeel.executors.process:walled_in",
        "ray": "toolkeel_studio.ray.executor:Ray",
    }
)
"""By name: what makes it. Engines stand on this chapter, and are loaded when one is asked for."""


def executor_named(name: str, **options: object) -> Callable[..., Any]:
    """The executor of this name, as it is by default but for these options.

    Raises:
        DefinitionError: there is no such executor.
        MissingExtraError: Ray is not installed.
        SetupError: this machine cannot have it.
    """
    if name not in EXECUTORS:
        raise DefinitionError(f"there is no executor {name!r}; there are {', '.join(EXECUTORS)}")
    module, _, maker = EXECUTORS[name].partition(":")
    made: Callable[..., Any] = getattr(import_module(module), maker)(**options)
    return made


def take_executor(name: str, options: dict[str, Any]) -> None:
    """Put the executor itself in place of its name, with the resources that are given beside it.

    Args:
        name: The tool's, for messages.
        options: Of the tool; ``executor`` and ``resources`` are read and changed.

    Raises:
        DefinitionError: there are resources, and the executor is not ``"ray"``.
    """
    executor, resources = options.get("executor"), options.pop("resources", None)
    if resources is not None and executor != "ray":
        raise DefinitionError(
            f"{name}: resources= goes with executor='ray'; an executor of yours has its own, as "
            "Ray(resources=...), and what a call touches is effects=Effects(resources=[...])"
        )
    if isinstance(executor, str):
        given = {} if resources is None else {"resources": resources}
        options["executor"] = executor_named(executor, **given)
