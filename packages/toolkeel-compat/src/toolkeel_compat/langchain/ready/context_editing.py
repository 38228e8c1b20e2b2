"""Old results of tools leave the requests once the context is large, under LangChain's names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from toolkeel.errors import SetupError
from toolkeel_compat.langchain.history import count_tokens_approximately
from toolkeel_compat.langchain.messages import AIMessage, ToolMessage
from toolkeel_compat.langchain.middleware import AgentMiddleware

TokenCounter = Callable[[Sequence[Any]], int]


@dataclasses.dataclass(slots=True)
class ClearToolUsesEdit:
    """Replaces the content of older results.

    Args:
        trigger: Tokens beyond which it does.
        clear_at_least: Stop once so many tokens are gone; 0 to clear all but those that are kept.
        keep: How many of the latest results stay.
        clear_tool_inputs: Replace the arguments of their calls, too.
        exclude_tools: Names of tools whose results stay.
        placeholder: The text in their place.
    """

    trigger: int = 100_000
    clear_at_least: int = 0
    keep: int = 3
    clear_tool_inputs: bool = False
    exclude_tools: Sequence[str] = ()
    placeholder: str = "[cleared]"

    def apply(self, messages: list[Any], *, count_tokens: TokenCounter) -> None:
        """Replace older results in a list of messages, in place.

        Args:
            messages: The messages.
            count_tokens: Counts the tokens of messages.
        """
        tokens = count_tokens(messages)
        if tokens <= self.trigger:
            return
        places = [n for n, one in enumerate(messages) if isinstance(one, ToolMessage)]
        for place in places[: max(len(places) - self.keep, 0)]:
            self._clear(messages, place)
            if 0 < self.clear_at_least <= tokens - count_tokens(messages):
                break

    def _clear(self, messages: list[Any], place: int) -> None:
        """Replace the result at a place, if its call is known and its tool is not excluded."""
        result = messages[place]
        replies = [n for n in range(place) if isinstance(messages[n], AIMessage)]
        reply = messages[replies[-1]] if replies else AIMessage("")
        calls = [one for one in reply.tool_calls if one.id == result.tool_call_id]
        if not calls or (result.name or calls[0].name) in self.exclude_tools:
            return
        messages[place] = dataclasses.replace(result, content=self.placeholder, artifact=None)
        if self.clear_tool_inputs:
            left = [
                dataclasses.replace(one, arguments={}) if one.id == result.tool_call_id else one
                for one in reply.tool_calls
            ]
            messages[replies[-1]] = dataclasses.replace(reply, tool_calls=tuple(left))


class ContextEditingMiddleware(AgentMiddleware):
    """Edits the messages of each request; the thread keeps the originals.

    Args:
        edits: Edits in order; `ClearToolUsesEdit()` by default. One of your own has
            ``apply(messages, *, count_tokens)``.
        token_count_method: ``approximate``.
        token_counter: Counts the tokens of messages, instead.

    Raises:
        SetupError: The model shall count tokens.
    """

    def __init__(
        self,
        *,
        edits: Iterable[Any] | None = None,
        token_count_method: str = "approximate",
        token_counter: TokenCounter | None = None,
    ) -> None:
        self.edits = list(edits or (ClearToolUsesEdit(),))
        if token_counter is None and token_count_method != "approximate":
            raise SetupError(
                f"ContextEditingMiddleware(token_count_method={token_count_method!r}): give "
                "token_counter=, a function of the messages"
            )
        self.token_count_method = token_count_method
        self.token_counter = token_counter or count_tokens_approximately

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Send the edited messages."""
        edited = list(request.messages)
        for edit in self.edits if edited else ():
            edit.apply(edited, count_tokens=self.token_counter)
        return await handler(request.override(messages=edited))
