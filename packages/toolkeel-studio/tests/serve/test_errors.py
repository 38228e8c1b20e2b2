"""Refusals have the HTTP status that says what they are."""

from __future__ import annotations

from toolkeel_studio.serve import errors


def test_each_refusal_has_its_status() -> None:
    found = {
        kind.__name__: kind.status
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.ChannelError)
    }
    assert found == {
        "ChannelError": 400,
        "UnknownSession": 404,
        "UnknownApproval": 409,
        "SessionBusy": 409,
        "NoRun": 500,
        "InvalidDecision": 422,
        "Disconnected": 499,
        "Forbidden": 403,
    }
