"""Markdown on a terminal."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_studio.cli.terminal.markdown import Markdown, render_markdown

WORD = st.text(
    st.characters(categories=("Lu", "Ll", "Lo", "Nd"), exclude_characters="_"), min_size=1
)
LINE = st.lists(WORD, min_size=1, max_size=6).map(" ".join)
BLOCKS = st.one_of(
    LINE,
    LINE.map(lambda line: f"## {line}"),
    st.lists(LINE, min_size=1, max_size=4).map(lambda all: "\n".join(f"- {one}" for one in all)),
    st.lists(LINE, min_size=1, max_size=4).map(
        lambda all: "```python\n" + "\n".join(all) + "\n```"
    ),
    st.lists(st.tuples(WORD, WORD), min_size=1, max_size=4).map(
        lambda rows: "| a | b |\n|---|---|\n" + "\n".join(f"| {a} | **{b}** |" for a, b in rows)
    ),
)


def bare(text: str) -> str:
    """Without the styles."""
    return re.sub("\x1b\\[[\\d;]*m", "", text)


def shown(text: str) -> str:
    """What is on the screen after a reply, line by line."""
    made = Markdown()
    return "".join(map(made.add, text.split("\n"))) + made.end()


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("## 杭州 **天气**", "杭州 天气\n"),
        ("- 晴 `a*b`\n  - nested\n- two", " • 晴 a*b\n    • nested\n • two\n"),
        ("2 ** 3 ** 4 and a*b*c", "2 ** 3 ** 4 and abc\n"),
        ("#5 is no heading", "#5 is no heading\n"),
        ("床前明月光\n疑是地上霜", "床前明月光\n疑是地上霜\n"),
        ("3. three\n4. four", " 3 three\n 4 four\n"),
        ("a List<int> &lt; [1]\n\n[1]: https://x.org", "a List<int> < [1]\n\n[1]: https://x.org\n"),
        ("![cat](https://x.org/c.png)", "!cat (https://x.org/c.png)\n"),
        ("<https://x.org>", "https://x.org\n"),
        ("", ""),
    ],
)
def test_blocks_are_shown_as_what_they_mean(text: str, seen: str) -> None:
    assert bare(shown(text)) == seen


def test_a_table_has_columns_and_cuts_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    seen = bare(shown(f"|城市|n|\n|---|--:|\n|杭州|22|\n|{'x' * 60}|3|"))
    assert "|" not in seen and "─" * 20 in seen
    assert re.search("杭州 +22\n", seen) and seen.count("x") == 60


def test_code_is_highlighted_and_nothing_in_it_is_markdown() -> None:
    seen = shown("```python\ndef f():\n\n    return '**猫**'  # ~~~\n```\n**bold**")
    assert bare(seen) == "def f():\n\n    return '**猫**'  # ~~~\n\nbold\n"
    assert "\x1b[94;49mdef\x1b[0m" in seen and "\x1b[1mbold\x1b[0m" in seen


def test_a_block_appears_when_it_has_ended_and_not_twice() -> None:
    made = Markdown()
    lines = ["- one", "- two", "", "| a |", "|---|", "| b |", "", "end"]
    assert [bool(made.add(line)) for line in lines] == [0, 1, 0, 1, 0, 0, 1, 0]
    assert made.unfinished == "end\n" and made.end() == "\nend\n" and made.unfinished == ""


@given(st.lists(BLOCKS, max_size=6).map("\n\n".join))
def test_no_block_loses_a_word(text: str) -> None:
    marks = re.compile(r"```python|\|---\|---\||[`*#•|─\s-]")
    assert marks.sub("", bare(shown(text))) == marks.sub("", text)


@pytest.mark.parametrize("text", ["**a " * 15_000, "# a" + " " * 60_000 + "b", "[a\n" * 30_000])
def test_a_long_reply_takes_no_time(text: str) -> None:
    began = process_time()
    assert bare(shown(text)).strip("# \n") == text.strip("# \n")
    assert bare(render_markdown(text, 80)).strip("# \n") == text.strip("# \n")
    assert process_time() - began < 3
