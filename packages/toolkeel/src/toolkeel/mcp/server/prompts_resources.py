"""Prompts and resources: functions that people and programs request, as models call tools.

Both are compiled like tools: arguments are validated, injected parameters are hidden, and a request
runs through the same pipeline.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar, overload

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate
from pydantic_core import to_json

from toolkeel._common.checked_arguments import checked
from toolkeel.content import Audio, Block, Data, File, Image, Text, block_from_bytes
from toolkeel.context import ToolContext
from toolkeel.define.reading.signature import calling_frame
from toolkeel.define.tool import AnyTool, Prepared, Proceed, ToolOptions, compile_tool
from toolkeel.errors import DefinitionError, ToolError
from toolkeel.mcp.content import to_block
from toolkeel.mcp.page_links import PAGE_TYPE
from toolkeel.messages import AssistantMessage, ToolMessage, ToolOutput, UserMessage

P = ParamSpec("P")
R = TypeVar("R")
OtherArguments: TypeAlias = Mapping[str, str]
Completer: TypeAlias = Callable[..., "Iterable[str] | Awaitable[Iterable[str]]"]
"""Takes what was typed so far and, if it has a second parameter, the other arguments."""

_OPTIONS: ToolOptions = {"max_output": None}
_BLOCKS = (Text, Image, Audio, File, Data)


class NotFound(ToolError):
    """Raise this in a resource whose URI names nothing."""

    def __init__(self, text: str = "There is nothing at this URI.") -> None:
        super().__init__(text, {"not_found": True})


class Primitive(Generic[P, R]):
    """A function that a server offers besides its tools; still callable as the plain function.

    Args:
        tool: The compiled function.
        about: Further fields for clients: ``title``, ``icons``, ``annotations``, ``_meta``.
    """

    def __init__(self, tool: AnyTool, about: Mapping[str, object]) -> None:
        self.tool = tool
        self.metadata = {key: value for key, value in about.items() if value is not None}
        self._completers: dict[str, Completer] = {}

    @property
    def name(self) -> str:
        """The function's name as a tool. A server's prompts differ in it; its resources differ in their URI."""
        return self.tool.name

    @property
    def __wrapped__(self) -> Callable[P, R]:
        return self.tool.function

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = self.tool.function(*args, **kwargs)
        return result

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def complete(self, argument: str) -> Callable[[Completer], Completer]:
        """Decorate a function that suggests values of an argument while a person types.

        It takes what was typed so far and, if it wants, a dict of the other arguments.

        Raises:
            DefinitionError: there is no such argument.
        """
        if argument not in self.arguments:
            raise DefinitionError(f"{self.name} has no argument {argument!r} to complete")

        def add(suggest: Completer) -> Completer:
            """Register the completer and return it unchanged."""
            self._completers[argument] = suggest
            return suggest

        return add

    @property
    def arguments(self) -> Mapping[str, Mapping[str, object]]:
        """The JSON Schema of each argument, by name."""
        properties = self.tool.parameters.get("properties")
        return properties if isinstance(properties, Mapping) else {}

    async def suggest_values(self, argument: str, typed: str, others: OtherArguments) -> list[str]:
        """Return suggestions: all of the completer's, or without one the enum values that start with `typed`.

        Raises:
            KeyError: there is no such argument.
            Exception: what the completer raised.
        """
        suggest = self._completers.get(argument)
        if suggest is None:
            known = self.arguments[argument].get("enum")
            values = [str(value) for value in known] if isinstance(known, list) else []
            return [value for value in values if value.startswith(typed)]
        wants_others = len(inspect.signature(suggest).parameters) > 1
        found = suggest(typed, others) if wants_others else suggest(typed)
        return [str(value) for value in (await found if inspect.isawaitable(found) else found)]


async def return_artifact(
    prepared: Prepared, context: ToolContext[Any], proceed: Proceed
) -> object:
    """Return a prompt's or resource's value as the artifact, not as text for a model (a step)."""
    return ToolOutput("", artifact=await proceed(prepared))


# — prompts —


class Prompt(Primitive[P, R]):
    """A prompt: one or several messages that a person picks and fills in."""

    def definition(self) -> types.Prompt:
        """Return the definition that clients receive."""
        needed = self.tool.parameters.get("required")
        required = needed if isinstance(needed, list) else []
        arguments = [
            {"name": name, "description": schema.get("description"), "required": name in required}
            for name, schema in self.arguments.items()
        ]
        fields = {"name": self.name, "description": self.tool.description or None, **self.metadata}
        return types.Prompt.model_validate({**fields, "arguments": arguments})


@overload
def prompt(function: Callable[P, R], /) -> Prompt[P, R]: ...
@overload
def prompt(
    called: str | None = None,
    /,
    *,
    title: str | None = None,
    description: str | None = None,
    icons: list[dict[str, object]] | None = None,
    meta: Mapping[str, object] | None = None,
) -> Callable[[Callable[P, R]], Prompt[P, R]]: ...
@checked
def prompt(
    function: Callable[..., Any] | str | None = None,
    /,
    *,
    title: str | None = None,
    description: str | None = None,
    icons: list[dict[str, object]] | None = None,
    meta: Mapping[str, object] | None = None,
) -> Any:
    """Make a prompt of a typed, docstringed function.

    It returns a text or content blocks (one message of the user), a `UserMessage` or
    `AssistantMessage`, or a list of these.

    Args:
        function: What to wrap, or the prompt's name.
        title: Its name for people.
        description: For people; the docstring's text by default.
        icons: Pictures for it, as the protocol describes them.
        meta: Further fields for clients.

    >>> @prompt
    ... def review(code: str) -> str:
    ...     "Review a piece of code."
    ...     return f"Review this code:\\n{code}"
    >>> review.definition().arguments[0].name, review("x = 1")
    ('code', 'Review this code:\\nx = 1')
    """
    name, caller = None, calling_frame()
    if isinstance(function, str):
        function, name = None, function
    about = {"title": title, "icons": icons, "_meta": meta}

    def make(wrapped: Callable[..., Any]) -> Prompt[..., Any]:
        """Return a prompt made of the function."""
        made = compile_tool(wrapped, (name, description), None, {**_OPTIONS}, caller)
        return Prompt(made, about)

    return make if function is None else make(function)


def to_prompt_messages(value: object) -> Iterator[types.PromptMessage]:
    """Yield the return value of a prompt's function as messages: of the assistant its own, all else of the user."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from to_prompt_messages(item)
        return
    if isinstance(value, AssistantMessage):
        yield from _prompt_messages("assistant", value.content)
    else:
        yield from _prompt_messages(
            "user", value.content if isinstance(value, UserMessage) else value
        )


def _prompt_messages(role: types.Role, content: object) -> Iterator[types.PromptMessage]:
    """Yield one message for each block of content."""
    for block in to_content_blocks(content):
        yield types.PromptMessage(role=role, content=to_block(block))


def to_content_blocks(value: object) -> tuple[Block, ...]:
    """Convert a value to content blocks: a text to one, blocks unchanged, bytes to a file, all else to JSON."""
    match value:
        case str():
            return (Text(value),)
        case Text() | Image() | Audio() | File() | Data():
            return (value,)
        case bytes():
            return (block_from_bytes(value),)
        case tuple() | list() if value != [] and all(isinstance(each, _BLOCKS) for each in value):
            return tuple(value)
        case _:
            return (Data(value, to_json(value, inf_nan_mode="strings").decode()),)


# — resources —


class Resource(Primitive[P, R]):
    """A resource at a URI, or at every URI of a template.

    Args:
        tool: The compiled function; its arguments are the template's variables.
        uri: The URI or template.
        media_type: Media type of the return value; empty to infer it from each value.
        about: Further fields for clients.

    Raises:
        DefinitionError: the URI is no template, or its variables are not the function's parameters.
    """

    def __init__(
        self, tool: AnyTool, uri: str, media_type: str, about: Mapping[str, object]
    ) -> None:
        super().__init__(tool, about)
        self.uri = uri
        self.media_type = media_type
        self.template = _parse_template(tool, uri, list(self.arguments))

    def definition(self) -> dict[str, Any]:
        """Return the definition that clients receive."""
        key = "uriTemplate" if self.template else "uri"
        fields: dict[str, Any] = {key: self.uri, "name": self.name, **self.metadata}
        if self.tool.description:
            fields["description"] = self.tool.description
        if self.media_type:
            fields["mimeType"] = self.media_type
        return fields

    def match(self, uri: str) -> Mapping[str, object] | None:
        """Return the variables of a URI, or None if the URI does not match."""
        if self.template is None:
            return {} if uri == self.uri else None
        return self.template.match(uri)


@checked
def resource(
    uri: str,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    media_type: str = "",
    **about: object,
) -> Callable[[Callable[P, R]], Resource[P, R]]:
    """Make a resource of a function that returns what is to be read.

    It returns text, bytes, content blocks, or anything JSON can hold. It may raise `NotFound`.

    Args:
        uri: Where it is: a URI, or a template (RFC 6570) whose variables are the parameters.
        name: Its name; the function's own by default.
        title: Its name for people.
        description: The docstring's text by default.
        media_type: Of what it returns.
        about: Further fields for clients, by the protocol's names: ``annotations``, ``icons``,
            ``size``, ``_meta``.

    Raises:
        DefinitionError: the function's parameters are not the template's variables.

    >>> @resource("notes://{name}", media_type="text/markdown")
    ... def note(name: str) -> str:
    ...     "A note by its name."
    ...     return f"# {name}"
    >>> note.match("notes://todo")
    {'name': 'todo'}
    """
    caller = calling_frame()

    def make(wrapped: Callable[P, R]) -> Resource[P, R]:
        """Return a resource made of the function, or raise `DefinitionError`."""
        made = compile_tool(wrapped, (name, description), None, {**_OPTIONS}, caller)
        return Resource(made, uri, media_type, {"title": title, **about})

    return make


def _parse_template(tool: AnyTool, uri: str, arguments: list[str]) -> UriTemplate | None:
    """Return the URI template, or None if it has no variables.

    Raises:
        DefinitionError: its variables are not the function's parameters.
    """
    try:
        template = UriTemplate.parse(uri)
    except InvalidUriTemplate as error:
        raise DefinitionError(f"{tool.name}: {uri!r} is no URI template: {error}") from None
    names = template.variable_names
    if set(names) != set(arguments):
        raise DefinitionError(
            f"{tool.name}: the variables of {uri!r} are {names or 'none'}, but the function's "
            f"parameters are {arguments or 'none'}; they must be the same"
        )
    return template if names else None


def to_resource_contents(
    resource: Resource[..., Any], uri: str, value: object
) -> list[types.TextResourceContents | types.BlobResourceContents]:
    """Convert a resource function's return value to resource contents."""
    made = [
        _resource_contents(block, resource.media_type, uri) for block in to_content_blocks(value)
    ]
    if resource.media_type != PAGE_TYPE:
        return made
    meta = resource.metadata.get("_meta")  # hosts read it here, before that of the list
    return [each.model_copy(update={"meta": meta}) for each in made]


def _resource_contents(
    block: Block, media_type: str, uri: str
) -> types.TextResourceContents | types.BlobResourceContents:
    """Convert one block to resource contents; an empty media type is replaced by the block's own."""
    match block:
        case Text(text):
            return types.TextResourceContents(
                uri=uri, text=text, mime_type=media_type or "text/plain"
            )
        case Data(text=text):
            kind = media_type or "application/json"
            return types.TextResourceContents(uri=uri, text=text, mime_type=kind)
        case _:
            file = File(block.data, uri, media_type or block.media_type, "", {"uri": uri})
            embedded = to_block(file)
            assert isinstance(embedded, types.EmbeddedResource)
            return embedded.resource


def result_value(part: Primitive[..., Any], message: ToolMessage) -> object:
    """Return what the function of a prompt or resource returned.

    Raises:
        MCPError: It failed; prompts and resources have no error results.
    """
    if not message.failed:
        return message.artifact
    wrong = message.kind in ("invalid_arguments", "malformed_arguments")
    code = types.INVALID_PARAMS if wrong else types.INTERNAL_ERROR
    raise MCPError(code, f"{part.name}: {message.text}")
