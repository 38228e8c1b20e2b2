"""Which writes need a person's approval whatever rules allow: those of protected files."""

from __future__ import annotations

import os
from collections.abc import Mapping

from toolkeel.errors import ToolError
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.relative_path import clean_path
from toolkeel_workspace.sandbox.protected_files import find_protected_pattern, find_protected_place

_PROTECTED_REASON = (
    "{!r} is protected: a change there may widen what the agent may do, or run code later"
)


class ProtectedFilePredicate:
    """A predicate that requires approval for writing a protected file, whatever rules allow.

    Args:
        root: The folder, to resolve links; without it paths are compared as text.
    """

    def __init__(self, root: Root | None = None) -> None:
        self.root = root.path if root else None
        self.clean = root.match_spelling if root else clean_path

    def __call__(self, arguments: Mapping[str, object]) -> str:
        """Return why a call needs approval, or an empty string if it does not."""
        try:
            path = self.clean(str(arguments.get("path", "")))
        except ToolError:
            return ""  # the tool will refuse it
        if part := find_protected_pattern(path):
            return _PROTECTED_REASON.format(part)
        if self.root is None:
            return ""
        real = os.path.realpath(self.root / path)
        place = os.path.relpath(real, os.path.realpath(self.root))
        part = find_protected_pattern(place) or find_protected_place(self.root, place)
        return _PROTECTED_REASON.format(part) if part else ""

    def despite_rules(self, arguments: Mapping[str, object]) -> str:
        """Return why a call needs approval although a rule allows it, or empty if it does not."""
        return self(arguments)
