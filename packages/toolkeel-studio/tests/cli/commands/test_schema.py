"""``toolkeel schema``: what a provider is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commandline import toolkeel
from tests.cli.conftest import Here
from toolkeel_studio.cli.commands.schema import FORMS


def test_one_tool_is_one_object_and_all_are_a_list(here: Here) -> None:
    one = here("schema", "tools.py", "search")
    body = json.loads(one.out)
    assert (one.code, one.err) == (0, "")
    assert body["type"] == "function"
    assert body["function"]["name"] == "search"
    assert body["function"]["description"] == "搜索文档,返回最相关的几条。"
    assert "搜索文档" in one.out
    every = json.loads(here("schema", "tools.py", "--json").out)
    assert body in every
    assert len(every) == 11


def test_each_provider_gets_its_own_form_and_losses_are_told(here: Here) -> None:
    told = here("schema", "tools.py:search", "search", "-p", "gemini-legacy")
    assert json.loads(told.out)["name"] == "search"
    assert "search: " in told.err
    claude = here("schema", "tools.py:search", "-p", "Anthropic", "--strict")
    assert "input_schema" in json.loads(claude.out)[0]


def test_a_name_that_a_provider_does_not_take_is_sent_under_another(tmp_path: Path) -> None:
    text = 'def 查询(a: int) -> int:\n    "Look."\n    return a\n'
    (tmp_path / "named.py").write_text(text, "utf-8")
    sent = toolkeel("schema", "named.py", "查询", cwd=tmp_path)
    alias = json.loads(sent.out)["function"]["name"]
    assert alias.isascii()
    assert sent.err == f"查询: sent as {alias}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-p", "antropic"), "there is no provider 'antropic'; did you mean 'anthropic'"),
        (("serch",), "tools.py has no tool 'serch'; did you mean 'search'?"),
    ],
)
def test_a_wrong_provider_or_tool_is_wrong_usage(
    words: tuple[str, ...], said: str, here: Here
) -> None:
    ended = here("schema", "tools.py", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_openai_is_short_for_its_chat_wire() -> None:
    assert FORMS["openai"] == "openai-chat"
    assert {"anthropic", "bedrock", "gemini", "mcp", "openai-responses"} <= set(FORMS)
