"""How the tools of a request are called."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.providers.constrained.local_server import get_weather, local_server
from toolkeel import Agent
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import ModelRequest, OutputFormat, Settings
from toolkeel.providers.chat_servers import COMPATIBLE, ChatProfile
from toolkeel.providers.constrained.server_facts import ServerClient, ServerFacts
from toolkeel.providers.openai_chat.call_mode import CallMode, Calls
from toolkeel.providers.openai_chat.model import OpenAIChat

LOCAL = ChatProfile(grammar=True, kind="llamacpp")


@pytest.mark.parametrize(
    ("option", "model", "settings", "tools", "mode"),
    [
        (None, "m", Settings(), True, "text"),
        (None, "m", Settings(), None, "text"),
        (None, "m", Settings(), False, "grammar"),
        (None, "m", Settings(tool_choice="required"), True, "grammar"),
        (None, "m", Settings(tool_choice="auto"), True, "text"),
        (None, "m", Settings(output=OutputFormat("city", {})), True, "grammar"),
        (None, "m-cloud", Settings(tool_choice="required"), True, "text"),
        ("native", "m", Settings(tool_choice="required"), False, "native"),
        ("grammar", "m", Settings(), True, "grammar"),
    ],
)
def test_auto_chooses_by_the_request_and_by_what_the_server_reports(
    option: Calls | None, model: str, settings: Settings, tools: bool | None, mode: str
) -> None:
    chosen = CallMode(model, option, LOCAL, ServerClient(""))
    chosen.facts = ServerFacts(tools=tools)
    assert asyncio.run(chosen.choose(ModelRequest([], settings=settings))) == mode


def test_a_model_whose_call_was_not_read_is_held_to_a_grammar_from_then_on() -> None:
    mode = CallMode("m", "auto", LOCAL, ServerClient(""))
    mode.facts = ServerFacts(tools=True)
    mode.is_unreliable = True
    assert asyncio.run(mode.choose(ModelRequest([]))) == "grammar"


def test_only_a_known_local_server_is_asked_how_tools_are_called() -> None:
    options = [CallMode("m", None, one, ServerClient("")).option for one in (LOCAL, COMPATIBLE)]
    assert options == ["auto", "native"]


@pytest.mark.parametrize("calls", ["native", "text", "grammar"])
def test_the_option_calls_decides_how(calls: str) -> None:
    answer = '{"name": "answer", "arguments": {"text": "hi"}}'
    with local_server("hi" if calls != "grammar" else answer) as server:
        result = Agent(server.model(calls=calls), [get_weather]).run_sync("hi")
    assert (
        result.output,
        [
            one.provider_options.get("calls")
            for one in result.messages
            if isinstance(one, AssistantMessage)
        ],
    ) == ("hi", [calls])
    assert ("tools" in server.requests[0]) == (calls != "grammar")


def test_a_server_of_which_nothing_is_known_has_no_grammar() -> None:
    with pytest.raises(SetupError, match="not known to hold replies to a schema; connect it by"):
        OpenAIChat("m", base_url="http://127.0.0.1:1/v1", calls="grammar")


def test_an_unknown_way_and_the_old_option_are_mistakes() -> None:
    wrong: Any = "always"
    with pytest.raises(SetupError, match="'native' or 'text' or 'grammar', got 'always'"):
        OpenAIChat("m", base_url="http://127.0.0.1:1/v1", calls=wrong)
    old: Any = {"text_calls": "auto"}
    with pytest.raises(SetupError, match="text_calls= is now calls=; write calls='text'"):
        OpenAIChat("m", base_url="http://127.0.0.1:1/v1", **old)
