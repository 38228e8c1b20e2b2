"""`SummarizationMiddleware`: a model's summary in place of older messages, in its requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

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
from toolkeel_compat.langchain.threads.interrupts import SUMMARY_KEY

SUMMARY_PROMPT = """\
Summarize the conversation below for the assistant who continues it: the user's goals, decisions, \
facts, results of tools, and what remains to be done. Answer with the summary alone.

{messages}"""
_PREFIX: Final = "Here is a summary of the conversation to date:\n\n"
_KINDS = ("tokens", "messages")


class SummarizationMiddleware(AgentMiddleware):
    """Replaces older messages by a summary before a model request, once a limit is exceeded.

    The transcript keeps the original messages. The summary is in the run's state, so that it is not
    written again for each request.

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
        known: Mapping[str, Any] = state.get(SUMMARY_KEY) or {"count": 0, "text": ""}
        done, text = int(known["count"]), str(known["text"])
        shown = [HumanMessage(_PREFIX + text), *messages[done:]] if done else messages
        if not any(self._is_exceeded(one, shown) for one in self.triggers):
            return _replace(shown) if done else None
        cut = self._find_cut(messages, done)
        if cut <= done:
            return _replace(shown) if done else None
        older = [*shown[:1], *messages[done:cut]] if done else messages[:cut]
        text = await self._summarize(older)
        made = _replace([HumanMessage(_PREFIX + text), *messages[cut:]])
        return {**made, SUMMARY_KEY: {"count": cut, "text": text}}

    def _is_exceeded(self, clause: Mapping[str, int], messages: Sequence[Message]) -> bool:
        """Return True if every limit of a clause is reached."""
        have = {"messages": len(messages), "tokens": self.token_counter(messages)}
        return all(have[kind] >= limit for kind, limit in clause.items())

    def _find_cut(self, messages: Sequence[Message], done: int) -> int:
        """Return the number of messages to summarize; a call stays with its results."""
        kind, limit = self.keep
        cut = max(len(messages) - limit, done)
        if kind == "tokens":
            cut = len(messages)
            while cut > done and self.token_counter(messages[cut - 1 :]) <= limit:
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


def _replace(messages: Sequence[Message]) -> dict[str, Any]:
    return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *messages]}


def _format(message: Any) -> str:
    """Return a message as a line: its type, its text and its calls."""
    calls: Any = getattr(message, "tool_calls", ())
    called = "".join(f" [calls {one.name}({one.arguments})]" for one in calls)
    return f"{message.type}: {message.text}{called}"


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
