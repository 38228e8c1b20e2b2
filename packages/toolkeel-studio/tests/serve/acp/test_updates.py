"""Items as session updates of ACP, and the answers of a person."""

from __future__ import annotations

from typing import Any

import pytest
from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

from toolkeel._records import entries
from toolkeel._records.tickets import Ticket
from toolkeel.messages import AssistantMessage, ToolMessage
from toolkeel_studio.serve.acp.updates import (
    UpdateEncoder,
    is_allowed,
    permission_call,
    permission_options,
    result_update,
)
from toolkeel_studio.serve.items import Item


def test_only_the_answer_to_this_question_allows_it() -> None:
    allow, reject = permission_options("t.seal")
    answers = {allow.option_id: True, reject.option_id: False, "t.seal": False, "allow.x.y": False}
    for id, expected in answers.items():
        outcome = AllowedOutcome(outcome="selected", option_id=id)
        assert is_allowed(RequestPermissionResponse(outcome=outcome), "t.seal") is expected
    denied = RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
    assert not is_allowed(denied, "t.seal")


def test_a_result_is_what_the_model_read_and_cut_to_a_limit() -> None:
    message = ToolMessage("x" * 60_000, "c1", "look", artifact="CANARY", details={"x": "CANARY"})
    update = result_update("c1", message).model_dump_json()
    assert len(update) < 51_000 and "10000 more characters" in update and "CANARY" not in update


def ticket(arguments: dict[str, Any], resources: tuple[str, ...], reason: str = "") -> Ticket:
    effects = {"read_only": False, "resources": resources}
    return Ticket("t1", "c1", "change", arguments, "d" * 64, 0.0, reason, effects)


@pytest.mark.parametrize(
    ("arguments", "changes"),
    [
        ({"path": "a.py", "content": "猫\n"}, [(None, "猫\n")]),
        ({"path": "a.py", "old_text": "x", "new_text": "y", "edits": None}, [("x", "y")]),
        (
            {"path": "a.py", "edits": [{"old_text": "x", "new_text": "y"}, {"old_text": 3}]},
            [("x", "y")],
        ),
        ({"path": "a.py", "content": "\tx\u202e\u200b\r\n"}, [(None, "\tx\\u202e\\u200b\r\n")]),
        ({"path": "a.py"}, []),
    ],
)
def test_a_permission_shows_what_a_call_changes_in_its_file(
    arguments: dict[str, Any], changes: list[tuple[str | None, str]]
) -> None:
    asked = permission_call(ticket(arguments, ("file:{path}",)), "c1", "/project")
    diffs = [each for each in asked.content or () if each.type == "diff"]
    assert [(each.old_text, each.new_text) for each in diffs] == changes
    assert {each.path for each in diffs} <= {"/project/a.py"}
    assert [each.path for each in asked.locations or ()] == ["/project/a.py"]
    assert asked.kind == "edit" and "\u202e" not in str(asked.raw_input)


def test_a_permission_shows_beside_a_diff_the_arguments_that_are_not_in_it() -> None:
    change = {"old_text": "x", "new_text": "y"}
    for more in ({"replace_all": True}, {"edits": [{**change, "replace_all": True}]}):
        given = {"path": "a.py", **change, **more}
        asked = permission_call(ticket(given, ("file:{path}",)), "c1", "/project")
        shown = (asked.content or ())[-1].content.text
        assert "replace_all" in shown and shown.count("old_text") == str(more).count("old_text")
    asked = permission_call(ticket({"path": "a.py", **change}, ("file:{path}",)), "c1", "/project")
    assert [each.type for each in asked.content or ()] == ["diff"]


def test_a_permission_shows_a_call_to_its_end_where_it_has_no_diff() -> None:
    hidden = {"command": "ls\u202e", "more": [{"\u200bx": "y\u2066"}]}
    asked = permission_call(ticket(hidden, (), "rule: ask"), "c1", "/project")
    _, shown = asked.content or ()
    assert "ls\\u202e" in shown.content.text and "y\\u2066" in shown.content.text
    assert asked.raw_input == {"command": "ls\\u202e", "more": [{"\\u200bx": "y\\u2066"}]}


def test_a_permission_says_why_in_its_title_and_the_rest_below() -> None:
    why = "it is\u202e new\n+ x\x1b[2J"
    asked = permission_call(ticket({}, (), why), "c1", "/project")
    assert asked.title == "change: it is\\u202e new" and asked.kind == "other"
    [text] = asked.content or ()
    assert text.content.text == "it is\\u202e new\n+ x\\u001b[2J" and asked.locations == []


def test_pages_that_a_reply_cites_are_links_behind_its_text() -> None:
    pages = [{"url": "https://a.example", "title": "A"}, "https://b.example", "javascript:x"]
    reply = AssistantMessage("Yes [1].", provider_options={"citations": pages})
    item = Item("1.0", "", entries.ModelReplied("r", 1, reply), message_id="m1")
    said, *links = [update.content for update in UpdateEncoder().encode(item)]
    assert said.text == "Yes [1]."
    assert [(link.type, link.name, link.uri) for link in links] == [
        ("resource_link", "A", "https://a.example"),
        ("resource_link", "https://b.example", "https://b.example"),
    ]
