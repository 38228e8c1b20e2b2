"""The clock of the machine is set, forward or back, at any moment: what holds still holds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.inspector.serving import busy, served
from tests.testing.test_faults import World, go
from tests.waiting import run
from toolkeel import SetupError
from toolkeel._records.tickets import Ticket, new_id
from toolkeel._records.used_tickets import mark_used, match_decisions
from toolkeel.events import Event
from toolkeel_studio.gateway.ledger import ClientLedger
from toolkeel_studio.gateway.policy import Limit

DAY = 86_400.0
Set = Callable[[float], None]


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Set:
    """Puts the wall clock forward by so many seconds, or back; the monotonic one goes on."""
    real, ahead = time.time, [0.0]

    def now() -> float:
        return real() + ahead[0]

    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "toolkeel" and vars(module).get("time") is real:
            monkeypatch.setattr(module, "time", now)
    monkeypatch.setattr(time, "time", now)

    def by(seconds: float) -> None:
        ahead[0] += seconds

    return by


@pytest.mark.parametrize("seconds", [-400 * DAY, -5.0, 5.0, 400 * DAY])
def test_at_whatever_event_the_clock_is_set_each_call_has_its_one_result(
    seconds: float, put: Set
) -> None:
    told = 1
    at = 0
    while at < told:
        world = World()

        def jump(event: Event, world: World = world, at: int = at) -> None:
            if len(world.events) == at + 1:
                put(seconds)

        world.events = Listening(jump)
        result = go(lambda world=world: world.run(world.agent()))
        assert result.reason == "answered"
        world.events = [
            replace(each, at=each.seq) for each in world.events
        ]  # the clock's own affair
        world.check()
        told, at = len(world.events), at + 3


class Listening(list[Event]):
    """Events that somebody is told of as they come."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        super().__init__()
        self._tell = tell

    def append(self, event: Event) -> None:
        super().append(event)
        self._tell(event)


def test_an_approval_serves_once_also_if_the_clock_was_ahead_meanwhile(put: Set) -> None:
    def ticket() -> Ticket:
        return Ticket(new_id(), "c", "pay", {}, "0" * 64, time.time() + 600)

    used = ticket()
    mark_used(match_decisions([used], [used.approve()]))
    put(400 * DAY)
    other = ticket()
    mark_used(match_decisions([other], [other.approve()]))
    put(-400 * DAY)
    with pytest.raises(SetupError, match="used already"):
        match_decisions([used], [used.approve()])


def test_a_clock_that_was_set_back_locks_no_client_out(put: Set) -> None:
    async def use() -> list[str]:
        ledger, limits = ClientLedger(), [Limit("*", 2, 60.0)]
        said = [await ledger.count_call("ada", limits) for _ in range(3)]
        put(-400 * DAY)
        return [*said, await ledger.count_call("ada", limits)]

    first, second, third, after = run(use)
    assert (first, second, after) == ("", "", "") and "is reached" in third


def test_a_session_whose_clock_goes_back_is_shown(tmp_path: Path, put: Set) -> None:
    with served(tmp_path, busy(), tools=[]) as page:
        page.post("/sessions", text="go", name="ada")
        put(-DAY)
        page.until("/sessions/ada", 'class="call')
        assert page.client.get("/sessions/ada").status_code == 200
        assert page.client.get("/stats").status_code == 200
