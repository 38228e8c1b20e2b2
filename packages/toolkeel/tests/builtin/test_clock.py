"""The clock: here, elsewhere, and for names that are no time zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from toolkeel.builtin.clock import clock, tools
from toolkeel.errors import ToolError


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_it_tells_the_time_of_a_zone(zone: str) -> None:
    told = clock(zone)
    moment = datetime.fromisoformat(told["iso"])
    assert abs(moment - datetime.now(UTC)) < timedelta(seconds=5)
    assert moment.utcoffset() == datetime.now(ZoneInfo(zone)).utcoffset()
    assert told["timezone"] == zone
    assert told["date"] == told["iso"][:10]
    assert told["time"] == told["iso"][11:19]
    assert told["weekday"] == moment.strftime("%A")


@pytest.mark.parametrize("zone", ["local", " Local ", ""])
def test_local_is_the_zone_of_this_machine(zone: str) -> None:
    told = datetime.fromisoformat(clock(zone)["iso"])
    assert told.utcoffset() == datetime.now().astimezone().utcoffset()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Tokyo", "Asia/Tokyo"),
        ("new york", "America/New_York"),
        ("asia/tokyo ", "Asia/Tokyo"),
        ("北京", "Asia/Shanghai"),
        ("Bejing", "Asia/Shanghai"),
        ("Europe/Pariss", "Europe/Paris"),
    ],
)
def test_a_place_is_answered_with_its_zone(name: str, hint: str) -> None:
    with pytest.raises(ToolError, match=f"Did you mean.*{hint}"):
        clock(name)


@pytest.mark.parametrize("name", ["xxxxxxxx", "../../etc/passwd", "a\0b", "x" * 5000])
def test_a_name_that_is_no_zone_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(ToolError, match="Use a name such as") as caught:
        clock(name)
    assert len(caught.value.text) < 400


def test_the_file_has_one_tool_without_required_arguments() -> None:
    [made] = tools()
    assert made.name == "clock"
    assert "required" not in made.parameters
    assert made.effects.read_only
