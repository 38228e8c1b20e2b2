"""A fleet of agents, simulated: what is full first, and at how many agents one moves on.

::

    python -m benchmarks.fleet                    # a minute or two
    python -m benchmarks.fleet --heavy 0 --deaths 20

What a turn costs here is measured first: time of the event loop, and of a session in a file. What a
model's answer over HTTP, a call on Ray and a commit in PostgreSQL cost is given. Then agents, each of
which waits for its model, writes, and has its calls run, share loops, processors and writers in
simulated time; processes of bodies die, and their calls are run again. A stage holds as many agents as find less than a second
of waiting in 95 of 100 turns.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import random
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from toolkeel import Agent, tool
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call

RAY_CALL = 0.0012
"""Seconds of the calling loop for a call on Ray: see `benchmarks.ray`."""
ANSWER = 0.002
"""Seconds of the loop for a model's answer over HTTP: see `benchmarks.w11`."""
COMMIT = 0.004
"""Seconds of a durable commit in PostgreSQL, one writer a process."""
PATIENCE = 1.0
MINUTES = 3
"""Of simulated time; the first is left out."""


class Work(NamedTuple):
    """What the agents do.

    Args:
        model: Seconds the model takes for a turn, the median.
        calls: Calls in a turn, the mean.
        heavy: Share of calls whose body needs a processor.
        body: Seconds it needs.
        deaths: Of a thousand such bodies, how many die with their process.
    """

    model: float
    calls: float
    heavy: float
    body: float
    deaths: float


class Stage(NamedTuple):
    """Where they run.

    Args:
        name: As it is said in the table.
        loops: Processes that run agents.
        processors: For bodies.
        commit: Seconds of a writer for a turn; each process has one, and a file is one for all.
        writers: How many.
        sending: Seconds of the loop for a call that goes elsewhere.
    """

    name: str
    loops: int
    processors: int
    commit: float
    writers: int
    sending: float


@dataclass
class Room:
    """So many at once; the others wait in order."""

    places: int
    free: int = 0
    queue: deque[tuple[int, float]] = field(default_factory=deque)
    busy: float = 0.0

    def __post_init__(self) -> None:
        self.free = self.places


Step = tuple[str, float]
"""A room and the seconds one is in it; no room is plain waiting."""


def agent(work: Work, stage: Stage, turn: float, chance: random.Random) -> Generator[Step]:
    """What one agent does, for ever."""
    yield "", chance.uniform(0, work.model)
    while True:
        yield "", chance.lognormvariate(0, 0.6) * work.model
        yield "turn", 0.0
        yield "loops", turn
        yield "writers", stage.commit
        for _ in range(int(work.calls + chance.random())):
            if chance.random() >= work.heavy:
                yield "", 0.05  # it asks somebody
                continue
            yield "loops", stage.sending
            died = True
            while died:
                died = chance.random() < work.deaths / 1000
                yield "processors", chance.expovariate(1 / work.body) + 0.3 * died
        yield "said", 0.0


def simulated(
    work: Work, stage: Stage, turn: float, agents: int, seed: int = 1
) -> tuple[float, dict[str, float]]:
    """Seconds of waiting in 95 of 100 turns, and how full each room was."""
    chance, count = random.Random(seed), itertools.count()
    rooms = {
        "loops": Room(stage.loops),
        "processors": Room(stage.processors),
        "writers": Room(stage.writers),
    }
    going = [agent(work, stage, turn, chance) for _ in range(agents)]
    waited, found = [0.0] * agents, list[float]()
    events: list[tuple[float, int, int, str]] = []
    end, now = MINUTES * 60.0, 0.0

    def go_on(who: int) -> None:
        name, seconds = next(going[who])
        while name in ("turn", "said"):
            if name == "said" and now > 60:
                found.append(waited[who])
            waited[who] = 0.0
            name, seconds = next(going[who])
        if not name:
            heapq.heappush(events, (now + seconds, next(count), who, ""))
        elif rooms[name].free:
            enter(name, who, seconds)
        else:
            waited[who] -= now
            rooms[name].queue.append((who, seconds))

    def enter(name: str, who: int, seconds: float) -> None:
        rooms[name].free -= 1
        rooms[name].busy += seconds
        heapq.heappush(events, (now + seconds, next(count), who, name))

    for who in range(agents):
        go_on(who)
    while events and now < end:
        now, _, who, left = heapq.heappop(events)
        if left:
            rooms[left].free += 1
            if rooms[left].queue:
                other, seconds = rooms[left].queue.popleft()
                waited[other] += now
                enter(left, other, seconds)
        go_on(who)
    late = statistics.quantiles(found, n=20)[-1] if len(found) > 1 else end
    return late, {name: room.busy / room.places / now for name, room in rooms.items()}


def holds(work: Work, stage: Stage, turn: float) -> tuple[int, dict[str, float]]:
    """Most agents that a stage holds, to a twentieth, and how full its rooms are then."""
    least, most = 1, 2
    while most < 200_000 and simulated(work, stage, turn, most)[0] < PATIENCE:
        least, most = most, most * 2
    while most - least > max(1, least // 20):
        middle = (least + most) // 2
        if simulated(work, stage, turn, middle)[0] < PATIENCE:
            least = middle
        else:
            most = middle
    return least, simulated(work, stage, turn, least)[1]


def measured(turns: int = 150) -> tuple[float, float]:
    """Seconds of a turn with a call on this machine: the loop's, and what a session adds."""

    @tool
    async def look(query: str) -> str:
        "Look something up."
        return query

    def seconds(sessions: Sessions | None) -> float:
        script = [*([call("look", {"query": str(n)})] for n in range(turns)), "done"]
        one = Agent(Scripted(script), [look], max_turns=turns + 2)
        begin = time.perf_counter()
        one.run_sync("go", session=None if sessions is None else sessions.open("s"))
        return (time.perf_counter() - begin) / turns

    with tempfile.TemporaryDirectory() as folder:
        seconds(None)
        bare = min(seconds(None) for _ in range(5))
        kept = min(seconds(Sessions(Path(folder, f"{n}.db"))) for n in range(5))
    return ANSWER + bare, max(kept - bare, 0.0)


def main() -> None:
    """Measure, simulate, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (
        ("model", 4.0),
        ("calls", 1.5),
        ("heavy", 0.3),
        ("body", 1.0),
        ("deaths", 2.0),
    ):
        parser.add_argument(f"--{name}", type=float, default=default)
    work = Work(**vars(parser.parse_args()))
    turn, file = measured()
    print(
        f"a turn: {turn * 1000:.2f} ms of the loop, {file * 1000:.2f} ms of a session's file; {work}\n"
    )
    stages = (
        Stage("one process, a file, 8 processors", 1, 7, file, 1, 0.001),
        Stage("4 processes, PostgreSQL, 8 processors", 4, 6, 2 * COMMIT, 4, 0.001),
        Stage("4 processes, PostgreSQL, Ray of 64", 4, 64, 2 * COMMIT, 4, RAY_CALL),
        Stage("16 processes, PostgreSQL, Ray of 512", 16, 512, 2 * COMMIT, 16, RAY_CALL),
    )
    print(f"{'':40}{'agents':>8}{'turns/s':>9}   how full: loops, processors, writers")
    for stage in stages:
        agents, full = holds(work, stage, turn)
        each = full["writers"] * stage.writers / stage.commit
        rooms = ", ".join(f"{share:.0%}" for share in full.values())
        print(f"{stage.name:40}{agents:8,}{each:9.0f}   {rooms}", flush=True)


if __name__ == "__main__":
    main()
