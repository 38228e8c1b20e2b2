"""The transcript that the README links to is what the demo prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from runpy import run_path

from tests.shared import ROOT


def _steady(text: str) -> str:
    """What is the same in every run: no clocks, no durations, no bars, no line breaks."""
    text = re.sub(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b", "#", text)
    text = re.sub(r"\d+(?:[.,:T+-]\d+)*|█+", "#", text)
    text = re.sub(r"(?:# )?(?:ms|s|µs)\b", "", text)
    return re.sub(r"[\s#]+", " ", text).strip()


def test_the_transcript_of_the_demo_is_what_the_demo_prints():
    shown = (ROOT / "docs" / "demo.txt").read_text("utf-8")
    said = subprocess.run(
        [sys.executable, "-m", "toolkeel", "demo"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"},
        check=True,
    ).stdout
    assert _steady(said) == _steady(shown)


def test_the_picture_of_the_demo_is_drawn_from_its_text_and_fetches_nothing() -> None:
    script = run_path(str(ROOT / "scripts" / "terminal_picture.py"))
    drawn = script["picture"]((ROOT / "docs" / "demo.txt").read_text("utf-8"))
    assert drawn == (ROOT / "docs" / "pictures" / "demo.svg").read_text("utf-8")
    assert "http" not in drawn.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "url(" not in drawn and "@import" not in drawn and "北京" in drawn
