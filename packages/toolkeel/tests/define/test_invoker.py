"""A tool runs outside a toolset by what the package has set, and says so where nothing is set."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import SetupError, tool
from toolkeel.call import direct_invoke
from toolkeel.define import invoker


def test_the_package_has_set_how_a_tool_runs() -> None:
    assert invoker.get_invoker() is direct_invoke


def test_where_nothing_is_set_the_error_names_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool
    def work() -> str:
        """Work."""
        return "done"

    monkeypatch.setattr(invoker, "_invoker", [])
    with pytest.raises(SetupError, match="import toolkeel before running tools"):
        work.invoke({})


def test_what_was_set_last_is_loaded_at_each_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invoker, "_invoker", [])
    loaded: list[int] = []

    def load() -> Any:
        loaded.append(1)
        return direct_invoke

    invoker.set_invoker(lambda: None)  # type: ignore[arg-type,return-value]
    invoker.set_invoker(load)
    assert [invoker.get_invoker(), invoker.get_invoker()] == [direct_invoke] * 2
    assert len(loaded) == 2
