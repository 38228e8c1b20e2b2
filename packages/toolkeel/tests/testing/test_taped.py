"""Models and tools on a cassette."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from toolkeel import Agent, ToolCall, tool
from toolkeel.errors import ToolError
from toolkeel.events import Streamed
from toolkeel.model_interface import ModelRequest, TextDelta
from toolkeel.testing.cassette import Cassette, CassetteMismatch
from toolkeel.testing.plugin import Recorder
from toolkeel.testing.scripted import Scripted, call
from toolkeel.testing.taped import TapedModel, TapedTools

RUNS: list[str] = []


@tool
def book(place: str) -> str:
    """Book a place."""
    RUNS.append(place)
    if place == "nowhere":
        raise ToolError("There is no such place.")
    return f"booked {place}"


def taped(tape: Cassette, *lines: object) -> Agent:
    model = TapedModel(tape, Scripted(lines)) if lines else TapedModel(tape)  # type: ignore[arg-type]
    return Agent(model, [book], steps=[TapedTools(tape)])


def test_bodies_run_while_it_records_and_never_when_it_plays(tmp_path: Path) -> None:
    RUNS.clear()
    path = tmp_path / "run.json"
    lines = ([call("book", {"place": "Rome"}), call("book", {"place": "nowhere"})], "done")
    first = taped(Cassette(path, "once"), *lines).run_sync("go")
    assert sorted(RUNS) == ["Rome", "nowhere"]
    tape = Cassette(path)
    again = taped(tape).run_sync("go")
    assert len(RUNS) == 2
    shown = [[(m.text, getattr(m, "status", "")) for m in r.messages] for r in (first, again)]
    assert shown[0] == shown[1]
    tape.check_all_played()


def test_runs_side_by_side_whose_calls_have_the_same_ids_get_each_its_own_result(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.json"

    def reply(request: ModelRequest) -> object:
        said = request.messages[-1].text
        return f"It says {said}" if said.startswith("booked") else call("book", {"place": said})

    async def asked(tape: Cassette, *lines: object) -> list[str]:
        agent = taped(tape, *lines)
        return [each.output for each in await asyncio.gather(*map(agent.run, ("Rome", "猫城")))]

    told = asyncio.run(asked(Cassette(path, "once"), *[reply] * 4))
    assert told == ["It says booked Rome", "It says booked 猫城"]
    assert asyncio.run(asked(Cassette(path))) == told


def test_what_waited_for_approval_waits_when_it_plays(tmp_path: Path) -> None:
    def ran(tape: Cassette, *lines: object) -> str:
        asks = Agent(
            taped(tape, *lines).model, [tool(approval=True)(wipe)], steps=[TapedTools(tape)]
        )
        first = asks.run_sync("go")
        [ticket] = first.pending
        return asks.run_sync(first.state, decisions=[ticket.approve()]).output

    def wipe() -> str:
        """Wipe."""
        RUNS.append("wiped")
        return "wiped"

    RUNS.clear()
    path = tmp_path / "run.json"
    assert ran(Cassette(path, "once"), call("wipe"), "Done.") == "Done."
    assert ran(Cassette(path)) == "Done." and RUNS == ["wiped"]


def test_a_call_that_was_not_recorded_ends_the_run_and_its_body_does_not_run(
    tmp_path: Path,
) -> None:
    RUNS.clear()
    path = tmp_path / "run.json"
    taped(Cassette(path, "once"), "nothing to do").run_sync("go")
    agent = Agent(
        Scripted([call("book", {"place": "Rome"}), "done"]),
        [book],
        steps=[TapedTools(Cassette(path))],
    )
    with pytest.raises(CassetteMismatch, match="no result of 'book' was recorded"):
        agent.run_sync("go")
    assert RUNS == []


def test_a_model_is_looked_up_only_to_record(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    Agent(TapedModel(Cassette(path, "once"), Scripted(["hi"]))).run_sync("go")
    assert Agent(TapedModel(Cassette(path), "openai:gpt-none")).run_sync("go").output == "hi"
    with pytest.raises(CassetteMismatch, match="no model was named"):
        Agent(TapedModel(Cassette(path, "new_episodes"))).run_sync("another")


def test_deltas_pass_while_it_records(tmp_path: Path) -> None:
    seen = Recorder()
    tape = Cassette(tmp_path / "run.json", "once")
    Agent(TapedModel(tape, Scripted(["hi"]))).run_sync("go", listeners=[seen])
    pieces = [e.delta for e in seen.events if isinstance(e, Streamed)]
    assert pieces[0] == TextDelta("hi")


def test_a_typed_answer_is_had_the_same_way_when_it_plays(tmp_path: Path) -> None:
    def answer(request: ModelRequest) -> list[ToolCall]:
        [form] = request.tools
        [key] = form.parameters["properties"]  # type: ignore[misc, index, union-attr]
        return [call(form.name, {key: [1, 2]})]

    path = tmp_path / "run.json"
    model = TapedModel(Cassette(path, "once"), Scripted([answer]))
    made = Agent(model, output_type=list[int]).run_sync("go")
    played = Agent(TapedModel(Cassette(path)), output_type=list[int]).run_sync("go")
    assert made.output == played.output == [1, 2]
