"""``toolkeel convert``: a stored conversation moves to another provider."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commandline import toolkeel
from toolkeel_studio.cli.commands.convert import WIRES

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
STORED: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "system": "Be brief.",
    "tools": [
        {
            "name": "look",
            "description": "Look at a place.",
            "input_schema": {"type": "object", "properties": {"where": {"type": "string"}}},
        },
        {"type": "web_search_20250305", "name": "web_search"},
    ],
    "messages": [
        {"role": "user", "content": "看看北京"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "I look.", "signature": "c2ln"},
                {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"where": "北京"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [
                        {"type": "text", "text": "a square"},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                        },
                    ],
                }
            ],
        },
    ],
}


def converted(folder: Path, *words: str, stored: Any = STORED) -> Any:
    (folder / "stored.json").write_text(json.dumps(stored, ensure_ascii=False), "utf-8")
    return toolkeel("convert", *words, "stored.json", cwd=folder)


def test_a_conversation_of_anthropics_becomes_one_of_openais(tmp_path: Path) -> None:
    said = converted(tmp_path, "--from", "anthropic", "--to", "openai")
    assert said.code == 0
    body = json.loads(said.out)
    assert "北京" in said.out
    system, user, called, result, shown = body["messages"]
    assert (system["content"], user["content"]) == ("Be brief.", "看看北京")
    [call] = called["tool_calls"]
    assert (call["id"], call["function"]["name"]) == ("toolu_1", "look")
    assert (result["role"], result["tool_call_id"]) == ("tool", "toolu_1")
    assert shown["content"][1]["image_url"]["url"].endswith(PNG)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["look"]
    assert "model" not in body and "c2ln" not in said.out
    assert "settings are not converted: max_tokens" in said.err
    assert "a tool is left out" in said.err and "web_search" in said.err
    assert "signed reasoning stays with its provider: 1" in said.err
    assert "thoughts are left out: 1" in said.err


def test_a_thought_that_goes_along_as_text_is_not_said_to_be_left_out(tmp_path: Path) -> None:
    said = converted(tmp_path, "--from", "anthropic", "--to", "bedrock")
    assert "thoughts" not in said.err and "signed" not in said.err
    assert "I look." in said.out and "c2ln" in said.out


@pytest.mark.parametrize("name", ["openai", "responses", "anthropic", "bedrock", "gemini"])
def test_a_conversation_goes_there_and_back_and_says_the_same(name: str, tmp_path: Path) -> None:
    assert name in WIRES
    there = converted(tmp_path, "--from", "anthropic", "--to", name, "--model", "m-1")
    stored = json.loads(there.out)
    back = converted(tmp_path, "--from", name, "--to", "anthropic", stored=stored)
    assert (there.code, back.code) == (0, 0)
    messages = json.loads(back.out)["messages"]
    assert "看看北京" in str(messages[0])
    [use] = [one for one in messages[1]["content"] if one["type"] == "tool_use"]
    assert (use["name"], use["input"]) == ("look", {"where": "北京"})
    assert "a square" in str(messages[2:]) and PNG in str(messages[2:])


def test_messages_alone_stay_messages_alone(tmp_path: Path) -> None:
    said = converted(
        tmp_path, "--from", "anthropic", "--to", "gemini", stored=STORED["messages"][:1]
    )
    assert json.loads(said.out) == [{"role": "user", "parts": [{"text": "看看北京"}]}]


@pytest.mark.parametrize(
    ("words", "stored", "said"),
    [
        (("--from", "antropic", "--to", "openai"), STORED, "no provider 'antropic'; did you mean"),
        (("--from", "openai", "--to", "opnai"), [{"role": "user"}], "there is no provider 'opnai'"),
        (("--from", "openai", "--to", "gemini"), {"a": 1}, "is not in the form of 'openai'"),
        (("--from", "openai", "--to", "gemini"), [], "holds no messages in the form of"),
        (("--from", "openai", "--to", "gemini"), STORED, "is read by toolkeel.providers.anthropic"),
    ],
)
def test_what_cannot_be_converted_is_said_in_a_sentence(
    words: tuple[str, ...], stored: Any, said: str, tmp_path: Path
) -> None:
    result = converted(tmp_path, *words, stored=stored)
    assert result.code == 2 and said in result.err


def test_a_file_that_is_not_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{", "utf-8")
    result = toolkeel("convert", "--from", "openai", "--to", "gemini", "x.json", cwd=tmp_path)
    assert result.code == 2 and "x.json is not JSON" in result.err
    gone = toolkeel("convert", "--from", "openai", "--to", "gemini", "y.json", cwd=tmp_path)
    assert gone.code == 2 and "y.json" in gone.err
