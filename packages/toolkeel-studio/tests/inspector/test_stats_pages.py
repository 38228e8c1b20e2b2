"""The page of stats: all days or some, with charts."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from tests.inspector.serving import served
from toolkeel import Agent, tool
from toolkeel.testing import Scripted, call


@tool
def ping() -> str:
    """Answer."""
    return "pong"


def test_stats_read_what_is_new_alone_and_begin_anew_when_a_session_is_gone(tmp_path: Path) -> None:
    def requests(text: str) -> list[str]:
        return re.findall(r'data-label="Requests">(\d+)<', text)

    with served(tmp_path) as page:
        agent = Agent(Scripted(["Hello."] * 2, name="play"))
        assert requests(page.client.get("/stats").text) == []
        for times in (1, 2):
            agent.run_sync("Hello?", session=page.sessions["ada"])
            assert requests(page.client.get("/stats").text) == [str(times)]
        page.sessions.fork("ada", "second")
        assert requests(page.client.get("/stats").text) == ["2"]
        page.sessions.delete("second")
        page.sessions.delete("ada")
        assert requests(page.client.get("/stats").text) == []


def test_the_days_of_the_query_alone_count_and_charts_need_no_script(tmp_path: Path) -> None:
    with served(tmp_path) as page:
        agent = Agent(Scripted([call("ping"), "Hello."] * 2, name="play"), [ping])
        agent.run_sync("?", session=page.sessions["old"])
        with sqlite3.connect(tmp_path / "talk.db") as other:
            other.execute("UPDATE entry SET at = at - 40 * 86400")
            other.execute("UPDATE session SET created = created - 40 * 86400")
        agent.run_sync("?", session=page.sessions["new"])
        everything = page.client.get("/stats").text
        [since] = re.findall(r'href="\?from=([\d-]+)">30 days', everything)
        late = page.client.get(f"/stats?from={since}").text
        early = page.client.get(f"/stats?to={since}").text
    assert re.findall(r'data-label="Requests">(\d+)<', everything + late + early) == ["4", "2", "2"]
    assert everything.count("<g><title>") == 41 and late.count("<g><title>") == 1
    assert f'type="date" id="from" name="from" value="{since}"' in late


@pytest.mark.parametrize("query", ["from=nonsense", "to=2026-13-01"])
def test_what_is_no_date_is_reported_and_all_days_count(query: str, tmp_path: Path) -> None:
    with served(tmp_path) as page:
        assert "is not a date" in page.client.get(f"/stats?{query}").text
        assert "is not a date" not in page.client.get("/stats?from=&to=0001-01-01").text
