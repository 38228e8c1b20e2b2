"""What is to be replaced, and by what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.toolkit import definition
from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.offline.slots import slots_of
from toolkeel.providers.offline.text_to_replace import swapped

TEXT = {"type": "string"}
EDIT = definition("edit", old_text=TEXT, new_text=TEXT)
READ = definition("read", path=TEXT, new=TEXT)


def found(prompt: str, tool: ToolDefinition = EDIT) -> list[str]:
    return [each.text for each in swapped(prompt, slots_of(tool))]


@pytest.mark.parametrize(
    "prompt",
    [
        'Replace "a b" with "c" in x.txt',
        "in x.txt, change 'a b' to 'c'.",
        "replace “a b” by c, please",
        "把 x.txt 里的「a b」改成「c」",
        "将“a b”替换为c。",
    ],
)
def test_both_texts_are_found_with_and_without_quotes(prompt: str) -> None:
    assert found(prompt) == ["a b", "c"]


def test_a_tool_without_both_slots_and_a_prompt_without_both_texts_say_nothing() -> None:
    assert found('replace "a" with "b"', READ) == []
    assert found('replace "a"') == found("edit the file") == []


@given(st.text(st.characters(exclude_characters='"\n', exclude_categories=["Cs"]), min_size=1))
def test_a_quoted_text_is_taken_as_it_stands(text: str) -> None:
    prompt = f'replace "{text}" with "{text}!"'
    each = list(swapped(prompt, slots_of(EDIT)))
    assert [one.text for one in each] == [text, f"{text}!"]
    assert [prompt[one.start + 1 : one.end - 1] for one in each] == [text, f"{text}!"]
