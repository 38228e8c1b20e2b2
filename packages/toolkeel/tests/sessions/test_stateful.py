"""Runs with runs inside, stopped at any place, in any way: what must hold holds after each step.

Agents call agents, code calls tools, people approve, deny and interrupt, models fail, programs are
killed, limits are reached, runs are handed over; then they go on from what was kept, as JSON or in a
session. After each step the transcript is valid for every provider, the state is what the journal
comes to, bounds are kept over the whole tree, rules hold at every depth, and each call has one outcome.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.contract import check_transcript
from tests.sessions.tree_of_runs import Tree, check_wires
from toolkeel import CancelToken, RunState, UserMessage
from toolkeel._records.entries import CallEnded, CallIntended, call_key_of
from toolkeel._records.messages_json import dump_message
from toolkeel.agent.result import RunResult
from toolkeel.approvals import Decision, Ticket
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, Message, ToolMessage, unanswered
from toolkeel.runs import RunLimits
from toolkeel.sessions import Sessions
from toolkeel.sessions.journal_state import JournalState

PLAIN = (
    "work",
    "note",
    "fail",
    "forbidden",
    "ask",
    "page",
    "send",
    "note",
    "interrupt",
    "stop",
    "crash",
)
INSIDE = {"main": ("code", "helper", "clerk"), "clerk": ("code", "helper"), "helper": ("code",)}
AGENTS = {"helper", "clerk"}
HOW = ("say", "skip", "queue")


@st.composite
def a_call(draw: Any, agent: str, in_code: bool = False) -> list[Any]:
    """A call of a script, of ever fewer kinds further in."""
    inside = INSIDE[agent] if not in_code else ("helper",) if agent == "main" else ()
    name = draw(st.sampled_from((*PLAIN, *inside, *inside)))
    if name == "interrupt":
        return [name, {"how": draw(st.sampled_from(HOW))}]
    if name == "code":
        return [name, {"calls": draw(st.lists(a_call(agent, True), min_size=1, max_size=3))}]
    return [name, {"turns": draw(a_script(name))} if name in INSIDE else {}]


@st.composite
def a_script(draw: Any, agent: str = "main") -> list[list[Any]]:
    """What a run does: its calls, turn by turn; sometimes its model is down first."""
    most = 3 if agent == "main" else 2
    turn = st.lists(a_call(agent), min_size=1, max_size=most)
    turns: list[list[Any]] = draw(st.lists(turn, min_size=1, max_size=most))
    for each in turns:
        first = draw(st.sampled_from(["", "", "", "", "down", "transfer_to_other"]))
        if first == "down" or (first and agent == "main"):
            each.insert(0, [first, {}])
    return turns


MOST = st.sampled_from([2, 3, 5, 30])
CALLS = 3
VERDICT = st.sampled_from(["approve", "approve", "deny", "later"])


@cache
def _tree() -> Tree:
    return Tree()


class Runs(RuleBasedStateMachine):
    """One conversation, and everything that can happen to it."""

    in_session = False

    def __init__(self) -> None:
        super().__init__()
        self.tree = _tree()
        self.tree.begin()
        self.count = 0
        self.most = 0
        self.chain = ""
        self.used = self.called = self.first = 0
        self.result: RunResult | None = None
        self.messages: list[Message] = []
        self.pending: tuple[Ticket, ...] = ()
        self.saved: str | None = None
        self.is_whole = True
        self.stands: str = "new"
        self.folder = tempfile.TemporaryDirectory()
        self.file = 0
        self.sessions = self._open() if self.in_session else None

    def _open(self) -> Sessions:
        return Sessions(Path(self.folder.name) / f"{self.file}.db")

    def teardown(self) -> None:
        if self.sessions is not None:
            self.sessions.close()
        self.folder.cleanup()

    # — what can happen —

    @rule(turns=a_script(), most=MOST, approver=st.sampled_from([None, None, True, False]))
    def somebody_asks_for_something(self, turns: Any, most: int, approver: bool | None) -> None:
        if self.stands in ("waiting", "killed"):
            return
        self.count += 1
        self.most, self.used, self.called, self.first = most, 0, 0, 0
        self.chain = ""
        options: dict[str, Any] = {}
        prompt: Any = json.dumps({"id": str(self.count), "turns": turns})
        if not self.in_session and self.messages:
            options["state"] = dict(RunState.from_json(self.saved or "", b"key").values)
            prompt = [*self.messages, UserMessage(prompt)]
            self.tree.said.clear()  # what nobody has heard is in the saved run, which is left
        self._run(prompt, approver, **options)

    @rule(verdicts=st.lists(VERDICT, min_size=3, max_size=6))
    def a_person_decides(self, verdicts: list[str]) -> None:
        if self.stands != "waiting":
            return
        decisions = [
            made
            for ticket, verdict in zip(self.pending, verdicts, strict=False)
            if (made := self._decide(ticket, verdict)) is not None
        ]
        self._run(self._kept(), None, decisions=decisions)

    @rule(more=st.integers(0, 10), approver=st.sampled_from([None, True]))
    def it_goes_on(self, more: int, approver: bool | None) -> None:
        if self.stands in ("new", "answered", "waiting"):
            return
        if self.stands == "limit":
            self.most += more
        if self.in_session and self.stands != "killed" and _is_over(self.messages):
            return  # nothing waits: somebody has to say something
        self._run(self._kept(), approver)

    # — how —

    def _kept(self) -> Any:
        if self.in_session:
            return None
        assert self.saved is not None
        return RunState.from_json(self.saved, b"key")

    def _decide(self, ticket: Ticket, verdict: str) -> Decision | None:
        if verdict == "later":
            return None
        if verdict == "deny":
            return ticket.deny("no")
        self._approve(ticket)
        return ticket.approve()

    def _approve(self, ticket: Ticket) -> None:
        if "did this happen" in ticket.reason:
            self.tree.again.add(ticket.call_id)
        self.tree.approved.add(ticket.call_id)

    def _run(self, prompt: Any, approver: bool | None, **options: Any) -> None:
        tree = self.tree
        tree.token, tree.crashed = CancelToken(), None
        tree.keep = self._snapshot if self.in_session else self._save
        if approver is not None:
            options["approver"] = lambda t: bool(approver and (self._approve(t) or True))
        if self.sessions is not None:
            options["session"] = self.sessions["ada"]
        limits = RunLimits(requests=self.most, calls={"work": CALLS})

        async def main() -> Any:
            run = tree.handle = tree.main.start(prompt, cancel=tree.token, limits=limits, **options)
            done, _ = await asyncio.wait([asyncio.ensure_future(run)], timeout=60)
            assert done, "a run hangs"
            return done.pop()

        before = Counter(tree.used), Counter(tree.called), Counter(tree.first)
        task = asyncio.run(main())
        handle = tree.handle
        assert handle is not None
        error = task.exception()
        if error is not None and not isinstance(error, ModelError):
            raise error
        if tree.crashed is not None:
            self._after_a_kill(tree.crashed)
        else:
            self._after(handle, error)
        if self.in_session and self.chain not in ("", handle.context.id):
            self.used = self.called = self.first = 0  # another run
        self.chain = handle.context.id
        self.used += sum((Counter(tree.used) - before[0]).values())
        self.called += sum((Counter(tree.called) - before[1]).values())
        self.first += sum((Counter(tree.first) - before[2]).values())

    def _after(self, handle: Any, error: BaseException | None) -> None:
        self.result = None if error else handle.result
        self.stands = "failed" if error else handle.result.reason
        self.messages, self.pending = handle.messages, handle.pending
        if not self.in_session:
            self.saved = handle.state.to_json(b"key")

    def _save(self) -> Any:
        assert self.tree.handle is not None
        return self.tree.handle.state.to_json(b"key")

    def _snapshot(self) -> Any:
        assert self.sessions is not None
        return self.sessions._storage.store.database.write_now(
            lambda connection: connection.serialize()
        )

    def _after_a_kill(self, kept: Any) -> None:
        self.is_whole = False
        self.tree.forget_what_was_sent()
        self.result = None
        self.stands, self.pending = "killed", ()
        if self.sessions is None:
            self.saved = kept
            state = RunState.from_json(kept, b"key")
            self.messages, self.pending = list(state.messages), state.pending
            return
        self.sessions.close()
        self.file += 1
        (Path(self.folder.name) / f"{self.file}.db").write_bytes(kept)
        self.sessions = self._open()
        self.messages = self.sessions["ada"].messages

    # — what must hold —

    @invariant()
    def nothing_was_seen_that_must_not_be(self) -> None:
        assert not self.tree.wrong, self.tree.wrong

    @invariant()
    def the_transcript_is_valid_for_every_provider(self) -> None:
        if self.stands == "new":
            return
        messages = _without_open(self.messages) if self.is_open else self.messages
        check_transcript(messages)
        check_wires(messages)

    @property
    def is_open(self) -> bool:
        """True if calls may have no result: they get it when the run is resumed."""
        stopped = self.stands in ("limit", "cancelled")
        return stopped or self.stands in ("waiting", "killed")

    @invariant()
    def a_call_is_open_only_while_its_inner_run_can_be_resumed(self) -> None:
        if self.stands not in ("limit", "cancelled"):
            return  # what waits has a ticket, and a killed program's outcomes are asked about
        open = {call.id: call.name for call in unanswered(self.messages)}
        assert set(open.values()) <= AGENTS, open
        if self.sessions is None:
            assert set(open) == set(RunState.from_json(self.saved or "", b"key").inner)
            return
        fold = self.sessions["ada"].load_state()
        nested = [each.last_run.call for each in fold.open_nested_runs()]
        assert set(open) == {fold.open_calls[key].call_id for key in nested}
        assert not open or fold.has_unfinished_run

    @invariant()
    def bounds_hold_over_the_whole_tree(self) -> None:
        assert self.used <= self.most, (self.used, self.most)
        assert self.first <= CALLS
        if self.is_whole:  # after a kill, one that may be repeated runs again, and counts once
            assert self.called <= CALLS

    @invariant()
    def state_holds_what_was_acknowledged(self) -> None:
        if self.stands == "new":
            return
        told = [id for message in self.messages for id in _noted(message)]
        if self.sessions is not None:
            values: Any = self.sessions["ada"].state
        else:
            assert self.saved is not None
            values = RunState.from_json(self.saved, b"key").values
        own = list(values.get("notes", []))
        assert len(own) == len(set(own))
        assert set(told) <= set(own)
        assert set(told) <= set(values)

    @invariant()
    def what_was_said_meanwhile_is_heard_once(self) -> None:
        texts = Counter(m.text for m in self.messages if m.text.startswith("heard"))
        assert all(times == 1 for times in texts.values()), texts
        if self.is_whole and self.stands == "answered":
            assert set(texts) >= set(self.tree.said)

    @invariant()
    def the_journal_comes_to_what_there_is(self) -> None:
        if self.sessions is None or not self.sessions["ada"].exists:
            return
        session = self.sessions["ada"]
        whole, fold = JournalState(), session.load_state()
        for stored in session.entries():
            whole.apply(stored.seq, stored.entry)
        for name in ("state", "usage", "taint", "reason", "turn", "agent", "path", "open_tickets"):
            assert getattr(whole, name) == getattr(fold, name), name
        for name in (
            "outcome_tickets",
            "open_calls",
            "queued",
            "run_count",
            "awaits_reply",
            "entry_numbers",
        ):
            assert getattr(whole, name) == getattr(fold, name), name
        if fold.has_unfinished_run:  # it goes on counting
            assert whole.run_usage == fold.run_usage
        assert whole.view.messages == fold.view.messages
        _same(whole.view.messages, self.messages)
        if self.stands != "killed":
            assert whole.reason == self.stands
        _check_outcomes([stored.entry for stored in session.entries()])


def _same(one: list[Message], other: list[Message]) -> None:
    for n, (a, b) in enumerate(zip(one, other, strict=False)):
        assert dump_message(a) == json.loads(json.dumps(dump_message(b))), (n, a, b)
    assert len(one) == len(other), (one[len(other) :], other[len(one) :])


def _without_open(messages: list[Message]) -> list[Message]:
    """The transcript as if the calls that have no result yet had not been made."""
    open = unanswered(messages)
    kept = []
    for message in messages:
        if open and isinstance(message, AssistantMessage):
            calls = tuple(call for call in message.tool_calls if call not in open)
            message = AssistantMessage(message.content or "…", calls)
        kept.append(message)
    return kept


def _check_outcomes(entries: list[Any]) -> None:
    """Each call ends at most once, and nothing ends twice."""
    ended = Counter(call_key_of(each) for each in entries if isinstance(each, CallEnded))
    assert all(times == 1 for times in ended.values()), ended
    begun = {call_key_of(each) for each in entries if isinstance(each, CallIntended)}
    assert begun >= set(), ended


def _noted(message: Message) -> list[str]:
    """The notes of this run that a result acknowledges: its own, and those its code has made."""
    if not isinstance(message, ToolMessage) or message.failed:
        return []
    words = message.text.split()
    return [id for word, id in pairwise(words) if word == "noted"]


def _is_over(messages: list[Message]) -> bool:
    return not messages or (isinstance(messages[-1], AssistantMessage) and not unanswered(messages))


class InSession(Runs):
    in_session = True


@pytest.mark.parametrize("machine", [Runs, InSession])
def test_whatever_happens_to_a_tree_of_runs_what_must_hold_holds_after_each_step(
    machine: type[Runs],
) -> None:
    hours = float(os.environ.get("TOOLKEEL_HOURS", "0"))
    options = settings(
        max_examples=int(hours * 20_000) or 30,
        stateful_step_count=8,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[p for p in Phase if p is not Phase.explain],
    )
    run_state_machine_as_test(machine, settings=options)
