"""What a running tool, prompt or resource may ask of the program that called it."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any, Final, Generic, Literal, TypeVar, overload

import mcp_types as types
from mcp.server.connection import allowed_log_levels
from mcp.server.elicitation import render_elicitation_schema
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

from toolkeel._records.record import record
from toolkeel._records.tickets import Ticket
from toolkeel.context import ToolContext
from toolkeel.define.schema.from_json_schema import compile_json_schema
from toolkeel.errors import SetupError, ToolError
from toolkeel.mcp.content import from_blocks, to_blocks
from toolkeel.mcp.hidden_text import BLANK
from toolkeel.mcp.server.multi_round_calls import Exchange, is_modern
from toolkeel.messages import AssistantMessage, FinishReason, UserMessage

Feature = Literal["elicitation", "url", "sampling", "roots"]
Level = types.LoggingLevel
LEVELS: Final[tuple[Level, ...]] = (
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
)  # fmt: skip
EXCHANGE_KEY = "mcp exchange"
"""Where a run keeps the exchange its call belongs to."""
LOG_LEVEL_KEY = "mcp log level"
"""Where a run keeps what says from which level on its client wants to be told."""

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
    """What a person answered.

    Args:
        action: ``accept``, ``decline`` (said no) or ``cancel`` (did not say).
        content: The filled form; None unless accepted.
    """

    action: Literal["accept", "decline", "cancel"]
    content: Form | None = None

    @property
    def accepted(self) -> bool:
        """Whether the form was filled."""
        return self.action == "accept"


class MissingCapability(ToolError):
    """The client that called has not declared that it can do this."""


class Client:
    """The program at the other end of a call: its person, its model, its folders, its log.

    A tool, prompt or resource gets it by a parameter of this type, which no model is shown, and
    fails if it was called another way than by the Model Context Protocol.

    Every question has a key, which a client of the revision 2026-07-28 is asked under; several
    questions asked at once (``asyncio.gather``) reach it in one message. Questions that are the
    same in each call should have keys of their own. While an answer is waited for, the tool's clock
    stands still.
    """

    def __init__(self, exchange: Exchange, context: ToolContext[Any] | None = None) -> None:
        self._exchange = exchange
        self._context = context

    @classmethod
    def from_tool_context(cls, context: ToolContext[Any]) -> Client:
        """The program that called.

        Args:
            context: As any tool gets it.

        Raises:
            ToolError: nobody called over the protocol.
        """
        exchange = context.run.scope.step_state.get(EXCHANGE_KEY)
        if not isinstance(exchange, Exchange):
            raise ToolError(
                f"{context.tool_name!r} needs to ask the program that calls it, and works only "
                "when it is called over the Model Context Protocol."
            )
        return cls(exchange, context)

    def supports(self, feature: Feature) -> bool:
        """Whether the client has declared that it can do this."""
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
            message: What to tell them.
            form: A flat pydantic model, or a JSON Schema of an object of plain values.
            key: Name of the question.

        Raises:
            MissingCapability: the client has no way to ask a person.
            SetupError: the form is not flat.
            ToolError: what came back does not fit the form.
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
            message: Why they shall go there.
            url: Where; what they do there never passes through the client.
            key: Name of the question.

        Raises:
            MissingCapability: the client cannot open addresses.
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
            messages: What is said to it.
            max_tokens: Length of its answer at most, in tokens.
            system: Instructions.
            key: Name of the question.

        Raises:
            MissingCapability: the client has no model to lend.
        """
        self._require("sampling")
        said = [UserMessage(messages)] if isinstance(messages, str) else messages
        params = types.CreateMessageRequestParams(
            messages=[_sampling_message(message) for message in said],
            max_tokens=max_tokens,
            system_prompt=system or None,
        )
        question = types.CreateMessageRequest(params=params)
        found = await self._ask(key, question, types.CreateMessageResult)
        content = from_blocks([found.content])
        reason: FinishReason = "length" if found.stop_reason == "maxTokens" else "stop"
        return AssistantMessage(content, finish_reason=reason, model=found.model)

    async def roots(self, *, key: str = "roots") -> dict[str, str]:
        """The folders the client lets this call work in: names by URI.

        Raises:
            MissingCapability: the client has none to tell.
        """
        self._require("roots")
        found = await self._ask(key, types.ListRootsRequest(), types.ListRootsResult)
        return {str(root.uri): root.name or "" for root in found.roots}

    async def log(self, level: Level, data: object, logger: str | None = None) -> None:
        """Tell the client's log, if it wants to be told.

        Args:
            level: How grave it is (RFC 5424).
            data: Anything JSON can hold.
            logger: Who says it.
        """
        request = self._exchange.request
        if request is None or not self._is_level_enabled(level):
            return
        params = types.LoggingMessageNotificationParams(level=level, data=data, logger=logger)
        notification = types.LoggingMessageNotification(params=params)
        with suppress(MCPError):  # nobody listens any more
            await request.session.send_notification(notification, request.request_id)

    def _is_level_enabled(self, level: Level) -> bool:
        request = self._exchange.request
        assert request is not None
        if is_modern(request):
            return level in allowed_log_levels(request.protocol_version, dict(request.meta or {}))
        level_of = self._context.run.scope.step_state.get(LOG_LEVEL_KEY) if self._context else None
        least = level_of(request) if callable(level_of) else "debug"
        return LEVELS.index(level) >= LEVELS.index(least)

    def _require(self, feature: Feature) -> None:
        if not self.supports(feature):
            what = _CAPABILITIES[feature].model_dump(by_alias=True, exclude_none=True)
            raise MissingCapability(
                f"This needs a client that supports {feature}, and the one that called does not.",
                {"missing_capability": what},
            )

    async def _ask(self, key: str, question: types.InputRequest, kind: type[_Answer]) -> _Answer:
        clock = self._context.off_the_clock() if self._context else nullcontext()
        try:
            with clock:
                return await self._exchange.ask(key, question, kind)
        except (MCPError, ValidationError) as error:
            raise ToolError(f"The client did not answer {question.method}: {error}") from error


_Answer = TypeVar("_Answer", bound=BaseModel)


def _can_elicit(capabilities: types.ClientCapabilities | None, feature: Feature) -> bool:
    """An empty capability stands for forms alone (specification, "Elicitation, Capabilities")."""
    said = capabilities.elicitation if capabilities else None
    if said is None:
        return False
    if feature == "url":
        return said.url is not None
    return said.form is not None or said.url is None


def _sampling_message(message: UserMessage | AssistantMessage) -> types.SamplingMessage:
    role: Literal["user", "assistant"] = "user" if isinstance(message, UserMessage) else "assistant"
    blocks = to_blocks(message.content)
    if len(blocks) == 1:
        return types.SamplingMessage.model_validate({"role": role, "content": blocks[0]})
    return types.SamplingMessage.model_validate({"role": role, "content": blocks})


def _compile_form(
    form: type[BaseModel] | Mapping[str, object],
) -> tuple[dict[str, Any], Callable[[Mapping[str, object]], object]]:
    """A form's schema, and what makes its content of an answer."""
    if isinstance(form, Mapping):
        schema = dict(form)
        _reject_nested_form(schema)
        compiled = compile_json_schema(schema)

        def check(content: Mapping[str, object]) -> object:
            if not compiled.is_valid(content):
                _raise_unfit_answer("; ".join(map(str, compiled.errors(content)[:5])))
            return dict(content)

        return schema, check

    def validate(content: Mapping[str, object]) -> object:
        try:
            return form.model_validate(content)
        except ValidationError as error:
            return _raise_unfit_answer(f"{error.error_count()} fields are wrong")

    try:
        return render_elicitation_schema(form), validate
    except TypeError as error:
        raise SetupError(f"{form.__name__} is no form a client can show: {error}") from None


def _reject_nested_form(schema: Mapping[str, object]) -> None:
    properties = schema.get("properties")
    for name, each in properties.items() if isinstance(properties, Mapping) else ():
        kind = each.get("type") if isinstance(each, Mapping) else None
        if kind not in ("string", "number", "integer", "boolean", "array"):
            raise SetupError(
                f"a form is a flat object of plain values; its field {name!r} is {kind!r}"
            )


def _raise_unfit_answer(why: str) -> object:
    raise ToolError(f"What the client's person answered does not fit the form: {why}")


def approval_question(ticket: Ticket) -> str:
    """What a person is asked; characters that could deceive them are made visible."""
    arguments = json.dumps(dict(ticket.arguments), ensure_ascii=False, indent=2)
    hints = ", ".join(name for name, said in ticket.effects.items() if said is True)
    why, _, change = ticket.reason.partition("\n")
    about = "; ".join(filter(None, [why, hints]))
    shown = "\n\n".join(filter(None, [arguments, change]))
    text = f"May {ticket.tool} run with these arguments?\n\n{shown}"
    return "".join(map(_escape_hidden, f"{text}\n\n({about})" if about else text))


def _escape_hidden(char: str) -> str:
    hidden = unicodedata.category(char)[0] in "CZ" and char not in " \n"
    return f"\\u{ord(char):04x}" if hidden or char in BLANK else char
