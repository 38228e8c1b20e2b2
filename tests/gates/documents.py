"""The project's Markdown: its Python blocks, links, and the names it mentions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.shared import ROOT

# A block is run unless the line above it is <!-- not run: why -->.
_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>[^\n`]*)$")
_NOT_RUN = re.compile(r"^\s*<!-- not run: (?P<reason>.*\S) -->\s*$")
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
_CODE = re.compile(r"`([^`\n]+)`")
_HEADING = re.compile(r"(?m)^#+ (.+)$")


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Args:
        language: First word after the fence, in lower case.
        code: What stands between the fences.
        line: Line of the first line of code in the document, from 1.
        excuse: Why it is not run; empty if it is.
    """

    language: str
    code: str
    line: int
    excuse: str


def documents() -> list[Path]:
    """Every Markdown file a reader of the repository meets."""
    return sorted(
        [*ROOT.glob("*.md"), *ROOT.glob("packages/*/*.md"), *(ROOT / "docs").rglob("*.md")]
    )


def blocks(text: str) -> list[Block]:
    """Every fenced block of a document, in order."""
    found: list[Block] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        at += 1
        if not fence:
            continue
        begin, above = at, _line_above(lines, at - 1)
        while at < len(lines) and not lines[at].strip().startswith(fence["ticks"]):
            at += 1
        code = "\n".join(line.removeprefix(fence["indent"]) for line in lines[begin:at])
        excuse = _NOT_RUN.match(above)
        language = (fence["info"].split() or [""])[0].lower()
        found.append(Block(language, code + "\n", begin + 1, excuse["reason"] if excuse else ""))
        at += 1
    return found


def _line_above(lines: list[str], at: int) -> str:
    above = [line for line in lines[:at] if line.strip()]
    return above[-1] if above else ""


def program(text: str) -> list[Block]:
    """The Python blocks that are run: in order, in one namespace."""
    return [b for b in blocks(text) if b.language in ("python", "py", "pycon") and not b.excuse]


def prose(text: str) -> str:
    """The document with its fenced blocks blanked out, lines kept."""
    lines = text.splitlines()
    for block in blocks(text):
        length = block.code.count("\n")
        lines[block.line - 1 : block.line - 1 + length] = [""] * length
    return "\n".join(lines)


def broken_links(text: str, folder: Path) -> list[str]:
    """Links to files of the repository, or to headings, that lead nowhere."""
    found = []
    for match in _LINK.finditer(prose(text)):
        target, _, anchor = match["target"].partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        path = folder / target if target else None
        if path is not None and not path.exists():
            found.append(match["target"])
            continue
        if not anchor:  # pictures and folders have no headings
            continue
        document = text if path is None else path.read_text("utf-8")
        if anchor not in {_anchor(title) for title in _HEADING.findall(document)}:
            found.append(match["target"])
    return found


def _anchor(title: str) -> str:
    """A heading's address, as code hosts make it."""
    kept = re.sub(r"[^\w\- ]", "", title.strip().lower().replace("`", ""))
    return kept.replace(" ", "-")


def missing_paths(text: str, tops: set[str]) -> list[str]:
    """Paths in code font that do not exist: of the repository, and of a file within some folder of it.

    Args:
        text: A document.
        tops: Names at the repository's root.
    """
    words = [code.split(":")[0].split("::")[0] for code in _CODE.findall(prose(text))]
    paths = [word for word in words if re.fullmatch(r"[\w./-]+", word) and "/" in word]
    known = [path for path in paths if path.split("/")[0] in tops]
    within = [path for path in paths if path.endswith(".py") and path not in known]
    return [
        *(path for path in known if not (ROOT / path).exists()),
        *(
            path
            for path in within
            if not any(any((ROOT / top).rglob(path)) for top in ("packages", "tests"))
        ),
    ]


def missing_targets(text: str, makefile: str) -> list[str]:
    """Targets that the document tells the reader to make and the Makefile has not."""
    has = set(re.findall(r"(?m)^([a-z-]+):", makefile))
    return [name for name in re.findall(r"(?m)(?:`|^\s*)make ([a-z-]+)", text) if name not in has]
