"""The trials of one evaluation: figures by model and way of calling, as JSON and as JUnit's XML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any
from xml.etree import ElementTree

from toolkeel._common.data_folder import data_folder
from toolkeel._records.record import record
from toolkeel._records.record_json import (
    Codec,
    describe_as_json,
    dump_record,
    load_record,
    record_codec,
    register_codecs,
    tuple_codec,
)
from toolkeel.call.toolset import Toolset
from toolkeel.errors import SetupError
from toolkeel.observe.wording import pretty
from toolkeel_studio.evals.cases import Case
from toolkeel_studio.evals.scoring import MadeCall
from toolkeel_studio.evals.trials import Trial

VERSION = 1
FOLDER = "evals"
"""Name of the folder of reports in the user's data folder."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@record
class Report:
    """One evaluation.

    Args:
        toolkeel_eval: Version of the format.
        name: Name of the file of cases.
        started: When it began, ISO 8601 in UTC.
        executed: The tools ran.
        times: How often each question was asked.
        instructions: Instructions for the models.
        tools: The tools as the models were offered them: name, description, parameters.
        cases: The cases, in the form of their file.
        trials: All trials.
        complete: False if it was stopped.
    """

    toolkeel_eval: int
    name: str
    started: str
    executed: bool
    times: int
    instructions: str
    tools: tuple[dict[str, Any], ...]
    cases: tuple[dict[str, Any], ...]
    trials: tuple[Trial, ...]
    complete: bool = True

    @property
    def rows(self) -> list[Row]:
        """Figures by model and way of calling, in the order of the trials."""
        found: dict[tuple[str, str], list[Trial]] = {}
        for trial in self.trials:
            found.setdefault((trial.model, trial.calls), []).append(trial)
        return [make_row(model, calls, trials) for (model, calls), trials in found.items()]

    def to_json(self) -> str:
        """Return the report as JSON."""
        return pretty(dump_record(self, whole=True))


@record
class Row:
    """Figures of one model with one way of calling.

    Args:
        model: Name of the model.
        calls: The way of calling; empty for the model's own.
        trials: Questions asked.
        made: Calls made.
        valid: Those of them that a tool accepted.
        right_tool: Questions with calls of the right tools.
        right_arguments: Those of them with the right arguments.
        invalid: Questions with an invalid call.
        corrected: Those of them that ended with the right calls.
        errors: Questions for which the model failed.
        input_tokens: Tokens read for a question, on average.
        output_tokens: Tokens written for a question, on average.
        seconds: Median duration of a question.
    """

    model: str
    calls: str
    trials: int
    made: int
    valid: int
    right_tool: int
    right_arguments: int
    invalid: int
    corrected: int
    errors: int
    input_tokens: float
    output_tokens: float
    seconds: float

    @property
    def label(self) -> str:
        """The model and the way of calling."""
        return f"{self.model} ({self.calls})" if self.calls else self.model


_DATA = Codec((list, tuple), describe_as_json, tuple)
_CALL = Codec((Mapping, str), describe_as_json)
register_codecs(
    {
        "Mapping[str, object] | str": _CALL,
        "tuple[dict[str, Any], ...]": _DATA,
        "tuple[MadeCall, ...]": tuple_codec(record_codec(MadeCall)),
        "tuple[Trial, ...]": tuple_codec(record_codec(Trial)),
    }
)


def make_row(model: str, calls: str, trials: Sequence[Trial]) -> Row:
    """Return the figures of some trials, at least one."""
    made = [call for trial in trials for call in trial.made]
    has_invalid = [trial for trial in trials if trial.corrected is not None]
    return Row(
        model,
        calls,
        len(trials),
        len(made),
        sum(call.valid for call in made),
        _count(trials, "right_tool"),
        _count(trials, "right_arguments"),
        len(has_invalid),
        _count(has_invalid, "corrected"),
        _count(trials, "error"),
        mean(trial.input_tokens for trial in trials),
        mean(trial.output_tokens for trial in trials),
        median(trial.seconds for trial in trials),
    )


def _count(trials: Sequence[Trial], name: str) -> int:
    return sum(bool(getattr(trial, name)) for trial in trials)


def describe_tools(tools: Toolset) -> tuple[dict[str, Any], ...]:
    """Return tools as a report keeps them."""
    return tuple(
        {"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools
    )


def describe_cases(cases: Iterable[Case]) -> tuple[dict[str, Any], ...]:
    """Return cases as a report keeps them."""
    return tuple(
        {
            "name": case.name,
            "question": case.question,
            "calls": [call.to_dict() for call in case.calls] or "none",
        }
        for case in cases
    )


def reports_folder() -> Path:
    """Return the folder in which reports are saved."""
    return data_folder() / FOLDER


def is_report(place: str) -> bool:
    """Return True if a file is a saved report, not a file of cases."""
    if not place.endswith(".json") or not Path(place).is_file():
        return False
    with Path(place).open(encoding="utf-8", errors="replace") as file:
        return '"toolkeel_eval"' in file.read(200)


def read_report(path: str | Path) -> Report:
    """Read a saved report.

    Raises:
        SetupError: the file cannot be read, or is no report of this version.
    """
    try:
        data = json.loads(Path(path).read_text("utf-8"))
        if not isinstance(data, dict) or "toolkeel_eval" not in data:
            raise ValueError("it has no toolkeel_eval")
        found = load_record(data, Report)
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SetupError(f"{path} is no report of toolkeel eval: {error}"[:300]) from None
    if found.toolkeel_eval != VERSION:
        raise SetupError(f"{path} is a report of version {found.toolkeel_eval}, not {VERSION}")
    return found


def to_junit(report: Report) -> str:
    """Return a report as JUnit's XML: a suite for each model and way of calling, a test for each trial."""
    root = ElementTree.Element("testsuites", name=_xml(report.name))
    for row in report.rows:
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(row.label))
        suite.set("tests", str(row.trials))
        suite.set("failures", str(row.trials - row.right_arguments - row.errors))
        suite.set("errors", str(row.errors))
        chosen = [t for t in report.trials if (t.model, t.calls) == (row.model, row.calls)]
        suite.set("time", f"{sum(trial.seconds for trial in chosen):.3f}")
        for trial in chosen:
            _add_test(suite, trial, row.label, report.times)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _add_test(suite: ElementTree.Element, trial: Trial, label: str, times: int) -> None:
    name = trial.case if times == 1 else f"{trial.case} [{trial.attempt}]"
    test = ElementTree.SubElement(suite, "testcase", name=_xml(name), classname=_xml(label))
    test.set("time", f"{trial.seconds:.3f}")
    problem: Mapping[str, str] = {"error": trial.error, "failure": trial.why}
    for tag, text in problem.items():
        if text:
            found = ElementTree.SubElement(test, tag, message=_xml(text))
            found.text = _xml("\n".join([text, *map(str, trial.made), trial.text]).rstrip())
            return


def _xml(text: str) -> str:
    """Return a text with characters that XML cannot hold as escapes."""
    return _NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
