"""The program that runs one body: how it finds the tool's module, and what it answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.executors import process_tools
from toolkeel import ToolCall
from toolkeel.errors import SetupError
from toolkeel.executors import worker


def test_a_module_is_found_by_its_name_only_if_that_leads_to_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "json.py"
    file.write_text("mine = True\nif __name__ == '__main__': raise SystemExit\n")
    monkeypatch.setitem(sys.modules, "json", sys.modules["json"])
    assert (
        worker._load_module("tests.executors.process_tools", process_tools.__file__)
        is process_tools
    )
    assert worker._load_module("json", str(file)).mine
    assert (
        worker._load_module("tests.executors.process_tools", "/elsewhere/tools.py") is process_tools
    )
    script = worker._load_module("__main__", str(file))
    assert script.mine and script.__name__ != "__main__"
    monkeypatch.delitem(sys.modules, script.__name__)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
       | st.binary(max_size=3), lambda inner: st.lists(inner) | st.tuples(inner)
       | st.dictionaries(st.text(max_size=3) | st.integers(), inner), max_leaves=8))  # fmt: skip
def test_what_crosses_as_a_value_comes_back_exactly(value: object) -> None:
    if worker._is_json(value):
        assert repr(json.loads(json.dumps(value))) == repr(value)
    else:
        assert any(sign in repr(value) for sign in ("b'", 'b"', "(", "nan", "inf", "{"))


def order(**more: object) -> dict[str, Any]:
    here = {"module": "tests.executors.process_tools", "file": process_tools.__file__}
    made = {"attribute": "add", "name": "add", "id": "c1", "arguments": {"a": 1, "b": 2}}
    return {**here, "run": "r", "key": "k1", "seconds": None, **made, **more}


def test_an_answer_is_a_message_a_failure_or_a_fault_of_the_program() -> None:
    good = worker.run_request(order(arguments={"a": 1, "b": 2, "day": "2026-11-22"}))
    assert good["message"]["content"] == '{"total":3,"day":"2026-11-22"}'
    said = worker.run_request(order(attribute="fails", name="fails", arguments={"how": "said"}))
    assert (said["kind"], said["details"]) == ("tool_error", {"city": "北京"})
    crash = worker.run_request(order(attribute="fails", name="fails", arguments={"how": "x"}))
    assert (crash["kind"], crash["text"]) == ("crashed", "LookupError: x")
    for missing in ({"attribute": "gone"}, {"module": "gone", "file": "/gone.py"}):
        assert worker.run_request(order(**missing))["kind"] == worker.SETUP_ERROR


def test_what_stays_with_the_run_says_so_when_a_body_elsewhere_asks_for_it() -> None:
    call = ToolCall("c", "t", {})
    told: list[object] = []
    context = worker.RemoteContext(call, order(seconds=5.0), told.append)
    for name in ("deps", "state", "update", "messages", "store", "agent", "usage"):
        with pytest.raises(SetupError, match="pass the rest as arguments"):
            getattr(context, name)
    with pytest.raises(SetupError, match="plain JSON data"):
        context.emit({1, 2})
    context.emit({"a": 1})
    context.progress("half", 1, 2)
    assert told == [{"emit": {"a": 1}}, {"progress": ["half", 1, 2]}]
    assert context.idempotency_key == "k1" and context.run.id == "r"
    assert 0 < (context.time_left or 0) <= 5


def test_a_module_that_fails_while_it_is_loaded_is_loaded_anew_the_next_time(
    tmp_path: Path,
) -> None:
    file = tmp_path / "half_way.py"
    file.write_text("mine = True\nraise OSError('no disk')\n")
    for _ in range(2):
        with pytest.raises(OSError, match="no disk"):
            worker._load_module("half_way", str(file))
