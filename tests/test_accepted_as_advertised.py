"""Accepted equals advertised, and every message is true: random tools, random calls, another validator."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, note, settings

from tests.argument_cases import DESCRIBED, TYPED, calls
from tests.reading_phrases import Unmade, instance_of, read_phrase
from toolkeel import Tool, ToolCall
from toolkeel.call.arguments.validate import prepare
from toolkeel.define.explain.phrases import describe_value
from toolkeel.define.schema.canonical import canonical_json
from toolkeel.errors import FieldError, InvalidArguments

Json = Any
Case = tuple[Tool[..., Any], Json]
_MISSING = object()

# — the other validator —

_SECONDS = re.compile(r"\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*", re.A)
FORMATS = jsonschema.FormatChecker(formats=())
FORMATS.checks("date", ValueError)(
    lambda text: not isinstance(text, str) or dt.date.fromisoformat(text) is not None
)
FORMATS.checks("time", ValueError)(
    lambda text: (
        not isinstance(text, str) or (":" in text and dt.time.fromisoformat(text) is not None)
    )
)
FORMATS.checks("date-time", ValueError)(
    lambda text: (
        not isinstance(text, str) or ("T" in text and dt.datetime.fromisoformat(text) is not None)
    )
)
FORMATS.checks("duration")(
    lambda text: not isinstance(text, str) or re.fullmatch(r"P.+", text) is not None
)
FORMATS.checks("uuid")(lambda text: not isinstance(text, str) or len(text) == 36)


def is_valid(schema: Json, value: Json) -> bool:
    return bool(jsonschema.Draft202012Validator(schema, format_checker=FORMATS).is_valid(value))


# — one call —


def outcome(
    tool: Tool[..., Any], value: Json
) -> tuple[Json, tuple[str, ...], InvalidArguments | None]:
    """What the body would receive, as JSON; the changes; or what was wrong."""
    call = ToolCall("c", tool.name, json.dumps(value, ensure_ascii=False))
    try:
        prepared = prepare(call, tool)
    except InvalidArguments as error:
        return None, (), error
    return canonical_json(prepared.arguments, tool.arguments.aliases), prepared.changes, None


def value_at(value: Json, path: tuple[str | int, ...]) -> Json:
    for part in path:
        inside = isinstance(value, dict) if isinstance(part, str) else isinstance(value, list)
        if not inside or (part not in value if isinstance(part, str) else part >= len(value)):
            return _MISSING
        value = value[part]
    return value


def put(value: Json, path: tuple[str | int, ...], new: Json) -> Json:
    if not path:
        return new
    key, *rest = path
    if isinstance(value, dict):
        return {**value, key: put(value.get(key), tuple(rest), new)}
    if not isinstance(value, list) or not isinstance(key, int) or key > len(value):
        raise Unmade
    longer = [*value, None] if key == len(value) else value
    return [put(each, tuple(rest), new) if at == key else each for at, each in enumerate(longer)]


def means(sent: Json, used: Json) -> bool:
    """Whether what is used is what was sent, in another form at most."""
    if isinstance(sent, dict) and isinstance(used, dict):
        named = {name for name in sent if name in used}
        keys = len(sent) == len(used) or sent.keys() <= used.keys()
        return keys and all(means(sent[name], used[name]) for name in named)
    if isinstance(sent, list) and isinstance(used, list):
        return len(sent) == len(used) and (
            all(map(means, sent, used))
            or all(any(means(each, one) for one in used) for each in sent)  # a set has no order
        )
    if isinstance(sent, bool) or isinstance(used, bool) or sent is None:
        return sent is used
    if sent == used:
        return True
    return any(_same(read, sent, used) for read in (_moment, Decimal, _duration))


def _same(read: Callable[[Any], object], sent: Json, used: Json) -> bool:
    try:
        return read(str(sent)) == read(str(used))
    except (ValueError, ArithmeticError):
        return False


def _moment(text: str) -> object:
    return dt.datetime.fromisoformat(text) if "T" in text else dt.time.fromisoformat(text)


def _duration(text: str) -> object:
    if not text.startswith("P"):
        raise ValueError
    return text


# — what must hold —


def check(case: Case) -> None:
    tool, value = case
    schema = tool.parameters
    note(f"{json.dumps(schema, ensure_ascii=False)}\n{json.dumps(value, ensure_ascii=False)}")
    used, changes, error = outcome(tool, value)
    valid = is_valid(schema, value)
    if error is not None:
        note(error.text)
        assert not valid, "what is advertised was refused"
        for each in error.errors:
            check_field(tool, value, each, error)
    elif changes:
        note(str(changes))
        assert is_valid(schema, used), f"what was mended is not what is advertised: {used}"
    else:
        assert valid, f"what is not advertised was accepted, as {used}"
        assert means(value, used), f"another value runs, without a word: {used}"


def check_field(
    tool: Tool[..., Any], value: Json, field: FieldError, error: InvalidArguments
) -> None:
    """Every word about one field is true."""
    *above, _ = field.path or (0,)
    sent = value_at(value, field.path)
    changed = error.details.get("coerced", ())
    within = any(_is_taken(each, field.path) for each in changed)
    if not within:
        assert sent is not _MISSING or value_at(value, tuple(above)) is not _MISSING, field
        if field.got and field.got != "an unknown key":
            assert field.got == describe_value(sent), field
        if sent is _MISSING:
            assert not field.got and "required" in field.expected, field
    wanted = read_phrase(field.expected)
    if wanted is None or field.got == "an unknown key":
        return
    if sent is not _MISSING and not within:
        assert not is_valid(wanted, sent), f"{field}: that is what was sent"
    try:
        better = put(value, field.path, instance_of(wanted))
    except Unmade:
        return
    _, _, again = outcome(tool, better)
    left = [] if again is None else [each for each in again.errors if each.path == field.path]
    # Where a value may fit one branch alone, the first that comes to mind can fit two.
    left = [each for each in left if not each.expected.startswith("only one of")]
    assert not left, f"{field}: with {better}, still {left}"


def _is_taken(change: str, path: tuple[str | int, ...]) -> bool:
    where = change.partition(": ")[0]
    return bool(path) and FieldError(path, "").where.startswith(where)


QUICK = settings(max_examples=500, suppress_health_check=list(HealthCheck))
NIGHTLY = settings(max_examples=20_000, suppress_health_check=list(HealthCheck))


@QUICK
@given(calls(TYPED))
def test_a_typed_tool_accepts_what_it_advertises_and_says_what_is_so(case: Case) -> None:
    check(case)


@QUICK
@given(calls(DESCRIBED))
def test_a_described_tool_accepts_what_it_advertises_and_says_what_is_so(case: Case) -> None:
    check(case)


@pytest.mark.slow
@NIGHTLY
@given(calls(TYPED))
def test_every_night_typed_tools_accept_what_they_advertise(case: Case) -> None:
    check(case)


@pytest.mark.slow
@NIGHTLY
@given(calls(DESCRIBED))
def test_every_night_described_tools_accept_what_they_advertise(case: Case) -> None:
    check(case)
