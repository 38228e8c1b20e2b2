"""Text about runs for people: safe on a terminal, nothing hidden; durations and counts.

What a model or a tool wrote is untrusted: on a terminal it could move the cursor, and anywhere it could
look like something else (CVE-2021-42574).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from toolkeel._records.record import NOTHING
from toolkeel._records.taint_sources import Permit
from toolkeel._records.tickets import Ticket
from toolkeel.effects import UNKNOWN
from toolkeel.messages import ToolCall

# C0 without tab and newline, DEL and C1: what a terminal obeys. The bidirectional controls reorder
# what is read (CVE-2021-42574); lone surrogates cannot be encoded.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(text: str) -> str:
    r"""Return `text` with control characters as escapes; tabs and line ends stay, these as newlines.

    >>> escaped("\x1b]52;c;cm0gLXJm\x07 ok\r\n")
    '\\x1b]52;c;cm0gLXJm\\x07 ok\n'
    """
    return _CONTROLS.sub(_visible, text.replace("\r\n", "\n"))


def _visible(match: re.Match[str]) -> str:
    """Return a matched character as an escape sequence."""
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def dollars(cost: float) -> str:
    """Format a sum of money to the cent; a smaller one to its first two digits.

    >>> dollars(12.345), dollars(0.00042), dollars(0)
    ('$12.35', '$0.00042', '$0.00')
    """
    return f"${cost:.2f}" if not 0 < cost < 0.01 else f"${Decimal(f'{cost:.2g}'):f}"


def one_line(text: str) -> str:
    r"""Return `text` on one line, with each white space as one blank and control characters as escapes.

    >>> one_line("a\n\tb  c")
    'a b c'
    """
    return escaped(" ".join(text.split()))


# What looks like nothing or like another space although it is of no invisible category: fillers,
# the blank Braille pattern, and the selectors and joiners that only change their neighbours.
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_SPACES = " \u3000"
"""The spaces that are seen as what they are: ours, and the wide one of Chinese and Japanese."""


def visible_json(value: object) -> str:
    r"""Format a JSON value on several lines, with invisible characters as JSON escapes.

    It is JSON still, of the same value: what is read is what there is.

    >>> print(visible_json({"path": "a\u202eb", "text": "猫\x1b[2J"}))
    {
      "path": "a\u202eb",
      "text": "猫\u001b[2J"
    }
    """
    text = pretty(value)
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(char if char == "\n" or _is_seen(char) else _json_escape(char) for char in text)


def visible_line(text: str) -> str:
    r"""Format `text` on one line, with invisible characters as escapes.

    >>> visible_line("rm\u200b \n -rf")
    'rm\\u200b -rf'
    """
    text = " ".join(text.split())
    return "".join(char if _is_seen(char) else _json_escape(char) for char in text)


def visible_row(text: str) -> str:
    r"""Format a line of a form or a diff: its spaces stay, a tab is an arrow.

    >>> visible_row("+  rm\u200b")
    '+  rm\\u200b'
    """
    text = text.replace("\t", "→   ")
    return "".join(char if _is_seen(char) else _json_escape(char) for char in text)


def visible_text(text: str) -> str:
    r"""Format a text of several lines: its tabs and line ends stay, invisible characters are escapes.

    >>> visible_text("a\tb\u200b\n")
    'a\tb\\u200b\n'
    """
    return "".join(
        char if char in "\t\r\n" or _is_seen(char) else _json_escape(char) for char in text
    )


def change_rows(reason: str) -> list[str]:
    """Return the lines of a ticket's reason after the first, such as its diff, each formatted by `visible_row`."""
    return [visible_row(row) for row in reason.split("\n")[1:]]


def _is_seen(char: str) -> bool:
    """Return true if a character is visible, or an ordinary space."""
    if char in _SPACES:
        return True
    category = unicodedata.category(char)
    return category not in _UNSEEN and category != "Zs" and char not in _BLANK


def _json_escape(char: str) -> str:
    """Return a character as JSON escapes, as two if it is outside the basic plane."""
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


# — records, worded —


def arguments_of(call: ToolCall) -> Mapping[str, Any] | str:
    """Return a call's arguments as an object, an empty one for no text, or the raw text if it is not an object."""
    if not isinstance(call.arguments, str):
        return call.arguments
    try:
        value = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return call.arguments
    return value if isinstance(value, dict) else call.arguments


def compact(value: object) -> str:
    """Format a JSON value on one line, letters of all scripts as they are; other objects as their `str`."""
    return json.dumps(value, ensure_ascii=False, default=str)


def pretty(value: object) -> str:
    """Format a JSON value on several lines, letters of all scripts as they are; other objects as their `str`."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


class ShownTable(NamedTuple):
    """The rows of a tool's table that people see.

    Args:
        columns: Names of the columns.
        rows: The first rows, as texts.
        total: Number of all rows.
    """

    columns: list[str]
    rows: list[list[str]]
    total: int


_RECORDS_TEXT = 100_000
"""Characters of the longest text that is read as records."""
_RECORDS_ROWS = 50
"""Rows of records that are shown."""
_RECORDS_COLUMNS = 100
"""Columns of the widest records that are shown as a table."""


def table_of(details: Mapping[str, object], text: str = "") -> ShownTable | None:
    """Return the table in a result's details, else the records that its text is, a list of JSON objects.

    Returns:
        None if the details have no table of that form, and the text is empty, longer than 100,000
        characters or anything but at least one object with a key. Of records, the first 50 are shown,
        with a column for each key of theirs; None if these are more than 100.

    >>> table_of({"table": {"columns": ["n"], "rows": [["1"], ["2"]], "total_rows": 9}})
    ShownTable(columns=['n'], rows=[['1'], ['2']], total=9)
    >>> table_of({}, '[{"n": 1}, {"n": "猫", "m": null}]')
    ShownTable(columns=['n', 'm'], rows=[['1', ''], ['猫', 'null']], total=2)
    >>> table_of({"table": 3}) is None
    True
    """
    match details.get("table"):
        case {"columns": [*columns], "rows": [*rows], "total_rows": int(total)}:
            if all(isinstance(row, list | tuple) and len(row) == len(columns) for row in rows):
                return ShownTable([*map(str, columns)], [[*map(str, row)] for row in rows], total)
    return _table_of_records(text)


def _table_of_records(text: str) -> ShownTable | None:
    """Return the table of a JSON list of objects, or None if `text` is none, a long or a wide one."""
    if len(text) > _RECORDS_TEXT or not text.lstrip().startswith("["):
        return None
    try:
        records = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(record, dict) for record in records):
        return None
    shown = records[:_RECORDS_ROWS]
    columns = [*dict.fromkeys(key for record in shown for key in record)]
    if not 0 < len(columns) <= _RECORDS_COLUMNS:
        return None
    rows = [[_cell(record[key]) if key in record else "" for key in columns] for record in shown]
    return ShownTable(columns, rows, len(records))


def _cell(value: object) -> str:
    try:
        return value if isinstance(value, str) else compact(value)
    except RecursionError:  # what was read may be nested too deeply to be written
        return "…"


def title_of(schema: Mapping[str, Any]) -> str:
    """Return a short name for a JSON Schema: its title, else what distinguishes it; empty if nothing does.

    >>> title_of({"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {}}})
    'kind "cat", lives'
    >>> title_of({"type": "array", "items": {"$ref": "#/$defs/Cat"}}), title_of({"enum": [1, "b"]})
    ('array: Cat', '1, "b"')
    """
    fields = [
        f"{key} {_const(each)}".rstrip() for key, each in schema.get("properties", {}).items()
    ]
    values = [compact(value) for value in schema.get("enum", ())]
    some = " or ".join(
        title_of(each) for each in schema.get("anyOf", ()) if isinstance(each, Mapping)
    )
    ref = str(schema.get("$ref", "")).rpartition("/")[2]
    words = (
        schema.get("title"),
        _few(fields),
        _few(values),
        _const(schema),
        some,
        schema.get("type"),
        ref,
    )
    word = str(next(filter(None, words), ""))
    items = schema.get("items")
    if word == "array" and isinstance(items, Mapping):
        return f"array: {title_of(items)}".rstrip(": ")
    return word


def _const(schema: Any) -> str:
    """Return a schema's constant as text, or an empty string without one."""
    is_one = isinstance(schema, Mapping) and "const" in schema
    return compact(schema["const"]) if is_one else ""


def _few(words: list[str]) -> str:
    """Return up to three words joined by commas, and "…" for more."""
    return ", ".join(words[:3] + ["…"] * (len(words) > 3))


def duration(seconds: float) -> str:
    """Format a duration for people.

    >>> duration(0.000042), duration(0.0123), duration(3.14), duration(75)
    ('42 µs', '12 ms', '3.1 s', '1 min 15 s')
    """
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    return f"{int(seconds + 0.5) // 60} min {int(seconds + 0.5) % 60} s"


def count(number: int, noun: str) -> str:
    """Format a number with its noun.

    >>> count(1, "call"), count(2000, "call")
    ('1 call', '2,000 calls')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def scope_words(tool: str, scope: str) -> str:
    """Describe the calls that an approval of a ticket's scope covers.

    >>> scope_words("fetch", "host example.org")
    'later calls of fetch to example.org'
    """
    kind, _, what = scope.partition(" ")
    if kind == "command":
        return f"the same command of {tool} again: {what}"
    where = {"host": f" to {what}", "folder": f" in {what} and below"}
    return f"later calls of {tool}{where.get(kind, ', whatever their arguments')}"


def permit_words(permit: Permit) -> str:
    """Describe the calls that a permit for a session covers."""
    return scope_words(permit.name, permit.value.partition(" ")[2])


def badges(effects: Mapping[str, object], arguments: Mapping[str, object] = NOTHING) -> str:
    """Summarize what running the tool can do.

    Args:
        effects: The hints of a `Ticket`.
        arguments: Its arguments; they replace ``{name}`` in the hints.

    >>> badges({"read_only": True, "open_world": True})
    'reads, network'
    """
    hints = {key: effects.get(key, getattr(UNKNOWN, key)) for key in _HINTS}
    resources = effects.get("resources")
    if not resources and all(hints[key] == getattr(UNKNOWN, key) for key in _HINTS):
        return "effects not declared"
    words = ["reads" if hints["read_only"] else "writes"]
    if hints["destructive"] and not hints["read_only"]:
        words.append("destructive")
    if hints["open_world"]:
        words.append("network")
    if isinstance(resources, list | tuple):
        filled = (_NAME.sub(lambda n: _put_in(n, arguments), str(each)) for each in resources)
        words += [f"touches {resource}" for resource in filled]
    return ", ".join(words)


def describe_call(ticket: Ticket) -> list[str]:
    """List what the call can do, what it would change, and its arguments."""
    told = badges(ticket.effects, ticket.arguments)
    return [told, *change_rows(ticket.reason), visible_json(dict(ticket.arguments))]


def _put_in(name: re.Match[str], arguments: Mapping[str, object]) -> str:
    """Return the argument that a placeholder names, on one line; the placeholder itself if there is none."""
    value = arguments.get(name[1])
    return name[0] if value is None else visible_line(str(value))


_NAME = re.compile(r"\{(\w+)\}")
_HINTS = ("read_only", "destructive", "idempotent", "open_world")
