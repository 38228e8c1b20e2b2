"""What a model reads of its failed calls, in the words of Pydantic AI."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import to_json

from toolkeel.context import RunContext as CoreRun
from toolkeel.define.output_type import is_output_tool
from toolkeel.messages import AssistantMessage, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel_compat.pydantic_ai.messages import find_latest_results, get_values

_FRAMING: Final = (
    "Your previous response failed the application's validation (this is automated feedback, not a "
    "message from the user):"
)


async def send_failures(request: ModelRequest, run: CoreRun[Any], proceed: Any) -> Any:
    """Send failed results as Pydantic AI does, as a model step.

    Of wrong arguments the model reads pydantic's list of errors, and where the wire has no flag for a
    failure, an object with the key ``error``.
    """
    describe_failures(request, run)
    values, flagged = get_values(run), getattr(request.model, "flags_failures", True)
    latest = find_latest_results(request.messages)

    def convert(one: ToolMessage) -> ToolMessage:
        is_latest = latest[one.tool_call_id] is one
        problem = values.get(one.tool_call_id, one.text) if is_latest else one.text
        if flagged and isinstance(problem, str):
            return dataclasses.replace(one, content=problem)
        text = to_json(problem if flagged else {"error": problem}).decode()
        return dataclasses.replace(one, content=text, status=one.status if flagged else "success")

    messages: list[Any] = []
    for one in request.messages:
        if isinstance(one, ToolMessage) and one.failed:
            messages.append(convert(one))
        elif isinstance(one, UserMessage) and one.origin == "correction":
            messages.append(_describe_text(one, messages[-1], request.tools))
        else:
            messages.append(one)
    return await proceed(dataclasses.replace(request, messages=messages))


def write_feedback(tag: str, text: str) -> str:
    """Return what the model reads of an answer that was no call, within a tag."""
    return f"{_FRAMING}\n<{tag}>\n{text}\n</{tag}>"


def _describe_text(correction: UserMessage, reply: Any, tools: Iterable[Any]) -> UserMessage:
    """Return the message that asks for a correction of a text, with pydantic's errors in the text."""
    outputs = [one for one in tools if is_output_tool(one)]
    if len(outputs) != 1 or not isinstance(reply, AssistantMessage) or not reply.text:
        return correction
    problems = list_problems(outputs[0], reply.text)
    text = write_feedback("pyai:validation_errors", to_json(problems).decode())
    return dataclasses.replace(correction, content=text) if problems else correction


def describe_failures(request: ModelRequest, run: CoreRun[Any]) -> None:
    """Keep what the model and the program read of calls with wrong arguments or an unknown name."""
    values, tools = get_values(run), {one.name: one for one in request.tools}
    failed: dict[str, ToolMessage] = {}
    for one in reversed(run.transcript):
        if isinstance(one, ToolMessage) and one.failed:
            failed[one.tool_call_id] = one
        if not isinstance(one, AssistantMessage):  # a tool may have said more to the model
            continue
        for call in one.tool_calls:
            if call.id not in failed:
                continue
            kind = failed[call.id].kind
            values.pop(call.id, None)  # of an earlier call with the same id
            if kind == "unknown_tool":
                known = ", ".join(map(repr, sorted(tools)))
                more = f"Available tools: {known}" if known else "No tools available."
                values[call.id] = f"Unknown tool name: {call.name!r}. {more}"
            elif kind in ("invalid_arguments", "malformed_arguments") and call.name in tools:
                problems = list_problems(tools[call.name], call.arguments)
                values.update({call.id: problems} if problems else {})
        break


def list_problems(tool: Any, arguments: Any) -> list[Any]:
    """Return pydantic's errors in the arguments of a call; none if it finds none in its lax mode."""
    text = arguments if isinstance(arguments, str) else to_json(arguments).decode()
    try:
        tool.arguments.validate(text or "{}", strict=False)
    except ValidationError as error:
        is_open = is_output_tool(tool)
        return [
            one for one in list_errors(error) if not (is_open and one["type"] == "extra_forbidden")
        ]
    except (TypeError, ValueError):  # a schema of the program's own, which pydantic does not check
        return []
    return []


def list_errors(error: ValidationError) -> list[dict[str, Any]]:
    """Return pydantic's errors as a model reads them."""
    details = error.errors(include_url=False, include_context=False)
    return [{**one, "loc": [*one["loc"]]} for one in details]


def describe_errors(error: ValidationError) -> str:
    """Return pydantic's errors as JSON."""
    return to_json(list_errors(error)).decode()
