"""``toolkeel approvals``: what waits, whole and visible."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from time import time

import pytest

from tests.cli.asking import KEYS, ids, make, saved, words
from tests.cli.commandline import Terminal, toolkeel
from tests.waiting import until
from toolkeel._records.tickets import Decision, Ticket, new_id
from toolkeel.sessions import ApprovalQueue, KeyValueStore

pytestmark = pytest.mark.slow  # real terminals and processes: `make test-all`


@pytest.fixture
def asker(tmp_path: Path) -> Path:
    return make(tmp_path)


def test_what_waits_is_listed_whole_with_nothing_hidden(asker: Path) -> None:
    path = saved(asker, "hidden")
    ended = toolkeel("approvals", "state.json", cwd=asker)
    assert ended.code == 0
    assert ended.out.startswith(f"{ids(path)[0]}  write waits for approval (the tool always asks):")
    assert "\nwrites\n" in ended.out
    assert r'"text": "a\u202eb\u001b[2J\u200b\udb40\udc41\udb40\udc61 ok"' in ended.out
    assert "expires in " in ended.out


def test_decisions_are_listed_and_as_json_too(asker: Path) -> None:
    first, second = ids(saved(asker))
    edit = f'{second}={{"text": "third"}}'
    toolkeel(
        *("resume", "state.json", "--decide-only", "--deny", first, "--reason", "no"),
        *("--edit", edit),
        cwd=asker,
    )
    listed = toolkeel("approvals", "state.json", cwd=asker).out
    assert "decided: deny no\n" in listed
    assert 'decided: edit\n{\n  "text": "third"\n}' in listed
    data = json.loads(toolkeel("approvals", "state.json", "--json", cwd=asker).out)
    assert [(each["tool"], each["decided"]) for each in data] == [
        ("write", "deny"),
        ("write", "edit"),
    ]
    assert data[0]["effects"]["destructive"] is False


def test_without_a_file_the_runs_that_wait_are_listed(asker: Path) -> None:
    env = {"XDG_STATE_HOME": str(asker / "xdg")}
    none = toolkeel("approvals", cwd=asker, env=env)
    assert (none.code, none.out) == (0, "")
    assert "no saved run in" in none.err
    toolkeel(*words("two"), cwd=asker, env=env)
    listed = toolkeel("approvals", cwd=asker, env=env).out
    assert listed.endswith(".json  2 calls to decide: write, write\n")
    [path] = json.loads(toolkeel("approvals", "--json", cwd=asker, env=env).out)
    assert listed.startswith(path)
    Path(path).with_name("bad.json").write_text("3", "utf-8")
    both = toolkeel("approvals", cwd=asker, env=env)
    assert (both.code, both.out) == (0, listed)
    assert "this is not a saved run" in both.err


def test_a_file_that_is_not_there_is_told(asker: Path) -> None:
    ended = toolkeel("approvals", "no.json", cwd=asker)
    assert ended.code == 3
    assert "there is no saved run 'no.json'" in ended.err


def test_calls_at_a_desk_are_listed_and_decided_in_a_terminal_as_they_come(tmp_path: Path) -> None:
    file = str(tmp_path / "desk.db")
    desk = ApprovalQueue(KeyValueStore(file), wait=60)

    def ticket(path: str) -> Ticket:
        return Ticket(new_id(), "", "rm", {"path": path}, "d", time() + 60, "rule: ask rm")

    async def use() -> list[Decision]:
        first = asyncio.ensure_future(desk(ticket("猫")))
        await until(lambda: bool(desk.waiting()))
        listed = await asyncio.to_thread(toolkeel, "approvals", "--store", file, cwd=tmp_path)
        assert listed.code == 0 and '"path": "猫"' in listed.out and "rule: ask rm" in listed.out
        as_json = await asyncio.to_thread(
            toolkeel, "approvals", "--store", file, "--json", cwd=tmp_path
        )
        assert json.loads(as_json.out)[0]["arguments"] == {"path": "猫"}
        terminal = Terminal(["approvals", "--store", file], tmp_path)
        try:
            await asyncio.to_thread(terminal.until, lambda screen: KEYS in screen)
            terminal.type("y")
            found = [await first]
            second = asyncio.ensure_future(desk(ticket("first elsewhere")))
            await asyncio.to_thread(terminal.until, lambda screen: screen.count(KEYS) == 2)
            [waits] = desk.waiting()
            desk.decide(waits.deny("on the page"), "ada")
            found.append(await second)
            told = "decided already by ada: deny"
            assert told in await asyncio.to_thread(terminal.until, lambda screen: told in screen)
            terminal.interrupt(signal.SIGINT)
            await asyncio.to_thread(terminal.process.wait, 30)
        finally:
            terminal.process.kill()
        return found

    assert [each.verdict for each in asyncio.run(use())] == ["approve", "deny"]
