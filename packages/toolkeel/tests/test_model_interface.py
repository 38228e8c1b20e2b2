"""What a model is asked leaves every choice to the provider unless somebody makes it."""

from __future__ import annotations

import typing

from toolkeel import model_interface
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.model_interface import CallDelta, Delta, Finish, ModelRequest, Settings, TextDelta


def test_settings_leave_every_choice_to_the_provider() -> None:
    chosen = {name: getattr(Settings(), name) for name in Settings.__match_args__}
    assert chosen.pop("extra_body") == {}
    assert chosen.pop("keep_tool_choice") is False
    assert set(chosen.values()) == {None}


def test_a_request_needs_only_messages() -> None:
    request = ModelRequest([UserMessage("你好")])
    assert (list(request.messages), list(request.tools)) == ([UserMessage("你好")], [])
    assert request.settings == Settings()


def test_the_union_of_deltas_holds_every_delta_there_is() -> None:
    records = {
        v
        for v in vars(model_interface).values()
        if isinstance(v, type) and v.__module__ == model_interface.__name__
    }
    pieces = {v for v in records if v.__name__.endswith("Delta") or v is Finish}
    assert set(typing.get_args(Delta)) == pieces


def test_deltas_match_by_their_fields_in_order() -> None:
    match CallDelta(1, "id", "add", '{"a":'):
        case CallDelta(index, id, name, arguments):
            assert (index, id, name, arguments) == (1, "id", "add", '{"a":')
    assert TextDelta("a") != AssistantMessage("a")
