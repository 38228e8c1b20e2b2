"""Resources, prompts and instructions of a server.

A program asks for them by methods. A model gets them as tools where the program wants that
(``MCPServer(..., resources=True)``); those are asked about as the server's own tools are.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError

from toolkeel._common.other_libraries_words import attribute_hints
from toolkeel.call.body.sync_bridge import on_own_loop
from toolkeel.call.steps.label_sources import TRUSTED
from toolkeel.call.steps.taint import is_server_approved
from toolkeel.content import File, Text
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.effects import Effects
from toolkeel.errors import InvalidOutput, SetupError, ToolError
from toolkeel.mcp.client.connection import Connection
from toolkeel.mcp.client.mend_responses import PeerErrorData, Unreachable
from toolkeel.mcp.client.pages import fetch_pages
from toolkeel.mcp.client.tool import ToolServerPeer
from toolkeel.mcp.content import file_from_contents, from_blocks
from toolkeel.mcp.hidden_text import remove_hidden
from toolkeel.mcp.messages import unreadable_reason
from toolkeel.messages import AssistantMessage, UserMessage

T = TypeVar("T")
MAX_INSTRUCTIONS = 4000
"""Characters of a server's instructions that are taken."""
_ROLES = {UserMessage: "user", AssistantMessage: "assistant"}
_READS = Effects(read_only=True, destructive=False, idempotent=True, private=True)


class ServerContents:
    """Base of `MCPServer`: a server's resources, prompts and instructions."""

    name: str

    if not TYPE_CHECKING:  # there, an unknown attribute stays unknown
        __getattr__ = attribute_hints("MCPServer.")

    async def _get_connection(self) -> Connection:
        """Return the connection of the current run; a subclass defines it."""
        raise NotImplementedError

    async def instructions(self) -> str:
        """Return the server's instructions: untrusted text, bounded, without hidden characters; may be empty.

        Raises:
            SetupError: the server cannot be reached.
        """
        return await self._ask(lambda client: _clean_instructions(client.instructions or ""))

    async def resources(self) -> list[types.Resource]:
        """Return every resource the server lists, or an empty list if it has none.

        Raises:
            SetupError: the server cannot be reached.
            ToolError: the server answered with an error.
        """
        return await self._fetch_all(
            lambda c, at: c.list_resources(cursor=at), lambda p: p.resources
        )

    async def templates(self) -> list[types.ResourceTemplate]:
        """Return every resource template, or an empty list if the server has none.

        Raises:
            SetupError: the server cannot be reached.
            ToolError: the server answered with an error.
        """
        return await self._fetch_all(
            lambda c, at: c.list_resource_templates(cursor=at), lambda p: p.resource_templates
        )

    async def prompts(self) -> list[types.Prompt]:
        """Return every prompt, with its arguments, or an empty list if the server has none.

        Raises:
            SetupError: the server cannot be reached.
            ToolError: the server answered with an error.
        """
        return await self._fetch_all(lambda c, at: c.list_prompts(cursor=at), lambda p: p.prompts)

    async def read(self, resource: str | Text | types.Resource) -> tuple[File, ...]:
        """Return the contents of a resource as files; one with broken bytes holds a text about that.

        Args:
            resource: Its address, a listed resource, or the text in a tool's result that stands for
                a link to one (``resource_link``).

        Raises:
            SetupError: the server cannot be reached.
            ToolError: the server has no such resource, or its answer is invalid.
        """
        uri = uri_of(resource)
        found = await self._ask(lambda client: client.read_resource(uri))
        return tuple(map(_file, found.contents))

    async def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None
    ) -> list[UserMessage | AssistantMessage]:
        """Return a filled prompt: messages to begin a run with, whose words are a stranger's.

        Raises:
            SetupError: the server cannot be reached.
            ToolError: the server has no such prompt, or the arguments do not fit.
        """
        found = await self._ask(lambda client: client.get_prompt(name, dict(arguments or {})))
        return [_message(each) for each in found.messages]

    async def complete(
        self, of: str, argument: str, typed: str = "", others: Mapping[str, str] | None = None
    ) -> list[str]:
        """Return completions for an argument of a prompt or a template.

        Args:
            of: A prompt's name, or a template's address.
            argument: Which argument, or part of the address.
            typed: Text that was typed so far.
            others: The other arguments as far as they are known.

        Raises:
            SetupError: the server cannot be reached.
            ToolError: the server answered with an error.
        """
        ref: types.PromptReference | types.ResourceTemplateReference
        ref = types.PromptReference(name=of)
        if "://" in of:
            ref = types.ResourceTemplateReference(uri=of)
        field = {"name": argument, "value": typed}
        found = await self._ask(lambda c: c.complete(ref, field, dict(others) if others else None))
        return list(found.completion.values)

    async def watch(self, *uris: str) -> AsyncIterator[str]:
        """Yield the URIs of resources as they change, also after a reconnect; unsubscribe when the iterator closes.

        Several changes of one resource before it is read are one.

        Raises:
            SetupError: the server cannot be reached.
            ToolError: the server has no subscriptions.
        """
        loop, some, changed = asyncio.get_running_loop(), asyncio.Event(), dict[str, None]()

        def tell(uri: str) -> None:
            """Record a changed resource and wake the iterator, from any thread."""
            changed[uri] = None  # once, however often it changes until that is read
            if len(changed) == 1:
                with suppress(RuntimeError):  # the loop of who watched has closed
                    loop.call_soon_threadsafe(some.set)

        async def begin(connection: Connection) -> Connection:
            """Subscribe, and return the connection: at the end, another may be the current one."""
            await connection.watches.add(uris, tell)
            return connection

        watched = await self._call_server(begin)
        try:
            while await some.wait():
                some.clear()
                while changed:
                    yield changed.popitem()[0]
        finally:
            await on_own_loop(lambda: watched.watches.remove(uris, tell))

    # — as tools —

    def content_tools(self, peer: ToolServerPeer) -> list[AnyTool]:
        """Return four tools that list and read resources and prompts, with the approval of `peer`'s tools."""

        def needs_approval(_: Mapping[str, object], context: ToolContext[Any]) -> bool | str:
            """Return the reason to ask, or False if the server is trusted or approved."""
            if peer.trust is True or is_server_approved(context.run, peer.origin):
                return False
            return f"what the server {self.name} says is not trusted"

        async def listed(context: ToolContext[Any], arguments: dict[str, Any]) -> object:
            """Return a summary of each resource and template."""
            resources, templates = await asyncio.gather(self.resources(), self.templates())
            return [_summary(each) for each in (*resources, *templates)]

        async def read(context: ToolContext[Any], arguments: dict[str, Any]) -> object:
            """Return the contents of the resource whose URI is in `arguments`, as a list."""
            return list(await self.read(str(arguments["uri"])))

        async def prompts(context: ToolContext[Any], arguments: dict[str, Any]) -> object:
            """Return a summary of each prompt."""
            return [_summary(each) for each in await self.prompts()]

        async def prompt(context: ToolContext[Any], arguments: dict[str, Any]) -> object:
            """Return the messages of the filled prompt as one text, each with its role."""
            filled = await self.prompt(str(arguments["name"]), arguments.get("arguments"))
            return "\n\n".join(f"{_ROLES[type(each)]}: {each.text}" for each in filled)

        texts: dict[str, object] = {"type": "object", "additionalProperties": {"type": "string"}}
        made: list[tuple[str, str, dict[str, object], Any]] = [
            ("list_resources", f"List what can be read of {self.name}: addresses, and templates of "
             "addresses with {parts} to fill in.", {}, listed),
            ("read_resource", f"Read a resource of {self.name} by its address.",
             {"uri": {"type": "string"}}, read),
            ("list_prompts", f"List the prompts of {self.name} with their arguments.", {}, prompts),
            ("get_prompt", f"Fill in a prompt of {self.name}.",
             {"name": {"type": "string"}, "arguments": texts}, prompt),
        ]  # fmt: skip
        return [
            Tool.from_schema(
                name,
                description,
                {"type": "object", "properties": fields, "required": [*fields][:1]},
                body,
                approval=needs_approval,
                effects=dataclasses.replace(_READS, stranger=not peer.is_ours),
                tags=("mcp", self.name),
                metadata={"mcp": {"server": self.name, "tool": name}, **peer.metadata},
            )
            for name, description, fields, body in made
        ]

    # — asking —

    async def _fetch_all(
        self,
        fetch: Callable[[Client, str | None], Awaitable[Any]],
        items: Callable[[Any], Sequence[T]],
    ) -> list[T]:
        """Return the items of all pages; none if the server lacks the method."""

        async def work(client: Client) -> list[T]:
            """Fetch all pages with a client."""
            found: list[T] = []
            try:
                async for page in fetch_pages(lambda at: fetch(client, at), self.name):
                    found += items(page)
            except MCPError as error:
                if error.code != types.METHOD_NOT_FOUND:
                    raise
            return found

        return await self._ask(work)

    async def _ask(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Run requests that only read, again after a lost session; raise as `_call_server`."""
        return await self._call_server(lambda connection: connection.run(work))

    async def _use_connection(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run work with the connection of the current run, on the library's loop, and return its result."""

        async def use() -> T:
            """Get the connection on its own loop, and run the work."""
            return await work(await self._get_connection())

        return await on_own_loop(use)

    async def _call_server(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run work like `_use_connection`, with errors for a program or model.

        Raises SetupError if the server is unreachable, ToolError if it refuses or breaks the protocol.
        """
        try:
            return await self._use_connection(work)
        except Unreachable as error:
            raise SetupError(str(error)) from error
        except MCPError as error:
            verb = "refused" if isinstance(error.data, PeerErrorData) else "answered"
            raise ToolError(f"The server {self.name} {verb}: {error.message}") from error
        except ValueError as error:
            text = (
                f"The server {self.name} sent what breaks the protocol: {unreadable_reason(error)}"
            )
            raise ToolError(text) from error


def _file(contents: types.TextResourceContents | types.BlobResourceContents) -> File:
    """Convert contents to a file; a text about the problem if its bytes are broken."""
    try:
        return file_from_contents(contents)
    except InvalidOutput as error:  # it costs itself
        return file_from_contents(
            types.TextResourceContents(uri=contents.uri, text=f"[{error.text}]")
        )


async def _clean_instructions(instructions: str) -> str:
    """Return instructions without hidden characters, cut to `MAX_INSTRUCTIONS`."""
    return remove_hidden(instructions)[0][:MAX_INSTRUCTIONS]


def uri_of(resource: str | Text | types.Resource) -> str:
    """Return the URI of a resource, given in any form.

    Raises:
        SetupError: a text that stands for no link.

    >>> uri_of(Text("[resource log: app://log]", {"resource_link": {"uri": "app://log"}}))
    'app://log'
    """
    if isinstance(resource, str):
        return resource
    if isinstance(resource, types.Resource):
        return resource.uri
    link = resource.extra.get("resource_link")
    if not isinstance(link, Mapping) or not isinstance(link.get("uri"), str):
        raise SetupError(f"{resource.text[:80]!r} is no link to a resource")
    return str(link["uri"])


def _message(message: types.PromptMessage) -> UserMessage | AssistantMessage:
    """Convert a prompt's message; its content is marked as a stranger's, whoever is said to speak."""
    content = from_blocks([message.content])
    blocks = (Text(content),) if isinstance(content, str) else content
    marked = tuple(dataclasses.replace(b, extra={**b.extra, TRUSTED: False}) for b in blocks)
    return UserMessage(marked) if message.role == "user" else AssistantMessage(marked)


def _summary(listed: Any) -> dict[str, object]:
    """Return the fields of a listed item that a model needs."""
    fields = listed.model_dump(mode="json", by_alias=True, exclude_none=True)
    keys = ("uri", "uriTemplate", "name", "title", "description", "mimeType", "size", "arguments")
    return {key: fields[key] for key in keys if key in fields}
