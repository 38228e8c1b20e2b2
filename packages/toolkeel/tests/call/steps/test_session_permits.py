"""What an approval of a call may cover in its session."""

from __future__ import annotations

import pytest

from toolkeel import tool
from toolkeel.call.arguments.validate import prepare
from toolkeel.call.steps.session_permits import find_scope
from toolkeel.effects import Effects, acts
from toolkeel.messages import ToolCall

HOST = Effects(read_only=True, target=("where",))
INSIDE = Effects(open_world=False, destructive=False)


@pytest.mark.parametrize(
    ("effects", "labels", "scope"),
    [
        (HOST, (), "host a.example"),
        (HOST, ("untrusted",), "host a.example"),
        (HOST, ("secret key",), ""),
        (INSIDE, (), "tool"),
        (INSIDE, ("untrusted",), ""),
        (acts("where"), (), ""),
    ],
)
def test_labels_leave_only_a_host_and_a_secret_leaves_nothing(
    effects: Effects, labels: tuple[str, ...], scope: str
) -> None:
    @tool(effects=effects)
    def look(where: str) -> str:
        """Look."""
        return where

    made = prepare(ToolCall("1", "look", {"where": "https://a.example/x"}), look)
    assert find_scope(made, labels) == scope
