"""Record and replay: a run with a real model in a file, as a test (a cassette).

A cassette works above the wire: it stores requests and replies in this library's own records, whatever the
provider. A replay needs neither key nor network, and compares every request with the recorded one: a
changed instruction, tool or result fails the test and shows the difference.

Each exchange stores only the messages that are new since the exchange it continues, so the file grows
linearly and the diff of two recordings is readable.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._common.redact_secrets import SHORTEST, Redactor
from toolkeel._records.messages_json import dump_message, load_message
from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message, ToolCall
from toolkeel.model_interface import ModelRequest, Settings, ToolDefinition

VERSION = 1
Mode: TypeAlias = Literal["none", "once", "new_episodes", "rewrite"]
Json: TypeAlias = dict[str, Any]
IGNORED = "<ignored>"
_UNSEEN = ("duration", "usage", "artifact", "details")
"""Fields of a message that no model is sent: they may differ from run to run."""
_DIFF_LINES = 60


class CassetteMismatch(SetupError, AssertionError):
    """Raised if a request differs from the recorded one, or none is left; ends the run."""


@record
class Exchange:
    """One request and its reply.

    Args:
        request: Tools, settings and all messages, as `Cassette` compares them.
        fresh: How many of the messages are new since the exchange before it.
        after: Index of the exchange it continues; -1 if it begins a conversation.
        reply: The model's reply.
    """

    request: Json
    fresh: int
    after: int
    reply: AssistantMessage


class Cassette:
    """Recorded exchanges with models, in a file.

    Args:
        path: The file, UTF-8 JSON; its folder is made when it is written.
        mode: ``none`` plays and never records; ``once`` records if there is no file, else plays;
            ``new_episodes`` plays what is there and records the rest; ``rewrite`` records anew.
        ignore: Regular expressions of what may differ in any text (times, ids), also of what was
            recorded without them; kept in the file.
        secrets: Values of four characters or more that are replaced before anything is written or
            compared, however they are written (JSON, an address, base64).

    Attributes:
        played: Indexes of the exchanges that were played or recorded.
        records: True if it may record; false for ``once`` where the file exists.

    Raises:
        SetupError: the file is no cassette or cannot be read, `mode` is ``none`` and there is no file, or a pattern
            of `ignore` is none.
    """

    @checked
    def __init__(
        self,
        path: str | Path,
        mode: Mode = "none",
        *,
        ignore: Sequence[str] = (),
        secrets: Sequence[str] = (),
    ) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise SetupError(f"{self.path} is a folder; a cassette is a file")
        self.played: set[int] = set()
        self.model_name = ""
        self.structured_output = False
        self._patterns = list(ignore)
        self._redactors = [(n, Redactor([s])) for n, s in enumerate(_sort_secrets(secrets), 1)]
        self._exchanges: list[Exchange] = []
        exists = self.path.exists()
        self.records = mode in ("new_episodes", "rewrite") or (mode == "once" and not exists)
        if mode != "rewrite" and exists:
            self._read()
        elif not self.records:
            raise SetupError(f"there is no cassette {self.path}; record it with mode='once'")
        try:
            self._ignore = re.compile("|".join(f"(?:{p})" for p in self._patterns) or r"(?!)")
        except re.error as error:
            raise SetupError(f"Cassette: ignore={self._patterns!r:.200}: {error}") from None
        self._exchanges = [replace(e, request=self._clean(e.request)) for e in self._exchanges]

    @property
    def first(self) -> list[Message]:
        """The messages of the first request: what the run began with.

        Raises:
            SetupError: nothing is recorded.
        """
        if not self._exchanges:
            raise SetupError(f"{self.path} holds no request")
        return [load_message(message) for message in self._exchanges[0].request["messages"]]

    def find(self, request: ModelRequest) -> AssistantMessage | None:
        """Return the recorded reply to a request, or None if there is none and it may be recorded.

        Side effect: the exchange counts as played, and answers no further request.

        Raises:
            CassetteMismatch: nothing was recorded for it, and nothing may be; with the difference
                to the next exchange that was not played.
        """
        asked = self._make_comparable(request)
        for place, exchange in enumerate(self._exchanges):
            if place not in self.played and exchange.request == asked:
                self.played.add(place)
                return exchange.reply
        if self.records:
            return None
        raise CassetteMismatch(self._describe_difference(asked))

    def add(self, request: ModelRequest, reply: AssistantMessage) -> None:
        """Record an exchange, and write the file, or raise SetupError if it cannot be written."""
        asked = self._make_comparable(request)
        after, known = self._find_continued(asked["messages"])
        self.played.add(len(self._exchanges))
        fresh = len(asked["messages"]) - known
        self._exchanges.append(Exchange(asked, fresh, after, reply))
        self._write()

    def result_of(self, call: ToolCall, name: str) -> Json | None:
        """Return the recorded result of a call under the call's id; None if there is none or several fit."""
        [made] = self._clean(_dump_comparable(AssistantMessage(tool_calls=(call,))))["tool_calls"]
        for exchange in self._exchanges:
            messages: list[Json] = exchange.request["messages"]
            if not any(made in message.get("tool_calls", ()) for message in messages):
                continue  # of another run, whose ids may be the same
            fresh = messages[len(messages) - exchange.fresh :]
            asked = made["id"], name
            found = [m for m in fresh if (m.get("tool_call_id"), m.get("name")) == asked]
            if len(found) == 1:  # of several, `ignore` has made the ids alike
                return {**found[0], "tool_call_id": call.id}
        return None

    def check_all_played(self) -> None:
        """Raise unless every recorded request was made.

        Raises:
            CassetteMismatch: naming how many requests were not made.
        """
        left = [n for n in range(len(self._exchanges)) if n not in self.played]
        if left:
            first = _dump_text(self._exchanges[left[0]].request["messages"][-1])
            raise CassetteMismatch(
                f"{self.path.name}: {len(left)} of {len(self._exchanges)} recorded requests were "
                f"not made; the first ends with\n{first}"
            )

    # — requests as they are compared —

    def _make_comparable(self, request: ModelRequest) -> Json:
        """Return a request as JSON to compare, without secrets and ignored texts."""
        asked = {
            "settings": _dump_settings(request.settings),
            "tools": [_dump_tool(tool) for tool in request.tools],
            "messages": [_dump_comparable(message) for message in request.messages],
        }
        cleaned: Json = self._clean(asked)
        return cleaned

    def _clean(self, value: Any) -> Any:
        """Return a JSON value with placeholders for secrets and ignored texts."""
        if isinstance(value, str):
            for number, known in self._redactors:
                value = known.redact_text(value, f"<secret {number}>")
            return self._ignore.sub(IGNORED, value)
        if isinstance(value, dict):
            return {self._clean(key): self._clean(item) for key, item in value.items()}
        return [self._clean(item) for item in value] if isinstance(value, list) else value

    def _find_continued(self, messages: Sequence[Json]) -> tuple[int, int]:
        """Find the longest exchange that these messages continue; return its index and length, or -1 and 0."""
        best, known = -1, 0
        for place, exchange in enumerate(self._exchanges):
            before = [
                *exchange.request["messages"],
                self._clean(_dump_comparable(exchange.reply)),
            ]
            if len(before) > known and messages[: len(before)] == before:
                best, known = place, len(before)
        return best, known

    def _describe_difference(self, asked: Json) -> str:
        """Return a diff of a request to the next recorded one, or that none is left."""
        left = [n for n in range(len(self._exchanges)) if n not in self.played]
        total = len(self._exchanges)
        if not left:
            return f"{self.path.name} holds {total} requests, and one more was made; record it anew"
        recorded = self._exchanges[left[0]].request
        where, was, now = _find_difference(recorded, asked)
        diff = difflib.unified_diff(
            was.split("\n"), now.split("\n"), "recorded", "asked", lineterm="", n=2
        )
        lines = list(diff)
        more = [f"... {len(lines) - _DIFF_LINES} more lines"] if len(lines) > _DIFF_LINES else []
        return "\n".join(
            [
                f"{self.path.name}: request {left[0] + 1} of {total} differs in {where}; "
                "record it anew if that is meant",
                *lines[:_DIFF_LINES],
                *more,
            ]
        )

    # — the file —

    def _read(self) -> None:
        """Load the file: add its exchanges and patterns to this cassette, and take over its model's name.

        Raises:
            SetupError: the file cannot be read, or is no cassette of this version.
        """
        try:
            data = _join_lines(json.loads(self.path.read_text("utf-8-sig")))
            if data["cassette"] != VERSION:
                raise SetupError(f"{self.path} is a cassette of version {data['cassette']!r:.40}")
            self.model_name = str(data["model"])
            self.structured_output = bool(data["holds_output"])
            self._patterns += [p for p in data["ignore"] if p not in self._patterns]
            for row in data["exchanges"]:
                self._exchanges.append(self._load(row))
        except OSError as error:
            raise SetupError(f"{self.path} cannot be read: {error.strerror}") from None
        except (
            ValueError,
            KeyError,
            TypeError,
            IndexError,
            AttributeError,
            RecursionError,
        ) as error:
            raise SetupError(f"{self.path} is no cassette: {error!r}"[:300]) from None

    def _load(self, row: Json) -> Exchange:
        """Return an exchange from a saved row, completed from the one it continues.

        Raises ValueError if its reply is no assistant message.
        """
        before: Json = {"messages": []}
        if row["after"] >= 0:
            base = self._exchanges[row["after"]]
            before = dict(base.request)
            before["messages"] = [*base.request["messages"], _dump_comparable(base.reply)]
        request = {
            "settings": row.get("settings", before.get("settings", {})),
            "tools": row.get("tools", before.get("tools", [])),
            "messages": [*before["messages"], *row["messages"]],
        }
        reply = load_message(row["reply"])
        if not isinstance(reply, AssistantMessage):
            raise ValueError("a reply is an assistant's message")
        return Exchange(request, len(row["messages"]), row["after"], reply)

    def _write(self) -> None:
        """Replace the file by one with all exchanges, in one step, or raise SetupError if that fails."""
        data = {
            "cassette": VERSION,
            "model": self.model_name,
            "holds_output": self.structured_output,
            "ignore": self._patterns,
            "exchanges": [self._dump(exchange) for exchange in self._exchanges],
        }
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside = self.path.with_name(self.path.name + ".new")
            beside.write_text(_dump_text(data) + "\n", "utf-8")
            beside.replace(self.path)
        except OSError as error:
            raise SetupError(f"{self.path} cannot be written: {error.strerror}") from None

    def _dump(self, exchange: Exchange) -> Json:
        """Return an exchange as a row with only what differs from the one it continues."""
        row: Json = {"after": exchange.after}
        before = self._exchanges[exchange.after].request if exchange.after >= 0 else {}
        for key in ("settings", "tools"):
            if exchange.request[key] != before.get(key):
                row[key] = exchange.request[key]
        messages = exchange.request["messages"]
        row["messages"] = messages[len(messages) - exchange.fresh :]
        row["reply"] = self._clean(dump_message(exchange.reply))
        return row


def find_api_keys(variables: Mapping[str, str]) -> list[str]:
    """Return the values that no cassette may contain: those of ``*_API_KEY`` and ``*_TOKEN``, from 8 characters."""
    return [v for k, v in variables.items() if k.endswith(("_API_KEY", "_TOKEN")) and len(v) > 7]


def _sort_secrets(secrets: Sequence[str]) -> list[str]:
    """Return distinct secrets, the longest first, or raise SetupError if one has less than `SHORTEST` characters."""
    short = [s for s in secrets if len(s) < SHORTEST]
    if short:
        raise SetupError(
            f"Cassette: a secret of {len(short[0])} characters would be found everywhere; "
            f"give {SHORTEST} or more"
        )
    return sorted(set(secrets), key=lambda s: (-len(s), s))


def _dump_tool(tool: ToolDefinition) -> Json:
    """Return a tool's name, description and schema as JSON."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": json.loads(json.dumps(tool.parameters, default=str)),
    }


def _dump_settings(settings: Settings) -> Json:
    """Return the settings that differ from the defaults, as JSON."""
    plain = Settings()
    names = Settings.__dataclass_fields__
    given = {n: getattr(settings, n) for n in names if getattr(settings, n) != getattr(plain, n)}
    if settings.output is not None:
        given["output"] = {"name": settings.output.name, "schema": settings.output.schema}
    made: Json = json.loads(json.dumps(given, default=lambda value: dict(value)))
    return made


def _dump_comparable(message: Message) -> Json:
    """Return a message as JSON, without the fields that no model is sent, such as `usage`."""
    return {key: value for key, value in dump_message(message).items() if key not in _UNSEEN}


def _find_difference(recorded: Json, asked: Json) -> tuple[str, str, str]:
    """Return where two requests differ first, in words, with both sides as text."""
    pairs = zip(recorded["messages"], asked["messages"], strict=False)
    for place, (was, now) in enumerate(pairs, 1):
        if was != now:
            return f"message {place} ({was['role']})", _dump_text(was), _dump_text(now)
    for key in ("tools", "settings"):
        if recorded[key] != asked[key]:
            return f"its {key}", _dump_text(recorded[key]), _dump_text(asked[key])
    counts = len(recorded["messages"]), len(asked["messages"])
    rest = min(counts)
    return (
        f"the number of its messages ({counts[0]} recorded, {counts[1]} asked)",
        _dump_text(recorded["messages"][rest:]),
        _dump_text(asked["messages"][rest:]),
    )


def _dump_text(value: object) -> str:
    """Return a cassette's content as JSON text, with texts of several lines as lists of lines."""
    return json.dumps(_split_lines(value), ensure_ascii=False, indent=1)


def _split_lines(value: Any) -> Any:
    """Convert texts of several lines to lists of lines, so that a diff of two files is readable.

    >>> _split_lines({"content": "one\\ntwo"})
    {'content': {'lines': ['one', 'two']}}
    """
    if isinstance(value, str):
        return {"lines": value.split("\n")} if "\n" in value else value
    if isinstance(value, Mapping):
        made = {key: _split_lines(item) for key, item in value.items()}
        return {"object": made} if set(made) <= {"lines", "object"} and made else made
    return [_split_lines(item) for item in value] if isinstance(value, list | tuple) else value


def _join_lines(value: Any) -> Any:
    """Return a value as it was before `_split_lines`."""
    if isinstance(value, dict):
        if set(value) == {"lines"}:
            return "\n".join(value["lines"])
        if set(value) == {"object"}:
            return {key: _join_lines(item) for key, item in value["object"].items()}
        return {key: _join_lines(item) for key, item in value.items()}
    return [_join_lines(item) for item in value] if isinstance(value, list) else value
