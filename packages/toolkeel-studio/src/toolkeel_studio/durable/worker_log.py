"""The log of a worker: one line for each event of a run, for people or as JSON."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Final, Literal

from dbos import error as dbos_error

LOGGER: Final = logging.getLogger("toolkeel.worker")
_CANCELLED: Final = (
    dbos_error.DBOSWorkflowCancelledError,
    dbos_error.DBOSAwaitedWorkflowCancelledError,
)
_PARKED: Final = ("Waiting for the recorded outcome", "Waiting for the owner's recorded outcome")
"""How the engine's warnings end that say a run has been cancelled or taken over meanwhile."""
LogFormat = Literal["text", "json"]


def log_event(event: str, level: int = logging.INFO, **fields: str | float) -> None:
    """Log an event of a run.

    Args:
        event: Such as ``begun``.
        level: Level of the line.
        fields: What belongs to it; empty ones are left out.
    """
    LOGGER.log(level, "run %s", event, extra={"fields": {"event": event, **fields}})


class LineFormatter(logging.Formatter):
    """A formatter that writes time, level and fields on one line, whatever the fields contain.

    Args:
        form: ``text`` or ``json``.
    """

    def __init__(self, form: LogFormat) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        given: dict[str, str | float] = getattr(record, "fields", {})
        fields = {key: value for key, value in given.items() if value != ""}
        if record.exc_info and (error := record.exc_info[1]) is not None:
            fields.setdefault("error", f"{type(error).__name__}: {error}")
        if self._form == "json":
            message = {} if "event" in fields else {"message": record.getMessage()}
            line = {"time": at, "level": record.levelname, **message, **fields}
            return _one_line(json.dumps(line, ensure_ascii=False))
        words = [f"{key}={_word(value)}" for key, value in fields.items() if key != "event"]
        return " ".join([at, record.levelname, _one_line(record.getMessage()), *words])


def _word(value: str | float) -> str:
    """Return a value that reads as one word, in quotes if it has anything but plain characters."""
    text = str(value)
    plain = text.isprintable() and not any(each in text for each in ' "=')
    return text if plain else _one_line(json.dumps(text, ensure_ascii=False))


def _one_line(text: str) -> str:
    """Escape as JSON what would end a line or move a terminal's cursor."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _is_no_cancel(record: logging.LogRecord) -> bool:
    """Return False for what the engine says of a run that was cancelled, which has a line of ours."""
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, _CANCELLED) or record.getMessage().endswith(_PARKED))


def quiet_engine() -> None:
    """Leave tracebacks and warnings of cancelled runs out of the engine's log."""
    engine = logging.getLogger("dbos")
    if _is_no_cancel not in engine.filters:
        engine.addFilter(_is_no_cancel)


def write_to_stderr(form: LogFormat) -> None:
    """Write the lines of the worker, of the library and of the engine to stderr, in one form."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter(form))
    for name in ("toolkeel", "dbos"):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
    LOGGER.setLevel(logging.INFO)
