"""Definitions as they were approved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import SetupError
from toolkeel.mcp.pins import Pins, definition_diff, make_pin

TOOL = {"name": "rm", "description": "Remove.", "inputSchema": {"type": "object"}}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "changed",
    [
        {"description": "Remove!"},
        {"title": "Remove"},
        {"inputSchema": {"type": "object", "properties": {"all": {"type": "boolean"}}}},
        {"outputSchema": {"type": "object"}},
        {"annotations": {"readOnlyHint": True}},
    ],
)
def test_any_change_of_what_a_person_relied_on_is_another_pin(changed: dict[str, object]) -> None:
    assert make_pin("s", TOOL).digest != make_pin("s", {**TOOL, **changed}).digest


def test_another_server_with_the_same_tool_is_another_pin() -> None:
    assert make_pin("one", TOOL).digest != make_pin("two", TOOL).digest


def test_what_does_not_concern_a_person_changes_no_pin() -> None:
    assert make_pin("s", TOOL) == make_pin("s", {**TOOL, "_meta": {"x": 1}, "icons": []})


@given(st.text(), json_values)
def test_pins_go_to_a_file_and_back(identity: str, schema: object) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pins.json"
        pin = make_pin(identity, {**TOOL, "inputSchema": schema})
        Pins(path).set(identity, "rm", pin)
        assert Pins(path).get(identity, "rm") == pin
        Pins(path).forget(identity)
        assert Pins(path).get(identity, "rm") is None


def test_a_pin_that_was_edited_by_hand_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pins.json"
    Pins(path).set("s", "rm", make_pin("s", TOOL))
    data = json.loads(path.read_text("utf-8"))
    data["s"]["rm"]["description"] = "Harmless."
    path.write_text(json.dumps(data), "utf-8")
    with pytest.raises(SetupError, match="does not fit its digest"):
        Pins(path)


def test_two_programs_that_share_a_file_know_each_others_pins_and_lose_none(tmp_path: Path) -> None:
    one, other = (Pins(tmp_path / "pins.json") for _ in range(2))
    one.set("s", "rm", make_pin("s", TOOL))
    other.set("s", "mv", make_pin("s", {**TOOL, "name": "mv"}))
    assert other.get("s", "rm") == make_pin("s", TOOL), (
        "or it would take any definition for the first"
    )
    assert set(one.all_of("s")) == set(Pins(tmp_path / "pins.json").all_of("s")) == {"rm", "mv"}
    other.forget("s")
    one.set("t", "rm", make_pin("t", TOOL))
    assert not one.all_of("s") and [path.name for path in tmp_path.iterdir()] == ["pins.json"]


def test_a_difference_shows_what_cannot_be_seen() -> None:
    text = definition_diff(TOOL, {**TOOL, "description": "Remove.\u202e"})
    assert '-  "description": "Remove."' in text
    assert '+  "description": "Remove.\\u202e"' in text
    assert "\u202e" not in text
