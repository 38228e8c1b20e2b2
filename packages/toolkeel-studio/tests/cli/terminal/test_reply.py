"""A reply that is written as it comes, and pictures by their paths."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.commandline import Terminal, readable, toolkeel

MODELS = '''
import asyncio
from pathlib import Path
from toolkeel import AssistantMessage, Image, tool
from toolkeel.model_interface import CallDelta, Finish, TextDelta
from toolkeel.testing import Scripted

class Slow:
    """Says a word, and the next one when a file is there."""
    name = "slow"

    async def stream(self, request):
        yield TextDelta("first ")
        while not Path("go").exists():
            await asyncio.sleep(0.02)
        yield TextDelta("第二\\n")
        yield TextDelta("end")
        yield Finish("stop")

slow = Slow()
cited = Scripted([AssistantMessage(
    "Rain [1].", provider_options={"citations": [{"url": "https://yr.no", "title": "Yr\\n\\x1b[2J"}]}
)])
both = Scripted([[TextDelta("I look."), CallDelta(0, "1", "plot", "{}"), Finish("tool_calls")],
                 "Here it is."], name="both")

@tool
def plot() -> Image:
    """Draw."""
    return Image(Path("a.png").read_bytes())
'''


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with models and a picture."""
    from tests.cli.terminal.test_pictures import png

    (tmp_path / "m.py").write_text(MODELS, "utf-8")
    (tmp_path / "a.png").write_bytes(png(8, 8))
    return tmp_path


def test_the_answer_of_a_run_is_on_the_screen_before_it_is_whole(place: Path) -> None:
    terminal = Terminal(["run", "hi", "-m", "m.py:slow"], place)
    terminal.until(lambda screen: "first " in readable(screen).partition("\n")[2])
    (place / "go").touch()
    ended = terminal.end()
    said = readable(ended.err)
    assert ended.code == 0
    assert said.count("first 第二") == 1 and said.count("end\n") == 1


def test_what_a_reply_cites_is_listed_below_it(place: Path) -> None:
    said = readable(Terminal(["run", "hi", "-m", "m.py:cited"], place).end().err)
    assert re.search(r"Rain \[1\]\.\n\[1\] Yr.*\\u001b\[2J  https://yr\.no\n", said), said


def test_a_pipe_gets_the_answer_once_and_whole(place: Path) -> None:
    (place / "go").touch()
    ended = toolkeel("run", "hi", "-m", "m.py:slow", cwd=place)
    assert (ended.code, ended.out) == (0, "first 第二\nend\n")


@pytest.mark.parametrize("quiet", ["", "1"])
def test_calls_stand_between_what_was_said_and_pictures_are_told_by_their_path(
    quiet: str, place: Path
) -> None:
    words = ["run", "hi", "-t", "m.py", "-m", "m.py:both"]
    ended = Terminal(words, place, env={"CI": quiet}).end()
    said = readable(ended.err)
    order = [said.rindex(word) for word in ("I look.", "plot()", "picture ", "Here it is.")]
    assert order == sorted(order)
    assert said.count("I look.") == said.count("Here it is.") == 1
    [line] = [line for line in said.splitlines() if line.startswith("picture ")]
    assert Path(line.split()[1]).read_bytes() == (place / "a.png").read_bytes()


def test_true_colour_terminals_are_shown_the_picture(place: Path) -> None:
    words = ["run", "hi", "-t", "m.py", "-m", "m.py:both"]
    ended = Terminal(words, place, env={"COLORTERM": "truecolor"}).end()
    assert ended.err.count("▀") == 8 * 4
