"""LangChain's calls of tools: the core's own records, read as dicts."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from toolkeel.context import ToolContext
from toolkeel.define.tool import ErrorHandler, Prepared, Proceed, Step
from toolkeel.errors import ToolError
from toolkeel.messages import ToolCall as CoreToolCall


class ToolCall(CoreToolCall):
    """A call that can also be read as LangChain's dict: ``call["name"]``, ``["args"]``, ``["id"]``.

    >>> call = ToolCall(name="add", args={"a": 1}, id="1")
    >>> call["args"]["a"], call.name, dict(call)["type"]
    (1, 'add', 'tool_call')
    """

    __slots__ = ()
    __match_args__ = CoreToolCall.__match_args__

    def __new__(
        cls, id: str | None = "", name: str = "", args: Any = "", *rest: Any, **kwargs: Any
    ) -> ToolCall:
        args = kwargs.pop("arguments", args)
        kwargs.pop("type", None)
        return super().__new__(cls, id or "", name, args, *rest, **kwargs)  # type: ignore[call-arg]

    @property
    def args(self) -> dict[str, Any]:
        """The arguments as a dict."""
        arguments = self.arguments
        return dict(json.loads(arguments or "{}") if isinstance(arguments, str) else arguments)

    def keys(self) -> tuple[str, ...]:
        """Return the keys of the dict form."""
        return ("name", "args", "id", "type")

    def __getitem__(self, key: str) -> Any:
        return {"name": self.name, "args": self.args, "id": self.id, "type": "tool_call"}[key]

    def get(self, key: str, default: object = None) -> Any:
        """Return the value of one of the keys, or `default`."""
        return self[key] if key in self.keys() else default

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolCall | Mapping):
            return NotImplemented
        return all(self[key] == other.get(key) for key in ("name", "args", "id"))

    def __hash__(self) -> int:
        return hash((self.name, self.id))

    def __repr__(self) -> str:
        return repr(dict(self)) if has_object_args(self) else super().__repr__()


class ToolCalls(tuple[ToolCall, ...]):
    """A reply's calls: a tuple that compares equal to a list and prints as one."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(tuple(other) if isinstance(other, list) else other)

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return repr(list(self))


def to_tool_call(call: CoreToolCall | Mapping[str, Any]) -> ToolCall:
    """Convert the core's record, LangChain's dict or OpenAI's dict to a `ToolCall`."""
    if isinstance(call, ToolCall):
        return call
    if isinstance(call, CoreToolCall):
        return ToolCall(call.id, call.name, call.arguments, call.complete, call.provider_options)
    function = call.get("function", call)
    args = function["arguments"] if "arguments" in function else function.get("args", {})
    return ToolCall(call.get("id") or "", function["name"], args)


def has_object_args(call: CoreToolCall) -> bool:
    """Return True if a call's arguments parse to a dict."""
    try:
        return isinstance(to_tool_call(call).args, dict)
    except (ValueError, TypeError):
        return False


def dump_arguments(call: CoreToolCall) -> str:
    """Return a call's arguments as JSON text."""
    arguments = call.arguments
    if isinstance(arguments, str):
        return arguments
    return json.dumps(dict(arguments), ensure_ascii=False)


def make_single_answer_step(names: Collection[str], handler: ErrorHandler) -> Step:
    """Return the step of output tools that refuses all structured answers of a turn with several.

    Args:
        names: Names of the output tools.
        handler: What the model reads: a text, or a function that returns one for the error; else
            LangChain's words.
    """

    async def refuse_several(
        prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        calls: Any = getattr(context.run.transcript[-1], "tool_calls", ())
        found = [call.name for call in calls if call.name in names]
        if len(found) < 2:
            return await proceed(prepared)
        problem = ToolError(
            "Model incorrectly returned multiple structured responses "
            f"({', '.join(found)}) when only one is expected."
        )
        if callable(handler):
            raise ToolError(str(handler(problem)))
        own = isinstance(handler, str)
        raise ToolError(
            str(handler) if own else f"Error: {problem.text}\n Please fix your mistakes."
        )

    return refuse_several
