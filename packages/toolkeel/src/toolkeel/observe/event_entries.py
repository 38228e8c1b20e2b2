"""Lines of JSON of runs as journal entries, so that stats of them are counted as those of sessions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from toolkeel._records.entries import (
    CallEnded,
    Entry,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    RunBegan,
    RunEnded,
)
from toolkeel._records.record_json import load_record
from toolkeel.messages import AssistantMessage, ToolMessage


def read_event_file(path: Path) -> Iterator[tuple[float, Entry]]:
    """Yield time (seconds since the epoch) and entry of each event that stats count in a file of `JsonLines`.

    An unfinished last line is skipped.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not UTF-8, or a finished line is not an event; with the path and the line.
    """
    with path.open(encoding="utf-8") as file:
        try:
            yield from entries_of_lines(file)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def entries_of_lines(lines: Iterable[str]) -> Iterator[tuple[float, Entry]]:
    """Yield time (seconds since the epoch) and journal entry of events that are lines of JSON.

    Events that stats do not count yield nothing. A last line without its end is still being written,
    and is skipped.

    Raises:
        ValueError: A line is not an event; the message has its number.
    """
    reader = _EventReader()
    for number, line in enumerate(lines, 1):
        if line.strip() and line.endswith("\n"):
            try:
                found = list(reader.read(json.loads(line)))
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
                raise ValueError(f"line {number} is not an event of a run: {error!r}") from None
            yield from found


class _EventReader:
    """The runs of a file that have not ended."""

    def __init__(self) -> None:
        self._turns: dict[str, int] = {}
        self._calls: dict[str, list[str]] = {}  # ids of the calls of the last reply, by run

    def read(self, event: Mapping[str, Any]) -> Iterator[tuple[float, Entry]]:
        """Yield the entry of an event, with its time."""
        around = ("", "")
        while event["type"] == "nested":  # the event of an inner run
            outer, call = event["run_id"], event["call_id"]
            calls = self._calls.get(outer, [])
            around = outer, f"{outer}-{calls.index(call)}" if call in calls else ""
            event = event["event"]
        entry = self._entry(event, event["run_id"], around)
        if entry is not None:
            yield float(event["at"]), entry

    def _entry(self, event: Mapping[str, Any], run: str, around: tuple[str, str]) -> Entry | None:
        turn = self._turns.get(run, 0)
        match event["type"]:
            case "run_started":
                return RunBegan(run, event["agent"], event["model"], "", *around)
            case "turn_started":
                self._turns[run] = event["turn"]
                return ModelAsked(run, event["turn"], event["model"])
            case "retrying":
                return ModelFailed(run, turn, event["attempt"], event["error"])
            case "replied":
                reply = load_record(event["message"], AssistantMessage)
                self._calls[run] = [call.id for call in reply.tool_calls]
                return ModelReplied(run, turn, reply)
            case "tool_finished":
                calls, id = self._calls.get(run, []), event["call_id"]
                told = event["message"]
                fields = {
                    name: told[name] for name in ("name", "status", "kind", "details", "duration")
                }
                message = ToolMessage("", id, **fields)
                if id in calls:
                    return CallEnded(run, turn, calls.index(id), message)
                return CallEnded(run, turn, 0, message, within=run)  # made by the code of a call
            case "run_finished":
                self._turns.pop(run, None)
                self._calls.pop(run, None)
                return RunEnded(run, event["reason"], event["error"])
            case _:
                return None
