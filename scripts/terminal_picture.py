"""Draw what `toolkeel demo` prints as a picture that fits a page: docs/demo.txt becomes an SVG.

Fonts are the reader's own and nothing is fetched; wide characters get the room of two cells. Light or
dark is what the reader's page is.
"""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from toolkeel_studio.cli.terminal.text import cells  # noqa: E402

SOURCE = ROOT / "docs" / "demo.txt"
PICTURE = ROOT / "docs" / "pictures" / "demo.svg"
CELL, LINE, EDGE, TOP = 8.4, 19, 16, 40
COLUMNS, LINES = 80, 42
STYLES = (
    (r"\d\. .*", "head"),
    (r"   (user|model) .*", "said"),
    (r"   error .*", "bad"),
    (r"   result .*", "good"),
)
CSS = """
svg { --ground: #ffffff; --ink: #1f2328; --dim: #59636e; --head: #0550ae; --good: #116329; --bad: #a40e26 }
@media (prefers-color-scheme: dark) {
  svg { --ground: #0d1117; --ink: #e6edf3; --dim: #9198a1; --head: #79c0ff; --good: #7ee787; --bad: #ff7b72 }
}
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "Noto Sans Mono CJK SC", monospace;
  fill: var(--ink); white-space: pre }
.head { fill: var(--head); font-weight: 700 } .good { fill: var(--good) } .bad { fill: var(--bad) }
.dim { fill: var(--dim) }
"""


def picture(text: str) -> str:
    """The first lines of a terminal's text as SVG."""
    lines = ["$ toolkeel demo", "", *text.splitlines()[2:]][:LINES]
    width, height = COLUMNS * CELL + 2 * EDGE, TOP + len(lines) * LINE + EDGE
    rows = [row for number, line in enumerate(lines) if line.strip() for row in _row(number, line)]
    title = "What toolkeel demo prints: questions, calls, results"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" aria-label="{title}">',
            f"<title>{title}</title><style>{CSS}</style>",
            f'<rect width="{width:g}" height="{height:g}" rx="8" style="fill:var(--ground);'
            'stroke:var(--dim);stroke-opacity:.4"/>',
            *[f'<circle cx="{20 + 18 * n}" cy="18" r="5" class="dim"/>' for n in range(3)],
            *rows,
            "</svg>\n",
        ]
    )


def _row(number: int, line: str) -> list[str]:
    """One line; each run of wide characters is fitted into its cells, whatever the font."""
    style = next((name for pattern, name in STYLES if re.fullmatch(pattern, line)), "")
    drawn, at = [], 0
    y = TOP + number * LINE + LINE / 2
    for piece in re.findall(r"[\x20-\x7e]+|[^\x20-\x7e]+", line):
        wide = cells(piece)
        if piece.strip():
            fitted = f' textLength="{wide * CELL:g}" lengthAdjust="spacingAndGlyphs"'
            drawn.append(
                f'<text class="{style}" x="{EDGE + at * CELL:g}" y="{y:g}"{fitted}>'
                f"{escape(piece, quote=False)}</text>"
            )
        at += wide
    return drawn


if __name__ == "__main__":
    PICTURE.write_text(picture(SOURCE.read_text("utf-8")), "utf-8")
