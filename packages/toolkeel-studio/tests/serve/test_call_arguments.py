"""The arguments of a call as JSON text."""

from __future__ import annotations

from toolkeel.messages import ToolCall
from toolkeel_studio.serve.call_arguments import call_arguments


def test_text_of_a_model_stays_as_it_is_and_values_are_json() -> None:
    assert call_arguments(ToolCall("c", "look", '{"what":  "x"}')) == '{"what":  "x"}'
    assert call_arguments(ToolCall("c", "look", {"what": "é"})) == '{"what": "é"}'
