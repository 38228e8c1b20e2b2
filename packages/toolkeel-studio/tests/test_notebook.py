"""What notebooks show: all that there is, escaped, and nothing that runs or is fetched."""

from __future__ import annotations

import asyncio
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.formatters import HTMLFormatter  # type: ignore[attr-defined]
from IPython.core.interactiveshell import InteractiveShell

from toolkeel import Agent, Image, Rules, ToolMessage, ToolOutput, Toolset, tool
from toolkeel.testing import Scripted, call
from toolkeel_studio.notebook import MOST, _reply, html, watch

PNG = b"\x89PNG\r\n\x1a\n" + bytes(30)
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


@tool
def search(query: str, limit: int = 3, tags: list[str] | None = None) -> str:
    """Search <b>documents</b>.

    Args:
        query: 要找的词。
    """
    return f"found {query}"


@tool
def plot() -> ToolOutput:
    """Plot."""
    return ToolOutput((Image(PNG),))


OURS = (
    *("div", "b", "span", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "p"),
    *("em", "strong", "s", "a", "code", "pre", "ul", "ol", "li", "blockquote"),
    *("h1", "h2", "h3", "h4", "h5", "h6"),
)
VOID = ("img", "hr", "br")


class Elements(HTMLParser):
    """The elements and attributes of a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, Any]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:  # `<hr />` ends what it begins
            assert self.open.pop() == tag


def harmless(text: str) -> None:
    """No element but ours, none left open, no attribute that acts, no address but of data."""
    read = Elements(text)
    assert read.open == []
    for tag, attributes in read.found:
        assert tag in OURS or tag in VOID
        assert attributes.keys() <= {
            "style",
            "alt",
            "src",
            "open",
            "href",
            "rel",
            "title",
            "class",
            "start",
        }
        assert attributes.get("src", "data:image/").startswith("data:image/")
        assert not re.match(
            r"\s*(javascript|vbscript|data|file):", attributes.get("href", ""), re.I
        )


def test_notebooks_find_it_on_tools_toolsets_results_and_runs() -> None:
    agent = Agent(Scripted([call("search", {"query": "猫"}), "Done."]), [search])
    run = agent.start("find")
    result = agent.run_sync("find 猫")
    show = HTMLFormatter()
    for value in (search, Toolset([search]), result, run, ToolMessage("found", "1", "search")):
        harmless(str(show(value)))


@pytest.mark.parametrize(
    ("answer", "outcome"), [("y", "moved 3"), ("", "denied"), ("use the crane", "use the crane")]
)
def test_a_run_is_displayed_while_it_goes_on_and_asks_for_approval(
    monkeypatch: pytest.MonkeyPatch, answer: str, outcome: str
) -> None:
    shown, asked = list[tuple[str, str]](), list[str]()

    def publish(data: dict[str, str], **more: Any) -> None:
        shown.append((str((more.get("transient") or {}).get("display_id", "")), data["text/html"]))

    def answered(prompt: str) -> str:
        asked.append(prompt)
        return answer

    @tool(approval=True)
    def move(boxes: int) -> str:
        """Move boxes."""
        return f"moved {boxes}"

    monkeypatch.setattr("builtins.input", answered)
    shell = InteractiveShell.instance()
    monkeypatch.setattr(shell.display_pub, "publish", publish)
    try:
        model = Scripted([call("move", {"boxes": 3}), f"Done: {EVIL}"])
        result = asyncio.run(watch(Agent(model, [move]).stream("go")))
    finally:
        InteractiveShell.clear_instance()
    assert result.output == f"Done: {EVIL}" and len(asked) == 1
    for _, page in shown:
        harmless(page)
    places = [place for place, _ in shown]
    assert places.count("") == 1 and len({*places}) == 2  # one question, and one place that changes
    first, last = shown[0][1], shown[-1][1]
    assert "not ended" in first and "answered, 2 turns, 1 call" in last and outcome in last
    [question] = [page for place, page in shown if not place]
    assert "move waits for approval" in question and "boxes" in question


def test_an_approver_of_the_run_itself_is_asked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", None)
    run = Agent(Scripted([call("plot"), "ok"]), [plot], rules=Rules(ask=["plot"])).stream(
        "go", approver=lambda ticket: True
    )
    assert asyncio.run(watch(run)).output == "ok"


def test_a_tool_shows_its_parameters_and_its_schema() -> None:
    shown = html(search)
    harmless(shown)
    for word in (
        "search",
        "query",
        "要找的词。",
        "integer, may be left out",
        "array: string or null",
        "schema",
    ):
        assert word in shown
    assert "&lt;b&gt;documents" in shown


def test_a_result_shows_what_was_said_each_call_with_its_outcome_and_pictures() -> None:
    model = Scripted(
        [[call("search", {"query": EVIL}), call("search", {"limit": 1}), call("plot")], EVIL]
    )
    shown = html(Agent(model, [search, plot]).run_sync(EVIL))
    harmless(shown)
    assert shown.count("✓") == 2 and shown.count("✗") == 1
    assert "failed: invalid_arguments" in shown and "answered, 2 turns, 3 calls" in shown
    assert 'src="data:image/png;base64,' in shown


def test_a_crash_shows_its_exception_and_where_it_was_raised() -> None:
    @tool
    def broken() -> str:
        """Fail."""
        raise KeyError(EVIL)

    shown = html(Agent(Scripted([call("broken"), "Sorry."]), [broken]).run_sync("Go."))
    harmless(shown)
    assert "KeyError: " in shown and re.search(r"test_notebook\.py, line \d+", shown)


def test_a_picture_that_is_a_document_or_lies_elsewhere_is_only_named() -> None:
    svg = Image(b"<svg onload=alert(1)>", "image/svg+xml")
    far = Image(url="https://example.org/a.png")
    shown = html(ToolMessage((svg, far), "1", "plot"))
    harmless(shown)
    assert "<img" not in shown and "example.org" not in re.sub(r"\[.*?\]", "", shown)


def test_a_table_is_shown_with_its_first_rows_and_says_how_many_it_has() -> None:
    details = {"table": {"columns": [EVIL, "n"], "rows": [[EVIL, "1"]] * 30, "total_rows": 300}}
    shown = html(ToolMessage("text for the model", "1", "sales", details=details))
    harmless(shown)
    assert shown.count("<tr>") == 21 and "20 of 300 rows" in shown
    assert "text for the model" not in shown
    other = html(ToolMessage("text", "1", "sales", details={"table": ["n"]}))
    assert "<table" not in other and "text" in other


@given(st.text())
def test_whatever_was_written_is_text(said: str) -> None:
    harmless(html(ToolMessage(said, "1", said)))
    harmless(html(said))


@given(st.text("ab *_`#|-[](){}<>!\"'\\:/&;=\n\t1.~javscript"))
def test_whatever_a_model_wrote_as_markdown_is_harmless(said: str) -> None:
    harmless(_reply(said))


def test_a_long_text_is_cut_and_says_so() -> None:
    shown = html(ToolMessage("x" * (MOST + 5), "1", "a"))
    assert "5 characters more" in shown and len(shown) < MOST + 1000


def test_what_a_model_wrote_is_markdown_and_what_a_tool_wrote_is_text() -> None:
    @tool
    def note() -> str:
        """Write a note."""
        return "**kept**"

    table = "| a | b |\n|---|---|\n| 1 | **2** |"
    reply = f"# Found\n\n{table}\n\n```python\nx = 1\n```\n![p](http://h.test/p.png) {EVIL}"
    shown = html(Agent(Scripted([call("note"), reply]), [note]).run_sync("*go*"))
    harmless(shown)
    assert "<h1>Found</h1>" in shown and "<td><strong>2</strong></td>" in shown
    assert '<code class="language-python">' in shown
    assert "**kept**" in shown and "*go*" in shown  # the person's text, too
