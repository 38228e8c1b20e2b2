"""A chat in the terminal: typed, answered, approved, and there again later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.asking import KEYS, make, written
from tests.cli.commandline import Terminal, readable, toolkeel
from tests.shared import peer
from toolkeel import AssistantMessage, Usage, UserMessage
from toolkeel_studio.cli.chat.repl import usage_line


@pytest.mark.parametrize("columns", [60, 200])
def test_a_chat_answers_asks_and_is_kept(columns: int, tmp_path: Path) -> None:
    make(tmp_path)
    env = {"TOOLKEEL_DATA": str(tmp_path / "data"), "PROMPT_TOOLKIT_NO_CPR": "1"}
    words = ["chat", "-t", "tools.py", "-m", "models.py:one", "-s", "ada"]
    terminal = Terminal(words, tmp_path, columns=columns, env=env)
    terminal.until(lambda screen: "/help" in screen and "›" in screen)
    terminal.type("写一行 猫\r")
    terminal.until(lambda screen: KEYS in screen)
    assert "write needs your approval" in readable(terminal.screen)
    terminal.until(lambda screen: not terminal.echoes())
    press(terminal, "t", lambda screen: "wrote" in screen or "done" in screen.rpartition(KEYS)[2])
    terminal.type("\r/nonsense\r")  # what a late key has left there is a message of its own
    terminal.until(lambda screen: "there is no /nonsense" in screen)
    terminal.type("/permits\r/revoke 1\r")
    terminal.until(lambda screen: "asks again: later calls of write" in readable(screen))
    terminal.type("/quit\r")
    ended = terminal.end()
    assert ended.code == 0, ended.err
    assert written(tmp_path) == ["猫"]
    listed = toolkeel("sessions", "list", cwd=tmp_path, env=env)
    assert "写一行 猫" in listed.out
    assert "写一行 猫" in (tmp_path / "data" / "chat-history").read_text("utf-8")


def press(terminal: Terminal, key: str, seen: Callable[[str], bool]) -> None:
    """A key, again and again: what comes before the question has settled is thrown away."""
    for _ in range(100):
        if terminal.process.poll() is not None or seen(terminal.until(seen, 0.5)):
            return
        terminal.type(key)


def test_lines_of_a_pipe_are_messages_and_commands(tmp_path: Path) -> None:
    make(tmp_path)
    env = {"TOOLKEEL_DATA": str(tmp_path / "data")}
    said = "/tools\nhello\n/fork 1 b\n/sessions\n/resume nobody\n/compare a\n/compare nobody\n/model offline\n/export out.jsonl\n/help\n"
    words = ["chat", "-t", "tools.py", "-m", "models.py:after", "-s", "a"]
    ended = toolkeel(*words, cwd=tmp_path, stdin=said, env=env)
    assert ended.code == 0
    assert ended.out.startswith("done\n") and ended.out.endswith("No difference.\n")
    assert (tmp_path / "out.jsonl").stat().st_mode & 0o777 == 0o600
    for told in (
        "write ",
        "b: scripted",
        "hello",
        "there is no session 'nobody'; /sessions lists them",
        "offline",
        "/export",
    ):
        assert told in ended.err
    helped = [line for line in ended.err.splitlines() if line.startswith("  /")]
    assert helped and max(map(len, helped)) <= 60
    assert (tmp_path / "out.jsonl").read_text("utf-8").count("\n") > 3
    again = toolkeel(*words[:-1], "b", cwd=tmp_path, stdin="/quit\nnever\n", env=env)
    assert (again.code, again.out) == (0, "")


def test_a_crash_is_shown_once_with_its_place_and_a_model_that_raises_ends_no_chat(
    tmp_path: Path,
) -> None:
    (tmp_path / "tools.py").write_text(
        'def look():\n    """Look."""\n    raise ValueError("dark")\n'
    )
    (tmp_path / "models.py").write_text(
        "from toolkeel.testing.scripted import Scripted, call\n"
        "one = Scripted([call('look'), 'It is dark.', RuntimeError('gone'), 'Back.'])\n"
    )
    words = ["chat", "-t", "tools.py", "-m", "models.py:one"]
    env = {"TOOLKEEL_DATA": str(tmp_path / "data")}
    ended = toolkeel(*words, cwd=tmp_path, stdin="look\nagain\nagain\n", env=env)
    assert (ended.code, ended.out) == (0, "It is dark.\nBack.\n")
    assert "ValueError: dark (tools.py, line 3)" in ended.err and ended.err.count("dark") == 1
    assert ended.err.count("the run failed: RuntimeError: gone") == 1


def test_a_file_of_tools_without_its_option_is_told_where_it_belongs(tmp_path: Path) -> None:
    ended = toolkeel("chat", "my_tools.py", cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert "toolkeel chat -t my_tools.py" in ended.err


def test_a_turn_ends_with_its_tokens_and_their_cost_where_a_price_is_known() -> None:
    peer("genai_prices")
    usage = Usage(input_tokens=1_000_000, output_tokens=2)
    earlier = AssistantMessage("Before.", usage=Usage(input_tokens=7), model="gpt-4o")
    transcript = [earlier, UserMessage("?"), AssistantMessage("!", usage=usage, model="gpt-4o")]
    assert usage_line(usage, transcript).startswith("1,000,000 tokens in, 2 out, $2.5")
    unknown = [UserMessage("?"), AssistantMessage("!", usage=usage, model="house-model")]
    assert usage_line(usage, unknown) == "1,000,000 tokens in, 2 out"
    with_inner_agents = usage + usage
    assert usage_line(with_inner_agents, transcript) == "2,000,000 tokens in, 4 out"
