"""A cassette plays what it recorded, and nothing else."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import Agent, SetupError, tool
from toolkeel.messages import AssistantMessage, SystemMessage, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.testing.cassette import Cassette, CassetteMismatch, Mode, _join_lines, _split_lines
from toolkeel.testing.scripted import Scripted, call
from toolkeel.testing.taped import TapedModel


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent(tape: Cassette, *lines: Any, instructions: str = "Be brief.") -> Agent:
    model = TapedModel(tape, Scripted(lines, "real-model")) if lines else TapedModel(tape)
    return Agent(model, [add], instructions=instructions)


def recorded(path: Path) -> Path:
    tape = Cassette(path, "once")
    result = agent(tape, call("add", {"a": 1, "b": 2}), "它是 3。").run_sync("1 + 2?")
    assert result.output == "它是 3。"
    return path


def test_a_recorded_run_plays_without_a_model_and_ends_the_same(tmp_path: Path) -> None:
    tape = Cassette(recorded(tmp_path / "deep" / "run.json"))
    result = agent(tape).run_sync("1 + 2?")
    assert (result.output, len(result.messages)) == ("它是 3。", 4)
    tape.check_all_played()


def test_the_file_keeps_each_message_once_and_text_as_it_is(tmp_path: Path) -> None:
    text = recorded(tmp_path / "run.json").read_text("utf-8")
    data = json.loads(text)
    assert [len(row["messages"]) for row in data["exchanges"]] == [2, 1]
    assert [row["after"] for row in data["exchanges"]] == [-1, 0]
    assert "tools" in data["exchanges"][0] and "tools" not in data["exchanges"][1]
    assert text.count("Be brief.") == 1 and "它是 3。" in text
    assert data["model"] == "real-model"


@pytest.mark.parametrize(
    ("prompt", "instructions", "where"),
    [
        ("1 + 3?", "Be brief.", r"request 1 of 2 differs in message 2 \(user\)"),
        ("1 + 2?", "Be long.", r"request 1 of 2 differs in message 1 \(system\)"),
    ],
)
def test_a_changed_request_fails_with_the_first_difference(
    tmp_path: Path, prompt: str, instructions: str, where: str
) -> None:
    tape = Cassette(recorded(tmp_path / "run.json"))
    with pytest.raises(CassetteMismatch, match=where) as caught:
        agent(tape, instructions=instructions).run_sync(prompt)
    assert "-" in str(caught.value) and "+" in str(caught.value)


def test_a_changed_tool_fails_although_the_messages_are_the_same(tmp_path: Path) -> None:
    tape = Cassette(recorded(tmp_path / "run.json"))

    @tool("add")
    def other(a: int, b: int, c: int = 0) -> int:
        """Add two numbers."""
        return a + b + c

    with pytest.raises(CassetteMismatch, match="differs in its tools"):
        Agent(TapedModel(tape), [other], instructions="Be brief.").run_sync("1 + 2?")


def test_a_changed_result_fails_at_the_request_that_tells_it(tmp_path: Path) -> None:
    tape = Cassette(recorded(tmp_path / "run.json"))

    @tool("add")
    def wrong(a: int, b: int) -> int:
        """Add two numbers."""
        return a - b

    with pytest.raises(CassetteMismatch, match=r"request 2 of 2 differs in message 4 \(tool\)"):
        Agent(TapedModel(tape), [wrong], instructions="Be brief.").run_sync("1 + 2?")


def test_a_changed_setting_fails_and_is_named(tmp_path: Path) -> None:
    tape = Cassette(recorded(tmp_path / "run.json"))
    with pytest.raises(CassetteMismatch, match="differs in its settings"):
        Agent(
            TapedModel(tape), [add], instructions="Be brief.", settings=Settings(temperature=0.5)
        ).run_sync("1 + 2?")


def test_one_request_too_many_is_refused_and_one_too_few_is_told(tmp_path: Path) -> None:
    tape = Cassette(recorded(tmp_path / "run.json"))
    with pytest.raises(CassetteMismatch, match="2 of 2 recorded requests were not made"):
        tape.check_all_played()
    agent(tape).run_sync("1 + 2?")
    with pytest.raises(CassetteMismatch, match="holds 2 requests, and one more was made"):
        agent(tape).run_sync("1 + 2?")


def test_new_episodes_plays_what_is_there_and_records_the_rest(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run.json")
    tape = Cassette(path, "new_episodes")
    runner = agent(tape, "four")
    assert runner.run_sync("1 + 2?").output == "它是 3。"
    assert runner.run_sync("2 + 2?").output == "four"
    again = Cassette(path)
    assert agent(again).run_sync("2 + 2?").output == "four"


def test_rewrite_forgets_what_was_there(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run.json")
    agent(Cassette(path, "rewrite"), "new").run_sync("Hi")
    with pytest.raises(CassetteMismatch):
        agent(Cassette(path)).run_sync("1 + 2?")


@pytest.mark.parametrize("secret", ["pass+word/ü 猫", "line\none-and-two", 'with "quotes" inside'])
def test_a_secret_reaches_the_file_in_no_form(tmp_path: Path, secret: str) -> None:
    path = tmp_path / "c.json"
    basic = b64encode(f"me:{secret}".encode()).decode()
    told = f"{secret} {json.dumps(secret)} {quote(secret)} {basic}"
    agent(Cassette(path, "once", secrets=[secret]), "ok").run_sync(told)
    kept = json.dumps(json.loads(path.read_text("utf-8")), ensure_ascii=False)
    for form in (secret, json.dumps(secret)[1:-1], quote(secret), basic, secret[-7:]):
        assert form not in kept


def test_a_secret_that_would_be_everywhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="give 4 or more"):
        Cassette(tmp_path / "c.json", "once", secrets=["abc"])


def test_secrets_never_reach_the_file_and_do_not_matter_when_it_plays(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    agent(Cassette(path, "once", secrets=["sk-12345"]), "ok").run_sync("use sk-12345")
    assert "sk-12345" not in path.read_text("utf-8")
    played = agent(Cassette(path, secrets=["sk-67890"])).run_sync("use sk-67890")
    assert played.output == "ok"


def test_what_may_differ_is_kept_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    agent(Cassette(path, "once", ignore=[r"\d\d:\d\d"]), "ok").run_sync("It is 10:15.")
    assert agent(Cassette(path)).run_sync("It is 23:59.").output == "ok"
    with pytest.raises(CassetteMismatch):
        agent(Cassette(path)).run_sync("It was 23:59.")


def test_what_may_differ_can_be_said_after_it_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    agent(Cassette(path, "once"), "ok").run_sync("It is 10:15.")
    now = Cassette(path, "new_episodes", ignore=[r"\d\d:\d\d"])
    assert agent(now, "asked anew").run_sync("It is 23:59.").output == "ok"
    with pytest.raises(CassetteMismatch):
        agent(Cassette(path)).run_sync("It is 23:59.")


def test_a_folder_or_a_file_that_cannot_be_made_is_told_by_its_name(tmp_path: Path) -> None:
    for mode in get_args(Mode):
        with pytest.raises(SetupError, match="is a folder; a cassette is a file"):
            Cassette(tmp_path, mode)
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match=r"run\.json cannot be written: "):
        agent(Cassette(tmp_path / "file" / "run.json", "once"), "ok").run_sync("Hello.")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "[" * 100_000, '{"cassette": 1}', '{"cassette": 2, "model": ""}']
)
def test_a_file_that_is_no_cassette_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text, "utf-8")
    with pytest.raises(SetupError, match=r"broken\.json"):
        Cassette(path)


def test_without_a_file_or_with_an_unknown_mode_nothing_begins(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="record it with mode='once'"):
        Cassette(tmp_path / "none.json")
    with pytest.raises(SetupError, match=r"Cassette\(mode=...\): expected 'none' or 'once'"):
        Cassette(tmp_path / "none.json", "always")  # type: ignore[arg-type]
    with pytest.raises(SetupError, match=r"ignore=\['\('\]: missing \)"):
        Cassette(tmp_path / "none.json", "once", ignore=["("])


def test_a_file_that_an_editor_has_saved_with_a_mark_plays(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run.json")
    path.write_text(path.read_text("utf-8").replace("\n", "\r\n"), "utf-8-sig")
    assert agent(Cassette(path)).run_sync("1 + 2?").output == "它是 3。"


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["lines", "object", "a", "b"]), inner)
    ),
)


@given(PLAIN)
def test_texts_as_lines_come_back_as_they_were(value: Any) -> None:
    assert _join_lines(json.loads(json.dumps(_split_lines(value)))) == value


@given(st.lists(st.text(), min_size=1, max_size=5), st.lists(st.text(), min_size=1, max_size=5))
def test_any_conversation_is_found_again_message_by_message(
    tmp_path_factory: pytest.TempPathFactory, said: list[str], replies: list[str]
) -> None:
    path = tmp_path_factory.mktemp("tape") / "run.json"
    tape, messages = Cassette(path, "rewrite"), [SystemMessage("x")]
    made = []
    for text, answer in zip(said, replies, strict=False):
        messages = [*messages, UserMessage(text)]
        reply = AssistantMessage(answer, finish_reason="stop")
        tape.add(ModelRequest(messages), reply)
        made.append((messages, reply))
        messages = [*messages, reply]
    again = Cassette(path)
    for request, reply in made:
        found = again.find(ModelRequest(request))
        assert found == reply
    again.check_all_played()
