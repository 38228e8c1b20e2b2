"""Events are a closed union of records, each of which becomes JSON without its secrets' objects."""

from __future__ import annotations

import json
import re
import typing
from typing import Any

import pytest

from toolkeel import events
from toolkeel.content import Image
from toolkeel.events import Event, Progress, RunFinished, Streamed, ToolFinished, event_dict
from toolkeel.messages import ToolCall, ToolMessage, Usage
from toolkeel.model_interface import Finish, TextDelta

KINDS = typing.get_args(Event)


def test_the_union_holds_every_event_and_each_has_a_type_of_its_own() -> None:
    in_module = {v for v in vars(events).values() if isinstance(v, type) and hasattr(v, "type")}
    assert set(KINDS) == in_module
    assert len({kind.type for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_type_of_an_event_is_the_name_of_its_class(kind: Any) -> None:
    assert kind.type == re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


@pytest.mark.parametrize("kind", KINDS)
def test_every_event_begins_with_number_time_and_run(kind: Any) -> None:
    assert kind.__match_args__[:3] == ("seq", "at", "run_id")


def test_an_event_becomes_json_with_its_type_first_and_its_text_unharmed() -> None:
    event = events.ToolStarted(1, 0.5, "r", "c1", ToolCall("c1", "查天气", {"城市": "北京"}))
    made = event_dict(event)
    assert next(iter(made)) == "type"
    text = json.dumps(made, ensure_ascii=False)
    assert "查天气" in text and "北京" in text
    assert json.loads(text) == {
        "type": "tool_started",
        "seq": 1,
        "at": 0.5,
        "run_id": "r",
        "call_id": "c1",
        "call": {
            "id": "c1",
            "name": "查天气",
            "arguments": {"城市": "北京"},
            "complete": True,
            "provider_options": {},
        },
    }


def test_objects_only_programs_know_become_a_note_and_bytes_a_count() -> None:
    class Secret:
        def __repr__(self) -> str:
            raise AssertionError("never shown")

    message = ToolMessage((Image(b"1234"),), "c1", artifact=Secret(), details={"at": Secret()})
    made = typing.cast("dict[str, Any]", event_dict(ToolFinished(2, 0.0, "r", "c1", message)))
    assert made["message"]["artifact"] == "<Secret>"
    assert made["message"]["details"] == {"at": "<Secret>"}
    assert made["message"]["content"][0]["data"] == "<4 bytes>"
    json.dumps(made)


@pytest.mark.parametrize(
    "event",
    [
        Streamed(1, 0.0, "r", TextDelta("猫")),
        Streamed(1, 0.0, "r", Finish("stop", Usage(1, 2, 3))),
        Progress(1, 0.0, "r", "c", "half", 1.0, 2.0),
        RunFinished(1, 0.0, "r", "error", "it broke"),
    ],
)
def test_nested_records_become_objects_of_their_fields(event: Event) -> None:
    made = event_dict(event)
    assert json.loads(json.dumps(made)) == made
    assert made["type"] == event.type
