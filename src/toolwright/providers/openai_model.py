"""Models behind Chat Completions, through OpenAI's official SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Unpack

from toolwright.errors import MissingExtraError, SetupError
from toolwright.messages import AssistantMessage
from toolwright.model import CallDelta, Delta, ModelRequest, OutputFormat, ToolDefinition
from toolwright.providers import openai_chat
from toolwright.providers.chat_body import BodyCache
from toolwright.providers.chat_profile import COMPATIBLE, OPENAI, ChatProfile
from toolwright.providers.held import gpt_holds, is_held
from toolwright.providers.http import CommonOptions, PerLoop, check_options, media_of
from toolwright.providers.retry import Reply
from toolwright.providers.text_calls import TextCalls, find_calls

try:
    import openai
except ImportError as error:
    raise MissingExtraError("OpenAIChat", "openai") from error

from toolwright.providers.openai_client import (
    ONCE,
    checked_client,
    client_options,
    is_own_host,
    model_errors,
    new_client,
    retries,
    sent_events,
)

_PATH = "/chat/completions"


class ChatOptions(CommonOptions, total=False):
    """How `OpenAIChat` deals with its server, beside `CommonOptions`.

    Attributes:
        profile: What the server takes; nothing: what OpenAI takes if it is OpenAI's, else what
            most imitators take.
        text_calls: ``auto``: calls that stand in the reply's text are calls too, for servers that
            do not know their model's form (see `toolwright.providers.text_calls`); ``never`` if
            nothing is said.
    """

    profile: ChatProfile | None
    text_calls: Literal["auto", "never"]


class OpenAIChat:
    """A model that answers over Chat Completions: OpenAI's, or any server's that imitates it.

    The SDK's environment variables stay in force: ``OPENAI_API_KEY``, ``OPENAI_BASE_URL``,
    ``OPENAI_ORG_ID``, ``OPENAI_PROJECT_ID``. Failed requests are sent again as ``retry.py`` says.

    Args:
        model: The model's name on the server.
        base_url: Where the server is, ``/v1`` included; None: OpenAI's.
        api_key: None: from the environment; a server given by `base_url` may need none.
        client: An `openai.AsyncOpenAI` (or Azure's) of your own, which then knows address, key
            and timeout by itself, and how often to send again if `max_retries` does not say.
        stream: Whether to ask for the answer as a stream.
        options: See `ChatOptions`.

    Raises:
        SetupError: if the client is no `AsyncOpenAI`, there is no key, or an option is unknown.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: openai.AsyncOpenAI | None = None,
        stream: bool = True,
        **options: Unpack[ChatOptions],
    ) -> None:
        check_options("OpenAIChat", options, ChatOptions.__annotations__)
        self.name = model
        self._stream = stream
        given = client_options(base_url, api_key, options.get("timeout"))
        new: Callable[[], openai.AsyncOpenAI] = partial(new_client, "OpenAIChat", model, given)
        self._clients: PerLoop[openai.AsyncOpenAI] = PerLoop(
            new, checked_client("OpenAIChat", client)
        )
        self._retries = retries(model, client, options.get("max_retries"))
        own = is_own_host(self._clients.first.base_url.host)
        self.profile = options.get("profile") or (OPENAI if own else COMPATIBLE)
        self._text_calls = _checked_choice(options.get("text_calls", "never"))
        self._bodies = BodyCache(model, self.profile, stream, media_of(options))

    def __repr__(self) -> str:
        return f"OpenAIChat({self.name!r})"

    def stream(self, request: ModelRequest) -> Reply:
        """Ask for a reply; see `toolwright.model.Model`.

        Raises:
            ModelError: with the HTTP status and the seconds to wait, if the server said so.
        """
        content = self._bodies.body(request)
        own_names = {alias: name for name, alias in self._bodies.names(request).items()}
        tools = request.tools if self._text_calls else ()
        return self._retries.of(partial(self._attempt, content, own_names, tools))

    async def close(self) -> None:
        """Close the connections of the running event loop; a client of your own stays open."""
        await self._clients.close()

    async def _attempt(
        self, content: bytes, own_names: Mapping[str, str], texts: Sequence[ToolDefinition]
    ) -> Reply:
        with model_errors(self.name):
            if not self._stream:
                reply = openai_chat.decode(await self._post(content))
                yield _renamed_reply(find_calls(reply, texts) if texts else reply, own_names)
                return
            plain = self._deltas(content)
            async with aclosing(_with_calls(plain, texts) if texts else plain) as deltas:
                async for delta in deltas:
                    yield _renamed(delta, own_names) if isinstance(delta, CallDelta) else delta

    def holds(self, output: OutputFormat, *, tools: bool) -> bool:
        """Whether replies can be held to a form; see `toolwright.model.HoldsOutput`."""
        known = self.profile.json_schema and gpt_holds(self.name)
        return known and is_held(output, "openai-strict")

    async def _post(self, content: bytes) -> object:
        client = self._clients.get()
        return await client.post(_PATH, cast_to=object, options=ONCE, **self._send(content))

    async def _deltas(self, content: bytes) -> AsyncGenerator[Delta]:
        stream = await self._clients.get().post(
            _PATH,
            cast_to=object,
            options=ONCE,
            stream=True,
            stream_cls=openai.AsyncStream[object],
            **self._send(content),
        )
        decoder = openai_chat.StreamDecoder()
        async with aclosing(sent_events(stream)) as events:
            async for event in events:
                for delta in decoder.feed(event):
                    yield delta
        for delta in decoder.finish():
            yield delta

    def _send(self, content: bytes) -> dict[str, Any]:
        """The body as bytes; Azure's client reads the model's name out of a dict."""
        if isinstance(self._clients.get(), openai.AsyncAzureOpenAI):
            return {"body": json.loads(content)}
        return {"content": content}


def _checked_choice(choice: str) -> bool:
    if choice not in ("auto", "never"):
        raise SetupError(f"OpenAIChat(text_calls={choice!r}): expected 'auto' or 'never'")
    return choice == "auto"


async def _with_calls(
    plain: AsyncGenerator[Delta], tools: Sequence[ToolDefinition]
) -> AsyncGenerator[Delta]:
    """`plain`, with calls where they stand in its text."""
    texts = TextCalls(tools)
    async with aclosing(plain) as deltas:
        async for delta in deltas:
            for found in texts.feed(delta):
                yield found
    for rest in texts.finish():
        yield rest


def _renamed(call: CallDelta, own_names: Mapping[str, str]) -> CallDelta:
    name = own_names.get(call.name, call.name)
    return call if name == call.name else replace(call, name=name)


def _renamed_reply(reply: AssistantMessage, own_names: Mapping[str, str]) -> AssistantMessage:
    calls = tuple(
        replace(call, name=own_names.get(call.name, call.name)) for call in reply.tool_calls
    )
    return replace(reply, tool_calls=calls) if calls != reply.tool_calls else reply
