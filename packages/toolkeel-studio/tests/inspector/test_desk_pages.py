"""Calls of another program are decided on the page; who comes second is told."""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path
from time import time

import pytest

from tests.durable.working import working
from tests.inspector.serving import served
from tests.waiting import until_sync
from toolkeel import Agent, Rules, tool
from toolkeel._records.tickets import Decision, Ticket, new_id
from toolkeel.sessions import ApprovalQueue, KeyValueStore, Sessions
from toolkeel.testing import Scripted, call
from toolkeel_studio.cli.commands.inspect import durable_finder
from toolkeel_studio.durable import Durable
from toolkeel_workspace.files.workspace import Workspace


class Waiting:
    """A call that waits at a desk, in a thread of its own."""

    def __init__(self, desk: ApprovalQueue, reason: str = "rule: ask git__*") -> None:
        self.found: list[Decision] = []
        about = (new_id(), "", "git__push", {"to": "猫<b>"}, "d", time() + 60, reason)
        self.ticket = Ticket(*about, scope="host a.example")
        self.thread = threading.Thread(
            target=lambda: self.found.append(asyncio.run(desk(self.ticket)))  # type: ignore[arg-type]
        )
        self.thread.start()
        until_sync(lambda: bool(desk.waiting()))

    @property
    def decision(self) -> Decision:
        self.thread.join(30)
        return self.found[0]


@pytest.fixture
def desk(tmp_path: Path) -> ApprovalQueue:
    return ApprovalQueue(KeyValueStore(tmp_path / "desk.db"), wait=30)


def seal(text: str) -> dict[str, str]:
    return dict(re.findall(r'name="(ticket|seal)" value="(\w+)"', text))


@pytest.mark.parametrize(
    ("typed", "verdict", "more"),
    [
        ({"verdict": "approve"}, "approve", "call"),
        ({"verdict": "session"}, "approve", "session"),
        ({"verdict": "deny", "reason": "not today"}, "deny", "not today"),
        ({"verdict": "edit", "arguments": '{"to": "狗"}'}, "edit", "狗"),
        ({"verdict": "answer", "value": "done by hand"}, "answer", "done by hand"),
        ({"verdict": "anything"}, "deny", ""),
    ],
)
def test_a_call_at_the_desk_is_shown_whole_and_decided(
    tmp_path: Path, desk: ApprovalQueue, typed: dict[str, str], verdict: str, more: str
) -> None:
    with served(tmp_path, desk=desk) as page:
        call = Waiting(desk)
        shown = page.client.get("/approvals").text
        assert "git__push" in shown and "猫&lt;b&gt;" in shown and "from another program" in shown
        assert "later calls of git__push to a.example" in shown
        assert 'Approvals <span class="count">1</span></a>' in page.client.get("/stats").text
        assert (
            page.post("/approvals", **seal(shown), **typed)
            .headers["location"]
            .endswith("/approvals")
        )
        found = call.decision
        assert (
            found.verdict == verdict
            and more in f"{found.reason}{found.arguments}{found.value}{found.reach}"
        )
        assert "No pending approvals." in page.client.get("/approvals").text


def test_who_comes_second_is_told_and_what_cannot_be_read_decides_nothing(
    tmp_path: Path, desk: ApprovalQueue
) -> None:
    with served(tmp_path, desk=desk) as page:
        call = Waiting(desk)
        fields = seal(page.client.get("/approvals").text)
        for wrong in ({"verdict": "edit", "arguments": "[1]"}, {"verdict": "edit"}):
            assert page.post("/approvals", **fields, **wrong).status_code == 409
        other = page.post("/approvals", **{**fields, "seal": "x"}, verdict="approve")
        assert other.status_code == 409 and "no longer pending" in other.text
        assert desk.decide(call.ticket.deny("no"), "ada") is None
        second = page.post("/approvals", **fields, verdict="approve")
        assert second.status_code == 409 and "already decided by ada: deny" in second.text
        assert call.decision.reason == "no"


def test_what_a_file_would_become_is_shown_as_a_difference(tmp_path: Path) -> None:
    (tmp_path / "诗.md").write_text("- 霜\n- 月\n", "utf-8")
    tools = Workspace(tmp_path, None).tools
    edit = call("edit", {"path": "诗.md", "old_text": "霜", "new_text": "雪"})
    with served(tmp_path, [edit], tools, rules=Rules(ask=["edit"])) as page:
        page.post("/sessions", text="go", name="ada")
        text = page.until("/approvals", "data-ticket")
    assert '<span class="minus">-- 霜</span>' in text and '<span class="plus">+- 雪</span>' in text
    assert '<span class=""> - 月</span>' in text
    assert "touches file:诗.md" in text


def test_nothing_of_what_is_asked_about_is_hidden(tmp_path: Path, desk: ApprovalQueue) -> None:
    reason = "it changes a file\n+  safe \x1b]0;rm -rf /\x07\u202e\n-\u200bgone"
    waiting = Waiting(desk, reason)
    with served(tmp_path, [], desk=desk) as page:
        text = page.client.get("/approvals").text
        assert r"+  safe \u001b]0;rm -rf /\u0007\u202e" in text
        assert r"-\u200bgone" in text
        page.post("/approvals", verdict="deny", **seal(text))
    assert waiting.decision.verdict == "deny"


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@pytest.mark.slow
def test_runs_are_listed_cancelled_and_retried_on_their_page(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    with served(tmp_path, find_durable=durable_finder(sessions, "")) as page:
        assert "No durable run." in page.client.get("/durable").text
        assert not (tmp_path / "talk.db.runs").exists()
        durable = Durable(Agent(Scripted([]), name="clerk"), sessions)
        durable.start("hi <b>", session="猫", id="one")
        shown = page.client.get("/durable").text
        assert "hi &lt;b&gt;" in shown and "queued" in shown and ">Durable runs</a>" in shown
        refused = page.post("/durable", id="one", _do="retry")
        assert refused.status_code == 409 and "only a failed run can be retried" in refused.text
        assert page.post("/durable", id="one", _do="other").status_code == 400
        page.post("/durable", id="one", _do="cancel")
        assert durable.show("one").status == "cancelled"
        assert "No durable run." in page.client.get("/durable?status=failed").text
    durable.close()
    with served(tmp_path) as page:
        assert page.client.get("/durable").status_code == 404
        assert "Durable runs" not in page.client.get("/stats").text


@pytest.mark.slow
def test_a_call_of_a_durable_run_that_is_approved_on_the_page_is_queued_and_not_run_here(
    tmp_path: Path,
) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    clerk = Agent(Scripted([call("pay", {"amount": 5})]), [pay], name="clerk")
    durable = Durable(clerk, sessions)
    durable.start("pay 5", session="ada", id="paying")
    with working(durable):
        assert durable.result("paying", 20).reason == "waiting"
    with served(tmp_path, tools=[pay], find_durable=durable_finder(sessions, "")) as page:
        found = seal(page.client.get("/approvals").text)
        page.post("/sessions/ada", _do="decide", verdict="approve", **found)
        again = page.post("/sessions/ada", _do="decide", verdict="deny", **found)
        assert again.status_code == 409 and "already decided by inspector" in again.text
        assert durable.show(f"decided-{found['ticket']}").status == "queued"
        assert [message.text for message in sessions["ada"].messages].count("paid 5") == 0
    durable.close()
