"""A model server on loopback that behaves as llama.cpp's does, with replies of a test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.providers.serving import paths
from toolkeel import connect, tool
from toolkeel.providers.openai_chat.model import OpenAIChat


@tool
def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"{city}: sunny"


@dataclass
class LocalServer:
    """A running server.

    Args:
        url: Its base URL.
        tools: True if its template has a place for tools.
        replies: Texts of its replies, or errors with their status; the last one for ever.
        requests: Bodies of the requests for a reply.
    """

    tools: bool = False
    replies: list[Any] = field(default_factory=list)
    url: str = ""
    requests: list[Any] = field(default_factory=list)

    def props(self, _body: object) -> Any:
        """Return what ``/props`` reports."""
        caps = {"supports_tools": self.tools, "supports_tool_calls": self.tools}
        return {
            "default_generation_settings": {"n_ctx": 4096},
            "chat_template_caps": caps,
            "model_alias": "m",
        }

    def reply(self, body: Any) -> Any:
        """Return the next reply."""
        self.requests.append(body)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if not isinstance(reply, str):
            return reply
        return {"model": "m", "choices": [{"message": {"content": reply}, "finish_reason": "stop"}]}

    def model(self, vendor: str = "llamacpp", **options: Any) -> OpenAIChat:
        """Return a model at this server."""
        made = connect(f"{vendor}:m", base_url=self.url, stream=False, **options)
        assert isinstance(made, OpenAIChat)
        return made


@contextlib.contextmanager
def local_server(*replies: Any, tools: bool = False) -> Iterator[LocalServer]:
    """Serve replies until the block ends."""
    server = LocalServer(tools, list(replies))
    answers = {"/props": server.props, "/v1/chat/completions": server.reply}
    with paths(answers) as url:
        server.url = f"{url}/v1"
        yield server
