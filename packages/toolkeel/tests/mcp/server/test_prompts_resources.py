"""Prompts, resources and completion: what people and programs ask a server for."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

import mcp_types as types
import pytest
from mcp.client.client import Client as Peer
from mcp.shared.exceptions import MCPError

from tests.mcp.serving import both_eras, deprecations, talk
from toolkeel import (
    AssistantMessage,
    File,
    Image,
    Injected,
    RunContext,
    Text,
    ToolError,
    UserMessage,
)
from toolkeel.content import Data
from toolkeel.errors import DefinitionError
from toolkeel.mcp.server.calling import Client
from toolkeel.mcp.server.prompts_resources import (
    NotFound,
    prompt,
    resource,
    to_resource_contents,
)
from toolkeel.mcp.server.tool_server import ToolServer

pytestmark = deprecations
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


@prompt(title="Review", icons=[{"src": "data:,"}])
def review(code: str, style: Literal["strict", "kind"] = "kind", lines: int = 1) -> str:
    """Review a piece of code.

    Args:
        code: What to review.
    """
    return f"{style} {lines + 1}: {code}"


@prompt("对话")
def talk_it_over() -> list[object]:
    """Talk."""
    held = File(b"x", "x.txt", "text/plain", extra={"uri": "app://x"})
    return ["看", AssistantMessage("ok"), UserMessage((Text("a"), Image(PNG))), held]


@resource("app://static", media_type="text/markdown", annotations={"priority": 1.0}, size=3)
def static() -> str:
    """A text."""
    return "# 甲"


@resource("app://notes/{name}", title="Notes")
def note(name: str) -> dict[str, str]:
    """A note."""
    if name == "none":
        raise NotFound
    if name == "broken":
        raise ToolError("the disk is full")
    return {"name": name}


@resource("app://binary")
def binary() -> bytes:
    """Bytes."""
    return PNG


@resource("app://log{?after,level}")
def log(after: int = 0, level: str = "info") -> list[Any]:
    """Lines after one of them."""
    return [after, level]


def server(**options: Any) -> ToolServer:
    return ToolServer(
        [], prompts=[review, talk_it_over], resources=[static, note, binary, log], **options
    )


@both_eras
def test_clients_are_told_of_prompts_and_their_arguments(era: str) -> None:
    async def test(peer: Peer) -> types.ListPromptsResult:
        return await peer.list_prompts()

    first, second = talk(server(), test, era).prompts
    assert (first.name, first.title, first.description) == (
        "review", "Review", "Review a piece of code.",
    )  # fmt: skip
    assert [(a.name, a.required) for a in first.arguments or []] == [
        ("code", True), ("style", False), ("lines", False),
    ]  # fmt: skip
    assert (first.arguments or [])[0].description == "What to review."
    assert second.name == "对话"


@both_eras
def test_a_prompt_takes_texts_for_any_type_and_becomes_messages(era: str) -> None:
    async def test(peer: Peer) -> None:
        got = await peer.get_prompt("review", {"code": "x=1", "lines": "4"})
        [message] = got.messages
        assert message.role == "user" and isinstance(message.content, types.TextContent)
        assert message.content.text == "kind 5: x=1"
        got = await peer.get_prompt("对话")
        assert [(m.role, m.content.type) for m in got.messages] == [
            ("user", "text"), ("assistant", "text"), ("user", "text"), ("user", "image"),
            ("user", "resource"),
        ]  # fmt: skip

    talk(server(), test, era)


@both_eras
@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("reviw", {}, "Did you mean 'review'"),
        ("review", {}, "code"),
        ("review", {"code": "x", "style": "rude"}, "style"),
    ],
)
def test_a_wrong_prompt_or_argument_is_named(
    name: str, arguments: dict[str, str], told: str, era: str
) -> None:
    async def test(peer: Peer) -> None:
        await peer.get_prompt(name, arguments)

    with pytest.raises(MCPError, match=told) as caught:
        talk(server(), test, era)
    assert caught.value.error.code == types.INVALID_PARAMS


@both_eras
def test_resources_and_templates_are_listed_apart(era: str) -> None:
    async def test(peer: Peer) -> None:
        [first, second] = (await peer.list_resources()).resources
        assert (first.uri, first.mime_type, first.size) == ("app://static", "text/markdown", 3)
        assert first.annotations is not None and first.annotations.priority == 1
        assert second.uri == "app://binary"
        [notes, lines] = (await peer.list_resource_templates()).resource_templates
        assert (notes.uri_template, notes.title) == ("app://notes/{name}", "Notes")
        assert lines.name == "log"

    talk(server(), test, era)


@both_eras
def test_a_resource_is_read_as_what_it_is(era: str) -> None:
    async def test(peer: Peer) -> None:
        async def read(uri: str) -> Any:
            [found] = (await peer.read_resource(uri)).contents
            assert found.uri == uri
            return found

        assert (await read("app://static")).text == "# 甲"
        found = await read("app://notes/todo%20list")
        assert (found.text, found.mime_type) == ('{"name":"todo list"}', "application/json")
        found = await read("app://binary")
        assert base64.b64decode(found.blob) == PNG and found.mime_type == "image/png"
        assert (await read("app://log")).text == '[0,"info"]'
        assert (await read("app://log?after=7")).text == '[7,"info"]'

    talk(server(), test, era)


@both_eras
@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("app://nothing", types.INVALID_PARAMS),
        ("app://notes/none", types.INVALID_PARAMS),
        ("app://notes/a/b", types.INVALID_PARAMS),
        ("app://log?after=x", types.INVALID_PARAMS),
        ("app://notes/broken", types.INTERNAL_ERROR),
    ],
)
def test_what_cannot_be_read_is_an_error_of_its_kind(uri: str, code: int, era: str) -> None:
    async def test(peer: Peer) -> None:
        await peer.read_resource(uri)

    with pytest.raises(MCPError) as caught:
        talk(server(), test, era)
    assert caught.value.error.code == code


@both_eras
def test_values_are_suggested_by_a_function_or_by_the_type(era: str) -> None:
    @prompt
    def travel(country: str, city: str, how: Literal["train", "tram"] = "train") -> str:
        """Travel."""
        return ""

    @travel.complete("city")
    async def cities(typed: str, given: dict[str, str]) -> list[str]:
        return [c for c in (f"{given.get('country', '?')}-{n}" for n in range(200)) if typed in c]

    @note.complete("name")
    def notes(typed: str) -> list[str]:
        return [typed + "!"]

    async def test(peer: Peer) -> None:
        async def suggest(ref: Any, name: str, typed: str, **given: str) -> types.Completion:
            argument = {"name": name, "value": typed}
            return (await peer.complete(ref, argument, given or None)).completion

        ref = types.PromptReference(name="travel")
        found = await suggest(ref, "city", "fr", country="fr")
        assert found.values[:2] == ["fr-0", "fr-1"] and len(found.values) == 100
        assert (found.total, found.has_more) == (200, True)
        assert (await suggest(ref, "how", "tra")).values == ["train", "tram"]
        assert (await suggest(ref, "how", "tram")).values == ["tram"]
        assert (await suggest(ref, "country", "f")).values == []
        template = types.ResourceTemplateReference(uri="app://notes/{name}")
        assert (await suggest(template, "name", "a")).values == ["a!"]
        with pytest.raises(MCPError, match="Unknown argument"):
            await suggest(ref, "cty", "f")

    talk(ToolServer([], prompts=[travel], resources=[note]), test, era)


@both_eras
def test_prompts_and_resources_have_injected_values_and_a_client(era: str) -> None:
    @prompt
    def mine(user: Annotated[str, Injected]) -> str:
        """Mine."""
        return f"I am {user}."

    @resource("app://me")
    async def me(client: Client) -> list[bool]:
        """Me."""
        return [client.supports("sampling")]

    async def test(peer: Peer) -> None:
        assert (await peer.list_prompts()).prompts[0].arguments == []
        [message] = (await peer.get_prompt("mine")).messages
        assert isinstance(message.content, types.TextContent)
        assert message.content.text == "I am 李."
        [found] = (await peer.read_resource("app://me")).contents
        assert isinstance(found, types.TextResourceContents) and found.text == "[false]"

    made = ToolServer(
        [], prompts=[mine], resources=[me], run=lambda _: RunContext(inject={"user": "李"})
    )
    talk(made, test, era)


def test_parts_are_still_the_functions_they_were() -> None:
    assert review("x") == "kind 2: x" and static() == "# 甲"
    assert repr(note) == "Resource(note)"


def test_an_empty_list_is_read_as_json_and_blocks_of_every_kind_as_they_are() -> None:
    blocks = [Text("a"), Data({"n": 1}, '{"n":1}'), Image(PNG)]
    read = to_resource_contents(note, "app://notes/a", blocks)
    assert [each.mime_type for each in read] == ["text/plain", "application/json", "image/png"]
    [empty] = to_resource_contents(note, "app://notes/a", [])
    assert isinstance(empty, types.TextResourceContents) and empty.text == "[]"
    assert to_resource_contents(note, "app://notes/a", ()) == []


def test_a_template_and_its_function_must_agree() -> None:
    with pytest.raises(DefinitionError, match=r"\['id'\].*\['name'\]"):

        @resource("app://{id}")
        def wrong(name: str) -> str:
            """Wrong."""
            return name

    with pytest.raises(DefinitionError, match="no URI template"):

        @resource("app://{id")
        def broken(id: str) -> str:
            """Broken."""
            return id

    with pytest.raises(DefinitionError, match="no argument 'cod'"):
        review.complete("cod")
