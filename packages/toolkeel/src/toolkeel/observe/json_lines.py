"""Every event of a run as a line of JSON (JSON Lines): for files, pipes and log collectors."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TextIO

from toolkeel._records.messages_json import json_line
from toolkeel.events import Event, Nested, Streamed, event_dict


class JsonLines:
    """A listener that appends each event to a file as one line of JSON.

    >>> import io
    >>> from toolkeel.events import HandedOver
    >>> lines = io.StringIO()
    >>> JsonLines(lines)(HandedOver(1, 0.0, "r", "a", "b"))
    >>> lines.getvalue()
    '{"type": "handed_over", "seq": 1, "at": 0.0, "run_id": "r", "previous_agent": "a", "agent": "b", "model": ""}\\n'

    Args:
        file: A path, opened for appending and closed by `close`; or an open text file.
        deltas: Write pieces of replies, too; the complete reply follows them anyway.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, file: str | Path | TextIO, *, deltas: bool = False) -> None:
        self._own = isinstance(file, str | Path)
        self._file: TextIO
        if isinstance(file, str | Path):
            self._file = Path(file).open("a", encoding="utf-8")  # noqa: SIM115
        else:
            self._file = file
        self._deltas = deltas
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        inner = event
        while isinstance(inner, Nested):
            inner = inner.event
        if isinstance(inner, Streamed) and not self._deltas:
            return
        line = json_line(event_dict(event))
        with self._lock:
            self._file.write(line)
            self._file.flush()

    def close(self) -> None:
        """Close the file, if it was opened here."""
        if self._own:
            self._file.close()

    def __enter__(self) -> JsonLines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
