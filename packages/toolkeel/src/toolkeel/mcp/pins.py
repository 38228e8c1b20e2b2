"""Definitions as a person approved them, so that a server cannot change them unseen.

A pin is the whole definition a server gave (name, title, description, schemas, annotations) under
the server's identity. It is set when a call of the tool is first let run. From then on a definition
that differs in one byte has no approval, until a person has seen the difference.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolkeel._common.data_folder import expand_home, register_state
from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.mcp.state_files import file_version, load_object, save_object

_PARTS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


@record
class Pin:
    """A pinned definition.

    Args:
        digest: SHA-256 of the definition and the server's identity.
        definition: The definition.
    """

    digest: str
    definition: Mapping[str, Any]


def make_origin(identity: str) -> str:
    """Return a server as sources of labels name it, by its identity."""
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
    return f"mcp:{digest[:16]}"


def make_pin(identity: str, tool: Mapping[str, Any]) -> Pin:
    """Build the pin of a tool's definition: its name, texts, schemas and hints, with a digest bound to the server.

    >>> a = make_pin("s", {"name": "rm", "description": "Remove."})
    >>> a.digest == make_pin("s", {"description": "Remove.", "name": "rm"}).digest
    True
    >>> a.digest == make_pin("s", {"name": "rm", "description": "Remove!"}).digest
    False
    """
    definition = {key: tool[key] for key in _PARTS if tool.get(key) is not None}
    text = json.dumps([identity, definition], sort_keys=True, ensure_ascii=False)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Pin(digest, definition)


def definition_diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the differences between two definitions as a unified diff.

    >>> print(definition_diff({"name": "a"}, {"name": "b"}))
    @@ -1,3 +1,3 @@
     {
    -  "name": "a"
    +  "name": "b"
     }
    """
    lines = difflib.unified_diff(_lines(before), _lines(after), lineterm="", n=2)
    return "\n".join(list(lines)[2:])


def _lines(definition: Mapping[str, Any]) -> list[str]:
    """Return a definition as lines of JSON, with invisible characters escaped."""
    text = json.dumps(definition, indent=2, ensure_ascii=False, sort_keys=True)
    shown = (c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)
    return "".join(shown).split("\n")


class Pins:
    """Store of the pins of all servers.

    Args:
        path: A file that keeps them, readable as it is and fit for version control; None keeps
            them as long as this object. The file is read at once, and again when it changed.

    Raises:
        SetupError: the file cannot be read, or a pin in it was edited; also by each method.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = register_state(expand_home(path)) if path is not None else None
        self._lock = threading.Lock()
        self._pins: dict[str, dict[str, Pin]] = {}
        self._file_version: object = None
        self._load_if_changed()

    def _load_if_changed(self) -> dict[str, dict[str, Pin]]:
        """Return all pins, reloaded if the file has changed; raise SetupError if that fails."""
        if self._path is not None and (now := file_version(self._path)) != self._file_version:
            self._pins, self._file_version = _read(self._path), now
        return self._pins

    def get(self, identity: str, tool: str) -> Pin | None:
        """Return the pin of a tool, or None; raise SetupError if the file is invalid."""
        return self._load_if_changed().get(identity, {}).get(tool)

    def all_of(self, identity: str) -> Mapping[str, Pin]:
        """Return all pins of a server, by tool; raise SetupError if the file is invalid."""
        return dict(self._load_if_changed().get(identity, {}))

    def set(self, identity: str, tool: str, pin: Pin | None) -> None:
        """Store a pin, or delete it if `pin` is None; write the file, unless it has this pin already.

        Raises:
            SetupError: the file is invalid.
            OSError: it cannot be written.
        """
        with self._lock:
            server = self._load_if_changed().setdefault(identity, {})
            if pin is None:
                server.pop(tool, None)
            elif server.get(tool) == pin:
                return
            else:
                server[tool] = pin
            if not server:
                del self._pins[identity]
            if self._path is not None:
                save_object(self._path, {name: _dump(pins) for name, pins in self._pins.items()})
                self._file_version = file_version(self._path)

    def forget(self, identity: str) -> None:
        """Delete all pins of a server; write the file. Raises as `set` does."""
        for tool in self.all_of(identity):
            self.set(identity, tool, None)


def _dump(pins: Mapping[str, Pin]) -> dict[str, object]:
    """Return the pins of one server as JSON data."""
    return {tool: {"sha256": pin.digest, **pin.definition} for tool, pin in pins.items()}


def _read(path: Path) -> dict[str, dict[str, Pin]]:
    """Read the pins of a file, by server and tool; none if there is no file.

    Raises:
        SetupError: the file cannot be read, or a pin does not match its digest.
    """
    found: dict[str, dict[str, Pin]] = {}
    for identity, tools in load_object(path).items():
        for name, entry in (tools if isinstance(tools, Mapping) else {}).items():
            written = entry if isinstance(entry, Mapping) else {}
            pin = make_pin(identity, written)
            if pin.digest != written.get("sha256"):
                raise SetupError(
                    f"{path}: the pin of {name!r} does not fit its digest: it was edited. Take it "
                    "out, and approve the tool anew"
                )
            found.setdefault(identity, {})[name] = pin
    return found
