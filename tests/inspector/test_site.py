"""What text becomes on the inspector's pages."""

from __future__ import annotations

import asyncio
import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.requests import Request

from tests.inspector.serving import HOSTILE, Served, served
from toolkeel import Agent
from toolkeel.content import Image, Text
from toolkeel.inspector.site import FORM, LONGEST, body, markdown, pictures, plain, shown
from toolkeel.testing import Scripted

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> object:
    with served(tmp_path_factory.mktemp("site")) as made:
        yield made


def test_a_page_without_its_script_and_without_the_network_is_whole(page: Served) -> None:
    text = page.client.get("/tools/search").text
    assert re.findall(r'(?:src|href)="([^"/#][^"]*)"', text) == []
    assert "://" not in re.sub(r"(?s)<pre.*?</pre>", "", text)
    assert 'style="' not in text and "<style" not in text and " onclick" not in text


def test_the_language_is_the_browsers_until_another_is_chosen(page: Served) -> None:
    assert "试一试" in page.client.get("/tools/search", headers={"Accept-Language": "zh-CN"}).text
    chosen = page.client.get("/language/zh?to=/stats")
    assert chosen.headers["location"] == "/stats"
    assert 'lang="zh-CN"' in page.client.get("/stats").text
    away = page.client.get("/language/en", params={"to": "//evil.test"})
    assert away.headers["location"] == "/"
    assert page.client.get("/language/xx").headers["location"] == "/"


class Tags(HTMLParser):
    """Collects what a browser would make of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


PIECES = st.sampled_from(
    ["<script>", "</", "](javascript:x)", "[a", "![p](http://h/x)", "`", "*", "\n", "<img src=x>"]
    + [
        "<http://a.b>",
        "[x](data:text/html,x)",
        "| a |\n|---|\n",
        "&lt;",
        "[r]: vbscript:x\n",
        "[r]",
    ]
)
KNOWN = {"p", "a", "em", "strong", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "br", "s"}
KNOWN |= {"h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"}


@given(st.lists(PIECES | st.text(max_size=6), max_size=12).map("".join))
def test_markdown_of_anybody_holds_nothing_that_runs_or_fetches(text: str) -> None:
    tags = Tags()
    tags.feed(markdown(text))
    for tag, attributes in tags.found:
        assert tag in KNOWN
        assert set(attributes) <= {"href", "title", "rel", "class", "start", "tabindex", "style"}
        assert (attributes.get("href") or "http:").lower().startswith(
            ("http:", "https:", "mailto:", "#", "/", ".")
        ) or ":" not in (attributes.get("href") or "")
    tags = Tags()
    tags.feed(markdown(HOSTILE))
    assert {tag for tag, _ in tags.found} <= {"p", "a"}


def test_half_a_surrogate_pair_does_not_keep_a_page_from_being_sent(page: Served) -> None:
    said = "\ud83d so"  # as a server cut it
    Agent(Scripted([said]), []).run_sync("go", session=page.sessions["half"])
    assert "? so" in page.client.get("/sessions/half").text


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_no_text_keeps_what_a_terminal_would_obey(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", plain(text))
    assert plain(plain(text)) == plain(text)


def test_long_texts_end_with_how_much_is_missing() -> None:
    assert shown("x" * (LONGEST + 5)).endswith("… 5 more characters")
    assert "<pre" in markdown("*" * LONGEST)


def test_only_bytes_of_a_picture_are_shown_as_one() -> None:
    svg = Image(b"<svg onload='x'/>", "image/svg+xml")
    [(address, words)] = pictures(
        (Text("x"), svg, Image(PNG, "image/svg+xml"), Image(url="http://h"))
    )
    assert address.startswith("data:image/png;base64,") and words == "16 bytes"
    assert pictures("text") == []
    assert html.escape(address) == address


def test_a_body_without_end_is_read_no_further_than_a_form_may_be_long() -> None:
    read = 0

    async def receive() -> dict[str, object]:
        nonlocal read
        read += 1 << 19
        assert read <= 2 * FORM
        return {"type": "http.request", "body": bytes(1 << 19), "more_body": True}

    with pytest.raises(HTTPException, match="413"):
        asyncio.run(body(Request({"type": "http", "method": "POST", "headers": []}, receive)))
