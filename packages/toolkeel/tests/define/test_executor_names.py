"""An executor by its name is the one of that class; resources go to Ray alone."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import tool
from toolkeel.errors import DefinitionError
from toolkeel.executors import Inline, Process, Thread


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize(
    ("name", "kind"), [("inline", Inline), ("thread", Thread), ("process", Process)]
)
def test_a_name_is_the_executor_of_that_class(name: Any, kind: type) -> None:
    made = tool(executor=name)(add)
    assert isinstance(made.executor, kind)


def test_names_that_are_none_and_resources_without_ray_are_refused_with_the_fix() -> None:
    with pytest.raises(DefinitionError, match=r"executor=...\): expected a name \(inline, "):
        tool(executor="pool")(add)  # type: ignore[call-overload]
    for options in ({"executor": "process"}, {"executor": Process()}, {}):
        given: Any = {**options, "resources": {"num_gpus": 1}}
        with pytest.raises(DefinitionError, match=r"add: resources= goes with executor='ray'"):
            tool(**given)(add)
    with pytest.raises(DefinitionError, match=r"write executor=\"ray\", resources="):
        tool(num_gpus=1)(add)  # type: ignore[call-overload]
