"""How often a model mends its calls is counted, tool by tool."""

from __future__ import annotations

from toolkeel import Agent, tool
from toolkeel.call.correction_counts import Correction, Corrections
from toolkeel.messages import ToolMessage
from toolkeel.testing.scripted import Scripted, call


@tool
def read(path: str) -> str:
    """Read a file."""
    return f"content of {path}"


def test_a_wrong_call_followed_by_a_right_one_counts_as_corrected() -> None:
    script = [call("read", {"file": "a"}), call("read", {"path": "a"}), "done"]
    assert Agent(Scripted(script), [read]).run_sync("go").corrections == {"read": Correction(1, 1)}


def test_a_wrong_call_that_is_never_mended_is_only_a_failure() -> None:
    result = Agent(Scripted([call("read", {}), "sorry"]), [read]).run_sync("go")
    assert result.corrections == {"read": Correction(1, 0)}
    assert result.corrections["read"].rate == 0


def test_one_right_call_mends_one_wrong_call() -> None:
    counts = Corrections()
    wrong = ToolMessage("", name="read", status="error", kind="malformed_arguments")
    counts.record([wrong, wrong])
    counts.record([ToolMessage("ok", name="read")])
    assert counts.by_tool() == {"read": Correction(2, 1)}


def test_a_crash_is_no_mistake_of_the_model() -> None:
    counts = Corrections()
    counts.record([ToolMessage("", name="read", status="error", kind="crashed")])
    assert counts.by_tool() == {}
    assert Correction().rate == 1


def test_counts_begin_at_nothing_and_each_mending_counts_once() -> None:
    counts = Corrections()
    wrong = ToolMessage("", name="read", status="error", kind="invalid_arguments")
    right = ToolMessage("", name="read")
    assert not counts.any and counts.by_tool() == {}
    counts.record([right])
    assert not counts.any and counts.by_tool() == {}
    counts.record([wrong, wrong, wrong])
    counts.record([right])
    assert counts.any and counts.by_tool() == {"read": Correction(3, 1)}
    counts.record([right, right, right, right])
    assert counts.by_tool() == {"read": Correction(3, 3)}
