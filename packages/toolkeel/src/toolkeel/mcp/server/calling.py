"""The features of the calling client that a running tool, prompt or resource can use."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any, Final, Generic, Literal, NoReturn, TypeVar, overload

import mcp_types as types
from mcp.server.connection import allowed_log_levels
from mcp.server.elicitation import render_elicitation_schema
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

from toolkeel._records.record import record
from toolkeel._records.tickets import Ticket
from toolkeel.context import ToolContext
from toolkeel.define.schema.json_schema_validator import compile_json_schema
from toolkeel.errors import SetupError, ToolError
from toolkeel.mcp.content import from_blocks, to_blocks
from toolkeel.mcp.hidden_text import BLANK
from toolkeel.mcp.messages import unreadable_reason
from toolkeel.mcp.server.multi_round_calls import Exchange, is_modern
from toolkeel.messages import AssistantMessage, FinishReason, UserMessage

Feature = Literal["elicitation", "url", "sampling", "roots"]
Level = types.LoggingLevel
LEVELS: Final[tuple[Level, ...]] = (
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
)  # fmt: skip
EXCHANGE_KEY = "mcp exchange"
"""Key of a run's step state: the exchange of its call."""
LOG_LEVEL_KEY = "mcp log level"
"""Key of a run's step state: the function that returns the lowest log level its client wants."""

Form = TypeVar("Form")
Model = TypeVar("Model", bound=BaseModel)
_CAPABILITIES: Mapping[Feature, types.ClientCapabilities] = {
    "elicitation": types.ClientCapabilities(elicitation=types.ElicitationCapability()),
    "url": types.ClientCapabilities(
        elicitation=types.ElicitationCapability(url=types.UrlElicitationCapability())
    ),
    "sampling": types.ClientCapabilities(sampling=types.SamplingCapability()),
    "roots": types.ClientCapabilities(roots=types.RootsCapability()),
}


@record
class ElicitationResult(Generic[Form]):
    """A person's answer to an elicitation.

    Args:
        action: ``accept``, ``decline`` (refused) or ``cancel`` (no decision).
        content: The filled form; None unless accepted.
    """

    action: Literal["accept", "decline", "cancel"]
    content: Form | None = None

    @property
    def accepted(self) -> bool:
        """True if the person filled in the form."""
        return self.action == "accept"


class MissingCapability(ToolError):
    """Raised if the calling client did not declare the capability that is needed."""


class Client:
    """The client that made the current call: its person, model, folders and log.

    A tool, prompt or resource receives it through a parameter of this type, which models never see.
    It fails if the call did not come over the Model Context Protocol.

    Each question has a key. A client of revision 2026-07-28 receives concurrent questions
    (``asyncio.gather``) in one message. Give questions that repeat in every call keys of their own.
    The tool's timeout is paused while an answer is awaited.
    """

    def __init__(self, exchange: Exchange, context: ToolContext[Any] | None = None) -> None:
        self._exchange = exchange
        self._context = context

    @classmethod
    def from_tool_context(cls, context: ToolContext[Any]) -> Client:
        """Return the client that made the current call.

        Args:
            context: The context that any tool can receive.

        Raises:
            ToolError: The call did not come over the protocol.
        """
        exchange = context.run.scope.step_state.get(EXCHANGE_KEY)
        if not isinstance(exchange, Exchange):
            raise ToolError(
                f"{context.tool_name!r} needs to ask the client that calls it, and works only "
                "when it is called over the Model Context Protocol."
            )
        return cls(exchange, context)

    def supports(self, feature: Feature) -> bool:
        """Return True if the client declared this capability."""
        request = self._exchange.request
        if request is None:
            return False
        if feature in ("elicitation", "url"):
            return _can_elicit(request.session.client_capabilities, feature)
        return request.session.check_client_capability(_CAPABILITIES[feature])

    @overload
    async def elicit(
        self, message: str, form: type[Model], *, key: str = ...
    ) -> ElicitationResult[Model]: ...
    @overload
    async def elicit(
        self, message: str, form: Mapping[str, object], *, key: str = ...
    ) -> ElicitationResult[dict[str, Any]]: ...
    async def elicit(
        self, message: str, form: type[BaseModel] | Mapping[str, object], *, key: str = "elicit"
    ) -> ElicitationResult[Any]:
        """Ask the client's person to fill in a form. Never ask for a secret this way.

        Args:
            message: The text for the person.
            form: A flat pydantic model, or a JSON Schema of an object with plain values.
            key: Name of the question.

        Raises:
            MissingCapability: The client cannot ask a person.
            SetupError: the form is not flat.
            ToolError: the client did not answer, or the answer does not fit the form.
        """
        self._require("elicitation")
        schema, check = _compile_form(form)
        params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
        question = types.ElicitRequest(params=params)
        found = await self._ask(key, question, types.ElicitResult)
        if found.action != "accept":
            return ElicitationResult(found.action)
        return ElicitationResult("accept", check(found.content or {}))

    async def elicit_url(
        self, message: str, url: str, *, key: str = "elicit_url"
    ) -> ElicitationResult[None]:
        """Send the client's person to an address, such as to sign in: the way to ask for secrets.

        Args:
            message: The reason, for the person.
            url: The URL; what the person enters there never passes through the client.
            key: Name of the question.

        Raises:
            MissingCapability: the client cannot open addresses.
            ToolError: the client did not answer.
        """
        self._require("url")
        fields: dict[str, Any] = {"message": message, "url": url, "elicitation_id": key}
        question = types.ElicitRequest(params=types.ElicitRequestURLParams(**fields))
        found = await self._ask(key, question, types.ElicitResult)
        return ElicitationResult(found.action)

    async def sample(
        self,
        messages: str | Sequence[UserMessage | AssistantMessage],
        *,
        max_tokens: int,
        system: str = "",
        key: str = "sample",
    ) -> AssistantMessage:
        """Ask the client's model.

        Args:
            messages: The messages for the model.
            max_tokens: Maximum length of the answer, in tokens.
            system: Instructions.
            key: Name of the question.

        Raises:
            MissingCapability: The client offers no model.
            ToolError: the client did not answer.
        """
        self._require("sampling")
        sent = [UserMessage(messages)] if isinstance(messages, str) else messages
        params = types.CreateMessageRequestParams(
            messages=[_sampling_message(message) for message in sent],
            max_tokens=max_tokens,
            system_prompt=system or None,
        )
        question = types.CreateMessageRequest(params=params)
        found = await self._ask(key, question, types.CreateMessageResult)
        content = from_blocks([found.content])
        reason: FinishReason = "length" if found.stop_reason == "maxTokens" else "stop"
        return AssistantMessage(content, finish_reason=reason, model=found.model)

    async def roots(self, *, key: str = "roots") -> dict[str, str]:
        """Return the folders the client lets this call work in, as names by URI.

        Raises:
            MissingCapability: The client has no roots.
            ToolError: the client did not answer.
        """
        self._require("roots")
        found = await self._ask(key, types.ListRootsRequest(), types.ListRootsResult)
        return {str(root.uri): root.name or "" for root in found.roots}

    async def log(self, level: Level, data: object, logger: str | None = None) -> None:
        """Send a message to the client's log, if it asked for this level; ignore that the client has disconnected.

        Args:
            level: The severity (RFC 5424).
            data: Any JSON value.
            logger: The name of the logger, if any.
        """
        request = self._exchange.request
        if request is None or not self._is_level_enabled(level):
            return
        params = types.LoggingMessageNotificationParams(level=level, data=data, logger=logger)
        notification = types.LoggingMessageNotification(params=params)
        with suppress(MCPError):  # the client has disconnected
            await request.session.send_notification(notification, request.request_id)

    def _is_level_enabled(self, level: Level) -> bool:
        """Return True if the client wants log messages of a level."""
        request = self._exchange.request
        assert request is not None
        if is_modern(request):
            return level in allowed_log_levels(request.protocol_version, dict(request.meta or {}))
        level_of = self._context.run.scope.step_state.get(LOG_LEVEL_KEY) if self._context else None
        least = level_of(request) if callable(level_of) else "debug"
        return LEVELS.index(level) >= LEVELS.index(least)

    def _require(self, feature: Feature) -> None:
        """Raise `MissingCapability` unless the client declared a capability."""
        if not self.supports(feature):
            what = _CAPABILITIES[feature].model_dump(by_alias=True, exclude_none=True)
            raise MissingCapability(
                f"This needs a client that supports {feature}, and the one that called does not.",
                {"missing_capability": what},
            )

    async def _ask(self, key: str, question: types.InputRequest, kind: type[_Answer]) -> _Answer:
        """Ask a question while the tool's deadline is paused.

        Raises:
            ToolError: the client did not answer.
        """
        clock = self._context.pause_deadline() if self._context else nullcontext()
        try:
            with clock:
                return await self._exchange.ask(key, question, kind)
        except (MCPError, ValidationError) as error:
            why = error.message if isinstance(error, MCPError) else unreadable_reason(error)
            raise ToolError(f"The client did not answer {question.method}: {why}") from error


_Answer = TypeVar("_Answer", bound=BaseModel)


def _can_elicit(capabilities: types.ClientCapabilities | None, feature: Feature) -> bool:
    """Return True if the client supports forms, or URLs; False if it declares nothing.

    An empty capability means forms alone (specification, "Elicitation, Capabilities").
    """
    elicitation = capabilities.elicitation if capabilities else None
    if elicitation is None:
        return False
    if feature == "url":
        return elicitation.url is not None
    return elicitation.form is not None or elicitation.url is None


def _sampling_message(message: UserMessage | AssistantMessage) -> types.SamplingMessage:
    """Convert a message for the client's model."""
    role: Literal["user", "assistant"] = "user" if isinstance(message, UserMessage) else "assistant"
    blocks = to_blocks(message.content)
    if len(blocks) == 1:
        return types.SamplingMessage.model_validate({"role": role, "content": blocks[0]})
    return types.SamplingMessage.model_validate({"role": role, "content": blocks})


def _compile_form(
    form: type[BaseModel] | Mapping[str, object],
) -> tuple[dict[str, Any], Callable[[Mapping[str, object]], object]]:
    """Return a form's JSON Schema, and a function that validates an answer.

    Raises SetupError if a client cannot show the form.
    """
    if isinstance(form, Mapping):
        schema = dict(form)
        _reject_nested_form(schema)
        compiled = compile_json_schema(schema)

        def check(content: Mapping[str, object]) -> object:
            """Return the answer as a dict.

            Raises:
                ToolError: the answer does not fit the schema.
            """
            if not compiled.is_valid(content):
                _raise_unfit_answer("; ".join(map(str, compiled.errors(content)[:5])))
            return dict(content)

        return schema, check

    def validate(content: Mapping[str, object]) -> object:
        """Return the answer as the form's model.

        Raises:
            ToolError: the answer does not fit the model.
        """
        try:
            return form.model_validate(content)
        except ValidationError as error:
            _raise_unfit_answer(f"{error.error_count()} fields are wrong")

    try:
        return render_elicitation_schema(form), validate
    except TypeError as error:
        raise SetupError(f"{form.__name__} is no form a client can show: {error}") from None


def _reject_nested_form(schema: Mapping[str, object]) -> None:
    """Raise `SetupError` if a field of a form is neither a plain value nor a list."""
    properties = schema.get("properties")
    for name, each in properties.items() if isinstance(properties, Mapping) else ():
        kind = each.get("type") if isinstance(each, Mapping) else None
        if kind not in ("string", "number", "integer", "boolean", "array"):
            raise SetupError(
                f"a form is a flat object of plain values; its field {name!r} is {kind!r}"
            )


def _raise_unfit_answer(why: str) -> NoReturn:
    """Raise `ToolError`: the answer does not fit the form."""
    raise ToolError(f"What the client's person answered does not fit the form: {why}")


def approval_question(ticket: Ticket) -> str:
    """Return the text that asks a person for approval, with deceptive characters escaped."""
    arguments = json.dumps(dict(ticket.arguments), ensure_ascii=False, indent=2)
    hints = ", ".join(name for name, value in ticket.effects.items() if value is True)
    why, _, change = ticket.reason.partition("\n")
    about = "; ".join(filter(None, [why, hints]))
    shown = "\n\n".join(filter(None, [arguments, change]))
    text = f"May {ticket.tool} run with these arguments?\n\n{shown}"
    return "".join(map(_escape_hidden, f"{text}\n\n({about})" if about else text))


def _escape_hidden(char: str) -> str:
    """Return a character, as an escape if it is invisible."""
    hidden = unicodedata.category(char)[0] in "CZ" and char not in " \n"
    return f"\\u{ord(char):04x}" if hidden or char in BLANK else char
