"""Prompts that lean on what was said or found before."""

from __future__ import annotations

import pytest

from tests.providers import toolkit as kit
from toolkeel.providers.offline.choose_tool import plan
from toolkeel.providers.offline.follow_ups import follow_up, with_results
from toolkeel.providers.offline.read_transcript import Done, Turn


def turn(prompt: str, *asked: str, last: str = "", done: tuple[Done, ...] = ()) -> Turn:
    return Turn(prompt, done, asked, last, 0)


@pytest.mark.parametrize(
    ("prompt", "asked", "arguments"),
    [
        ("Paris", ("what's the weather",), {"city": "Paris"}),
        ("springfield", ("what's the weather",), {"city": "springfield"}),
        ("上海", ("天气怎么样",), {"city": "上海"}),
        ("Paris", ("what's the weather in fahrenheit",), {"city": "Paris", "unit": "fahrenheit"}),
        ("on 2025-05-01", ("to Tokyo", "book a flight from Paris"), {"origin": "Paris", "destination": "Tokyo", "day": "2025-05-01"}),
    ],
)  # fmt: skip
def test_an_answer_to_our_question_completes_the_wish(
    prompt: str, asked: tuple[str, ...], arguments: dict[str, object]
) -> None:
    [wish] = follow_up(turn(prompt, *asked), kit.TOOLS)
    assert wish.arguments == arguments
    assert wish.missing == ()


def test_what_is_still_missing_is_asked_again() -> None:
    [wish] = follow_up(turn("from Paris", "book a flight"), kit.TOOLS)
    assert [slot.name for slot in wish.missing] == ["destination", "day"]


@pytest.mark.parametrize("prompt", ["and Tokyo?", "what about Tokyo", "Tokyo?"])
def test_and_the_same_for_another_thing_repeats_the_last_tool(prompt: str) -> None:
    [wish] = follow_up(turn(prompt, last="get_weather"), kit.TOOLS)
    assert (wish.tool.name, wish.arguments) == ("get_weather", {"city": "Tokyo"})


def test_several_further_things_are_several_wishes() -> None:
    wishes = follow_up(turn("那上海和苏州呢？", last="get_weather"), kit.TOOLS)
    assert [wish.arguments["city"] for wish in wishes] == ["上海", "苏州"]


@pytest.mark.parametrize("prompt", ["thanks!", "who wrote hamlet?", "hello"])
def test_a_new_subject_does_not_repeat_the_last_tool(prompt: str) -> None:
    assert follow_up(turn(prompt, last="get_weather"), kit.TOOLS) == []


def test_a_text_that_lies_in_a_file_is_read_first() -> None:
    wishes = with_results(plan("translate notes.txt into French", kit.TOOLS), turn(""), kit.TOOLS)
    assert [(w.tool.name, w.arguments) for w in wishes] == [("read_file", {"path": "notes.txt"})]


def test_the_text_that_was_read_goes_into_the_call_that_lacks_it() -> None:
    read = Done(
        "read_file", {"path": "notes.txt"}, "Good morning\n\n[notes.txt: 1 line, 12 B]", False
    )
    found = plan("translate notes.txt into French", kit.TOOLS)
    wishes = with_results(found, turn("", done=(read,)), kit.TOOLS)
    assert wishes[-1].tool.name == "translate"
    assert wishes[-1].arguments == {"text": "Good morning", "target_language": "French"}


def test_a_file_that_could_not_be_read_fills_nothing() -> None:
    read = Done("read_file", {"path": "notes.txt"}, "no such file", True)
    found = plan("translate notes.txt into French", kit.TOOLS)
    wishes = with_results(found, turn("", done=(read,)), kit.TOOLS)
    assert [wish.tool.name for wish in wishes] == ["read_file"]
