"""Attacks on approvals: only what a person approved ever runs; once, and in time.

The attacker reads and writes every saved run, before a person looks at it and after, replays
decisions as often as they like, in as many processes as they like, and waits. What is not theirs:
the person's eyes and words, and the code. The person approves what they see.
"""

from __future__ import annotations

import copy
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolkeel import Agent, Effects, RunState, SetupError, Toolset, tool
from toolkeel._records import tickets as words
from toolkeel._records import used_tickets
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.call.steps import approve
from toolkeel.call.steps.guard import Allow, input_guard
from toolkeel.testing.scripted import Scripted, call

Did = tuple[str, str, bool]
"""A tool, a path, and whether by force."""

PATHS = ("a", "b", "甲", "/etc/passwd")
HOUR = 3600.0


class Game:
    """One person, one attacker, and what ran."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.folder = folder
        self.now = time.time()
        self.saved: list[str] = []
        self.decisions: list[Decision] = []
        self.approved: dict[str, tuple[Did, float]] = {}
        """By decision: what it lets run, and until when."""
        self.spent: Counter[Did] = Counter()
        self.refused = 0
        self.moves: list[str] = []
        self.wrong: list[str] = []

    # — the program —

    def tools(self) -> Toolset:
        def to_tmp(prepared: Any, context: Any) -> Any:
            if prepared.arguments["path"] != "b":
                return Allow()
            return Allow({**prepared.arguments, "path": "/tmp/b"})

        @tool(approval=True, steps=[input_guard(to_tmp)])
        def remove(path: str, force: bool = False) -> str:
            """Remove a file."""
            self.ran("remove", path, force)
            return "removed"

        @tool(approval=True, effects=Effects(read_only=True))
        def look(path: str, force: bool = False) -> str:
            """Remove a file."""
            self.ran("look", path, force)
            return "seen"

        return Toolset([remove, look])

    def agent(self, *replies: Any) -> Agent:
        return Agent(Scripted(replies), self.tools(), used_tickets=self.folder)

    def ran(self, *what: Any) -> None:
        """A body runs: there must be an approval of just this, not used up, not expired."""
        did: Did = what
        self.spent[did] += 1
        good = [until for allowed, until in self.approved.values() if allowed == did]
        if len(good) < self.spent[did]:
            self.wrong.append(f"{did} was not approved")
        elif not any(self.now < until for until in good):
            self.wrong.append(f"{did} ran too late")

    # — the moves —

    def ask(self) -> None:
        """The model makes calls, and the run is saved."""
        names = self.chance.choices(("remove", "look"), k=self.chance.randint(1, 3))
        calls = [call(name, {"path": self.chance.choice(PATHS)}) for name in names]
        self.keep(self.agent(calls).run_sync("tidy up").state)

    def decide(self) -> None:
        """The person looks at a saved run and says what they think of one call."""
        state = self.pick()
        if state is None or not state.pending:
            return
        ticket = self.chance.choice(state.pending)
        shown = (ticket.tool, ticket.arguments.get("path"), ticket.arguments.get("force", False))
        verdict = self.chance.choice(("approve", "approve", "approve", "deny", "edit"))
        if verdict == "edit":
            path = self.chance.choice(PATHS)
            self.say(ticket.edit({"path": path}), (ticket.tool, path, False), ticket)
        elif verdict == "deny":
            self.say(ticket.deny("no"), None, ticket)
        else:
            self.say(ticket.approve(), shown, ticket)

    def say(self, decision: Decision, did: Any, ticket: Ticket) -> None:
        self.decisions.append(decision)
        if did is not None:
            self.approved[json.dumps(decision.to_dict())] = (did, ticket.expires)

    def go_on(self) -> None:
        """Somebody goes on from a saved run, with decisions that name its tickets."""
        state = self.pick()
        if state is None:
            return
        if self.chance.random() < 0.5:
            used_tickets._spent.clear()  # another process
        waiting = {ticket.id for ticket in state.pending}
        fitting = [each for each in self.decisions if each.ticket in waiting]
        by_ticket = {each.ticket: each for each in self.chance.sample(fitting, len(fitting))}
        try:
            result = self.agent("Done.").run_sync(state, decisions=list(by_ticket.values()))
        except SetupError:
            self.refused += 1
            return
        if result.pending:
            self.keep(result.state)

    def tamper(self) -> None:
        """The attacker changes a saved run, and keeps the old one too."""
        if not self.saved:
            return
        data = json.loads(self.chance.choice(self.saved))
        for _ in range(self.chance.randint(1, 3)):
            self.chance.choice(ATTACKS)(self, data)
        self.saved.append(json.dumps(data))

    def wait(self) -> None:
        """Time passes."""
        self.now += self.chance.choice((1.0, HOUR, 23 * HOUR, 25 * HOUR))

    # — helpers —

    def keep(self, state: RunState) -> None:
        self.saved.append(state.to_json())

    def pick(self) -> RunState | None:
        if not self.saved:
            return None
        try:
            return RunState.from_json(self.chance.choice(self.saved[-6:]))
        except SetupError:
            self.refused += 1
            return None

    def tickets(self, data: Any) -> list[Any]:
        return [each for each in listed(data.get("pending")) if isinstance(each, dict)] or [{}]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def anything(game: Game, data: Any) -> None:
    """Any part becomes a copy of any other part, of this saved run or another."""
    other = json.loads(game.chance.choice(game.saved))
    path, (_, value) = game.chance.choice(parts(data))[0], game.chance.choice(parts(other))
    place: Any = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = copy.deepcopy(value)


def show_another(game: Game, data: Any) -> None:
    """A ticket shows something harmless."""
    game.chance.choice(game.tickets(data))["arguments"] = {"path": "a", "force": False}


def call_another(game: Game, data: Any) -> None:
    """The call in the transcript is another."""
    for message in listed(data.get("messages")):
        for made in listed(message.get("tool_calls")) if isinstance(message, dict) else []:
            if isinstance(made, dict):
                made["arguments"] = {"path": "/etc/passwd"}


def pretend_an_edit(game: Game, data: Any) -> None:
    """A ticket claims that a person has edited the call already."""
    ticket = game.chance.choice(game.tickets(data))
    ticket["origin"] = ticket.get("digest", "")
    ticket["arguments"] = {"path": "/etc/passwd", "force": True}


def swap_tickets(game: Game, data: Any) -> None:
    """Two tickets exchange a field."""
    one, other = (game.chance.choice(game.tickets(data)) for _ in range(2))
    field = game.chance.choice(
        ("id", "call_id", "digest", "arguments", "tool", "effects", "origin")
    )
    one[field], other[field] = other.get(field, ""), one.get(field, "")


def live_longer(game: Game, data: Any) -> None:
    """A ticket expires later."""
    game.chance.choice(game.tickets(data))["expires"] = game.now + HOUR


def look_harmless(game: Game, data: Any) -> None:
    """A ticket shows another tool, or its hints."""
    ticket = game.chance.choice(game.tickets(data))
    ticket["tool"] = "look"
    if isinstance(ticket.get("effects"), dict):
        ticket["effects"]["read_only"] = True


ATTACKS: tuple[Callable[[Game, Any], None], ...] = (
    anything,
    show_another,
    call_another,
    pretend_an_edit,
    swap_tickets,
    live_longer,
    look_harmless,
)


def parts(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    """Every part of a JSON value, with the way to it."""
    found = [(path, value)] if path else []
    inner: Any = value.items() if isinstance(value, dict) else enumerate(listed(value))
    for key, item in inner:
        found += parts(item, (*path, key))
    return found


def play(seed: int, folder: Path, moves: int) -> Game:
    game = Game(seed, folder)
    with pytest.MonkeyPatch.context() as patch:
        for module in (approve, words, used_tickets):
            patch.setattr(module, "time", lambda: game.now)
        used_tickets._spent.clear()
        for _ in range(moves):
            weights = (2, 4, 4, 3, 1)
            does = (game.ask, game.decide, game.go_on, game.tamper, game.wait)
            [move] = game.chance.choices(does, weights)
            game.moves.append(move.__name__)
            move()
            assert not game.wrong, (seed, game.moves)
    return game


def check(seeds: range, folder: Path, moves: int = 60) -> None:
    games = [play(seed, folder / str(seed), moves) for seed in seeds]
    assert sum(game.spent.total() for game in games) > len(games) / 2, "hardly anything ran"
    assert sum(game.refused for game in games) > len(games), "hardly anything was refused"


def test_whatever_an_attacker_does_only_what_was_approved_runs_once_and_in_time(
    tmp_path: Path,
) -> None:
    check(range(80), tmp_path)


@pytest.mark.slow
def test_many_attackers_get_no_further(tmp_path: Path) -> None:
    check(range(1000, 3000), tmp_path)
