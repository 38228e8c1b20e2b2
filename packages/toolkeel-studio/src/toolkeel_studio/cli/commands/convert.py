"""``toolkeel convert``: a stored conversation of one provider, as another's."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from toolkeel._records.record import NOTHING, record
from toolkeel.builtin.tools_in_module import suggest_or_list
from toolkeel.define.import_definition import parse_definition
from toolkeel.errors import DefinitionError, ModelError
from toolkeel.messages import AssistantMessage, Message, ToolMessage
from toolkeel.model_interface import ModelRequest, ToolDefinition
from toolkeel.observe.wording import pretty
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.providers.bedrock.profile import pack_bytes
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.terminal.streams import YELLOW, echo, note

WIRES: Mapping[str, Any] = {
    "openai": openai_chat,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "responses": openai_responses,
    "anthropic": anthropic,
    "bedrock": bedrock,
    "gemini": gemini,
    "google": gemini,
}
"""What ``--from`` and ``--to`` take, and the wire that it is."""
_KEYS = {gemini: "contents", openai_responses: "input"}


def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON; - is stdin.")],
    source: Annotated[str, typer.Option("--from", help="Whose form it has: openai, anthropic ...")],
    target: Annotated[str, typer.Option("--to", help="Whose form it shall have.")],
    model: Annotated[
        str, typer.Option("--model", "-m", help="The model that shall go on with it.")
    ] = "",
) -> None:
    """Turn a stored conversation of one provider into another's.

    FILE holds a request's body, or its messages alone; then messages alone are printed. What the
    other provider has no place for is told on stderr: nothing is left out in silence.
    """
    given = _read(file)
    try:
        messages = _wire(source).decode_messages(given)
    except ModelError as error:
        raise UsageProblem(f"{file} is not in the form of {source!r}: {error}") from error
    if not messages:
        raise UsageProblem(f"{file} holds no messages in the form of {source!r}")
    made = _encode(_wire(target), messages, _read_tools(given), model)
    _report(given, messages, pretty(made))
    key = _KEYS.get(_wire(target), "messages")
    echo(pretty(made if isinstance(given, dict) else made[key]))


@record
class _Tool:
    """A tool as somebody else defined it."""

    name: str
    description: str
    parameters: Mapping[str, object]
    provider_options: Mapping[str, object] = NOTHING


def _encode(
    wire: Any, messages: list[Message], tools: tuple[ToolDefinition, ...], model: str
) -> dict[str, Any]:
    """Encode messages as a request's body, as JSON; without a model name, omit what depends on it."""
    body: dict[str, Any] = wire.encode(ModelRequest(messages, tools), model)
    if not model:
        body = {key: body[key] for key in body if key not in ("model", "modelId", "max_tokens")}
    return {key: pack_bytes(value) for key, value in body.items()}


def _read(file: str) -> object:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
        return json.loads(text)
    except OSError as error:
        raise UsageProblem(f"{file}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageProblem(f"{file} is not JSON: {error}") from error


def _wire(name: str) -> Any:
    wire = WIRES.get(name.lower())
    if wire is None:
        raise UsageProblem(f"there is no provider {name!r}; {suggest_or_list(name, list(WIRES))}")
    return wire


def _read_tools(document: object) -> tuple[ToolDefinition, ...]:
    """Read the tools of a body; report on stderr those that cannot be read."""
    listed = document.get("tools") if isinstance(document, dict) else None
    if isinstance(document, dict) and isinstance(document.get("toolConfig"), dict):
        listed = listed or document["toolConfig"].get("tools")
    tools: list[ToolDefinition] = []
    for body in listed if isinstance(listed, list) else []:
        inner = body.get("functionDeclarations") if isinstance(body, dict) else None
        for one in inner if isinstance(inner, list) else [body]:
            try:
                found = parse_definition(one)
                tools.append(_Tool(found.name, found.description, found.schema))
            except (DefinitionError, AttributeError, TypeError) as error:
                note(f"a tool is left out: {error}", YELLOW)
    return tuple(tools)


_CARRIED = frozenset(
    {"messages", "input", "contents", "system", "instructions", "systemInstruction"}
    | {"system_instruction", "tools", "toolConfig", "model", "modelId"}
)


def _report(document: object, messages: list[Message], made: str) -> None:
    """Say what of it is not in what was made."""
    left = sorted(document.keys() - _CARRIED) if isinstance(document, dict) else []
    if left:
        note(f"settings are not converted: {', '.join(left)}", YELLOW)
    _report_thoughts(messages, made)
    answered = {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}
    calls = [
        call for one in messages if isinstance(one, AssistantMessage) for call in one.tool_calls
    ]
    for call in calls:
        if call.id not in answered:
            note(f"the call of {call.name!r} has no result: a sentence says so", YELLOW)


def _report_thoughts(messages: list[Message], made: str) -> None:
    """Say which reasoning, and which signatures of it, did not come along."""
    thoughts = [
        one for each in messages if isinstance(each, AssistantMessage) for one in each.reasoning
    ]
    for what, texts in (
        ("signed reasoning stays with its provider", [one.signature for one in thoughts]),
        ("thoughts are left out", [one.text for one in thoughts]),
    ):
        if gone := sum(pretty(text)[1:-1] not in made for text in texts):
            note(f"{what}: {gone}", YELLOW)
