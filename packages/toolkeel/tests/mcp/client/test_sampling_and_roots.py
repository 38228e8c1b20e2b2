"""What a server asks the program: each answer in the protocol's own form."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from toolkeel import SetupError
from toolkeel.mcp.client.sampling_and_roots import Sampling, roots_callback, sampling_callback
from toolkeel.messages import AssistantMessage

PARAMS = types.CreateMessageRequestParams(
    messages=[types.SamplingMessage(role="user", content=types.TextContent(text="Hi."))],
    max_tokens=5,
    model_preferences=types.ModelPreferences(hints=[types.ModelHint(name="small")]),
)


@pytest.mark.parametrize(
    ("answer", "text", "stop"),
    [
        ("42", "42", "endTurn"),
        (AssistantMessage("4", finish_reason="length", model="m"), "4", "maxTokens"),
    ],
)
def test_an_answer_of_either_form_is_sent(answer: Any, text: str, stop: str) -> None:
    async def sample(question: Sampling) -> Any:
        assert question.hints == ("small",)
        return answer

    said = asyncio.run(sampling_callback("s", sample)(None, PARAMS))
    assert (said.content.text, said.stop_reason) == (text, stop)


def test_a_question_may_be_refused() -> None:
    said = asyncio.run(sampling_callback("s", lambda question: None)(None, PARAMS))
    assert isinstance(said, types.ErrorData) and said.message == "the request was refused"


def test_folders_are_told_by_address_and_what_is_none_is_refused(tmp_path: Path) -> None:
    said = asyncio.run(roots_callback(lambda: [tmp_path])(None))
    assert [str(root.uri) for root in said.roots] == [tmp_path.as_uri()]
    with pytest.raises(SetupError, match="no folder"):
        asyncio.run(roots_callback([tmp_path / "none"])(None))


def test_a_function_for_folders_or_samples_that_blocks_does_not_block_the_loop() -> None:
    release = threading.Event()

    def roots() -> list[str]:
        assert release.wait(20)
        return []

    async def use() -> list[Any]:
        sample = sampling_callback("s", lambda question: "a" if release.wait(20) else "b")
        both = roots_callback(roots)(None), sample(None, PARAMS)
        tasks = [asyncio.ensure_future(each) for each in both]
        await asyncio.sleep(0)
        release.set()
        return await asyncio.gather(*tasks)

    listed, sampled = asyncio.run(use())
    assert (listed.roots, sampled.content.text) == ([], "a")


def test_who_answers_nothing_offers_nothing() -> None:
    assert sampling_callback("s", None) is None and roots_callback(None) is None
