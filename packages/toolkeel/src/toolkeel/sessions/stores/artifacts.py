"""Large values of a journal, each in a file that is named by its SHA-256.

A picture or a long result would make every page of the database pass through the log. So an entry
holds a reference instead. The file is on the disk, synced and under its last name, before the entry
that names it is written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from toolkeel._records.messages_json import json_text
from toolkeel._records.record_json import Json
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores.private_files import make_folder, sync_folder

LARGE_BYTES: Final = 100_000
"""Characters of a text from which on it is a file of its own."""
_MARK: Final = "$artifact"
_ESCAPED = re.compile(r"\$+artifact")
_DIGEST = re.compile("[0-9a-f]{64}")


class Artifacts:
    """A folder of large values.

    Args:
        folder: Folder of the files, created with the first one. None keeps all in memory.
        inline: True to leave large values in their entries.
    """

    def __init__(self, folder: Path | None, *, inline: bool = False) -> None:
        self.folder = folder
        self._limit = sys.maxsize if inline else LARGE_BYTES
        self._kept: dict[str, bytes] = {}

    def dump_entry(self, entry: Json) -> tuple[str, dict[str, bytes]]:
        """Return an entry as text, and the large values to save before it is written, by digest.

        Args:
            entry: As JSON-ready data.
        """
        text = json_text(entry)
        large: dict[str, bytes] = {}
        if len(text) > self._limit or _MARK in text:
            text = json_text(_moved_out(entry, large, self._limit))
        return text, large

    def load_entry(self, text: str) -> Json:
        """Return the entry that `dump_entry` wrote.

        Raises:
            SessionError: a large value is missing.
        """
        entry: Json = json.loads(text)
        return self._moved_in(entry) if _MARK in text else entry

    def save(self, digest: str, data: bytes) -> None:
        """Save one value under its digest. It is durable when this returns.

        Raises:
            OSError: the value cannot be written.
        """
        if self.folder is None:
            self._kept[digest] = data
            return
        path = self.folder / digest
        if path.exists():
            return
        make_folder(self.folder)
        descriptor, name = tempfile.mkstemp(dir=self.folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
        sync_folder(self.folder)

    def load(self, digest: str) -> bytes:
        """Return one value.

        Raises:
            SessionError: the value is missing or damaged.
        """
        data = self.find(digest)
        if data is None or hashlib.sha256(data).hexdigest() != digest:
            raise SessionError(f"the large value {digest[:12]} of the session is gone or damaged")
        return data

    def find(self, digest: str) -> bytes | None:
        """Return the bytes of one value, unchecked; None if it is missing or cannot be read."""
        data = self._kept.get(digest)
        if data is None and self.folder is not None:
            with suppress(OSError):
                data = (self.folder / digest).read_bytes()
        return data

    def remove(self, digest: str) -> None:
        """Remove one value. Do nothing if it is missing."""
        self._kept.pop(digest, None)
        if self.folder is not None:
            (self.folder / digest).unlink(missing_ok=True)

    def _moved_in(self, value: Any) -> Any:
        """Return a value with references replaced by the large texts; raise SessionError if one is missing."""
        if isinstance(value, list):
            return [self._moved_in(item) for item in value]
        if not isinstance(value, dict):
            return value
        digest = value.get(_MARK)
        if len(value) == 1 and isinstance(digest, str) and _DIGEST.fullmatch(digest):
            return self.load(digest).decode("utf-8", "surrogatepass")
        return {_unescaped(key): self._moved_in(item) for key, item in value.items()}


def _moved_out(value: Any, large: dict[str, bytes], limit: int) -> Any:
    """Return a value with texts longer than `limit` replaced by references, and add them to `large`.

    Keys that resemble references are escaped.
    """
    if isinstance(value, str) and len(value) > limit:
        data = value.encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(data).hexdigest()
        large[digest] = data
        return {_MARK: digest}
    if isinstance(value, Mapping):
        return {_escaped(key): _moved_out(item, large, limit) for key, item in value.items()}
    if isinstance(value, list):
        return [_moved_out(item, large, limit) for item in value]
    return value


def _escaped(key: str) -> str:
    """Return a key with ``$`` before it if it resembles a reference, else unchanged."""
    return f"${key}" if _ESCAPED.fullmatch(key) else key


def _unescaped(key: str) -> str:
    """Return the key that `_escaped` was passed."""
    return key[1:] if key != _MARK and _ESCAPED.fullmatch(key) else key
