"""The tour is made of real calls and says what is not real about it."""

from __future__ import annotations

import inspect
import json
import re
import time
from pathlib import Path

import pytest

from tests.cli.commandline import Ended, Terminal, readable, toolkeel
from tests.shared import ROOT
from toolkeel_studio.cli.commands.demo import stock
from toolkeel_studio.cli.terminal.text import cells


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ended, float]:
    """What the tour prints, and the seconds it takes."""
    began = time.monotonic()
    return toolkeel("demo", cwd=tmp_path_factory.mktemp("nowhere")), time.monotonic() - began


def test_the_tour_takes_seconds_and_ends_well(tour: tuple[Ended, float]) -> None:
    ended, seconds = tour
    assert ended.code == 0 and "Traceback" not in ended.err
    assert seconds < 60


def test_the_tour_says_what_is_not_real(tour: tuple[Ended, float]) -> None:
    said = " ".join(tour[0].out.split())
    assert "The model is the embedded one (rules, no weights, and it says so)" in said
    assert "the weather is made up by a small server on this machine" in said
    assert "离线模型" in said


def test_the_three_turns_are_shown_message_by_message(tour: tuple[Ended, float]) -> None:
    part = tour[0].out.split("\n2. ")[0]
    heads = re.findall(r"(?m)^   (turn \d|user|model|result)", part)
    assert heads == ["turn 1", "user", "turn 2", "model", "turn 3", "result", "model"]
    assert 'calls weather(city="北京") as call_1' in part
    assert 'of call_1: {"city":"北京"' in part
    assert "22 °C" in part


def test_the_parallel_calls_overlap_in_time(tour: tuple[Ended, float]) -> None:
    bars = re.findall(r'(?m)^   weather\(city="(Paris|Tokyo)"\) +█* *█* *[\d.]+ m?s$', tour[0].out)
    assert bars == ["Paris", "Tokyo"]
    times = re.findall(r"([\d.]+) (m?s) of work in ([\d.]+) (m?s)", tour[0].out)[0]
    work, wall = (float(n) * {"ms": 1, "s": 1000}[unit] for n, unit in (times[:2], times[2:]))
    assert work > wall


def test_the_wrong_argument_is_corrected_and_the_invalid_one_explained(
    tour: tuple[Ended, float],
) -> None:
    part = tour[0].out.split("\n3. ")[1].split("\n4. ")[0]
    order = ['calls clock(timezone="Tokyo")', "Did you mean Asia/Tokyo?", "Asia/Tokyo) as call_2"]
    places = [part.replace('"', "").find(text.replace('"', "")) for text in order]
    assert places == sorted(places)
    assert -1 not in places
    assert '- unit: expected one of "celsius", "fahrenheit", got "kelvin"' in part


def test_content_artifact_and_details_are_told_apart(tour: tuple[Ended, float]) -> None:
    assert re.search(r"(?m)^   content +42 pieces of umbrella in stock$", tour[0].out)
    assert re.search(r"(?m)^   artifact +\[\[", tour[0].out)
    assert re.search(r"(?m)^   details +\{", tour[0].out)


def test_the_time_of_a_call_is_measured(tour: tuple[Ended, float]) -> None:
    said = " ".join(tour[0].out.split())
    assert re.search(r"to the result message: \d+ µs a call \(median of 2,000\)", said)


def test_no_line_of_the_tour_is_wider_than_a_terminal(tour: tuple[Ended, float]) -> None:
    assert [line for line in tour[0].out.splitlines() if cells(line) > 80] == []


def test_a_narrow_terminal_sees_the_same_tour_in_colour_and_no_word_is_torn(
    tmp_path: Path,
) -> None:
    ended = Terminal(["demo"], tmp_path, columns=60).end()
    assert "\x1b[1m1. Three turns" in ended.err
    told = readable(ended.err)
    assert "6. Try next" in told and "     # as in this tour" in told
    wide = [line.strip() for line in told.splitlines() if cells(line.rstrip()) > 60]
    assert all(line in inspect.getsource(stock.function) for line in wide)


def test_what_the_tour_says_to_try_next_works(tour: tuple[Ended, float], folder: Path) -> None:
    commands = re.findall(r"(?m)^   toolkeel (.*?)(?:  +# .*)?$", tour[0].out)
    assert len(commands) == 6
    for command in commands:
        words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', command)]
        ended = toolkeel(*words, cwd=folder)
        assert (ended.code, bool(ended.out)) == (0, True), (command, ended.err)


def test_events_of_the_tour_are_json_lines(tmp_path: Path) -> None:
    ended = toolkeel("demo", "--json", cwd=tmp_path)
    types = [json.loads(line)["type"] for line in ended.out.splitlines()]
    assert types.count("run_started") == types.count("run_finished") == 3
    assert types.count("tool_started") == types.count("tool_finished") == 7


def _without_times(text: str) -> str:
    """The tour with what differs from day to day made equal."""
    text = re.sub(r" *█+ *", " bar ", re.sub(r"\d+", "#", text))
    text = re.sub(r"(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day", "day", text)
    return " ".join(re.sub(r"# (µs|ms)|#\.# s", "time", text).split())


def test_the_tour_in_the_documents_is_the_tour(tour: tuple[Ended, float]) -> None:
    kept = (ROOT / "docs" / "demo.txt").read_text("utf-8")
    assert _without_times(kept) == _without_times(tour[0].out)
