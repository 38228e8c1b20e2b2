"""What a node does with an order; here without Ray, which only calls it."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from tests.executors import executor_tools as tools
from tests.executors.survivors import survivors
from tests.ray import ray_tools
from tests.waiting import until_sync
from toolkeel.executors.frames import FrameDecoder
from toolkeel_studio.ray import node


def order(module: Any, name: str, seconds: float | None = 60, **arguments: object) -> bytes:
    place = {"module": module.__name__, "file": module.__file__, "attribute": name}
    call = {"name": name, "id": "c", "run": "r", "key": "r-c", "arguments": arguments}
    return json.dumps({**place, **call, "seconds": seconds, "limits": None}).encode()


def test_what_a_body_reports_comes_before_its_answer() -> None:
    pieces = list(node.stream_request(order(tools, "reports")))
    *heard, answer = FrameDecoder().feed(b"".join(pieces))
    assert heard == [{"started": True}, {"progress": ["half", 1, 2]}, {"emit": {"图": [1, None]}}]
    assert answer["value"] == ["c", "c", "r-c", True]
    assert node.run_request(order(tools, "number", n=3)).count(b'"value": 3') == 1


def test_a_report_comes_while_its_body_still_runs(tmp_path: Path) -> None:
    free = tmp_path / "free"
    pieces = node.stream_request(order(ray_tools, "says_then_waits", path=str(free)))
    heard: list[Any] = []
    while {"progress": ["begun", None, None]} not in heard:
        heard += FrameDecoder().feed(next(pieces))
    free.touch()
    [*_, answer] = FrameDecoder().feed(b"".join(pieces))
    assert answer["value"] == "seen"


@pytest.mark.parametrize("tool", ["waits", "rests"])
def test_a_body_whose_reader_goes_away_is_gone_when_that_is_said(tool: str) -> None:
    mark = f"911{secrets.randbelow(10**9)}.75"
    pieces = node.stream_request(order(ray_tools, tool, mark=mark))
    next(pieces)
    until_sync(lambda: survivors(f"sleep\0{mark}"))
    pieces.close()
    assert not survivors(mark)


def test_a_body_that_nobody_ended_in_time_is_ended_by_the_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(node, "_GRACE_SECONDS", 0.2)
    mark = f"912{secrets.randbelow(10**9)}.75"
    [*_, answer] = FrameDecoder().feed(node.run_request(order(ray_tools, "waits", 0.3, mark=mark)))
    assert (answer["kind"], answer["text"]) == ("died", "was ended at its deadline")
    assert not survivors(mark)
