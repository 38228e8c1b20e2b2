"""Executors by their names: ``@tool(executor="process")`` is ``@tool(executor=Process())``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, get_args

from toolkeel._common.checked_arguments import ArgumentKind
from toolkeel.errors import DefinitionError

ExecutorName = Literal["inline", "thread", "process", "sandbox", "ray"]
EXECUTOR_NAMES: tuple[str, ...] = get_args(ExecutorName)
EXECUTOR = ArgumentKind(
    lambda value: not isinstance(value, type),
    f"a name ({', '.join(EXECUTOR_NAMES)}), or one such as Process(max_concurrency=4) of toolkeel.executors",
)
EXECUTORS: Mapping[str, str] = MappingProxyType(
    {
        "inline": "toolkeel.executors.local:Inline",
        "thread": "toolkeel.executors.local:Thread",
        "process": "toolkeel.executors.process:Process",
    }
)
"""By name: what makes it. Each is imported when it is first used."""


def create_executor(name: str, **options: object) -> Callable[..., Any]:
    """Return a new executor by its name; options not passed have their defaults.

    Raises:
        DefinitionError: there is no such executor.
        MissingExtraError: Ray is not installed.
        SetupError: the executor cannot run on this machine.
    """
    if name in EXECUTORS:
        module, _, maker = EXECUTORS[name].partition(":")
        make = getattr(import_module(module), maker)
    elif name in EXECUTOR_NAMES:
        from toolkeel._common.installed import load_installed  # late: rarely needed

        make = load_installed("toolkeel.executors", name)
    else:
        known = ", ".join(EXECUTOR_NAMES)
        raise DefinitionError(f"there is no executor {name!r}; there are {known}")
    made: Callable[..., Any] = make(**options)
    return made


def resolve_executor(name: str, options: dict[str, Any]) -> None:
    """Replace an executor's name in `options` by a new executor, and remove ``resources``.

    Args:
        name: The tool's name, for messages.
        options: The tool's options; ``executor`` and ``resources`` are read and changed.

    Raises:
        DefinitionError: there are resources, and the executor is not ``"ray"``; or no executor has the name.
        SetupError: as for `create_executor`.
    """
    executor, resources = options.get("executor"), options.pop("resources", None)
    if resources is not None and executor != "ray":
        raise DefinitionError(
            f"{name}: resources= goes with executor='ray'; an executor of yours has its own, as "
            "Ray(resources=...), and what a call touches is effects=Effects(resources=[...])"
        )
    if isinstance(executor, str):
        passed = {} if resources is None else {"resources": resources}
        options["executor"] = create_executor(executor, **passed)
