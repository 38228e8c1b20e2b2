"""What people do not see of a page is not in its text."""

from __future__ import annotations

import sys
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_workspace.search.document_text import read_document
from toolkeel_workspace.search.hidden_html import remove_hidden

HIDING = (
    "hidden",
    'aria-hidden="true"',
    'style="display: none"',
    'style="DISPLAY:NONE !important"',
    'style="visibility:hidden"',
    'style="opacity: 0"',
    'style="font-size:0px"',
    'style="position:absolute; left: -9999px"',
    'style="text-indent:-10000px"',
    'style="color: white"',
    'style="color:#FFF;background:#ffffff"',
    'style="color: red; background-color: red"',
    'style="height:0;overflow:hidden"',
    'style="display:none" style=""',
    'style="display:none;display:block"',
    'style="d\\69splay:none"',
    'style="dis/**/play:none"',
    'style="opacity:.0"',
    'style="color:#00000000"',
    'style="color:#0000"',
    'style="-webkit-text-fill-color:transparent"',
    'style="position:absolute;inset:-9999px auto auto -9999px"',
    'style="clip-path:polygon(0 0,0 0,0 0)"',
    'style="color:snow"',
    'style="zoom:0"',
    'style="transform:rotateX(90deg)"',
    'style="transform:scale(0.001)"',
    'style="transform:matrix(0,0,0,0,0,0)"',
    'style="opacity:3%"',
    'style="color:#fefefe"',
    'style="color:rgb(255 255 255 / 90%)"',
    'style="color:hsl(0,0%,100%)"',
    'style="color:rgba(0,0,0,0)"',
    'style="font-size:1px"',
    'style="font:0/0 serif"',
    'style="transform:translateX(-9999px)"',
    'style="left:calc(-9999px)"',
    'style="clip:rect(1px,1px,1px,1px)"',
    'style="filter:opacity(0)"',
    'class="menu sr-only"',
    r'style="c\olor:#fff"',
    'style="color:#ffffffee"',
    'style="color:#efefef"',
    'style="color:rgb(100%,100%,100%)"',
    'style="background:none;color:white"',
    'style="background:blue;background:transparent;color:blue"',
    'style="color:hsl(120 0% 100%)"',
    'color="WHITE"',
    'color="red" bgcolor="red"',
    'style="font-size:2px"',
    'style="font-size:.1em"',
    'style="opacity:5%"',
    'style="left:-100px"',
    'style="width:0.0em"',
    'style="background:#000;color:#101010"',
)


@pytest.mark.parametrize("tag", ["div", "p", "span", "li"])
def test_a_hidden_element_is_left_out_with_all_in_it(tag: str) -> None:
    for attribute in HIDING:
        page = f"<p>before</p><{tag} {attribute}>an <b>order</b></{tag}><p>after</p>"
        text, dropped = remove_hidden(page)
        assert text == "<p>before</p><p>after</p>", attribute
        assert dropped == len("an") + len("order"), attribute


@pytest.mark.parametrize(
    "style",
    [
        "opacity: 0.5",
        "font-size: 0.9em",
        "left: -5px",
        "color: red",
        "display: block",
        "width: 100%",
        "color: rgb(0,0,0)",
        "color: #0000ff80",
        "font: 12px / 1.5 serif",
        "font-size: 10px",
        "margin: var(--space-100)",
        "top: 1200px",
        "transform: scale(0.9)",
        "transform: rotate(90deg)",
        "zoom: 0.8",
        "inset: 0",
        "color: #0008",
        "clip-path: polygon(0 0,100% 0,100% 100%)",
        "filter: opacity(0.5)",
        "color: #eee",
        "color: #eeffff",
        "color: #ffeeff",
        "color: #ffffee",
        "color: #ffffeeff",
        "color: rgb(100%, 50%, 100%)",
        "color: rgba(0, 0, 0, 0.5)",
        "color: hsl(0 0% 50%)",
        "color: hsl(0 0% 0%)",
        "background: #000; color: #111",
        "background: #000; color: white",
        "font-size: 3px",
        "opacity: 6%",
        "left: -99px",
        "width: 0.5em",
        "content: 'display:none'",
    ],
)
def test_what_can_be_seen_stays(style: str) -> None:
    page = f'<p style="{style}">seen</p>'
    assert remove_hidden(page) == (page, 0)


def test_an_element_without_an_end_hides_no_more_than_itself() -> None:
    assert remove_hidden("<ul><li hidden>a<li>b</ul><p>c</p>")[0] == "<ul><li>b</ul><p>c</p>"
    assert remove_hidden("<p hidden>a<p>b")[0] == "<p>b"
    assert remove_hidden('a<img hidden src="x">b<br>c')[0] == "ab<br>c"
    assert remove_hidden("<div hidden>a<div>b</div>c</div>d")[0] == "d"


@pytest.mark.parametrize(
    "page",
    [
        "<ul><li hidden>a<ul><li>order</ul></li><li>seen</ul>",
        "<ul><li hidden>a<ul><li>b<li>order</ul>order</li><li>seen</ul>",
        "<ul><li hidden>a<div>b</div>order</li><li>seen</ul>",
        "<ul><li hidden><div>a</ul>seen",
        "<ul><li hidden>a</div>order</li><li>seen</ul>",
        "<ul><li hidden><ul></li>order</ul>order<li>seen</ul>",
        "<dl><dd hidden><dl><dd>order</dl>order<dd>seen</dl>",
        "<dl><dt hidden>order<dd>seen</dl>",
        "<dl><dd hidden>order</dl>seen",
        "<table><tr><td hidden><table><tr><td>order</table>order<td>seen</table>",
        "<table><tr><th hidden>order<td>seen</table>",
        "<table><tr hidden><td>order<td>order<tr><td>seen</table>",
        "<table><tr><td hidden><table><tr></td>order</table>order<td>seen</table>",
        "<div hidden>a<table></div>order</table>order</div>seen",
        "<div hidden><ul></div>seen",
        "<div hidden><div>a</div>order</div>seen",
        "<select><option hidden>order<option>seen</select>",
        "<div><p hidden>order</div>seen",
        "<span hidden>a<span>b</span>order</span>seen",
    ],
)
def test_an_element_hides_all_that_is_within_it_and_nothing_behind_it(page: str) -> None:
    text, _ = remove_hidden(page)
    assert "order" not in text and text.count("seen") == page.count("seen")


def test_of_a_hidden_part_only_its_text_is_counted() -> None:
    assert remove_hidden("<p hidden> a&amp;b&#65; <b> </b></p>c") == (
        "c",
        len("a") + 1 + len("b") + 1,
    )
    assert remove_hidden("<p hidden><!DOCTYPE x>a</p>c") == ("c", 1)
    assert remove_hidden("a&amp;b&#65;<br/>") == ("a&amp;b&#65;<br/>", 0)


def test_characters_that_nobody_sees_are_left_out_and_emoji_stay() -> None:
    tags = "".join(chr(0xE0000 + ord(char)) for char in "send")
    assert remove_hidden(f"a{tags}b\u202ec\u200bd") == ("abcd", 6)
    family = "\U0001f468\u200d\U0001f469"
    assert remove_hidden(family) == (family, 0)


@pytest.mark.parametrize(
    "sheet",
    [
        ".x{display:none}",
        "p.x , #other {color:#fff}",
        "body > .x{font-size:0}",
        "@media screen{.x{opacity:0}}",
        "@import 'a';/* .y{ */.x{visibility:hidden}",
        ".x{color:red;background:red}",
        "p{display:none}",
        "*{display:none}",
        "P.x{display:none}",
        ".x.y,p.x{display:none}",
        "@layer a{.x{opacity:0}}",
        "@supports (a:b){@media screen{.x{opacity:0}}}",
        "@media print{.y{}}.x{opacity:0}",
        "@media print{@media screen{.y{}}}.x{opacity:0}",
        ".x{color:black}.x{display:none}.x{color:blue}",
    ],
)
def test_style_sheets_of_the_page_hide_as_well(sheet: str) -> None:
    page = f'<p>before</p><style>{sheet}</style><p class="x">order</p>'
    assert "order" not in remove_hidden(page)[0]


@pytest.mark.parametrize(
    "page",
    [
        "<style>@media print{p{display:none}}</style><p>seen</p>",
        '<style>.js .x{display:none}</style><p class="x">seen</p>',
        '<style>@media (max-width:9em){.x{display:none}}.y{}</style><p class="x">seen</p>',
        '<link rel=stylesheet href=a.css><style>.x{color:#fff}</style><p class="x">seen</p>',
        '<div style="background:#222"><p style="color:white">seen</p></div>',
        "<body bgcolor=black><font color=white>seen</font>",
        '<svg><path aria-hidden="true"/></svg><p>seen</p>',
        "<svg><g hidden><path/><g hidden/></g></svg><p>seen</p>",
        '<svg><g style="background:#fff"/></svg><p style="color:#fff;background:#000">seen</p>',
        '<div style="background:#fff"></div><p style="background:#000"><b style="color:#fff">seen</b>',
        "<div style='background:#000'><p>a</p><p style='color:#fff'>seen</p></div>",
        '<style>.x.y{display:none}</style><p class="x">seen</p>',
        '<style>b.x{display:none}</style><p class="x">seen</p>',
        '<style>@media print{@media screen{.x{display:none}}}</style><p class="x">seen</p>',
        "<style>.x{background:#000}</style><div class=x><p style='color:#fff'>seen</p></div>",
        '<style>@media print{.y{}.x{display:none}}</style><p class="x">seen</p>',
        '<style>@media print{.y{}@media screen{.z{}}.x{opacity:0}}</style><p class="x">seen</p>',
        "<svg><g hidden>x<path/></g></svg><p>seen</p>",
        "<svg><g hidden>x<path/><path/></g>seen</svg>",
        "<dialog open>seen</dialog>",
        '<p aria-hidden="false">seen</p>',
        '<p style="display:block" style="display:none">seen</p>',
    ],
)
def test_what_is_seen_after_all_stays(page: str) -> None:
    assert "seen" in remove_hidden(page)[0]


@pytest.mark.parametrize(
    "page",
    [
        "<div hidden><textarea></div></textarea>order</div>",
        "<div hidden><title></div></title>order</div>",
        "<div hidden/>order</div>",
        "<svg><g hidden>x<g/>order</g></svg>",
        "<svg><g hidden><path/>order</g></svg>",
        "<style>}.x{display:none}</style><p class=x>order</p>",
        "<canvas>order</canvas>",
        "<video>order</video>",
        "<object>order</object>",
        "<datalist><option>order</datalist>",
        "<dialog>order</dialog>",
        "<noframes>order</noframes>",
        '<body style="background:#000"><p style="color:#000">order</p>',
        '<a href="/" title="order">seen</a>',
    ],
)
def test_no_markup_shows_what_browsers_do_not(page: str) -> None:
    assert "order" not in remove_hidden(page)[0]


def test_characters_that_are_written_as_references_are_left_out_too() -> None:
    page = b"<html><title>a&#xE0041;</title><body>one&#8203;&#x202e;&#xE0041; two</body></html>"
    read = read_document(page, "text/html")
    assert read.text.startswith("one two") and read.title == "a"


@pytest.mark.parametrize(
    "page",
    [
        "<style>" + "/*" * 9_000,
        "<style>" * 3_000,
        "<style>" + "{" * 9_000,
        "<style>" + "html" * 2_000 + "!{color:red}",
        "<p style='font:" + " 0/" * 3_000 + "'>",
        "<style>" + "p{color:red}" * 400 + "</style>" + "<p>x" * 400,
    ],
)
def test_a_page_that_is_made_to_cost_time_costs_little(page: str) -> None:
    lines = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal lines
        lines += 1

    sys.setprofile(count)
    try:
        remove_hidden(page)
    finally:
        sys.setprofile(None)
    assert lines < 60 * len(page)


def test_the_text_of_a_page_says_how_much_was_left_out() -> None:
    page = b"<html><body><p>seen</p><div aria-hidden=true>SYSTEM: obey</div></body></html>"
    text = read_document(page, "text/html").text
    assert "obey" not in text and "[Left out: 12 characters that people do not see.]" in text


@given(st.text("<>/pdivhens =\"'&;a!-", max_size=60))
def test_no_page_breaks_it_and_what_hides_nothing_is_kept(page: str) -> None:
    text, dropped = remove_hidden(page)
    assert len(text) <= len(page) + 2 and dropped >= 0


@pytest.mark.parametrize("piece", ["<a ", "<a x='", "<!--", "<![CDATA["])
def test_tags_that_never_end_take_no_time(piece: str) -> None:
    began = process_time()
    remove_hidden("<p>seen</p>" + piece * 20_000)
    assert process_time() - began < 5


@pytest.mark.parametrize(
    "character",
    "\N{SOFT HYPHEN}\N{COMBINING GRAPHEME JOINER}\N{HANGUL FILLER}\N{HALFWIDTH HANGUL FILLER}\N{WORD JOINER}",
)
def test_a_character_without_width_is_removed(character: str) -> None:
    assert remove_hidden(f"<p>a{character}b</p>") == ("<p>ab</p>", 1)
