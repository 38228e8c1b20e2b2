"""Markdown on a terminal, block by block, so that no written line is drawn again."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterable
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.syntax import Syntax
from rich.table import Table
from rich.theme import Theme

RENDERED = 20_000
"""Longer blocks are written as they are: unclosed brackets take quadratic time."""

_FENCE = re.compile(r" *(`{3,}(?=[^`]*\Z)|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?: |\Z)")
_ITEM = re.compile(r" ?(?:[-*+]|\d{1,9}[.)])(?: |\Z)")
_FIRST_ITEM = re.compile(r" ?(?:[-*+]|1[.)]) +\S")
_STYLES = r"(?:\x1b\[[\d;]*m)*"
_END = re.compile(rf"[ ]+({_STYLES})\Z")
_EMPTY = re.compile(rf"{_STYLES}\s*{_STYLES}\Z")
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_PARSER.disable(["image", "reference"])  # both would hide text that the model wrote
_THEME = Theme(
    {
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.code": "cyan",
        "markdown.block_quote": "dim",
        "markdown.link": "none",
        "markdown.link_url": "cyan",
    }
)


class Markdown:
    """A reply, line by line. A block is formatted when its last line has arrived.

    Each item of a list is a block, and so are a table and the code between fences.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._fence = ""
        self._before = ""  # what was written last: "", "item" or "block"

    @property
    def unfinished(self) -> str:
        """The lines of the block that has not ended, as they came."""
        return "".join(f"{line}\n" for line in self._lines)

    def add(self, line: str) -> str:
        r"""Add a line. Return the blocks that it ends, formatted.

        >>> made = Markdown()
        >>> made.add("one"), made.add("")
        ('', 'one\n')
        """
        if self._fence:
            self._append(line)
            closes = line.strip()
            if closes.startswith(self._fence) and not closes.strip(self._fence[0]):
                self._fence = ""
                return "" if self._in_list() else self._format()
            return ""
        if not line.strip():
            if self._in_list():
                self._append("")
                return ""
            return self._format()
        ended = self._format() if self._lines and self._begins_block(line) else ""
        self._append(line)
        if fence := _FENCE.match(line):
            self._fence = fence[1]
        elif self._size > RENDERED or (_HEADING.match(line) and len(self._lines) == 1):
            ended += self._format()
        return ended

    def end(self) -> str:
        """Return the last block, formatted. The next line begins another reply."""
        ended = self._format()
        self._fence = self._before = ""
        return ended

    def _append(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def _in_list(self) -> bool:
        return bool(self._lines and _ITEM.match(self._lines[0]))

    def _begins_block(self, line: str) -> bool:
        """Return True if a line cannot belong to the block before it."""
        if self._in_list():
            if line.startswith("  "):
                return False
            return bool(_ITEM.match(line) or _starts_alone(line) or not self._lines[-1])
        return _starts_alone(line) or bool(_FIRST_ITEM.match(line))

    def _format(self) -> str:
        if not self._lines:
            return ""
        kind = "item" if self._in_list() else "block"
        space = "" if self._before == "" or self._before == kind == "item" else "\n"
        text, self._lines, self._size = self.unfinished, [], 0
        self._before = "" if len(text) > RENDERED else kind  # of what is cut, the rest follows
        return space + render_markdown(text, shutil.get_terminal_size().columns) + "\n"


def _starts_alone(line: str) -> bool:
    return bool(_HEADING.match(line) or (not line.startswith("  ") and _FENCE.match(line)))


def render_markdown(text: str, columns: int) -> str:
    r"""Format Markdown for a terminal, without a final newline.

    A line break in a paragraph stays one. The address of a link is shown beside its text.

    Args:
        text: Without control characters.
        columns: Width of the terminal.
    """
    if len(text) > RENDERED:
        return text.rstrip("\n")
    screen = io.StringIO()
    console = Console(
        file=screen,
        force_terminal=True,
        legacy_windows=False,
        width=max(columns, 8),
        theme=_THEME,
        highlight=False,
        emoji=False,
    )
    console.print(_Document(text))
    lines = [_END.sub(r"\1", line) for line in screen.getvalue().split("\n")]
    shown = [not _EMPTY.match(line) for line in lines]
    if not any(shown):
        return text.rstrip("\n")
    return "\n".join(lines[shown.index(True) : len(lines) - shown[::-1].index(True)])


class _Heading(markdown.Heading):
    """A heading at the left margin."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _CodeBlock(markdown.CodeBlock):
    """Highlighted code in the colors of the terminal."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(
            code, self.lexer_name, theme="ansi_dark", word_wrap=True, background_color="default"
        )


class _Table(markdown.TableElement):
    """A table that wraps long words instead of cutting them."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                for column in part.columns:
                    column.overflow = "fold"
            yield part


class _Document(markdown.Markdown):
    elements: ClassVar[dict[str, type[markdown.MarkdownElement]]] = {
        **markdown.Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
        "table_open": _Table,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = _PARSER.parse(text)
        for token in self.parsed:
            token.children = token.children and list(_shown(token.children))


def _shown(tokens: Iterable[Token]) -> Iterable[Token]:
    """Yield tokens with the line breaks that were written, and without the address as a link to itself."""
    for token in tokens:
        if token.type == "softbreak":
            token.type = "hardbreak"
        if token.info != "auto":
            yield token
