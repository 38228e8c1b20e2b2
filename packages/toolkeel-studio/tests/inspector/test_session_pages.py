"""Sessions on the page: live, approved once, gone on with, forked, compared, counted."""

from __future__ import annotations

import asyncio
import html
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.inspector.serving import GATE, HELD, REMOVED, TOOLS, Served, busy, served
from tests.mcp.peers import OLD_PEER, PEER
from toolkeel import Agent, AssistantMessage, ToolOutput, Usage, UserMessage, tool
from toolkeel._records.entries import (
    CallIntended,
    ModelAsked,
    ModelReplied,
    PersonSaid,
    RunBegan,
)
from toolkeel.mcp.client import MCPServer
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call

pytestmark = pytest.mark.usefixtures("warm_python")

KILLED_IN_A_CALL = [
    RunBegan("r"),
    PersonSaid("r", UserMessage("Pay 5.")),
    ModelAsked("r", 1, "m"),
    ModelReplied("r", 1, AssistantMessage("", (call("pay", {"euros": 5}),))),
    CallIntended("r", 1, 0, "a", "pay"),
]
ERAS = [pytest.param(OLD_PEER, id="2025"), pytest.param(PEER, id="2026")]


def seal(text: str) -> dict[str, str]:
    """The hidden fields of the ticket on a page."""
    return dict(re.findall(r'name="(ticket|seal)" value="(\w+)"', text))


def test_a_run_is_watched_decided_and_seen_to_its_end(tmp_path: Path) -> None:
    with served(tmp_path, busy()) as page:
        begun = page.post("/sessions", text="Remove 猫.txt, please.")
        place = begun.headers["location"].removesuffix("#end").removeprefix(page.place)
        live = page.until(place, 'class="call failed"')
        assert live.count('class="call runs"') == 2 and "Running." in live
        assert "3 calls at once" in live or "2 calls at once" in live
        [again] = re.findall('http-equiv="refresh" content="3; url=(.*?)"', live)
        assert (
            again == page.place + place
        )  # at "#end", where forms lead, an address loads nothing anew
        assert '<a href="?still=1#end">' in live and live.count(' live"') == 2
        wrong = page.post(place, _do="fork", turn="", to=place.rpartition("/")[2], text="half a")
        assert "half a" in wrong.text and wrong.status_code == 409
        for typed_in in (wrong.text, page.client.get(f"{place}?still=1").text):
            assert "http-equiv" not in typed_in and ' live"' not in typed_in
        page.post(place, _do="say", text="and hurry")
        page.until(place, "and hurry")
        GATE.set()
        waits = page.until(place, "data-ticket")
        assert "and hurry" in waits
        assert "data-ticket" in page.client.get("/approvals").text
        page.post(place, _do="decide", verdict="approve", **seal(waits))
        done = page.until(place, 'class="answer"')
        assert REMOVED == ["猫.txt"]
        assert "<strong>Done.</strong>" in done and "<script>window" not in done
        assert "No pending approvals." in page.client.get("/approvals").text


def test_of_two_who_decide_the_first_counts_and_the_second_is_told(tmp_path: Path) -> None:
    GATE.set()
    with served(tmp_path, busy()[2:]) as page:
        page.post("/sessions", text="Remove it.", name="ada")
        shown = seal(page.until("/sessions/ada", "data-ticket"))
        wrong = page.post(
            "/sessions/ada", _do="decide", verdict="approve", **{**shown, "seal": "x"}
        )
        assert wrong.status_code == 409 and "no longer pending" in wrong.text
        edited = page.post(
            "/sessions/ada", _do="decide", verdict="edit", arguments='{"path": 3}', **shown
        )
        assert edited.status_code == 422 and "path" in edited.text and REMOVED == []
        page.sessions["ada"].decide(page.sessions["ada"].pending[0].deny("no"), "bob")
        second = page.post("/sessions/ada", _do="decide", verdict="approve", **shown)
        assert second.status_code == 409 and "already decided by bob: deny" in second.text
        page.post("/sessions/ada", _do="go on")
        page.until("/sessions/ada", 'class="answer"')
        assert REMOVED == []
        late = page.post("/sessions/ada", _do="decide", verdict="approve", **shown)
        assert late.status_code == 409


def test_edited_arguments_run_instead_of_the_models(tmp_path: Path) -> None:
    with served(tmp_path, busy()[2:]) as page:
        page.post("/sessions", text="Remove it.", name="ada")
        shown = seal(page.until("/sessions/ada", "data-ticket"))
        edit = {"_do": "decide", "verdict": "edit", **shown}
        for wrong in ('{"path": 7', '{"path": 7}'):
            told = page.post("/sessions/ada", arguments=wrong, **edit)
            assert told.status_code == 422 and REMOVED == []
            kept = html.unescape(told.text).partition(
                f'aria-describedby="wrong-{shown["ticket"]}">'
            )
            assert kept[2].startswith(f"{wrong}</textarea>")
        page.post("/sessions/ada", arguments='{"path": "b"}', **edit)
        page.until("/sessions/ada", 'class="answer"')
        assert REMOVED == ["b"]


def test_an_answer_is_the_calls_result_and_nothing_runs(tmp_path: Path) -> None:
    GATE.set()
    with served(tmp_path, busy()[2:]) as page:
        before = list(REMOVED)
        page.post("/sessions", text="Remove it.", name="ada")
        shown = seal(page.until("/sessions/ada", "data-ticket"))
        page.post("/sessions/ada", _do="decide", verdict="answer", value="已经删了", **shown)
        assert "已经删了" in page.until("/sessions/ada", 'class="answer"')
        assert before == REMOVED


def test_a_call_that_was_decided_elsewhere_waits_for_no_person(tmp_path: Path) -> None:
    with served(tmp_path, ["?"]) as page:
        session = page.sessions["ada"]
        model = Scripted([call("remove", {"path": "x"})])
        Agent(model, TOOLS).run_sync("go", session=session)
        session.decide(session.pending[0].approve(), who="bob")
        shown = page.client.get("/sessions/ada").text
        Agent(Scripted(["Done.", "Bye."]), TOOLS).run_sync(None, session=session)
        early = [
            page.client.get(f"/sessions/ada?before={n + 2}").text for n in range(session.info.head)
        ]
    assert 'class="call decided"' in shown and "decided by bob: approve" in shown
    assert "Decided. A worker" in shown and "data-ticket" not in shown and "1970" not in shown
    assert not any("Decided. A worker" in text for text in early)


def test_a_table_is_shown_beside_what_the_model_reads(tmp_path: Path) -> None:
    table = {"columns": ["<b>月", "n"], "rows": [["一", "1"], ["<i>", "2"]], "total_rows": 9}

    @tool
    def sales() -> ToolOutput:
        """Return a table."""
        return ToolOutput("月,n", details={"table": table})

    @tool
    def orders() -> list[dict[str, object]]:
        """Return records."""
        return [{"月": "<u>", "n": 3}, {"paid": True}]

    with served(tmp_path, ["?"]) as page:
        model = Scripted([[call("sales"), call("orders")], "Done."])
        Agent(model, [sales, orders]).run_sync("go", session=page.sessions["ada"])
        shown = page.client.get("/sessions/ada").text
    assert "<td>&lt;i&gt;</td><td>2</td>" in shown and "2 of 9 rows" in shown
    assert "data-sort>&lt;b&gt;月</button>" in shown
    assert "<td>&lt;u&gt;</td><td>3</td><td></td>" in shown and "<td>true</td>" in shown
    assert "Text that the model reads" in shown and ">月,n</pre>" in shown


@contextmanager
def asking(folder: Path, words: list[str], calls: int = 1) -> Iterator[Served]:
    """An inspector whose run stands in a call in which a server asks where to go."""
    server = MCPServer(words, name="trains", trust=True)
    asks = [call("ask", {}, id=f"ask_{n}") for n in range(calls)]
    with served(folder, [asks, "It goes."], [server]) as page:
        page.post("/sessions", text="Go.", name="ada")
        page.until("/sessions/ada", 'id="question-')
        yield page
        asyncio.run(server.close())


def question(text: str) -> str:
    """The id of what a server asks on a page."""
    return re.findall(r'id="question-(\w+)"', text)[0]


@pytest.mark.parametrize("words", ERAS)
def test_a_servers_question_is_a_form_whose_wrong_field_is_named(
    words: list[str], tmp_path: Path
) -> None:
    with asking(tmp_path, words) as page:
        place = "/sessions/ada"
        shown = page.client.get(place).text
        assert "the server trains asks: Where shall it go?" in shown and "Where to" in shown
        assert re.search(r'name="/days" value="3"', shown)
        assert "trains asks" in page.client.get("/approvals").text
        told = {"_do": "question", "ticket": question(shown), "verdict": "send"}
        wrong = page.post(place, **told, **{"/city": "猫城", "/days": "many"})
        assert wrong.status_code == 422
        [field] = re.findall(r"<input[^>]*aria-invalid[^>]*>", wrong.text)
        assert 'name="/days"' in field and 'value="many"' in field and "猫城" in wrong.text
        assert page.post(place, **told, **{"/city": "猫城", "/days": "2"}).status_code == 303
        done = page.until(place, 'class="answer"')
        assert "accept {&#39;city&#39;: &#39;猫城&#39;, &#39;days&#39;: 2}" in done
        assert "question-" not in done


@pytest.mark.parametrize(("verdict", "told"), [("decline", "decline None"), ("cancel", "cancel N")])
def test_a_servers_question_is_declined_or_cancelled(
    verdict: str, told: str, tmp_path: Path
) -> None:
    with asking(tmp_path, PEER) as page:
        id = question(page.client.get("/sessions/ada").text)
        page.post("/sessions/ada", _do="question", ticket=id, verdict=verdict)
        assert told in page.until("/sessions/ada", 'class="answer"')


def test_of_two_places_that_answer_a_server_the_first_counts(tmp_path: Path) -> None:
    with asking(tmp_path, PEER, calls=2) as page:
        page.until("/sessions/ada", "1 more after this")
        first = question(page.client.get("/sessions/ada").text)
        send = {"_do": "question", "verdict": "send", "/city": "a"}
        assert page.post("/sessions/ada", ticket=first, **send).status_code == 303
        late = page.post("/sessions/ada", ticket=first, **{**send, "verdict": "decline"})
        assert late.status_code == 409 and "already decided by inspector: send" in late.text
        second = question(late.text)
        assert second != first
        page.post("/sessions/ada", ticket=second, **send)
        page.until("/sessions/ada", 'class="answer"')
        never = page.post("/sessions/ada", ticket="0", **send)
        assert never.status_code == 409 and "this question is no longer open" in never.text


def test_a_run_that_is_stopped_asks_nothing_any_more(tmp_path: Path) -> None:
    with asking(tmp_path, PEER) as page:
        page.post("/sessions/ada", _do="stop")
        assert 'id="question-' not in page.until("/sessions/ada", "ended cancelled")


def test_what_is_said_while_a_call_waits_is_read_after_it_was_decided(tmp_path: Path) -> None:
    with served(tmp_path, busy()[2:]) as page:
        page.post("/sessions", text="Remove it.", name="ada")
        shown = seal(page.until("/sessions/ada", "data-ticket"))
        page.post("/sessions/ada", _do="say", text="and hurry")
        assert "queued for the next request" in page.until("/sessions/ada", "and hurry")
        page.post("/sessions/ada", _do="decide", verdict="approve", **shown)
        assert "queued for the next request" not in page.until("/sessions/ada", 'class="answer"')


def test_a_run_is_stopped_and_what_it_did_is_kept(tmp_path: Path) -> None:
    with served(tmp_path, busy()) as page:
        page.post("/sessions", text="Begin.", name="ada")
        page.until("/sessions/ada", 'class="call runs"')
        page.post("/sessions/ada", _do="stop")
        assert "ended cancelled" in page.until("/sessions/ada", "ended cancelled")


def test_a_poll_has_the_last_entry_and_the_reply_only_when_it_is_new(tmp_path: Path) -> None:
    with served(tmp_path, [call("hold", {"name": "x"}), "One."]) as page:
        page.post("/sessions", text="Hello?", name="ada")
        assert HELD.wait(60)
        running = page.client.get("/events/ada").json()
        assert running["running"] and running["questions"] == [] and "text" in running["tail"]
        again = page.client.get(f"/events/ada?version={running['version']}").json()
        assert "tail" not in again
        GATE.set()
        page.until("/sessions/ada", "One.")
        ended = page.client.get("/events/ada?version=0").json()
        assert ended == {
            "head": page.sessions["ada"].info.head,
            "running": False,
            "questions": [],
        }


def test_a_session_is_forked_searched_and_compared(tmp_path: Path) -> None:
    with served(tmp_path, ["One.", "Two.", "Three."]) as page:
        page.post("/sessions", text="First?", name="ada")
        page.until("/sessions/ada", "One.")
        page.post("/sessions/ada", _do="say", text="Second?")
        page.until("/sessions/ada", "Two.")
        page.post("/sessions/ada", _do="fork", turn="1", to="b/c", text="Otherwise?")
        forked = page.until("/sessions/b%2Fc", "Three.")
        assert "First?" in forked and "Second?" not in forked
        compared = page.client.get("/compare", params={"a": "ada", "b": "b/c"}).text
        assert (
            compared.count('<tr class="same"') == 2 and compared.count('<tr class="changed"') == 2
        )
        assert 'id="first"' in compared
        same = page.client.get("/compare", params={"a": "ada", "b": "ada"}).text
        assert "No difference." in same
        found = page.client.get("/sessions?q=Otherwise").text
        assert found.count("/sessions/") == 0 or "b%2Fc" in found
        again = page.post("/sessions/ada", _do="fork", to="b/c")
        assert again.status_code == 409 and "already" in again.text
        assert page.client.get("/sessions/nobody").status_code == 404
        stats = page.client.get("/stats").text
        assert "play" in stats and "No call yet." in stats


def test_what_another_process_writes_is_seen_as_it_comes(tmp_path: Path) -> None:
    with served(tmp_path) as page:
        page.post("/sessions", text="Hello?", name="ada")
        page.until("/sessions/ada", "Hello\\.")
        code = (
            "import sys\nfrom toolkeel import Agent\nfrom toolkeel.sessions import Sessions\n"
            "from toolkeel.testing import Scripted\n"
            "Agent(Scripted(['From elsewhere.'])).run_sync('?', session=Sessions(sys.argv[1])['ada'])"
        )
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "talk.db")], check=True, timeout=60
        )
        assert "From elsewhere." in page.client.get("/sessions/ada").text


def test_a_long_session_is_shown_a_window_at_a_time(tmp_path: Path) -> None:
    with served(tmp_path) as page:
        page.post("/sessions", text="Hello?", name="ada")
        page.until("/sessions/ada", "Hello\\.")
        lines = list(page.sessions.export("ada"))
        header, rows = lines[0], [json.loads(line) for line in lines[1:]]
        many = [header]
        for turn in range(400):
            for row in rows:
                row = {**row, "seq": len(many)}
                many.append(
                    json.dumps(row, ensure_ascii=False).replace("Hello?", f"Hello {turn}?") + "\n"
                )
        page.sessions.import_(many, "long")
        latest = page.client.get("/sessions/long").text
        assert "Hello 399?" in latest and "Hello 0?" not in latest
        [earlier] = re.findall(r'href="\?before=(\d+)"', latest)
        before = page.client.get(f"/sessions/long?before={earlier}").text
        assert "Hello 399?" not in before and "data-events" not in before
        early = re.findall(r'<option value="(\d+)">entry', latest)
        assert early == sorted(early, key=int, reverse=True) and len(early) > 1
        assert "Hello 0?" in page.client.get(f"/sessions/long?before={early[-1]}").text
        assert "Hello 399?" in page.client.get(f"/sessions/long?before={'9' * 5000}").text


def test_a_program_error_is_shown_and_the_page_lives_on(tmp_path: Path) -> None:
    with served(tmp_path, [ValueError("odd 猫")]) as page:
        page.post("/sessions", text="Hello?", name="ada")
        assert "odd 猫" in page.until("/sessions/ada", "odd 猫")
        assert Sessions(tmp_path / "talk.db")["ada"].info.ended == "failed"
        empty = page.post("/sessions", text="  ")
        assert empty.headers["location"] == f"{page.place}/sessions"


def test_what_was_typed_stays_when_a_name_cannot_be_one_or_is_taken(tmp_path: Path) -> None:
    with served(tmp_path) as page:
        for name in ("n" * 300, "a\u202eb"):
            refused = page.post("/sessions", text="Hello, 猫?", name=name)
            assert refused.status_code == 409 and "cannot name a session" in refused.text
            assert ">Hello, 猫?</textarea>" in refused.text and f'value="{name}"' in refused.text
            for place in ("sessions", "events"):
                there = page.client.get(f"/{place}/{name}")
                assert there.status_code == 409 and "cannot name a session" in there.text
        page.post("/sessions", text="Hello?", name="ada")
        page.until("/sessions/ada", 'class="answer"')
        taken = page.post("/sessions/ada", _do="fork", to="ada", turn="0", text="猫")
        assert taken.status_code == 409 and "there is a session &#39;ada&#39;" in taken.text
        assert 'value="ada"' in taken.text and ">猫</textarea>" in taken.text
        assert "<option selected>0</option>" in taken.text


def test_a_reply_with_more_calls_than_a_page_has_entries_is_shown_whole(tmp_path: Path) -> None:
    calls = [call("search", {"query": f"猫 {n}"}) for n in range(400)]
    with served(tmp_path, [calls, "done"]) as page:
        page.post("/sessions", text="Search.", name="many")
        latest = page.until("/sessions/many", 'class="answer"')
        assert latest.count('class="call done" id') == 400
        assert "last 200 of 402 rows" in latest
        middle = page.client.get("/sessions/many?before=300").text
        assert middle.count('class="call done" id') == 400  # none of them runs any more


def test_a_page_of_a_long_session_reads_its_window_and_nothing_before_it(tmp_path: Path) -> None:
    with served(tmp_path) as page:
        spent = Usage(input_tokens=3, output_tokens=2, requests=1)
        lines = (AssistantMessage(f"answer {n}", usage=spent) for n in range(200))
        agent = Agent(Scripted(lines))
        for n in range(200):
            agent.run_sync(f"question {n}", session=page.sessions["long"])
        with sqlite3.connect(tmp_path / "talk.db") as other:
            other.execute(
                "UPDATE entry SET body = 'damaged' WHERE kind = 'person_said' AND seq < 9"
            )
        shown = page.client.get("/sessions/long")
        assert shown.status_code == 200
        assert "answer 199" in shown.text and "answer 0<" not in shown.text
        assert "200 requests" in shown.text


def test_a_call_of_a_process_that_ended_is_interrupted_and_not_running(tmp_path: Path) -> None:
    with served(tmp_path, ["Done."]) as page:
        page.sessions.append("killed", lambda _: KILLED_IN_A_CALL)
        shown = page.client.get("/sessions/killed").text
        assert 'class="call interrupted"' in shown and "The process ended during this run." in shown
        exported = page.client.get("/export/killed").text
        assert exported == "".join(page.sessions.export("killed"))


def test_a_form_offers_to_send_an_empty_text_only_where_it_is_not_the_default(
    tmp_path: Path,
) -> None:
    @tool
    def note(text: str, title: str = "untitled", tag: str = "") -> str:
        """Take a note."""
        return text

    with served(tmp_path, ["Done."], tools=[note]) as page:
        fresh = page.client.get("/tools/note").text
        assert re.findall(r'name="/(\w+)~empty"', fresh) == ["title"]
        refused = page.post("/tools/note").text
        assert re.findall(r'name="/(\w+)~empty"', refused) == ["text", "title"]


def test_a_request_shows_the_schemas_of_its_tools_also_in_a_later_window(tmp_path: Path) -> None:
    with served(tmp_path, ["One."]) as page:
        agent = Agent(Scripted(["One."] * 160, name="play"), [tool(search_harbour)])
        for _ in range(160):
            agent.run_sync("?", session=page.sessions["ada"])
        first = page.client.get("/sessions/ada?before=40").text
        latest = page.client.get("/sessions/ada").text
    for text in (first, latest):
        schema = html.unescape(text).partition('aria-label="Schema of search_harbour"')[2]
        assert '"quay"' in schema.partition("</pre>")[0]
        assert "as in an earlier request" in text
    assert 'href="?before=' in latest


def search_harbour(quay: int) -> str:
    """Search the harbour."""
    return "nothing"


def test_the_list_shows_model_end_cost_and_error_of_each_session(tmp_path: Path) -> None:
    with served(tmp_path, ["Hello.", ValueError("odd 猫")]) as page:
        for name in ("good", "bad"):
            page.post("/sessions", text="?", name=name)
            page.until("/sessions", f">{name}</a>(?s:.*?)(answered|failed)")
        listed = page.client.get("/sessions").text
        bad, good = listed.split('<tr><th scope="row">')[1:]
    assert "odd 猫" in bad and 'class="badge bad">failed' in bad
    assert 'class="badge good">answered' in good and "odd 猫" not in good
    for row in (bad, good):
        assert 'data-label="Model">play</td>' in row
        assert 'data-label="Cost">—</td>' in row and 'data-label="Turns">1</td>' in row
