"""What stands for a tool on a provider that has it, and where it then runs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from toolkeel.errors import SetupError
from toolkeel.hosted import Hosted, Native, native_of

GOOGLE = Native({"google_search": {}})
OPENAI = Native({"type": "web_search"})


def test_a_native_form_is_taken_where_the_server_hosts_tools() -> None:
    hosted = Hosted({"gemini": GOOGLE, "openai-responses": OPENAI})
    assert hosted.native_for("gemini") is GOOGLE
    assert hosted.native_for("openai-responses") is OPENAI
    assert hosted.native_for("openai-responses", hosting=False) is None
    assert hosted.native_for("openai-chat") is None


def test_a_local_tool_is_a_function_everywhere() -> None:
    assert Hosted({"gemini": GOOGLE}, "local").native_for("gemini") is None


def test_a_tool_of_the_provider_is_refused_where_there_is_none() -> None:
    hosted = Hosted({"gemini": GOOGLE}, "provider")
    assert hosted.native_for("gemini", hosting=False) is GOOGLE
    with pytest.raises(SetupError, match=r"search shall run at the provider.*anthropic does not"):
        hosted.native_for("anthropic", name="search")


def test_the_type_of_a_native_tool_is_its_own_word_for_itself() -> None:
    assert (OPENAI.type, GOOGLE.type) == ("web_search", "google_search")


def test_a_tool_that_nobody_hosts_has_no_native_form() -> None:
    assert native_of(SimpleNamespace(name="add"), "gemini") is None
    assert (
        native_of(SimpleNamespace(name="s", hosted=Hosted({"gemini": GOOGLE})), "gemini") is GOOGLE
    )
