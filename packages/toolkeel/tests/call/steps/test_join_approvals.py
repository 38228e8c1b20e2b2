"""What wraps a tool keeps the questions that the tool itself asks (T6, T25)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from toolkeel import Rules, ToolCall, Toolset, tool
from toolkeel.call.steps.join_approvals import join_approvals


class Protects:
    """Asks about one path, whatever rules allow."""

    def __call__(self, arguments: Mapping[str, object]) -> str:
        return self.despite_rules(arguments)

    def despite_rules(self, arguments: Mapping[str, object]) -> str:
        return "protected" if arguments["path"] == ".env" else ""


@tool(approval=Protects())
def write(path: str) -> str:
    """Write."""
    return "written"


def kind(more: Any, path: str, rules: Rules | None = None) -> str | None:
    made = replace(write, approval=join_approvals(write.approval, more))
    [message] = Toolset([made], rules=rules).run_sync([ToolCall("1", "write", {"path": path})])
    return message.kind


async def asks_about_a(arguments: Mapping[str, object], context: Any) -> bool:
    return arguments["path"] == "a"


@pytest.mark.parametrize("more", [None, False, lambda arguments: False, asks_about_a])
@pytest.mark.parametrize("rules", [None, Rules(allow=["*"])])
def test_a_protected_file_is_asked_about_whatever_wraps_the_tool(
    more: Any, rules: Rules | None
) -> None:
    assert kind(more, ".env", rules) == "denied"
    assert kind(more, "b", rules) is None


def test_what_the_wrapper_asks_about_is_asked_about_too() -> None:
    assert kind(asks_about_a, "a") == kind(True, "b") == "denied"
    assert kind(asks_about_a, "a", Rules(allow=["*"])) is None
