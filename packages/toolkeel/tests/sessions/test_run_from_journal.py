"""What the next run of a session finds: the last one gone on with, or ended in words the model reads."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sessions.killed_run import work_through
from tests.sessions.talking import opened
from toolkeel import Agent, AssistantMessage, Effects, Settings, ToolCall, tool
from toolkeel._records.entries import CallEnded, RunBegan, RunEnded
from toolkeel.messages import Usage
from toolkeel.model_interface import ModelRequest
from toolkeel.sessions import Sessions
from toolkeel.sessions.run_from_journal import build_run_state, end_run, resumes_last_run
from toolkeel.spending import Price, RunLimits
from toolkeel.testing import Scripted, call


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@pytest.fixture
def waiting(tmp_path: Path) -> Sessions:
    """Sessions of which one waits for a person."""
    made = Sessions(tmp_path / "talk.db")
    agent = Agent(Scripted([[call("pay", {"amount": 7})], "Done."]), [pay])
    assert agent.run_sync("Pay 7.", session=made["ada"]).reason == "waiting"
    return made


def test_a_run_that_waits_goes_on_also_when_somebody_says_something(waiting: Sessions) -> None:
    journal = opened(waiting)
    assert resumes_last_run(journal, says=False) and resumes_last_run(journal, says=True)
    [ticket] = build_run_state(journal.state, True).pending
    assert ticket.tool == "pay"
    asyncio.run(end_run(journal))
    waiting.close()


def test_an_ended_run_does_not_go_on_whatever_is_said(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    Agent(Scripted(["Hello."])).run_sync("Hi.", session=sessions["ada"])
    journal = opened(sessions)
    assert not resumes_last_run(journal, says=False) and not resumes_last_run(journal, says=True)
    state = build_run_state(journal.state, False)
    assert [message.text for message in state.messages] == ["Hi.", "Hello."] and not state.counts
    asyncio.run(end_run(journal))
    sessions.close()


def test_an_inner_run_that_waited_goes_on_in_the_journal_where_it_stood(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    inner = Agent(Scripted([call("pay", {"amount": 7}), "Paid."]), [pay], name="clerk")
    boss = Agent(Scripted([call("clerk", {"input": "Pay 7."}), "Done."]), [inner.as_tool("clerk")])
    assert boss.run_sync("Pay.", session=sessions["ada"]).reason == "waiting"
    [ticket] = sessions["ada"].pending
    sessions["ada"].decide(ticket.approve())
    result = boss.run_sync(None, session=sessions["ada"])
    assert [m.text for m in result.messages] == ["Pay.", "", "Paid.", "Done."]
    kinds = Counter(each.entry.kind for each in sessions["ada"].entries())
    counted = {kind: kinds[kind] for kind in ("run_began", "person_said", "model_replied", "waits")}
    # Both runs say that they wait: each is asked once, and nothing is written a second time.
    assert counted == {"run_began": 2, "person_said": 2, "model_replied": 4, "waits": 2}
    assert sessions["ada"].pending == () and not sessions["ada"].load_state().nested_runs
    sessions.close()


STEPS = (
    *(f"asks0 {n}" for n in (1, 3, 5, 7)),
    *(f"{when} {n}" for when in ("before", "inside") for n in range(3)),
)
"""Where an inner run of three steps is killed: before, inside and after each of them."""


@pytest.mark.parametrize("kind", ["safe", "unsafe"])
@pytest.mark.parametrize(
    "depth", [1, *(pytest.param(d, marks=pytest.mark.slow) for d in (2, "code"))]
)
def test_an_inner_run_killed_at_any_of_its_steps_goes_on_from_there(
    tmp_path: Path, depth: int | str, kind: str
) -> None:
    """No model is asked again what it has answered, nothing is done twice, nobody asked for nothing."""
    around = range(1, 2 if depth == "code" else int(depth) + 1)
    places = (*STEPS, *(f"asks{level} {n}" for level in around for n in (1, 3)))
    folders = [tmp_path / when for when in places]
    jobs: list[tuple[object, ...]] = []
    for when, folder in zip(places, folders, strict=True):
        folder.mkdir()
        jobs += [(folder, when, kind, depth), (folder, "never", kind, depth)]
    ends = work_through(jobs, "tests.sessions.killed_inner_run")
    assert ends == [(-signal.SIGKILL, ""), (0, "answered")] * len(places)
    for when, folder in zip(places, folders, strict=True):
        _check_inner(folder, when, kind, depth)


def _check_inner(folder: Path, when: str, kind: str, depth: int | str) -> None:
    by_code = depth == "code"
    levels = 1 if by_code else int(depth)
    log = (folder / "log").read_text("utf-8").splitlines()
    asks = Counter(line for line in log if line.startswith("asks"))
    expected = {f"asks0 {n}": 1 for n in (1, 3, 5, 7)}
    expected |= {f"asks{level} {n}": 1 for level in range(1, levels + 1) for n in (1, 3)}
    if when.startswith("asks"):  # it was sent, and no reply is known
        expected[when] = 2
    assert asks == expected, when
    done = [line for line in log if line[0].isdigit()]
    again = kind == "safe" and when.startswith("inside")
    assert len(set(done)) == 3 and len(done) == 3 + again, (when, done)  # each by one key
    unknown = kind == "unsafe" and not when.startswith("asks")
    persons = [line for line in log if line.startswith("person")]
    if by_code and not when.startswith("asks1"):  # the interpreter is not declared safe
        assert persons.pop(0) == "person code_interpreter", when
    assert persons == ["person work"] * unknown, when
    sessions = Sessions(folder / "talk.db")
    session = sessions["ada"]
    said = "all done" if levels == 1 else "over"
    assert [m.text for m in session.messages] == ["go", "", said, "over"], when
    told = [e.entry.message.text for e in session.entries() if isinstance(e.entry, CallEnded)]
    if unknown and when.startswith("inside"):
        assert sum("A person says: it did" in text for text in told) == 1
    else:  # with the state that the steps before have left
        assert told[:3] == [f"did {n} of {n + 1}" for n in range(3)], when
    fold = session.load_state()
    assert (fold.reason, fold.run_count, session.pending) == ("answered", 1, ())
    kinds = Counter(each.entry.kind for each in session.entries())
    assert kinds["model_asked"] == sum(asks.values())
    assert kinds["model_replied"] == 4 + 2 * levels and kinds["run_began"] == 1 + levels
    sessions.close()


def test_what_was_spent_counts_wherever_a_run_was_killed() -> None:
    """A journal that ends anywhere is what a kill leaves: dollars, those of runs within it as well."""
    usage = Usage(1, 100_000, 10_000)
    bound = RunLimits(cost=10.0, prices={"paid": Price(10.0, 50.0)})  # 1.5 dollars a request

    @tool(effects=Effects(idempotent=True))
    def step() -> str:
        """Do a step."""
        return "done"

    def agent() -> tuple[Agent, list[int]]:
        asked: list[int] = []

        def line(tool: str, **arguments: str) -> Callable[[ModelRequest], AssistantMessage]:
            def say(request: ModelRequest) -> AssistantMessage:
                asked.append(len(request.messages))
                return AssistantMessage("", (ToolCall("1", tool, arguments),), "tool_calls", usage)

            return say

        short = Settings(max_tokens=10_000)
        clerk = Agent(Scripted([line("step")] * 9, "paid"), [step], name="clerk", settings=short)
        model = Scripted([line("clerk", input="go")] * 9, "paid")
        return Agent(model, [clerk.as_tool()], settings=short), asked

    sessions = Sessions(":memory:")
    whole, asked = agent()
    assert whole.run_sync("go", session=sessions["whole"], limits=bound).reason == "limit"
    lines = list(sessions.export("whole"))
    kinds = [json.loads(line).get("kind") for line in lines]
    assert kinds.count("spent") == len(asked) == 6
    assert len(sessions["whole"].load_state().nested_runs) == 1  # it has not finished
    for cut in range(kinds.index("spent") + 1, kinds.index("run_ended")):
        session = sessions.import_(lines[:cut], f"killed {cut}")
        known = kinds[:cut].count("spent")
        assert session.load_state().cost == pytest.approx(1.5 * known)
        again, more = agent()
        result = again.run_sync(None, session=session, limits=bound)
        assert result.reason == "limit" and result.limit.startswith("cost: ")
        assert 6 <= known + len(more) <= 7, (
            cut
        )  # the first that is sent again is estimated by its text
    sessions.close()


def test_who_is_cancelled_while_a_run_is_ended_hears_it_when_all_is_written(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    journal, writes = opened(sessions), threading.Event()
    journal.append(RunBegan("r"))
    journal.append(RunEnded("r", "answered"))
    sessions["ada"]._storage.store.database.write(lambda connection: writes.wait(20))

    async def main() -> None:
        ending = asyncio.create_task(end_run(journal))
        for _ in range(3):  # each time it waits on
            await asyncio.sleep(0)
            ending.cancel()
        await asyncio.sleep(0)
        assert not ending.done()
        writes.set()
        with pytest.raises(asyncio.CancelledError):
            await ending

    asyncio.run(main())
    assert [each.entry.kind for each in sessions["ada"].entries()][:2] == ["run_began", "run_ended"]
    sessions.close()


PLACES = ("desk 1", "desk 3", "clerk 1", "clerk 3", "before", "inside", "after")
"""Where a run is killed whose tool's body runs an agent that pays."""


@pytest.mark.parametrize("kind", ["safe", "unsafe"])
def test_a_run_killed_while_a_body_runs_an_agent_counts_all_and_never_pays_again(
    tmp_path: Path, kind: str
) -> None:
    jobs: list[tuple[object, ...]] = []
    for when in PLACES:
        (tmp_path / when).mkdir()
        jobs += [(tmp_path / when, when, kind, "go"), (tmp_path / when, "never", kind, "")]
    ends = work_through(jobs, "tests.sessions.killed_joined_run")
    for when, killed, end in zip(PLACES, ends[::2], ends[1::2], strict=True):
        assert killed == (-signal.SIGKILL, ""), when
        log = (tmp_path / when / "log").read_text("utf-8").splitlines()
        asks = [line for line in log if line.startswith("asks")]
        assert end == (0, f"answered {len(asks)}"), when
        assert log.count("paid") == 1, when  # a body that may run again finds its runs again
        persons = [line for line in log if line.startswith("person")]
        asked = kind == "unsafe" and not when.startswith("desk")
        # The payment itself, unless a person says that the refund has happened.
        unknown = when == "before" or (when == "inside" and kind == "safe")
        assert persons == ["person refund"] * asked + ["person pay"] * unknown, when
        sessions = Sessions(tmp_path / when / "talk.db")
        kinds = Counter(each.entry.kind for each in sessions["ada"].entries())
        fold = sessions["ada"].load_state()
        assert kinds["model_asked"] == len(asks), when
        assert (fold.reason, fold.nested_runs, sessions["ada"].pending) == ("answered", {}, ())
        sessions.close()
