"""One line for each event of a run, whatever its fields contain."""

from __future__ import annotations

import json
import logging
import shlex
import sys

from dbos import error as dbos_error
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_studio.durable.worker_log import LineFormatter, _is_no_cancel


def record(**fields: str | float) -> logging.LogRecord:
    made = logging.LogRecord("toolkeel.worker", logging.INFO, "", 0, "run %s", ("ended",), None)
    made.fields = {"event": "ended", **fields}
    return made


@given(st.text(), st.text())
def test_a_line_is_one_line_and_json_gives_back_what_was_logged(id: str, error: str) -> None:
    line = LineFormatter("json").format(record(id=id, error=error, seconds=0.5))
    found = json.loads(line)
    assert len(line.splitlines()) == 1 and line.isprintable()
    kept = {key: value for key, value in (("id", id), ("error", error)) if value}
    assert {key: found.get(key) for key in kept} == kept
    assert (found["level"], found["event"], found["seconds"]) == ("INFO", "ended", 0.5)
    text = LineFormatter("text").format(record(id=id, error=error))
    assert len(text.splitlines()) == 1 and text.isprintable()


def test_a_line_of_text_has_time_level_event_and_fields_as_words() -> None:
    line = LineFormatter("text").format(record(id="猫", error="it broke\n=bad", scope=""))
    time, level, run, event, *words = shlex.split(line)
    assert (time[10], time[-6:], level, run, event) == ("T", "+00:00", "INFO", "run", "ended")
    assert words == ["id=猫", "error=it broke\\n=bad"]


def test_what_the_engine_says_of_a_cancelled_run_is_left_out_and_other_tracebacks_are_not() -> None:
    for error, shown in (
        (dbos_error.DBOSWorkflowCancelledError("x"), False),
        (ValueError("x"), True),
    ):
        made = record()
        made.exc_info = (type(error), error, None)
        assert _is_no_cancel(made) is shown
    assert _is_no_cancel(record())
    parked = "Workflow one is no longer owned by this execution. Waiting for the owner's recorded outcome"
    assert not _is_no_cancel(logging.LogRecord("dbos", logging.WARNING, "", 0, parked, (), None))


def test_an_error_of_the_engine_is_a_line_with_its_message() -> None:
    try:
        raise ValueError("no\nrow")
    except ValueError:
        error = sys.exc_info()
    made = logging.LogRecord("dbos", logging.ERROR, "", 0, "step %s", ("one",), error)
    found = json.loads(LineFormatter("json").format(made))
    assert (found["message"], found["error"]) == ("step one", "ValueError: no\nrow")
    assert (
        LineFormatter("text").format(made).endswith(r'ERROR step one error="ValueError: no\nrow"')
    )
