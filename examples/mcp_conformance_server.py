"""A server for the official conformance suite of the Model Context Protocol.

Every tool, prompt and resource the suite asks for, made with nothing but the public API. Start it
with ``toolkeel serve examples/mcp_conformance_server.py --http 127.0.0.1:3001 --no-token`` and run::

    npx @modelcontextprotocol/conformance server --url http://127.0.0.1:3001/mcp \\
        --requirements 2026-07-28
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from typing import Annotated, Any

from pydantic import BaseModel, Field

from toolkeel import Audio, File, Image, Text, Tool, ToolContext, ToolError, UserMessage, tool
from toolkeel.mcp.server import Client, ElicitationResult, ToolServer, prompt, resource

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
SILENCE = base64.b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=")


# — what a tool can return —


@tool
def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@tool
def test_image_content() -> Image:
    """Return a picture."""
    return Image(PIXEL)


@tool
def test_audio_content() -> Audio:
    """Return a sound."""
    return Audio(SILENCE)


@tool
def test_embedded_resource() -> File:
    """Return a resource with what is in it."""
    uri = "test://embedded-resource"
    return File(
        b"This is an embedded resource content.", media_type="text/plain", extra={"uri": uri}
    )


@tool
def test_multiple_content_types() -> list[Text | Image | File]:
    """Return a text, a picture and a resource."""
    data = File(
        b'{"test":"data","value":123}',
        media_type="application/json",
        extra={"uri": "test://mixed-content-resource"},
    )
    return [Text("Multiple content types test:"), Image(PIXEL), data]


@tool
def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


# — while it runs —


@tool
async def test_tool_with_progress(context: ToolContext) -> str:
    """Tell how far it is."""
    for done in (0, 50, 100):
        context.progress(done=done, total=100)
        await asyncio.sleep(0.1)
    return "Done."


@tool
async def test_tool_with_logging(client: Client) -> str:
    """Write to the client's log."""
    await client.log("info", "Tool execution started")
    await asyncio.sleep(0.05)
    await client.log("info", "Tool processing data")
    await asyncio.sleep(0.05)
    await client.log("info", "Tool execution completed")
    return "Logged."


@tool
async def test_logging_tool(client: Client) -> str:
    """Write to the client's log, if it wants that."""
    await client.log("info", {"message": "Nobody reads this unless they asked for it."})
    return "Logged."


@tool
def test_added() -> str:
    """Be there every second time only."""
    return "I am here."


@tool
async def test_trigger_tool_change() -> str:
    """Change the tools, which every client is told."""
    kept = [each for each in server.tools if each.name != test_added.name]
    await server.update(kept if len(kept) < len(server.tools) else [*kept, test_added])
    return "The tools have changed."


@tool
async def test_trigger_prompt_change() -> str:
    """Change the prompts, which every client is told."""
    await server.update(prompts=[*PROMPTS, *next(ADDED)])
    return "The prompts have changed."


@tool
def test_header(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Take an argument that a proxy may route by.

    Args:
        region: Where to.
    """
    return f"In {region}."


# — asking the client —


@tool
async def test_sampling(prompt: str, client: Client) -> str:
    """Ask the client's model.

    Args:
        prompt: What to ask it.
    """
    reply = await client.sample(prompt, max_tokens=100)
    return f"LLM response: {reply.text}"


@tool
async def test_missing_capability(client: Client) -> str:
    """Need a client with a model."""
    return (await client.sample("Hello", max_tokens=10)).text


class User(BaseModel):
    """Who somebody is."""

    username: str
    email: str


@tool
async def test_elicitation(message: str, client: Client) -> str:
    """Ask the client's person.

    Args:
        message: What to tell them.
    """
    found = await client.elicit(message, User)
    return f"User response: action={found.action}, content={found.content}"


class WithDefaults(BaseModel):
    """A form that is filled in already."""

    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: str = "active"
    verified: bool = True


DEFAULTS: dict[str, Any] = WithDefaults.model_json_schema()
DEFAULTS["properties"]["status"]["enum"] = ["active", "inactive", "pending"]


@tool
async def test_elicitation_sep1034_defaults(client: Client) -> str:
    """Ask with a form that is filled in already."""
    return _told(await client.elicit("Check these.", DEFAULTS))


OPTIONS = ["option1", "option2", "option3"]
TITLED = [
    {"const": "value1", "title": "First"},
    {"const": "value2", "title": "Second"},
    {"const": "value3", "title": "Third"},
]
ENUMS: dict[str, object] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}


@tool
async def test_elicitation_sep1330_enums(client: Client) -> str:
    """Ask with a form of every kind of choice."""
    return _told(await client.elicit("Choose.", ENUMS))


def _told(found: ElicitationResult[Any]) -> str:
    return f"Elicitation completed: action={found.action}, content={json.dumps(found.content)}"


@tool
async def test_streaming_elicitation(client: Client) -> str:
    """Ask, without a request of its own on the stream."""
    await client.log("info", "About to ask.")
    return _told(await client.elicit("Check these.", DEFAULTS))


# — asking over several rounds —


class Name(BaseModel):
    """A form of one field."""

    name: str


class Confirmed(BaseModel):
    """A form of one tick."""

    ok: bool


class Color(BaseModel):
    """A form of one field."""

    color: str


@tool
async def test_input_required_result_elicitation(client: Client) -> str:
    """Greet whoever is there."""
    found = await client.elicit("What is your name?", Name, key="user_name")
    return f"Hello, {found.content.name}!" if found.content else "Hello!"


@tool
async def test_input_required_result_sampling(client: Client) -> str:
    """Ask the client's model for a capital."""
    question = "What is the capital of France?"
    return (await client.sample(question, max_tokens=100, key="capital_question")).text


@tool
async def test_input_required_result_list_roots(client: Client) -> str:
    """Ask for the client's folders."""
    return f"Roots: {', '.join(await client.roots(key='client_roots'))}"


@tool
async def test_input_required_result_request_state(client: Client) -> str:
    """Ask, and know afterwards what it was about."""
    found = await client.elicit("Please confirm", Confirmed, key="confirm")
    return f"state-ok: {found.action}"


@tool
async def test_input_required_result_multiple_inputs(client: Client) -> str:
    """Ask three things at once."""
    name, greeting, roots = await asyncio.gather(
        client.elicit("What is your name?", Name, key="user_name"),
        client.sample("Generate a greeting", max_tokens=50, key="greeting"),
        client.roots(key="client_roots"),
    )
    return f"{greeting.text} {name.content} {list(roots)}"


@tool
async def test_input_required_result_multi_round(client: Client) -> str:
    """Ask one thing after the other."""
    name = await client.elicit("Step 1: What is your name?", Name, key="step1")
    color = await client.elicit("Step 2: What is your favorite color?", Color, key="step2")
    return f"{name.content} likes {color.content}"


@tool
async def test_input_required_result_tampered_state(client: Client) -> str:
    """Ask, and trust nobody's memory of it."""
    found = await client.elicit("Please confirm", Confirmed, key="confirm")
    return f"confirmed: {found.action}"


@tool
async def test_input_required_result_capabilities(client: Client) -> str:
    """Ask whatever the client can be asked."""
    said = []
    if client.supports("elicitation"):
        said.append((await client.elicit("Please confirm", Confirmed)).action)
    if client.supports("sampling"):
        said.append((await client.sample("Say hello", max_tokens=20)).text)
    return f"Asked: {said}"


# — a schema of one's own —

SCHEMA: dict[str, object] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

json_schema_2020_12_tool = Tool.from_schema(
    "json_schema_2020_12_tool",
    "Tool with JSON Schema 2020-12 features",
    SCHEMA,
    lambda _, arguments: arguments,
)


# — resources —


@resource("test://static-text", media_type="text/plain")
def static_text() -> str:
    """A text that never changes."""
    return "This is the content of the static text resource."


@resource("test://static-binary", media_type="image/png")
def static_binary() -> bytes:
    """A picture that never changes."""
    return PIXEL


@resource("test://watched-resource", media_type="text/plain")
def watched_resource() -> str:
    """A text that clients can watch."""
    return "Watched resource content"


@resource("test://template/{id}/data", media_type="application/json")
def template_data(id: str) -> dict[str, object]:
    """Data by its id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


# — prompts —


@prompt
def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt to fill in.

    Args:
        arg1: The first.
        arg2: The second.
    """
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@test_prompt_with_arguments.complete("arg1")
def suggest(typed: str) -> list[str]:
    """Values for the first argument."""
    return [word for word in ("paris", "park", "party", "test") if word.startswith(typed)]


@prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803
    """A prompt about a resource.

    Args:
        resourceUri: The resource.
    """
    held = File(b"Embedded resource content for testing.", media_type="text/plain")
    held = File(held.data, held.name, held.media_type, extra={"uri": resourceUri})
    return [UserMessage((held,)), UserMessage("Please process the embedded resource above.")]


@prompt
def test_prompt_with_image() -> list[UserMessage]:
    """A prompt about a picture."""
    return [UserMessage((Image(PIXEL),)), UserMessage("Please analyze the image above.")]


class Context(BaseModel):
    """A form of one field."""

    context: str


@prompt
async def test_input_required_result_prompt(client: Client) -> str:
    """A prompt that has a question first."""
    found = await client.elicit("What context should the prompt use?", Context, key="user_context")
    return f"Use this context: {found.content.context if found.content else 'none'}"


@prompt
def test_added_prompt() -> str:
    """Be there every second time only."""
    return "I am here."


ADDED = itertools.cycle([[test_added_prompt], []])
PROMPTS = [
    test_simple_prompt,
    test_prompt_with_arguments,
    test_prompt_with_embedded_resource,
    test_prompt_with_image,
    test_input_required_result_prompt,
]

server = ToolServer(
    [each for each in list(globals().values()) if isinstance(each, Tool)],
    name="toolkeel-conformance",
    version="1.0",
    prompts=PROMPTS,
    resources=[static_text, static_binary, watched_resource, template_data],
)
