"""Pictures of tools and models: a file with its path, and drawn where the terminal can.

Three protocols: kitty, iTerm2, and half blocks in true color; all need Pillow. Environment variables
tell which terminal it is; inside tmux they do not, so blocks are used. A picture that cannot be drawn
still has its path.
"""

from __future__ import annotations

import mimetypes
import tempfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from toolkeel.content import Block, Content, Image, detect_media_type
from toolkeel.errors import SetupError, ToolError
from toolkeel.observe.wording import count
from toolkeel_workspace.pictures.shrink import decode_pixels, shrink

CELLS = 60
"""Widest a picture is drawn."""
SIDE = 800
"""Most pixels of a side that are sent to a terminal."""
_KITTY = ("xterm-kitty", "xterm-ghostty")
_PIECE = 4096


def pictures_of(content: Content) -> list[Image]:
    """Return the pictures of a message that are present as bytes."""
    blocks: tuple[Block, ...] = () if isinstance(content, str) else content
    return [block for block in blocks if isinstance(block, Image) and block.data]


@cache
def _folder() -> Path:
    """Return this program's own temporary folder, private to its user."""
    return Path(tempfile.mkdtemp(prefix="toolkeel-pictures-"))


def keep(image: Image) -> Path:
    """Write a picture to a file."""
    kind = detect_media_type(image.data)
    kind = kind if kind.startswith("image/") else image.media_type
    ending = mimetypes.guess_extension(kind) or ".bin"
    path = _folder() / f"{len(list(_folder().iterdir())) + 1}{ending}"
    path.write_bytes(image.data)
    return path


def place_line(image: Image, path: Path) -> str:
    """Return one line with a picture's path."""
    return f"picture {path}  {count(len(image.data), 'byte')}"


def drawing_protocol(variables: Mapping[str, str]) -> str:
    """Return how a terminal draws: ``kitty``, ``iterm``, ``blocks``, or empty for not at all.

    >>> drawing_protocol({"TERM": "xterm-kitty"})
    'kitty'
    >>> drawing_protocol({"TMUX": "x", "TERM": "xterm-kitty"})
    ''
    """
    term, program = variables.get("TERM", ""), variables.get("TERM_PROGRAM", "")
    if not ("TMUX" in variables or term.startswith(("screen", "tmux"))):
        if term in _KITTY or "KITTY_WINDOW_ID" in variables or program == "ghostty":
            return "kitty"
        if program in ("iTerm.app", "WezTerm") or variables.get("LC_TERMINAL") == "iTerm2":
            return "iterm"
    colours = variables.get("COLORTERM") in ("truecolor", "24bit")
    return "blocks" if colours and "NO_COLOR" not in variables else ""


def draw(image: Image, by: str, width: int) -> str:
    """Return the escape sequence that draws a picture, or an empty string if it cannot be drawn.

    The picture is decoded in a confined process; only its pixels reach the terminal.

    Args:
        image: An untrusted picture.
        by: The protocol; see `drawing_protocol`.
        width: Cells of a line.
    """
    if not by or not detect_media_type(image.data).startswith("image/"):
        return ""
    columns = max(min(width - 2, CELLS), 4)
    try:
        if by == "iterm":
            data = shrink(image.data, SIDE).data
            size = f"size={len(data)};width={columns};preserveAspectRatio=1;inline=1"
            return f"\x1b]1337;File={size}:{b64encode(data).decode()}\x07\n"
        wide, tall, pixels = decode_pixels(image.data, SIDE if by == "kitty" else columns)
    except (ToolError, SetupError):
        return ""  # damaged, too large, or nothing here unpacks it
    draw = _kitty if by == "kitty" else _blocks
    return "".join(draw(pixels, wide, tall, columns))


def _kitty(pixels: bytes, wide: int, tall: int, columns: int) -> Iterator[str]:
    data = b64encode(pixels).decode()
    keys = f"a=T,f=24,s={wide},v={tall},q=2,c={columns},"
    for start in range(0, len(data), _PIECE):
        more = int(start + _PIECE < len(data))
        yield f"\x1b_G{keys}m={more};{data[start : start + _PIECE]}\x1b\\"
        keys = ""
    yield "\n"


def _blocks(pixels: bytes, wide: int, tall: int, columns: int) -> Iterator[str]:
    """Two pixels a cell, the upper as the block's colour and the lower as the ground's."""
    for y in range(0, tall, 2):
        for x in range(wide):
            upper, lower = (3 * (min(row, tall - 1) * wide + x) for row in (y, y + 1))
            fore, ground = (";".join(map(str, pixels[at : at + 3])) for at in (upper, lower))
            yield f"\x1b[38;2;{fore}m\x1b[48;2;{ground}m▀"
        yield "\x1b[0m\n"
