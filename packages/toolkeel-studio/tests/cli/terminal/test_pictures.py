"""Pictures at a terminal: their path always, and drawn by what the terminal understands."""

from __future__ import annotations

import io
import re
from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from toolkeel import Image
from toolkeel_studio.cli.terminal.pictures import (
    draw,
    drawing_protocol,
    keep,
    pictures_of,
    place_line,
)


def png(width: int, height: int) -> bytes:
    """A picture, red on its left and blue on its right."""
    made = Pillow.new("RGB", (width, height), (255, 0, 0))
    made.paste((0, 0, 255), (width // 2, 0, width, height))
    out = io.BytesIO()
    made.save(out, "PNG")
    return out.getvalue()


def test_a_picture_is_kept_in_a_file_of_its_owner_alone_with_its_real_ending() -> None:
    image = Image(png(4, 4), "text/html")
    path = keep(image)
    assert path.read_bytes() == image.data and path.suffix == ".png"
    assert path.parent.stat().st_mode & 0o077 == 0
    assert str(path) in place_line(image, path)
    assert keep(image) != path


def test_only_pictures_that_are_there_as_bytes_are_taken() -> None:
    here = Image(png(2, 2))
    assert pictures_of((here, Image(url="https://example.org/a.png"))) == [here]
    assert pictures_of("text") == []


@pytest.mark.parametrize(
    ("variables", "by"),
    [
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "xterm-ghostty"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM": "xterm", "LC_TERMINAL": "iTerm2"}, "iterm"),
        ({"TERM": "tmux-256color", "TMUX": "x", "COLORTERM": "truecolor"}, "blocks"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "blocks"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, ""),
        ({"TERM": "dumb"}, ""),
    ],
)
def test_the_way_to_draw_is_taken_from_the_terminals_variables(
    variables: dict[str, str], by: str
) -> None:
    assert drawing_protocol(variables) == by


def test_half_blocks_are_two_pixels_a_cell_and_end_every_line_plain() -> None:
    lines = draw(Image(png(4, 4)), "blocks", 80).splitlines()
    assert len(lines) == 2
    assert all(line.count("▀") == 4 and line.endswith("\x1b[0m") for line in lines)
    assert lines[0].startswith("\x1b[38;2;255;0;0m\x1b[48;2;255;0;0m▀")
    wide = draw(Image(png(400, 100)), "blocks", 30).splitlines()
    assert max(line.count("▀") for line in wide) == 28


def test_kitty_and_iterm_are_sent_pixels_that_were_unpacked_and_never_the_file_itself() -> None:
    data = png(8, 4) + b"\x1b]0;title\x07"
    kitty = draw(Image(data), "kitty", 80)
    [body] = re.findall(r"\x1b_Ga=T,f=24,s=8,v=4,q=2,c=60,m=0;([^\x1b]*)\x1b\\", kitty)
    assert len(b64decode(body)) == 8 * 4 * 3
    iterm = draw(Image(data), "iterm", 80)
    assert iterm.startswith("\x1b]1337;File=")
    assert b"title" not in b64decode(iterm.rpartition(":")[2].rstrip("\x07\n"))


@given(st.binary(max_size=60))
@pytest.mark.parametrize("by", ["kitty", "iterm", "blocks"])
def test_what_is_no_picture_draws_nothing(by: str, noise: bytes) -> None:
    assert draw(Image(noise), by, 80) == ""


def test_a_damaged_picture_draws_nothing() -> None:
    assert draw(Image(png(40, 40)[:60]), "blocks", 80) == ""
