"""Markdown on a terminal, line by line, so that no written line is drawn again."""

from __future__ import annotations

import re

from toolkeel_studio.cli.terminal.streams import BOLD, CYAN, DIM

# Each takes time in proportion to a line, whatever a model writes: a line may have any length.
_HEADING = re.compile(r" {0,3}#{1,6} +(.*)")
_POINT = re.compile(r"\A(\s*)[-*+] (?=\S)")
_INLINE = re.compile(r"(?<!`)(`++)(?P<code>[^`]+)\1|\*\*(?P<bold>\S(?:.{0,400}?\S)?)\*\*")


class Markdown:
    """An answer, a line after the other."""

    def __init__(self) -> None:
        self._fence = ""

    def __call__(self, line: str) -> str:
        r"""Format a line for the terminal.

        >>> Markdown()("- **two** `a * b`")
        '• \x1b[1mtwo\x1b[0m \x1b[36ma * b\x1b[0m'
        """
        mark = line.strip()[:3]
        if mark in ("```", "~~~") and self._fence in ("", mark):
            self._fence = "" if self._fence else mark
            return _styled(line, DIM)
        if self._fence:
            return _styled(line, CYAN)
        if heading := _HEADING.fullmatch(line):
            return _styled(_INLINE.sub(_inner, _title(heading[1])), BOLD)
        return _INLINE.sub(_shown, _POINT.sub(_point, line, count=1))


def _title(text: str) -> str:
    """Return a heading without its closing signs."""
    bare = text.rstrip("#")
    return bare.rstrip() if bare.endswith(" ") else text


def _point(found: re.Match[str]) -> str:
    return f"{found[1]}• "


def _inner(found: re.Match[str]) -> str:
    return str(found["code"] or found["bold"])


def _shown(found: re.Match[str]) -> str:
    return _styled(_inner(found), CYAN if found["code"] else BOLD)


def _styled(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if text else ""
