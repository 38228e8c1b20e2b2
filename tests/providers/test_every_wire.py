"""What every model does alike, through the official SDKs against servers on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.providers.loopback import answer, saying
from tests.providers.test_retry import MODELS, aws  # noqa: F401
from toolwright.content import Image, Text
from toolwright.errors import ModelError
from toolwright.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolwright.model import ModelRequest

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SEEN = base64.b64encode(PNG).decode()
BEGUN = SEEN[:24]  # beyond it, alphabets of base64 differ
TRANSCRIPT: list[Message] = [
    UserMessage((Text("Which is it?"), Image(PNG))),
    AssistantMessage(tool_calls=(ToolCall("c1", "look"),)),
    ToolMessage((Image(PNG),), "c1", "look"),
    UserMessage("Well?"),
]


def sent(make: Callable[..., Any], **options: Any) -> str:
    """The body of the request with `TRANSCRIPT`."""

    async def ask(model: Any) -> None:
        with pytest.raises(ModelError):
            async for _ in model.stream(ModelRequest(TRANSCRIPT)):
                pass

    with saying(answer("{}", status=400)) as server:
        asyncio.run(ask(make(server, **options)))
    return json.dumps(server.requests[0], ensure_ascii=False)


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("make", MODELS)
def test_pictures_are_shown_or_told_as_the_options_say(make: Callable[..., Any]) -> None:
    assert sent(make).count(BEGUN) == 2
    blind = sent(make, media=False)
    assert BEGUN not in blind
    assert blind.count("[image/png, 70 bytes, not shown: this model takes text only]") == 2
    few = sent(make, media_limit=len(SEEN))
    assert (few.count(BEGUN), few.count("left out: the conversation holds")) == (1, 1)
    assert sent(make, media_limit=None).count(BEGUN) == 2
