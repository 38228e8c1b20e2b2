"""`SummarizationMiddleware`: a model's summary in place of older messages, in its requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from toolkeel.errors import SetupError
from toolkeel.messages import Message, ToolMessage
from toolkeel_compat.langchain.history import (
    REMOVE_ALL_MESSAGES,
    RemoveMessage,
    count_tokens_approximately,
)
from toolkeel_compat.langchain.messages import HumanMessage
from toolkeel_compat.langchain.middleware import AgentMiddleware
from toolkeel_compat.langchain.models.chat_models import ChatModel, init_chat_model

SUMMARY_PROMPT = """\
Summarize the conversation below for the assistant who continues it: the user's goals, decisions, \
facts, results of tools, and what remains to be done. Answer with the summary alone.

{messages}"""
_PREFIX: Final = "Here is a summary of the conversation to date:\n\n"
_KINDS = ("tokens", "messages")


class SummarizationMiddleware(AgentMiddleware):
    """Replaces older messages by a summary before a model request, once a limit is exceeded.

    The thread has the summary in their place from then on.

    Args:
        model: The model that writes the summary: its name, or a chat model.
        trigger: When to summarize: ``("tokens", n)`` or ``("messages", n)``; a dict with both for
            "and"; a list of these for "or"; None for never.
        keep: How much to keep: ``("messages", n)`` or ``("tokens", n)``.
        token_counter: Counts the tokens of messages.
        summary_prompt: The prompt, with ``{messages}``.
        trim_tokens_to_summarize: At most so many tokens of the latest older messages are summarized; None
            for all.

    Raises:
        SetupError: A limit is of a kind that is not supported.
    """

    def __init__(
        self,
        model: Any,
        *,
        trigger: Any = None,
        keep: tuple[str, int] = ("messages", 20),
        token_counter: Callable[[Sequence[Message]], int] = count_tokens_approximately,
        summary_prompt: str = SUMMARY_PROMPT,
        trim_tokens_to_summarize: int | None = 4000,
    ) -> None:
        self.model = model if isinstance(model, ChatModel) else init_chat_model(model)
        clauses = trigger if isinstance(trigger, list) else [] if trigger is None else [trigger]
        self.triggers = [_read_clause(one) for one in clauses]
        _check_limit("keep", keep)
        self.keep, self.token_counter = keep, token_counter
        self.summary_prompt = summary_prompt
        self.trim_tokens_to_summarize = trim_tokens_to_summarize

    async def abefore_model(self, state: Mapping[str, Any], runtime: Any) -> Any:
        """Return the messages with a summary in place of the older ones; None to change nothing."""
        messages = list(state["messages"])
        if not any(self._is_exceeded(one, messages) for one in self.triggers):
            return None
        cut = self._find_cut(messages)
        if cut <= 0:
            return None
        summary = HumanMessage(_PREFIX + await self._summarize(messages[:cut]))
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), summary, *messages[cut:]]}

    def _is_exceeded(self, clause: Mapping[str, int], messages: Sequence[Message]) -> bool:
        """Return True if every limit of a clause is reached."""
        have = {"messages": len(messages), "tokens": self.token_counter(messages)}
        return all(have[kind] >= limit for kind, limit in clause.items())

    def _find_cut(self, messages: Sequence[Message]) -> int:
        """Return the number of messages to summarize; a call stays with its results."""
        kind, limit = self.keep
        cut = max(len(messages) - limit, 0)
        if kind == "tokens":
            cut = len(messages)
            while cut > 0 and self.token_counter(messages[cut - 1 :]) <= limit:
                cut -= 1
        while 0 < cut < len(messages) and isinstance(messages[cut], ToolMessage):
            cut -= 1
        return cut

    async def _summarize(self, messages: Sequence[Message]) -> str:
        limit = self.trim_tokens_to_summarize
        while limit is not None and len(messages) > 1 and self.token_counter(messages) > limit:
            messages = messages[1:]
        lines = [_format(one) for one in messages]
        reply = await self.model.ainvoke(self.summary_prompt.format(messages="\n".join(lines)))
        return reply.text.strip()


def _format(message: Any) -> str:
    """Return a message as XML: its type, its text and its calls."""
    start, text = f'<message type="{message.type}">', escape(message.text)
    calls = [
        f"  <tool_call id={quoteattr(one.id)} name={quoteattr(one.name)}>"
        f"{escape(json.dumps(one.args, ensure_ascii=False))}</tool_call>"
        for one in getattr(message, "tool_calls", ())
    ]
    if not calls:
        return f"{start}{text}</message>"
    content = [f"  <content>{text}</content>"] if text else []
    return "\n".join([start, *content, *calls, "</message>"])


def _read_clause(clause: Any) -> Mapping[str, int]:
    """Return a trigger's limits by kind.

    Raises:
        SetupError: A limit is of a kind that is not supported.
    """
    limits = dict(clause) if isinstance(clause, Mapping) else dict([clause])
    for limit in limits.items():
        _check_limit("trigger", limit)
    return limits


def _check_limit(name: str, limit: Any) -> None:
    """Raise `SetupError` unless a limit is a pair of a known kind and a number."""
    match limit:
        case (str(kind), int(count)) if kind in _KINDS and count > 0:
            return
    raise SetupError(
        f"SummarizationMiddleware({name}={limit!r:.80}): write ('tokens', number) or ('messages', "
        "number); a fraction needs the size of the model's context, which is not known here"
    )
