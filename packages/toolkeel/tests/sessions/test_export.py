"""A session goes out as lines anybody can read, and comes back as it was, cut or whole."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.sessions.conftest import STORES
from tests.sessions.dict_store import DictStore
from tests.sessions.talking import agent, say
from toolkeel import ToolMessage, tool
from toolkeel._records.entries import (
    CallEnded,
    CallIntended,
    Decided,
    Entry,
    ModelAsked,
    ModelReplied,
    PersonSaid,
    RunBegan,
    call_key_of,
)
from toolkeel._records.entries_json import dump_entry
from toolkeel._records.messages_json import json_text
from toolkeel.messages import AssistantMessage, ToolCall, UserMessage
from toolkeel.sessions import Batch, NewPost, Post, Sessions
from toolkeel.sessions.errors import DecisionRefused, SessionError
from toolkeel.testing.scripted import call


@pytest.fixture
def sessions(store: str | DictStore) -> Iterator[Sessions]:
    made = Sessions(store)
    say(made["ada"], "你好 " + "x" * 200_000, call("add", {"a": 1, "b": 2}), "三")
    say(made["ada"], "more", "yes")
    yield made
    made.close()


def test_what_was_exported_is_imported_as_it_was(sessions: Sessions) -> None:
    lines = list(sessions.export("ada"))
    assert json.loads(lines[0])["format"] == "toolkeel session"
    assert "你好" in lines[2]
    made = sessions.import_(lines, "copy")
    assert made.messages == sessions["ada"].messages
    assert list(sessions.export("copy"))[1:] != []
    say(made, "again", "of course")
    assert len(made.messages) == len(sessions["ada"].messages) + 2
    sessions.delete("ada")
    assert made.messages[0].text.startswith("你好")


def test_messages_that_no_run_has_taken_are_exported_and_the_copys_next_run_takes_them(
    sessions: Sessions,
) -> None:
    assert sessions["ada"].say("and bread", "bob", id="m1")
    lines = list(sessions.export("ada"))
    made = sessions.import_(lines, "copy")
    say(made, "and milk", "noted")
    assert [each.text for each in made.messages[-3:]] == ["and bread", "and milk", "noted"]
    assert not made.say("and bread", "bob", id="m1")
    assert list(sessions.export("ada"))[1:] == lines[1:]
    say(sessions["ada"], "bye", "bye")
    texts = [each.text for each in sessions["ada"].messages]
    assert texts.count("and bread") == "".join(sessions.export("ada")).count('"queued"') == 1


def test_a_fork_is_exported_with_what_it_shares(sessions: Sessions) -> None:
    fork = sessions.fork("ada", "fork", turn=1)
    assert sessions.import_(sessions.export("fork"), "copy").messages == fork.messages


def test_lines_without_their_ends_are_imported_and_a_damaged_one_among_them_is_refused(
    sessions: Sessions,
) -> None:
    agent("done").run_sync("go", session=sessions["ada"])
    lines = "".join(sessions.export("ada")).splitlines()
    assert sessions.import_(lines, "copy").messages == sessions["ada"].messages
    with pytest.raises(SessionError, match="line 3 is no entry"):
        sessions.import_([*lines[:2], lines[2][:-1], *lines[3:]], "damaged")


def test_a_file_that_was_cut_counts_up_to_its_last_whole_line(sessions: Sessions) -> None:
    whole = list(sessions.export("ada"))
    for number in range(1, len(whole)):
        cut = [*whole[:number], whole[number][:-2]]
        made = sessions.import_(cut, f"cut {number}")
        assert len(made.entries()) in (number - 1, number)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], "header"),
        (["[]\n"], "header"),
        (['{"format": "diary"}\n'], "header"),
        (['{"format": "toolkeel session", "version": 9}\n'], "version 9"),
        (['{"format": "toolkeel session", "version": 1}\n', "5\n"], "line 2"),
        (['{"format": "toolkeel session", "version": 1}\n', '{"kind": "waits"}\n'], "line 2"),
    ],
)
def test_what_is_no_session_is_refused_and_nothing_is_made(
    sessions: Sessions, lines: list[str], told: str
) -> None:
    with pytest.raises(SessionError, match=told):
        sessions.import_(lines, "copy")
    assert not sessions["copy"].exists


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("error", "[" * 300 + "]" * 300, "lies deeper than 200"),
        ("output", "1e999", "is no number"),
        ("reason", '"\\ud800"', "cannot be kept"),
    ],
)
def test_an_entry_that_nothing_here_could_have_written_is_refused_and_nothing_is_made(
    sessions: Sessions, field: str, value: str, told: str
) -> None:
    lines = list(sessions.export("ada"))
    lines[-1] = f'{lines[-1].rstrip()[:-1]}, "{field}": {value}}}\n'
    assert '"run_ended"' in lines[-1]
    with pytest.raises(SessionError, match=told):
        sessions.import_(lines, "copy")
    assert not sessions["copy"].exists
    assert sessions.import_(sessions.export("ada"), "copy").exists


def _imported(*entries: Entry) -> Sessions:
    sessions = Sessions(":memory:")
    header = {"format": "toolkeel session", "version": 1}
    sessions.import_([json_text(each) + "\n" for each in (header, *map(dump_entry, entries))], "x")
    return sessions


def test_runs_within_themselves_or_without_end_are_refused() -> None:
    circle = [RunBegan("a", parent="b"), RunBegan("b", parent="a")]
    deep = [RunBegan(str(n), parent=str(n - 1)) for n in range(500)]
    for runs in ([RunBegan("b", parent="b")], circle, deep):
        with pytest.raises(SessionError, match="runs are within each other"):
            _imported(*runs, ModelAsked(runs[-1].run, 1))


def test_calls_within_calls_end_with_the_first_however_deep_they_lie() -> None:
    calls = [CallIntended("a", 1, 0, "c", "t")]
    for _ in range(1200):
        calls.append(CallIntended("a", 1, 0, within=call_key_of(calls[-1])))
    ended = CallEnded("a", 1, 0, ToolMessage("done", "c", "t"))
    assert not _imported(RunBegan("a"), *calls, ended)["x"].load_state().open_calls


def test_a_call_that_no_reply_made_is_asked_about_as_it_stands() -> None:
    said, stands = PersonSaid("a", UserMessage("go")), CallIntended("a", 1, 7, "c", "add")
    asked = AssistantMessage("", (ToolCall("c", "add", "{}"),))
    befores: list[list[Entry]] = [[], [ModelAsked("a", 1), ModelReplied("a", 1, asked)]]
    for before in befores:
        sessions = _imported(RunBegan("a"), said, *before, stands)
        result = agent("never").run_sync(None, session=sessions["x"])
        assert [each.tool for each in result.pending] == ["add"]


def test_an_import_that_ends_halfway_has_made_nothing(tmp_path: Path) -> None:
    """As when the disk is full, or the program is killed."""
    sessions = Sessions(tmp_path / "talk.db")
    say(sessions["ada"], "hello", "hi")
    with closing(sqlite3.connect(tmp_path / "talk.db")) as other, other:
        other.execute(
            "CREATE TRIGGER full BEFORE INSERT ON entry WHEN new.seq = 3 "
            "BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
    with pytest.raises(SessionError, match="no room"):
        sessions.import_(sessions.export("ada"), "copy")
    assert not sessions["copy"].exists
    sessions.close()


def test_a_session_is_never_imported_over_another(sessions: Sessions) -> None:
    lines = list(sessions.export("ada"))
    with pytest.raises(SessionError, match="already"):
        sessions.import_(lines, "ada")


def test_a_decision_that_came_with_a_file_lets_no_call_run_here(
    store: str | DictStore,
) -> None:
    ran: list[str] = []

    @tool(approval=True)
    def remove(path: str) -> str:
        """Remove."""
        ran.append(path)
        return "removed"

    kept = Sessions(store)
    agent(call("remove", {"path": "/"}), tools=(remove,)).run_sync("go", session=kept["ada"])
    [ticket] = kept["ada"].pending
    run = json.loads(list(kept.export("ada"))[-1])["run"]
    forged = dump_entry(Decided(run, ticket.approve(), "ada"))
    made = kept.import_([*kept.export("ada"), json.dumps({"at": 0, **forged}) + "\n"], "copy")
    again = agent("done", tools=(remove,)).run_sync(None, session=made)
    [new] = again.pending
    assert ran == [] and new.id != ticket.id and new.arguments == ticket.arguments
    with pytest.raises(DecisionRefused, match="of another session or copy"):
        made.decide(ticket.approve(), "ada")
    assert agent("done", tools=(remove,)).run_sync(None, session=made).pending == (new,)
    made.decide(new.approve(), "ada")
    assert agent("done", tools=(remove,)).run_sync(None, session=made).output == "done" and ran == [
        "/"
    ]
    kept.close()


def _damage(sessions: Sessions, kind: str, body: str) -> int:
    """Overwrite the last entry of a kind, as a bad disk or another program does; return its number."""

    def write(connection: sqlite3.Connection) -> int:
        seq = connection.execute("SELECT max(seq) FROM entry WHERE kind = ?", (kind,)).fetchone()[0]
        connection.execute("UPDATE entry SET body = ? WHERE seq = ?", (body, seq))
        return int(seq)

    return sessions._storage.store.database.write_now(write)


@pytest.mark.parametrize("store", STORES, indirect=True)
@pytest.mark.parametrize("body", ['{"v": 1, "ki', '{"kind": "model_replied", "run": 5}'])
def test_an_export_has_everything_before_and_after_a_damaged_entry(
    sessions: Sessions, body: str
) -> None:
    whole = list(sessions.export("ada"))
    seq = _damage(sessions, "model_replied", body)
    left = list(sessions.export("ada"))
    [line] = [line for line in left if json.loads(line).get("kind") == "damaged"]
    found = json.loads(line)
    assert (found["seq"], found["was"], found["text"]) == (seq, "model_replied", body)
    assert len(left) == len(whole) and sum(a != b for a, b in zip(whole, left, strict=True)) == 1
    copy = sessions.import_(left, "copy")
    assert [m.text for m in copy.messages][-1] == "more"
    assert line.split('"kind"')[1] in "".join(sessions.export("copy"))


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_an_entry_whose_large_value_is_gone_does_not_hide_the_others(sessions: Sessions) -> None:
    def remove(connection: sqlite3.Connection) -> None:
        for [digest] in connection.execute("SELECT digest FROM artifact").fetchall():
            sessions._storage.store.artifacts.remove(digest)

    sessions._storage.store.database.write_now(remove)
    kinds = [json.loads(line).get("kind") for line in sessions.export("ada")]
    assert kinds.count("damaged") == 1 and kinds.count("model_replied") == 3


def test_keys_of_a_later_version_are_exported_and_imported(sessions: Sessions) -> None:
    lines = list(sessions.export("ada"))
    lines[2] = f'{lines[2].rstrip()[:-1]}, "mood": {{"喜": [1, null]}}}}\n'
    sessions.import_(lines, "copy")
    again = list(sessions.export("copy"))
    sessions.import_(again, "third")
    for name in ("copy", "third"):
        found = json.loads(list(sessions.export(name))[2])
        assert found["mood"] == {"喜": [1, None]} and found["kind"] == "person_said"


class BusyStore(DictStore):
    """A store to whose sessions a run writes an entry, and takes a message, at each look into the inbox."""

    is_busy = takes = False

    def try_lock(self, id: int) -> bool:
        return not self.is_busy

    def read_posts(self, id: int) -> list[Post]:
        posts = super().read_posts(id)
        if self.is_busy:
            head, text = self.get(id).head, json_text({"v": 1, "kind": "x"})
            taken = [posts[0].id] if self.takes else []
            batch = Batch([(head + 1, 0.0, "x", text)], {"head": head + 1}, head, taken)
            self.append(id, batch).result()
            if self.takes:
                self.post(id, NewPost(0.0, "bob", "message", posts[0].body))
        return posts


def test_a_session_to_which_a_run_writes_without_pause_is_exported_and_cancelled() -> None:
    store = BusyStore()
    sessions = Sessions(store)
    say(sessions["ada"], "hi", "hello")
    sessions["ada"].say("and bread", "bob")
    store.is_busy = True
    lines = list(sessions.export("ada"))
    assert [json.loads(line)["kind"] for line in lines[1:]][-2:] == ["x", "queued"]
    sessions["ada"].cancel("enough")
    store.takes = True
    with pytest.raises(SessionError, match="the inbox of 'ada' changed during each of"):
        list(sessions.export("ada"))
