"""What text becomes on the inspector's pages."""

from __future__ import annotations

import asyncio
import html
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.requests import Request

from tests.inspector.serving import GATE, HOSTILE, Served, busy, served
from toolkeel import Agent, AssistantMessage
from toolkeel.content import Image, Text
from toolkeel.testing import Scripted
from toolkeel_studio.inspector.site import (
    FORM,
    LONGEST,
    markdown,
    picture_urls,
    read_body,
    truncate_for_page,
)
from toolkeel_studio.markdown_html import MAX_MARKDOWN, without_controls

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
    assert chosen.headers["location"] == f"{page.place}/stats"
    assert 'lang="zh-CN"' in page.client.get("/stats").text
    away = page.client.get("/language/en", params={"to": "//evil.test"})
    assert away.headers["location"] == f"{page.place}/"
    assert page.client.get("/language/xx").headers["location"] == f"{page.place}/"


OTHERS = {"pre", "code", "script", "style", "textarea", "option"}
OTHERS_WORDS = {"told", "about", "answer", "said", "short", "losses", "problem", "changed", "same"}
"""Elements and classes of what tools, people, models and errors say, in the language they say it in."""


class Sentences(HTMLParser):
    """Collects what the page itself says in English."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[bool] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        for name in ("placeholder", "aria-label", "alt", "title", "data-label"):
            self._keep(given.get(name, ""))
        if tag not in ("meta", "link", "input", "br", "hr", "img", "col"):
            others = tag in OTHERS or bool(OTHERS_WORDS & set(given.get("class", "").split()))
            others |= given.get("id", "").startswith("about-")
            self._open.append(others)

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if not any(self._open):
            self._keep(data)

    def _keep(self, text: str) -> None:
        english = "[A-Za-z]{2,} [A-Za-z]{2,}|^(?:deny|approve|done|failed|waiting)$"
        if re.search(english, text) and not re.search("[\u4e00-\u9fff]", text):
            self.found.append(text.strip())


def test_a_chinese_page_says_nothing_of_its_own_in_english(tmp_path: Path) -> None:
    with served(tmp_path, [*busy()[:-1], "好。", "好。"]) as page:
        page.client.headers["Accept-Language"] = "zh-CN"
        texts = [page.post("/sessions", text="你好", name="x" * 300).text]
        for path, typed in (
            ("search", {"/query": "x", "/limit": "eleven"}),
            ("search", {"_view": "json", "_json": "{", "_do": "form"}),
            ("search", {"_view": "json", "_json": '{"other": 1}', "_do": "form"}),
            ("search", {"/query": "x"}),
            ("draw", {"_do": "add:/shape|1/points"}),
            ("remove", {"/path": "x"}),
        ):
            texts.append(page.post(f"/tools/{path}", **typed).text)
        page.post("/sessions", text="你好", name="ada")
        texts.append(page.until("/sessions/ada", 'class="call runs"'))
        GATE.set()
        waits = page.until("/sessions/ada", "data-ticket")
        texts += [waits, page.client.get("/approvals").text]
        shown = dict(re.findall(r'name="(ticket|seal)" value="(\w+)"', waits))
        for verdict in ("deny", "approve"):  # the second is too late
            sent = page.post("/sessions/ada", _do="decide", verdict=verdict, **shown)
            texts.append(sent.text)
        assert "已由 检查器 决定：拒绝" in texts[-1]
        texts.append(page.until("/sessions/ada", 'class="answer"'))
        page.post("/sessions/ada", _do="fork", to="bob", turn="0")
        paths = ("/sessions", "/sessions/bob", "/tools", "/approvals", "/servers", "/stats")
        for place in (*paths, "/compare?a=ada&b=bob", "/none", "/tools?q=none", "/sessions?q=none"):
            texts.append(page.client.get(place).text)
        page.client.cookies.clear()
        texts.append(page.client.get("/").text)
    told = {sentence for text in texts for sentence in Sentences(text).found}
    assert told == set()


def test_every_word_of_the_pages_is_there_in_chinese() -> None:
    folder = files("toolkeel_studio.inspector")
    known = json.loads((folder / "static" / "zh.json").read_text("utf-8"))
    for template in (folder / "templates").iterdir():
        text = template.read_text("utf-8")
        said = re.findall(r"""\bt\((["'])([^"']+)\1[),]""", text)
        listed = re.findall(r"for (?:place, )?word in \[(.*?)\] %", text)
        words = [word for _, word in said]
        words += [word for line in listed for word in re.findall(r'"(\w[^"]*)"', line)]
        assert [word for word in words if word not in known] == [], template.name


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
    assert "\\ud83d so" in page.client.get("/sessions/half").text


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_no_text_keeps_what_a_terminal_would_obey(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", without_controls(text))
    assert without_controls(without_controls(text)) == without_controls(text)


def test_long_texts_end_with_how_much_is_missing() -> None:
    assert truncate_for_page("x" * (LONGEST + 5)).endswith("… 5 more characters")
    assert "<pre" in markdown("*" * (MAX_MARKDOWN + 1)) and "<pre" not in markdown(
        "[" * MAX_MARKDOWN
    )


def test_only_bytes_of_a_picture_are_shown_as_one() -> None:
    svg = Image(b"<svg onload='x'/>", "image/svg+xml")
    [(address, words)] = picture_urls(
        (Text("x"), svg, Image(PNG, "image/svg+xml"), Image(url="http://h"))
    )
    assert address.startswith("data:image/png;base64,") and words == "16 bytes"
    assert picture_urls("text") == []
    assert html.escape(address) == address


def test_a_body_without_end_is_read_no_further_than_a_form_may_be_long() -> None:
    read = 0

    async def receive() -> dict[str, object]:
        nonlocal read
        read += 1 << 19
        assert read <= 2 * FORM
        return {"type": "http.request", "body": bytes(1 << 19), "more_body": True}

    with pytest.raises(HTTPException, match="413"):
        asyncio.run(read_body(Request({"type": "http", "method": "POST", "headers": []}, receive)))


def test_marks_in_a_reply_lead_to_its_sources_and_no_address_runs_a_script(tmp_path: Path) -> None:
    results = [
        {"url": "https://yr.no/a", "title": "Yr <b>"},
        {"url": "javascript:alert(1)", "title": "no"},
    ]
    reply = AssistantMessage(
        "Rain [1], `[1]`, [2], [3].\n```\n[1]", provider_options={"citations": results}
    )
    with served(tmp_path) as page:
        Agent(Scripted([reply])).run_sync("Rain?", session=page.sessions["ada"])
        text = page.client.get("/sessions/ada").text
    first, second = re.findall(r'<li id="(s0-\d+-\d)">', text)
    linked = re.findall('<a rel="noopener noreferrer nofollow" href="#(.*?)">(.)</a>', text)
    assert linked == [(first, "1"), (second, "2")]
    assert '<a href="https://yr.no/a" rel="noopener noreferrer nofollow">Yr &lt;b&gt;</a>' in text
    assert "<code>[1]</code>" in text and "[3]" in text and 'href="javascript' not in text
