"""``toolkeel eval``: tables, files, comparison, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Here

TOOLS = '''
from toolkeel import tool
from toolkeel.testing import Scripted, call

@tool
def weather(city: str, days: int = 1) -> str:
    """DESCRIPTION"""
    raise SystemExit("ran")

def oslo(city):
    return call("weather", {"city": city})

good = Scripted([oslo("Oslo"), "Hi", oslo("Oslo"), "Hi"])
bad = Scripted([oslo("Rome"), "Hi"])
short = Scripted([])
'''
CASES = """
- name: 奥斯陆
  question: Oslo?
  calls: [{tool: weather, arguments: {city: Oslo}}]
- question: Hi
  calls: none
"""


@pytest.fixture
def files(tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "t.py").write_text(TOOLS, "utf-8")
    (tmp_path / "c.yaml").write_text(CASES, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


WORDS = ("eval", "c.yaml", "-t", "t.py:weather")


def test_models_are_compared_in_a_table_and_wrong_answers_have_reasons(
    here: Here, files: Path
) -> None:
    ended = here(*WORDS, "-m", "t.py:good", "-m", "t.py:bad", "--junit", "j.xml")
    assert ended.code == 0
    head, good, bad, _, why = ended.out.splitlines()
    assert head.split()[:3] == ["model", "calls", "valid"]
    assert good.split()[:8] == ["t.py:good", "-", "1/1", "100%", "2/2", "100%", "2/2", "100%"]
    assert bad.split()[4:8] == ["2/2", "100%", "1/2", "50%"]
    assert why == 't.py:bad: 奥斯陆: weather: city is "Rome", expected "Oslo"'
    assert "4/4 t.py:bad: Hi: right" in ended.err
    assert len(ElementTree.parse(files / "j.xml").getroot()) == 2


def test_the_report_is_saved_shown_again_and_compared(here: Here, files: Path) -> None:
    here(*WORDS, "-m", "t.py:bad", "-o", "old.json")
    (files / "t2.py").write_text(TOOLS.replace("DESCRIPTION", "天気"), "utf-8")
    new = here(
        "eval",
        "c.yaml",
        "-t",
        "t2.py:weather",
        "-m",
        "t2.py:good",
        "-n",
        "2",
        "--against",
        "old.json",
    ).out
    assert "tool changed: weather: description" in new
    assert "t2.py:good: right 1/2 50% -> 4/4 100%" in new
    assert "better in 1, worse in 0 of 2 cases; by chance alone with a probability of 100%" in new
    [saved] = (files / "data" / "evals").glob("c-*.json")
    shown = here("eval", str(saved), "--json")
    data = json.loads(shown.out)
    assert data["tools"][0]["description"] == "天気" and "天気" in shown.out
    assert [trial["attempt"] for trial in data["trials"]] == [1, 1, 2, 2]


def test_exit_codes_say_what_is_not_good_enough(here: Here, files: Path) -> None:
    assert here(*WORDS, "-m", "t.py:bad", "--fail-under", "50").code == 0
    low = here("eval", str(next((files / "data" / "evals").iterdir())), "--fail-under", "51")
    assert low.code == 1 and "t.py:bad: 50% right, below --fail-under 51" in low.err
    failed = here(*WORDS, "-m", "t.py:short")
    assert failed.code == 1 and "t.py:short failed for 2 questions" in failed.err
    assert here("eval", "none.yaml", "-t", "t.py").code == 3
    assert here(*WORDS, "-m", "t.py:good", "--calls", "grammar").code == 3
    assert here(*WORDS, "-m", "a", "-m", "b", "--cassette", "x.json").code == 2


def test_a_cassette_is_recorded_once_and_then_played(here: Here, files: Path) -> None:
    words = (*WORDS, "-m", "t.py:good", "--cassette", "tape.json", "--json")
    first = json.loads(here(*words).out)
    again = json.loads(here(*words[:-5], "--cassette", "tape.json", "--json").out)
    assert [t["made"] for t in again["trials"]] == [t["made"] for t in first["trials"]]
    assert again["trials"][0]["model"] == "scripted"
    (files / "t3.py").write_text(TOOLS.replace("DESCRIPTION", "New"), "utf-8")
    changed = here("eval", "c.yaml", "-t", "t3.py:weather", "--cassette", "tape.json")
    assert changed.code == 3 and "New" in changed.err
