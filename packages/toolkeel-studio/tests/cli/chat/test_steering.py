"""What is typed in a chat while a run works."""

from __future__ import annotations

import io
from pathlib import Path
from time import process_time

import pytest

from tests.cli.commandline import Terminal, readable
from toolkeel_studio.cli.chat.print_above_prompt import OutputAbovePrompt
from toolkeel_studio.cli.chat.steering import ROWS, RUNNING, unfinished_line

WAITING = '''
import asyncio
from pathlib import Path

from toolkeel import UserMessage, tool
from toolkeel.testing.scripted import Scripted, call


@tool
async def wait() -> str:
    """Wait for a file."""
    Path("waits").touch()
    while not Path("go").exists():
        await asyncio.sleep(0.01)
    return "waited"


def heard(request):
    return "heard " + " and ".join(m.text for m in request.messages if isinstance(m, UserMessage))


model = Scripted([call("wait"), heard, heard])
'''


@pytest.mark.parametrize("columns", [60, 200])
def test_what_is_typed_while_a_run_works_is_said_to_it_and_commands_wait_for_its_end(
    columns: int, tmp_path: Path
) -> None:
    (tmp_path / "tools.py").write_text(WAITING, "utf-8")
    env = {"TOOLKEEL_DATA": str(tmp_path / "data")}  # of a terminal that tells no cursor's place
    words = ["chat", "-t", "tools.py:wait", "-m", "tools.py:model", "-s", "ada"]
    terminal = Terminal(words, tmp_path, columns=columns, env=env)
    terminal.until(lambda screen: "/help" in screen and "›" in screen)
    terminal.type("去杭州\r")
    terminal.until(lambda _: (tmp_path / "waits").exists())
    terminal.until(lambda screen: RUNNING in readable(screen))
    terminal.type("也去苏州\r/nonsense\r")
    terminal.until(lambda screen: "after this run: /nonsense" in readable(screen))
    (tmp_path / "go").touch()
    terminal.until(lambda screen: "there is no /nonsense" in screen)
    assert "heard 去杭州 and 也去苏州" in readable(terminal.screen)
    terminal.type("/quit\r")
    ended = terminal.end()
    assert ended.code == 0, ended.err
    assert "CPR" not in terminal.screen and "\x1b[6n" not in terminal.screen


def test_tab_keeps_a_line_for_the_end_and_esc_stops_and_gives_it_back(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(WAITING, "utf-8")
    env = {"TOOLKEEL_DATA": str(tmp_path / "data"), "PROMPT_TOOLKIT_NO_CPR": "1"}
    words = ["chat", "-t", "tools.py:wait", "-m", "tools.py:model"]
    terminal = Terminal(words, tmp_path, env=env)
    terminal.until(lambda screen: "/help" in screen and "›" in screen)
    terminal.type("去杭州\r")
    terminal.until(lambda screen: RUNNING in readable(screen))
    terminal.type("再去苏州\t")
    terminal.until(lambda screen: "after this run: 再去苏州" in readable(screen))
    terminal.type("一半\x1b")
    terminal.until(lambda screen: "the run ended: cancelled" in readable(screen))
    assert "there is no" not in terminal.screen and "heard" not in terminal.screen
    terminal.until(lambda screen: "一半" in screen.rpartition("the run ended: cancelled")[2])
    terminal.type("\r")
    terminal.until(lambda screen: "heard 去杭州 and 再去苏州\n一半" in readable(screen))
    terminal.type("/quit\r")
    assert terminal.end().code == 0


FAILING = """
import asyncio
from pathlib import Path

from toolkeel.errors import ModelError
from toolkeel.model_interface import TextDelta


class Broken:
    name = "broken"

    async def stream(self, request):
        yield TextDelta("half a sentence")
        while not Path("go").exists():
            await asyncio.sleep(0.01)
        raise ModelError("the server is down")


model = Broken()
"""


def test_what_no_request_has_taken_when_the_model_fails_is_told(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(FAILING, "utf-8")
    env = {"TOOLKEEL_DATA": str(tmp_path / "data"), "PROMPT_TOOLKIT_NO_CPR": "1"}
    terminal = Terminal(["chat", "-m", "models.py:model"], tmp_path, env=env)
    terminal.until(lambda screen: "/help" in screen and "›" in screen)
    terminal.type("去杭州\r")
    terminal.until(lambda screen: "half a sentence" in screen)
    terminal.type("也去苏州\r")
    history = tmp_path / "data" / "chat-history"
    terminal.until(lambda _: "+也去苏州\n" in history.read_text("utf-8"))
    (tmp_path / "go").touch()
    terminal.until(lambda screen: "sent with your next message: 也去苏州" in readable(screen))
    assert "the server is down" in readable(terminal.screen)
    terminal.type("/quit\r")
    assert terminal.end().code == 0


def test_of_a_line_without_end_the_last_rows_are_drawn_in_no_time() -> None:
    above = OutputAbovePrompt()
    stream = above.stream(io.StringIO())
    above.opened(bool)
    stream.write("".join(f"<{number}> é " for number in range(100_000)))
    began = process_time()
    for _ in range(20):
        rows = unfinished_line(above).splitlines()
    assert process_time() - began < 3
    assert len(rows) == ROWS
    assert rows[-1].endswith("<99999> é")
