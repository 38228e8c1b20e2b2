"""`toolkeel worker`: what it runs, how it ends, and who goes on with what it leaves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sessions.postgres_server import serving
from tests.waiting import until_sync
from toolkeel import Agent
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted
from toolkeel_studio.durable import Durable

pytestmark = pytest.mark.slow

PROGRAM = '''
import time
from pathlib import Path
from toolkeel import Agent, Effects, tool
from toolkeel_studio.durable import Durable
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call

HERE = Path(__file__).parent


@tool(effects=Effects(idempotent=True))
def hold() -> str:
    """Hold until told."""
    (HERE / "begun").touch()
    for _ in range(1200):
        if (HERE / "go").exists():
            return "held"
        time.sleep(0.05)
    return "never"


class Model(Scripted):
    async def stream(self, request):
        held = any(message.text == "held" for message in request.messages)
        self._lines = iter(["done" if held else call("hold", {})])
        async for delta in super().stream(request):
            yield delta


holder = Agent(Model([]), [hold], name="holder")
durable = Durable(holder, Sessions(HERE / "talk.db"))
number = 1
'''


def command(*words: str, cwd: Path) -> subprocess.Popen[str]:
    started = [sys.executable, "-m", "toolkeel", "worker", *words]
    return subprocess.Popen(started, cwd=cwd, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def asks(tmp_path: Path) -> Iterator[Durable]:
    """Who starts runs: a program that has the agent's name, and not its tools."""
    (tmp_path / "app.py").write_text(PROGRAM)
    made = Durable(Agent(Scripted([]), name="holder"), Sessions(tmp_path / "talk.db"))
    yield made
    made.close()
    made.sessions.close()


def test_a_worker_that_is_told_to_end_waits_for_its_run_and_ends_well(
    asks: Durable, tmp_path: Path
) -> None:
    asks.start("hold", id="one")
    worker = command("app.py:holder", "--database", "talk.db", "--id", "w1", cwd=tmp_path)
    until_sync((tmp_path / "begun").exists)
    worker.send_signal(signal.SIGTERM)
    (tmp_path / "go").touch()
    _, told = worker.communicate(timeout=30)
    assert (worker.returncode, asks.result("one", 1).text) == (0, "done")
    assert "runs of 'holder'" in told
    lines = [line for line in told.splitlines() if " run " in line]
    assert [" run begun id=one" in line for line in lines] == [True, False]
    assert " INFO run ended id=one session=one reason=answered seconds=" in lines[1]


def test_what_does_not_end_in_time_is_put_back_and_another_worker_goes_on_with_it(
    asks: Durable, tmp_path: Path
) -> None:
    asks.start("hold", id="one")
    first = command("app.py:durable", "--id", "w1", "--drain", "0.2", cwd=tmp_path)
    until_sync((tmp_path / "begun").exists)
    first.send_signal(signal.SIGTERM)
    _, told = first.communicate(timeout=30)
    assert first.returncode == 0 and "WARNING run put back id=one" in told
    (tmp_path / "go").touch()
    second = command("app.py:durable", "--id", "w2", "--log", "json", cwd=tmp_path)
    assert asks.result("one", 30).text == "done"
    second.send_signal(signal.SIGTERM)
    _, told = second.communicate(timeout=30)
    begun, *events = [json.loads(line) for line in told.splitlines()]
    assert begun["message"] == "runs of 'holder'; Ctrl-C ends"
    assert [(each["event"], each["id"]) for each in events] == [
        ("begun", "one"),
        ("ended", "one"),
    ]
    assert second.returncode == 0


WINDOW = """
import threading
from dbos import DBOS
from dbos._sys_db_sqlite import SQLiteSystemDatabase as Tables

take, join, destroy = Tables.start_queued_partitioned_workflows, threading.Thread.join, DBOS.destroy
ends = threading.Event()


def take_slowly(*args, **words):
    taken = take(*args, **words)
    if taken:
        (HERE / "taken").touch()
        assert ends.wait(60)
    return taken


def join_in_end(self, timeout=None):
    if threading.current_thread() is threading.main_thread():
        ends.set()
    join(self, timeout)


def destroy_in_end(**words):
    ends.set()
    destroy(**words)


Tables.start_queued_partitioned_workflows = take_slowly
threading.Thread.join, DBOS.destroy = join_in_end, destroy_in_end
"""


def test_a_run_that_the_engine_takes_while_its_worker_ends_is_put_back(
    asks: Durable, tmp_path: Path
) -> None:
    (tmp_path / "slow.py").write_text(PROGRAM + WINDOW)
    asks.start("hold", id="one")
    first = command("slow.py:durable", "--id", "w1", cwd=tmp_path)
    until_sync((tmp_path / "taken").exists)
    first.send_signal(signal.SIGTERM)
    _, told = first.communicate(timeout=60)
    assert first.returncode == 0 and "WARNING run put back id=one" in told
    assert not (tmp_path / "begun").exists() and asks.show("one").status == "queued"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("app.py:holder",), "--database"),
        (("app.py:number", "--database", "x.db"), "is a int"),
        (("app.py:durable", "--database", "x.db"), "says itself"),
        (("app.py:durable", "--log", "xml"), "write text or json"),
    ],
)
def test_what_cannot_be_run_is_told_with_what_to_say(
    asks: Durable, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    worker = command(*words, cwd=tmp_path)
    _, told = worker.communicate(timeout=30)
    assert worker.returncode == 2 and said in told


def test_a_worker_that_starts_while_the_database_is_down_waits_for_it_and_says_so(
    tmp_path: Path,
) -> None:
    with serving() as server:
        place = server.new_database()
        program = PROGRAM.replace('Sessions(HERE / "talk.db")', f"Sessions({place!r})")
        (tmp_path / "app.py").write_text(program)
        (tmp_path / "go").touch()
        asks = Durable(Agent(Scripted([]), name="holder"), Sessions(place))
        asks.start("hold", id="one")
        server.stop()
        worker = command("app.py:durable", "--id", "w1", cwd=tmp_path)
        assert worker.stderr is not None
        told = worker.stderr.readline()
        assert "WARNING" in told and "cannot be opened" in told and "tried again in 1 s" in told
        server.start()
        assert asks.result("one", 60).text == "done"
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=30)
        assert worker.returncode == 0
        asks.close()
        asks.sessions.close()


def test_a_cancelled_run_is_one_line_and_no_traceback(asks: Durable, tmp_path: Path) -> None:
    asks.start("hold", id="one")
    worker = command("app.py:durable", "--id", "w1", cwd=tmp_path)
    until_sync((tmp_path / "begun").exists)
    asks.cancel("one", "closing time")
    until_sync(lambda: asks.sessions["one"].info.ended == "cancelled")
    (tmp_path / "go").touch()
    worker.send_signal(signal.SIGTERM)
    _, told = worker.communicate(timeout=30)
    assert "Traceback" not in told
    assert "INFO run ended id=one session=one reason=cancelled" in told
