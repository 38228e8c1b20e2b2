"""Callbacks for sampling and roots.

Both go to the program, which says who answers; a server that nobody answers is not offered them. A
function runs in a thread unless it is async, and has no deadline of its own: who waits is the server,
and the call that it answers has one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import mcp_types as types
from mcp.client import ClientRequestContext

from toolkeel._common.data_folder import expand_home
from toolkeel._records.record import record
from toolkeel.call.body.callback import run_callback
from toolkeel.errors import SetupError
from toolkeel.mcp.content import from_blocks, to_blocks
from toolkeel.messages import AssistantMessage, UserMessage


@record
class Sampling:
    """A server's request to the program's model.

    Args:
        server: Name of the server that asks.
        messages: Messages for the model.
        system: Instructions; a stranger's text.
        max_tokens: Length of the answer at most, in tokens.
        hints: Names of models that it prefers, the best first.
    """

    server: str
    messages: Sequence[UserMessage | AssistantMessage]
    system: str
    max_tokens: int
    hints: Sequence[str] = ()


Sample: TypeAlias = "Callable[[Sampling], Answer | Awaitable[Answer]]"
Answer: TypeAlias = "AssistantMessage | str | None"
"""What the model said; None refuses."""
Roots: TypeAlias = "Iterable[str | Path] | Callable[[], Iterable[str | Path]]"
"""Folders a server may work in, or a function that gives them at the time."""


def sampling_callback(server: str, sample: Sample | None) -> Any:
    """Return the SDK's callback for sampling, or None if nothing answers."""
    if sample is None:
        return None

    async def answer(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Return the first block of the model's reply, or an error if the callback refuses."""
        asked = _parse_sampling(server, params)
        message: Answer = await run_callback(sample, asked, seconds=None, name="sample=")
        if message is None:
            return types.ErrorData(code=-1, message="the request was refused")
        if isinstance(message, str):
            message = AssistantMessage(message)
        blocks: Any = to_blocks(message.content) or [types.TextContent(text="")]
        stop = "maxTokens" if message.finish_reason == "length" else "endTurn"
        return types.CreateMessageResult(
            role="assistant", content=blocks[0], model=message.model or "unknown", stop_reason=stop
        )

    return answer


def _parse_sampling(server: str, params: types.CreateMessageRequestParams) -> Sampling:
    """Convert the parameters of a sampling request."""
    messages: list[UserMessage | AssistantMessage] = []
    for each in params.messages:
        blocks: Any = each.content if isinstance(each.content, list) else [each.content]
        content = from_blocks(blocks)
        messages.append(UserMessage(content) if each.role == "user" else AssistantMessage(content))
    wanted = params.model_preferences
    hints = tuple(hint.name for hint in (wanted.hints if wanted else None) or () if hint.name)
    return Sampling(server, messages, params.system_prompt or "", params.max_tokens, hints)


def roots_callback(roots: Roots | None) -> Any:
    """Return the SDK's callback for roots, which calls a function at each request; None for None."""
    if roots is None:
        return None

    async def answer(context: ClientRequestContext) -> types.ListRootsResult:
        """Return the folders as roots."""
        folders: Iterable[str | Path] = (
            await run_callback(roots, seconds=None, name="roots=") if callable(roots) else roots
        )
        return types.ListRootsResult(roots=[_root(folder) for folder in folders])

    return answer


def _root(folder: str | Path) -> types.Root:
    """Convert a folder or a ``file://`` address to a root.

    Raises:
        SetupError: the path is no folder.
    """
    text = str(folder)
    if text.startswith("file://"):
        return types.Root.model_validate({"uri": text})
    path = expand_home(text).absolute()
    if not path.is_dir():
        raise SetupError(f"roots= names {text!r}, which is no folder")
    return types.Root.model_validate({"uri": path.as_uri(), "name": path.name})
