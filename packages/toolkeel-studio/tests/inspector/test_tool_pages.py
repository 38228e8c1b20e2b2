"""Tools are seen as providers see them, and tried by a form or by JSON."""

from __future__ import annotations

import html
import json
import re
import shlex
from datetime import date
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from tests.inspector.serving import REMOVED, Served, served
from toolkeel import tool


@tool
def trade(rates: dict[str, float]) -> str:
    """Trade at these rates."""
    return ", ".join(f"{key} {rate}" for key, rate in rates.items()) or "x" * 2_000_000


@tool
def look_up(key: str) -> str:
    """Look up a key."""
    return {"a": "b"}[key]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> object:
    with served(tmp_path_factory.mktemp("tools"), tools=[trade, look_up]) as made:
        yield made


def test_all_tools_are_listed_and_searched(page: Served) -> None:
    text = page.client.get("/tools").text
    assert all(f"/tools/{name}" in text for name in ("search", "draw", "hold", "remove", "hostile"))
    found = page.client.get("/tools?q=shape").text
    assert "/tools/draw" in found and "/tools/search" not in found
    assert page.client.get("/tools/none").status_code == 404


def test_a_tool_is_shown_as_each_provider_is_told_of_it(page: Served) -> None:
    text = html.unescape(page.client.get("/tools/draw").text)
    for form in ("openai-chat", "anthropic", "bedrock", "gemini", "gemini-legacy", "mcp"):
        assert f"<code>{form}</code>" in text
    assert '"input_schema"' in text and '"parametersJsonSchema"' in text
    assert "nothing lost" in text and " lost</span>" in text


def test_a_wrong_value_names_its_field_and_stays_as_it_was_typed(page: Served) -> None:
    text = page.post("/tools/search", **{"/query": "keel", "/limit": "eleven"}).text
    assert 'href="#field-/limit"' in text
    assert re.search(r'id="field-/limit"[^>]*aria-invalid="true"[^>]*value="eleven"', text)
    assert "expected an integer from 1 to 10" in text
    nested = page.post(
        "/tools/draw", **{"/shape?": "1", "/shape|1/points#": "1", "/shape|1/points/0/x": "猫"}
    )
    assert 'href="#field-/shape|1/points/0/x"' in nested.text
    assert 'id="field-/shape|1/points/0/x"' in nested.text
    left = page.post("/tools/search", **{"/limit": "2"}).text
    assert 'id="wrong-/query"' in left and "required" in left


def test_a_right_call_runs_and_can_be_copied(page: Served) -> None:
    text = html.unescape(page.post("/tools/search", **{"/query": "it's 猫", "/limit": "2"}).text)
    assert "it's 猫 2" in text
    [line] = re.findall(r'id="copy-1">(.*?)</pre>', text)
    words = shlex.split(line)
    assert words[:4] == ["toolkeel", "call", "tools.py", "search"]
    assert json.loads(words[4]) == {"query": "it's 猫", "limit": 2}
    [curl] = re.findall(r'id="copy-2">(.*?)</pre>', text)
    assert json.loads(shlex.split(curl)[5]) == {"query": "it's 猫", "limit": 2}


def test_a_crash_opens_with_its_exception_and_where_it_was_raised(page: Served) -> None:
    text = html.unescape(page.post("/tools/look_up", **{"/key": "x<b>"}).text)
    assert text.index("KeyError: 'x<b>'") < text.index("internal error")
    assert re.search(r"test_tool_pages\.py, line \d+", text)
    assert 'role="alert"' not in page.post("/tools/look_up", **{"/key": "a"}).text


def test_json_is_answered_with_json(page: Served) -> None:
    headers = {"Origin": page.origin}
    right = page.client.post("/tools/search", json={"query": "猫"}, headers=headers)
    assert (right.status_code, right.json()["status"]) == (200, "success")
    wrong = page.client.post("/tools/search", json={"limit": 3}, headers=headers)
    assert (wrong.status_code, wrong.json()["kind"]) == (422, "invalid_arguments")


def test_form_and_json_are_two_views_of_one_value(page: Served) -> None:
    typed = {"/query": "猫", "/tags#": "1", "/tags/0": "a", "_view": "form", "_do": "json"}
    text = html.unescape(page.post("/tools/search", **typed).text)
    assert '"query": "猫"' in text and 'name="_json"' in text
    back = page.post(
        "/tools/search", _view="json", _do="form", _json='{"query": "猫", "tags": ["a", "b"]}'
    ).text
    assert 'name="/tags/1" value="b"' in back and 'value="猫"' in back
    for text, said in (
        ("{", "this is not valid JSON"),
        ('{"other": 1}', "the form cannot express"),
    ):
        kept = html.unescape(page.post("/tools/search", _view="json", _do="form", _json=text).text)
        assert said in kept and text in kept
    shape = '{"shape": {"kind": "path", "points": [{"x": 1}]}}'
    picked = page.post("/tools/draw", _view="json", _do="form", _json=shape).text
    assert 'name="/shape?" value="1" checked' in picked
    assert 'name="/shape|1/points/0/x" value="1"' in picked
    ran = page.post("/tools/search", _view="json", _do="run", _json='{"query": "kept"}').text
    assert "kept 3" in ran


def test_items_are_added_to_a_list_before_anything_runs(page: Served) -> None:
    text = page.post("/tools/search", **{"/query": "q", "/tags#": "0", "_do": "add:/tags"}).text
    assert 'name="/tags/0"' in text and 'value="q"' in text and 'id="result"' not in text


def test_a_call_that_asks_runs_as_it_was_shown_or_not_at_all(page: Served) -> None:
    text = page.post("/tools/remove", **{"/path": "猫.txt"}).text
    [seal] = re.findall(r'name="_seal" value="(\w+)"', text)
    assert "Approve and run" in text and REMOVED == []
    other = page.post("/tools/remove", **{"/path": "other", "_seal": seal}).text
    assert REMOVED == [] and "Approve and run" in other
    done = page.post("/tools/remove", **{"/path": "猫.txt", "_seal": seal}).text
    assert REMOVED == ["猫.txt"] and "removed 猫.txt" in done


def test_what_a_tool_prints_stays_text(page: Served) -> None:
    text = page.post("/tools/hostile").text
    assert "&lt;script&gt;window.ran=1" in text
    assert "<script>window" not in text and "<img src=x" not in text


def test_a_form_that_is_too_large_is_refused(page: Served, tmp_path: Path) -> None:
    headers = {"Origin": page.origin, "Content-Type": "application/json"}
    answer = page.client.post("/tools/search", content="x" * 2_100_000, headers=headers)
    assert answer.status_code == 413
    assert page.post("/tools/search", **{"/query": "x" * 2_100_000}).status_code == 413
    many = page.post("/tools/search", **{f"/{n}": "" for n in range(6000)})
    assert many.status_code == 413 and "form is too large" in many.text


def test_rows_of_a_map_are_added_filled_and_told_what_is_wrong(page: Served) -> None:
    text = page.post("/tools/trade", _do="add:/rates").text
    assert 'name="/rates/0~key"' in text and 'name="/rates/0"' in text
    typed = {"/rates#": "2", "/rates/0~key": "EUR", "/rates/0": "2", "/rates/1~key": "猫"}
    wrong = page.post("/tools/trade", **typed, **{"/rates/1": "x"}).text
    assert 'href="#field-/rates/1"' in wrong and 'value="猫"' in wrong
    right = page.post("/tools/trade", **typed, **{"/rates/1": "3"}).text
    assert "EUR 2.0, 猫 3.0" in right


def test_a_long_value_for_the_program_is_cut_like_all_texts(page: Served) -> None:
    assert len(page.post("/tools/trade", **{"/rates~empty": "on"}).text) < 900_000


@tool
def book(day: date, note: Annotated[str, Field(min_length=1)], remark: str = "none") -> str:
    """Book a day."""
    return f"{day} {note} {remark}"


def test_dates_have_the_browsers_picker_and_empty_values_are_offered_where_they_are_allowed(
    tmp_path: Path,
) -> None:
    with served(tmp_path, tools=[book]) as page:
        text = page.client.get("/tools/book").text
        assert text.count('type="date"') == 1
        assert "/remark~empty" in text and "/note~empty" not in text and "/day~empty" not in text
        odd = page.post("/tools/book", **{"/day": "tomorrow", "/note": "x", "_do": "run"}).text
        assert 'type="date"' not in odd and 'value="tomorrow"' in odd  # the text stays


def test_the_first_page_names_the_last_run_and_something_to_try(tmp_path: Path) -> None:
    with served(tmp_path, tools=[book]) as page:
        empty = page.client.get("/tools").text
        assert "Try the tool search by hand" in empty and "Look at the run" not in empty
        assert "not declared" not in empty
        page.post("/sessions", text="Hello?", name="a/b")
        page.until("/sessions/a%2Fb", "Hello\\.")
        text = page.client.get("/tools").text
        assert "Look at the run a/b" in text and f'href="{page.place}/sessions/a%2Fb#end"' in text
        assert "Look at the run" not in page.client.get("/tools?q=book").text
        assert "查看运行 a/b" in page.client.get("/tools", headers={"Accept-Language": "zh"}).text
