"""What a model reads of its failed calls, in the words of Pydantic AI."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from toolkeel.agent.turn.steps import ModelStep, SendRequest
from toolkeel.context import RunContext as CoreRun
from toolkeel.define.output_type import compile_output_form, is_output_tool
from toolkeel.messages import AssistantMessage, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel_compat.pydantic_ai.messages import find_latest_results, get_values
from toolkeel_compat.pydantic_ai.usage import OUTPUT_PUT_OFF

_FRAMING: Final = (
    "Your previous response failed the application's validation (this is automated feedback, not a "
    "message from the user):"
)


def make_failure_step(output_type: Any) -> ModelStep:
    """Return the model step that sends failed results as Pydantic AI does.

    Of wrong arguments the model reads pydantic's list of errors, and where the wire has no flag for a
    failure, an object with the key ``error``.

    Args:
        output_type: The core's output type.
    """

    async def send_failures(request: ModelRequest, run: CoreRun[Any], proceed: SendRequest) -> Any:
        describe_failures(request, run)
        values, flagged = get_values(run), getattr(request.model, "flags_failures", True)
        latest = find_latest_results(request.messages)

        def list_answer(text: str) -> list[Any]:
            if request.settings.output is None:
                outputs = [tool for tool in request.tools if is_output_tool(tool)]
                return list_problems(outputs[0], text) if len(outputs) == 1 else []
            form = compile_output_form(output_type)
            found = list_problems(form.tool, text)
            return found if found or form.wrapped else _list_answer_problems(output_type, text)

        messages: list[Any] = []
        for one in request.messages:
            if isinstance(one, ToolMessage) and one.failed:
                is_latest = latest[one.tool_call_id] is one
                problem = values.get(one.tool_call_id, one.text) if is_latest else one.text
                messages.append(_describe_result(one, problem, flagged))
            elif isinstance(one, ToolMessage) and values.get(one.tool_call_id) == OUTPUT_PUT_OFF:
                messages.append(dataclasses.replace(one, content=OUTPUT_PUT_OFF))
            elif isinstance(one, UserMessage) and one.origin == "correction":
                messages.append(_describe_text(one, messages[-1], list_answer))
            else:
                messages.append(one)
        return await proceed(dataclasses.replace(request, messages=messages))

    return send_failures


def _describe_result(result: ToolMessage, problem: Any, flagged: bool) -> ToolMessage:
    """Return a failed result with its problem, for a wire with or without a flag for failures."""
    if flagged and isinstance(problem, str):
        return dataclasses.replace(result, content=problem)
    text = to_json(problem if flagged else {"error": problem}).decode()
    return dataclasses.replace(result, content=text, status=result.status if flagged else "success")


def write_feedback(tag: str, text: str) -> str:
    """Return what the model reads of an answer that was no call, within a tag."""
    return f"{_FRAMING}\n<{tag}>\n{text}\n</{tag}>"


def _describe_text(
    correction: UserMessage, reply: Any, list_answer: Callable[[str], list[Any]]
) -> UserMessage:
    """Return the message that asks for a correction of a text, with pydantic's errors in the text."""
    if not isinstance(reply, AssistantMessage) or not reply.text:
        return correction
    problems = list_answer(reply.text)
    text = write_feedback("pyai:validation_errors", to_json(problems).decode())
    return dataclasses.replace(correction, content=text) if problems else correction


def describe_failures(request: ModelRequest, run: CoreRun[Any]) -> None:
    """Keep what the model and the program read of calls with wrong arguments or an unknown name.

    The same for an answer beside calls that the model corrects first.
    """
    values, tools = get_values(run), {one.name: one for one in request.tools}
    _describe_put_off(run, tools, values)
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


def _describe_put_off(run: CoreRun[Any], tools: Mapping[str, Any], values: dict[str, Any]) -> None:
    """Keep what the model and the program read of answers in the last turn, which did not end the run."""
    last: Any = takewhile(lambda each: isinstance(each, ToolMessage), reversed(run.transcript))
    for one in last:
        if not one.failed and one.name in tools and is_output_tool(tools[one.name]):
            values[one.tool_call_id] = OUTPUT_PUT_OFF


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


def _list_answer_problems(output_type: Any, text: str) -> list[Any]:
    """Return pydantic's errors in the text of an answer that is held to a schema of several kinds."""
    try:
        TypeAdapter(output_type).validate_json(text)
    except ValidationError as error:
        return list_errors(error)
    return []


def list_errors(error: ValidationError) -> list[dict[str, Any]]:
    """Return pydantic's errors as a model reads them; those of a part that is validated apart as its own."""
    found: list[dict[str, Any]] = []
    for one in error.errors(include_url=False):
        inner = one.pop("ctx", {}).get("error")
        more = list_errors(inner) if isinstance(inner, ValidationError) else None
        found += [{**one, "loc": [*one["loc"]]}] if more is None else more
    return found


def describe_errors(error: ValidationError) -> str:
    """Return pydantic's errors as JSON."""
    return to_json(list_errors(error)).decode()
