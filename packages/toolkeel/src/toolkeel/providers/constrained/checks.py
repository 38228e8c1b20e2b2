"""Replies of a local model that must not pass in silence: no call though one is required, an unread call.

Such a reply is a mistake of the model, so it is requested once more, with the reply held to a grammar.
Only text that may still be such a reply is held back.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import replace

from toolkeel.define.names import wire_names
from toolkeel.errors import ModelError, ModelUnavailable
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import (
    CallDelta,
    Delta,
    Finish,
    ModelRequest,
    TextDelta,
    ToolDefinition,
)
from toolkeel.providers.wire.retry import Deltas

CALL_MODE_KEY = "calls"
"""Key of a reply's `provider_options` that says how its tools were called."""
_STARTS = ("{", "[", "```", "<")
_ARGUMENTS = re.compile(r"""["'](?:arguments|parameters|args)["']\s*:|<(?:arg|parameter)|\(""")
_HEAD = 160
"""Characters within which a call names its tool."""
_LACKS_TOOLS = re.compile(
    r"requires --jinja|--enable-auto-tool-choice|--tool-call-parser|does not support tools"
)
"""What servers say that were started without tools: llama.cpp, vLLM and SGLang, Ollama."""


def is_unread_call(text: str, tools: Iterable[ToolDefinition]) -> bool:
    """Return True if a reply's text, not read as a call, begins like one, names a tool and has arguments.

    >>> class Add:
    ...     name, description, parameters, provider_options = "add", "", {}, {}
    >>> [is_unread_call(text, [Add()]) for text in ('{"name": "add", "arguments": {"a": 1}', "Use add.")]
    [True, False]
    """
    text = text.strip()
    return (
        text.startswith(_STARTS)
        and _ARGUMENTS.search(text) is not None
        and _names_tool(text[:_HEAD], wire_names([tool.name for tool in tools]).values())
    )


def _names_tool(text: str, names: Iterable[str]) -> bool:
    """Return True if a text contains one of the tool names as a word."""
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for name in names)


class CallCheck:
    """Filter of a reply's deltas that withholds text while it may be a broken or missing call.

    Args:
        request: Its request.

    Raises:
        ModelError: at the end of such a reply, with a `mistake`.
    """

    def __init__(self, request: ModelRequest) -> None:
        self._tools = request.tools
        self._names = list(wire_names([tool.name for tool in request.tools]).values())
        self._is_required = request.settings.tool_choice not in (None, "auto", "none")
        self._withheld = ""
        self._has_passed = False
        """True if text or a call was passed on."""
        self._has_calls = False

    def feed(self, delta: Delta | AssistantMessage) -> list[Delta | AssistantMessage]:
        """Return the deltas that can be passed on after `delta`; withhold text that may be a wrong call.

        If a call is required, all text waits for the end.

        Raise `ModelError` at the end of a reply that must not pass.
        """
        if isinstance(delta, AssistantMessage):
            self._check(delta.text, bool(delta.tool_calls), delta.finish_reason)
            return [delta]
        if isinstance(delta, CallDelta):
            self._has_calls = True
            return [*self._release(), delta]
        if isinstance(delta, Finish):
            if not self._has_passed:
                self._check(self._withheld, self._has_calls, delta.reason)
            return [*self._release(), delta]
        if not isinstance(delta, TextDelta) or self._has_passed:
            return [delta]
        self._withheld += delta.text
        return [] if self._is_required or self._may_be_call() else self._release()

    def _may_be_call(self) -> bool:
        """Return True if the withheld text may still be the start of a call."""
        text = self._withheld.lstrip()
        if not text.startswith(_STARTS):
            return any(start.startswith(text) for start in _STARTS)
        return len(text) < _HEAD or _names_tool(text[:_HEAD], self._names)

    def _release(self) -> list[Delta | AssistantMessage]:
        """Return the withheld text as a delta, and clear it."""
        text, self._withheld = self._withheld, ""
        self._has_passed = self._has_passed or bool(text) or self._has_calls
        return [TextDelta(text)] if text else []

    def _check(self, text: str, has_calls: bool, reason: str) -> None:
        """Raise `ModelError` if a reply lacks a required call, or is a call that cannot be read."""
        if has_calls or reason not in ("stop", "tool_calls", "length"):
            return
        if self._is_required:
            raise _make_mistake("a call of a tool is required, but the reply has none", text)
        if is_unread_call(text, self._tools):
            raise _make_mistake("the reply is a call, but not in a form that can be read", text)


def _make_mistake(what: str, text: str) -> ModelError:
    """Build the error for a reply that must be requested again."""
    error = ModelError(f"{what}: {text[:200]!r}; it is requested once more, held to a grammar")
    error.mistake = f"{what}."
    return error


async def check_calls(
    parts: AsyncGenerator[Deltas], request: ModelRequest
) -> AsyncGenerator[Deltas]:
    """Yield the parts of a reply as `CallCheck` passes them on; raise its `ModelError` for a wrong call."""
    check = CallCheck(request)
    async with aclosing(parts):
        async for deltas in parts:
            yield [passed for delta in deltas for passed in check.feed(delta)]


def lacks_tools(error: ModelError) -> bool:
    """Return True if an error says that the server, or its model's template, has no tools."""
    return not error.retryable and _LACKS_TOOLS.search(str(error)) is not None


def make_grammar_retry(error: ModelError) -> ModelError:
    """Return a retryable copy of an error: the same request is then sent again, held to a grammar."""
    text = f"{error}; calls are held to a grammar instead"
    return ModelUnavailable(text, status=error.status, retry_after=0.0)


def is_same_name(answered: str, requested: str) -> bool:
    """Return True if one of two names of models is in the other, or ``default`` was requested.

    Only letters and digits count, in any case: servers report a file's path, or add a tag or an owner.

    >>> is_same_name("/models/SmolLM2-135M.Q4_1.gguf", "smollm2"), is_same_name("qwen3", "llama3")
    (True, False)
    """
    names = [re.sub(r"[^a-z0-9]", "", one.lower()) for one in (answered, requested)]
    return requested == "default" or names[1] in names[0] or names[0] in names[1]


def with_call_mode(delta: Delta | AssistantMessage, mode: str) -> Delta | AssistantMessage:
    """Return a `Finish` or message with how its tools were called (`mode`) noted; other deltas unchanged."""
    if not isinstance(delta, Finish | AssistantMessage):
        return delta
    return replace(delta, provider_options={**delta.provider_options, CALL_MODE_KEY: mode})
