"""Items as session updates of ACP, and the answers of a person."""

from __future__ import annotations

from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

from toolkeel.messages import ToolMessage
from toolkeel_studio.serve.acp.updates import is_allowed, permission_options, result_update


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
