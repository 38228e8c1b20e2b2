"""A call as an order for another process: what it holds, and what is made of the answer."""

from __future__ import annotations

import json

import pytest

from tests.executors import executor_tools as tools
from toolkeel import ToolCall
from toolkeel.call.arguments.validate import prepare
from toolkeel.context import RunContext, ToolContext
from toolkeel.errors import InvalidOutput, SetupError
from toolkeel.executors.worker import SETUP_ERROR, TOO_LARGE
from toolkeel.executors.worker_request import make_request, make_unknown_outcome, read_outcome


def test_an_order_is_plain_json_that_names_the_tool_by_its_import_path() -> None:
    call = ToolCall("c1", "add", {"a": "2", "b": 3, "day": "2026-11-22"})
    run: RunContext[None] = RunContext()
    order = make_request(prepare(call, tools.add), ToolContext(call, "add", run))
    assert json.loads(json.dumps(order)) == order
    assert (order["module"], order["attribute"]) == ("tests.executors.executor_tools", "add")
    assert order["file"] == tools.__file__
    assert order["arguments"] == {"a": 2, "b": 3, "day": "2026-11-22"}
    assert (order["run"], order["key"]) == (run.id, f"{run.id}-c1")
    assert 0 < order["seconds"] <= 30


def test_faults_of_the_program_are_not_told_as_failures_of_the_call() -> None:
    with pytest.raises(SetupError, match="add: its process cannot load it"):
        read_outcome(tools.add, {"kind": SETUP_ERROR, "text": "its process cannot load it: gone"})
    with pytest.raises(InvalidOutput, match=r"returned more than .* and was ended"):
        read_outcome(tools.add, {"kind": TOO_LARGE})
    assert read_outcome(tools.add, {"value": [1]}) == [1]
    assert make_unknown_outcome(tools.add, "died", {}).kind == "unknown_outcome"
