"""Accepted equals advertised, and every message is true: random tools, random calls, another validator."""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.argument_cases import (
    ANNOTATIONS,
    DEFINITIONS,
    DESCRIBED,
    SCHEMAS,
    TYPED,
    argument_values,
    calls,
    described_tool,
    typed_tool,
)
from tests.reading_phrases import Unmade, instance_of, read_phrase
from toolkeel import Tool, ToolCall
from toolkeel.call.arguments.argument_errors import coercions_of
from toolkeel.call.arguments.validate import prepare
from toolkeel.define.dialect.definition import FORMS, Form, definition
from toolkeel.define.explain.value_phrases import describe_value, short_json
from toolkeel.define.import_definition import parse_definition
from toolkeel.define.schema.canonical import canonical_json
from toolkeel.errors import FieldError, InvalidArguments
from toolkeel.providers.wire.tools import WireTools

Json = Any
Path = tuple[str | int, ...]
Case = tuple[Tool[..., Any], Json]
SentCase = tuple[Tool[..., Any], Form, bool | None, Json]
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
FORMATS.checks("uuid")(
    lambda text: (
        not isinstance(text, str) or re.fullmatch(r"\w{8}(-\w{4}){3}-\w{12}", text) is not None
    )
)


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
    # A decimal number is shown as text, and no text is a number.
    return isinstance(used, str) and any(
        _same(read, sent, used) for read in (_moment, Decimal, _duration)
    )


def unsent(value: Json, path: Path) -> Json:
    """A value without what is at a path."""
    key, *rest = path
    if rest:
        return put(value, (key,), unsent(value_at(value, (key,)), tuple(rest)))
    return {name: each for name, each in value.items() if name != key}


def places(value: Json, path: Path = ()) -> Iterator[Path]:
    yield path
    inside = value.items() if isinstance(value, dict) else ()
    for key, each in enumerate(value) if isinstance(value, list) else inside:
        yield from places(each, (*path, key))


_CHANGE = re.compile(r"(.+?): (.+) was (?:taken as (.+)|dropped) \((\w+)\)", re.S)


def changed(sent: Json, changes: tuple[str, ...]) -> Json:
    """What was sent, after the changes of it that are reported; each names the place and what was there."""
    for change in changes:
        match = _CHANGE.fullmatch(change)
        assert match is not None, change
        where, before, after, rule = match.groups()
        named = [path for path in places(sent) if FieldError(path, "").where == where]
        assert len(named) == 1, f"{change}: no such place"
        there = value_at(sent, named[0])
        assert before == short_json(there) or rule == "inexact_number", f"{change}: it was {there}"
        if after is None:
            sent = unsent(sent, named[0])
            continue
        read = json.loads(there if rule in ("array_from_string", "object_from_string") else after)
        assert after == short_json(read), f"{change}: it is {read}"
        sent = put(sent, named[0], read)
    return sent


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
        taken = changed(value, coercions_of(error))
        for each in error.errors:
            check_field(tool, value, taken, each)
        named = [each.path for each in error.errors]
        for place in wrong_places(schema, taken):
            near = any(place[: len(path)] == path[: len(place)] for path in named)
            assert near, f"{place} is wrong, too, and neither that nor a change of it is reported"
        return
    note(str(changes))
    taken = changed(value, changes)
    assert is_valid(schema, taken), (
        f"with what is reported to have changed, {taken} is no valid call"
    )
    assert means(taken, used), f"another value runs than is reported: {used}"
    if valid:
        assert all(each.endswith(HARMLESS) for each in changes), "what is advertised was changed"


HARMLESS = ("(integer_from_number)", "(inexact_number)")
"""Changes of what is advertised: 1.0 is an integer to JSON Schema, too, and a float holds no more digits."""


def wrong_places(schema: Json, value: Json) -> Iterator[Path]:
    """Where a value breaks a schema, by the other validator."""
    for fault in jsonschema.Draft202012Validator(schema, format_checker=FORMATS).iter_errors(value):
        names: Iterable[str] = ()
        if fault.validator == "required":
            names = set(fault.validator_value) - fault.instance.keys()
        elif fault.validator == "additionalProperties" and fault.validator_value is False:
            names = fault.instance.keys() - fault.schema.get("properties", {}).keys()
        yield from [(*fault.absolute_path, name) for name in names] or [tuple(fault.absolute_path)]


def check_field(tool: Tool[..., Any], value: Json, taken: Json, field: FieldError) -> None:
    """Every word about one field is true of the call as it was sent, and as it was taken."""
    *above, _ = field.path or (0,)
    sent, used = value_at(value, field.path), value_at(taken, field.path)
    shown = used if sent is _MISSING else sent  # inside a text that was taken as JSON
    assert used is not _MISSING or value_at(taken, tuple(above)) is not _MISSING, field
    if field.got == "an unknown key" or field.expected.startswith("a key that is "):
        assert shown is not _MISSING, field
        check_key(tool, value, field)
        return
    assert field.got == ("" if shown is _MISSING else describe_value(shown)), field
    assert shown is not _MISSING or "required" in field.expected, field
    wanted = read_phrase(field.expected)
    if wanted is None:
        return
    if used is not _MISSING:
        assert not is_valid(wanted, used), f"{field}: that is what was sent"
    try:
        better = put(taken, field.path, instance_of(wanted))
    except Unmade:
        return
    _, _, again = outcome(tool, better)
    left = [] if again is None else [each for each in again.errors if each.path == field.path]
    # Where a value may fit one branch alone, the first that comes to mind can fit two.
    left = [each for each in left if not each.expected.startswith("only one of")]
    assert not left, f"{field}: with {better}, still {left}"


def check_key(tool: Tool[..., Any], value: Json, field: FieldError) -> None:
    """A key that is named instead of a wrong one is none of those that are wrong."""
    *above, wrong = field.path
    wanted = read_phrase(field.expected.removeprefix("a key that is "))
    if field.got:
        names = re.findall(r'"([^"]*)"', field.expected.partition("(did you mean")[0])
    else:
        names = [str(instance_of(wanted)).lower()] if wanted else []
    inside = value_at(value, tuple(above))
    if not isinstance(inside, dict):  # within a text that was taken as JSON
        return
    for name in {*names} - {*inside}:
        other = {key: each for key, each in inside.items() if key != wrong} | {name: inside[wrong]}
        _, _, again = outcome(tool, put(value, tuple(above), other))
        for each in again.errors if again else ():
            assert each.path != (*above, name) or (each.got, each.expected) != (
                field.got, field.expected
            ), f"{field}: {name} is no key either"  # fmt: skip


# — as each provider is sent it —

FORM_CASES = [
    (form, strict)
    for form, kind in FORMS.items()
    for strict in ((None, True) if kind.strict else (None,))
]
SAYS_NO_LESS = {"title", "default", "description", "examples", "discriminator", "deprecated"}
"""Losses that admit no other value."""


@st.composite
def sent_calls(draw: st.DrawFn, tools: st.SearchStrategy[Tool[..., Any]]) -> SentCase:
    """A tool, a provider's form of it, and a call made from the schema in that form."""
    tool = draw(tools)
    form, strict = draw(st.sampled_from(FORM_CASES))
    sent = parse_definition(WireTools([tool], form, strict).bodies[0]).schema
    return tool, form, strict, draw(argument_values(sent))


def check_sent(case: SentCase) -> None:
    """A call that the sent schema allows is one of the tool, except where a loss is reported."""
    tool, form, strict, value = case
    wire = WireTools([tool], form, strict)
    sent = parse_definition(wire.bodies[0]).schema
    if not is_valid(sent, value):
        return
    note(f"{form} {strict}\n{json.dumps(tool.parameters)}\n{json.dumps(sent)}\n{json.dumps(value)}")
    made = definition("take", "", tool.parameters, form, strict=strict)
    if strict and not made.strict:  # what made it ordinary is no loss of the ordinary form
        made = definition("take", "", tool.parameters, form)
    losses = [each for each in made.losses if each.what not in SAYS_NO_LESS]
    _, changes, error = outcome(tool, json.loads(wire.from_wire("take", json.dumps(value))))
    note(f"{losses}\n{changes}\n{error and error.text}")
    # 1.0 is an integer to JSON Schema, too.
    changes = tuple(each for each in changes if "integer_from_number" not in each)
    if not losses and not made.strict:
        assert not changes, "what the sent schema allows had to be mended"
    elif not losses:
        assert all("null" in each for each in changes), "more than null for unset was mended"
    for each in error.errors if error else ():
        assert any(_is_about(loss.path, each.path) for loss in losses), each


def _is_about(pointer: str, path: tuple[str | int, ...]) -> bool:
    """Whether a place in a schema may be that of a place in the arguments, or around or within it."""
    parts = [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]
    if "$defs" in parts:
        return True  # in as many places as refer to it
    keys: list[str | int | None] = []
    while parts:
        word = parts.pop(0)
        if word == "properties":
            keys.append(parts.pop(0))
        elif word == "prefixItems":
            keys.append(int(parts.pop(0)))
        elif word in ("items", "contains", "additionalProperties"):
            keys.append(None)
    return all(key in (None, part) for key, part in zip(keys, path, strict=False))


# — the work that it takes —


@st.composite
def long_calls(draw: st.DrawFn) -> tuple[Tool[..., Any], list[Json]]:
    """A tool of a list, and items of such a list: right, mutated, or anything."""
    if draw(st.booleans()):
        tool = typed_tool({"rows": list[draw(ANNOTATIONS)]}, optional=False)  # type: ignore[misc]
    else:
        rows = {"type": "array", "items": draw(SCHEMAS)}
        root = {"type": "object", "properties": {"rows": rows}, "$defs": DEFINITIONS}
        tool = described_tool(root)
    value = draw(argument_values(tool.parameters))
    rows = value.get("rows")
    return tool, rows if isinstance(rows, list) and rows else [value]


def steps(tool: Tool[..., Any], value: Json) -> int:
    """How many functions are entered to prepare a call."""
    entered = 0

    def count(_frame: object, event: str, _of: object) -> None:
        nonlocal entered
        entered += event == "call"

    sys.setprofile(count)
    try:
        outcome(tool, value)
    finally:
        sys.setprofile(None)
    return entered


def check_work(case: tuple[Tool[..., Any], list[Json]]) -> None:
    """Twice the items take at most twice the work."""
    tool, rows = case
    note(f"{json.dumps(tool.parameters)}\n{json.dumps(rows)}")
    outcome(tool, {"rows": rows * 160})  # what is made once is made now
    few, more, many = (steps(tool, {"rows": rows * count}) for count in (40, 80, 160))
    assert many <= 2.2 * max(few, more) + 2_000, (few, more, many)


QUICK = settings(max_examples=200, suppress_health_check=list(HealthCheck))
NIGHTLY = settings(max_examples=20_000, suppress_health_check=list(HealthCheck))


@QUICK
@given(calls(TYPED))
def test_a_typed_tool_accepts_what_it_advertises_and_says_what_is_so(case: Case) -> None:
    check(case)


@QUICK
@given(calls(DESCRIBED))
def test_a_described_tool_accepts_what_it_advertises_and_says_what_is_so(case: Case) -> None:
    check(case)


@settings(QUICK, max_examples=100)
@given(sent_calls(TYPED | DESCRIBED))
def test_a_call_that_a_providers_form_allows_is_one_of_the_tool(case: SentCase) -> None:
    check_sent(case)


@settings(QUICK, max_examples=20)
@given(long_calls())
def test_twice_the_items_take_twice_the_work(case: tuple[Tool[..., Any], list[Json]]) -> None:
    check_work(case)


@pytest.mark.slow
@settings(NIGHTLY, max_examples=2_000)
@given(long_calls())
def test_every_night_twice_the_items_take_twice_the_work(
    case: tuple[Tool[..., Any], list[Json]],
) -> None:
    check_work(case)


@pytest.mark.slow
@NIGHTLY
@given(sent_calls(TYPED | DESCRIBED))
def test_every_night_calls_that_a_providers_form_allows_are_ones_of_the_tool(
    case: SentCase,
) -> None:
    check_sent(case)


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
