"""What a server asks a person in the middle of a call: a small form, or to open an address.

It goes to whoever approves calls, as a ticket: the fields are its arguments, filled with the
server's defaults. Approving sends them, editing fills them in, denying declines, None cancels. What
does not fit the form is asked again; where nobody is there to be asked, it is cancelled.
"""

from __future__ import annotations

import logging
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic, time
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import urlsplit

import mcp_types as types

from toolkeel._records.record import NOTHING, record
from toolkeel._records.tickets import LIFETIME, Ticket, call_digest, new_id
from toolkeel.call.body.callback import ask_person
from toolkeel.call.steps.ask_approver import ask
from toolkeel.context import ToolContext
from toolkeel.define.schema.json_schema_validator import JsonSchemaValidator, compile_json_schema
from toolkeel.errors import DefinitionError, Suspend
from toolkeel.mcp.hidden_text import remove_hidden

log = logging.getLogger("toolkeel.mcp")

MAX_ATTEMPTS = 3
"""How often a form is asked before the server is told that it was cancelled."""
MAX_CHARACTERS = 4000
"""Characters of a server's question, and of what it says of a field, that a person is shown."""
MAX_QUESTIONS = 20
"""Questions of one server that may wait at once; more are cancelled."""
GIVEN_UP_SECONDS = 60.0
"""Seconds in which a server may still ask something for a call that was given up."""

Call = TypeVar("Call")


def limit_concurrency(ask: Callable[..., Awaitable[Any]], many: int, refusal: object) -> Any:
    """Wrap a callback to return the refusal, without a call, while `many` calls of it are pending.

    >>> import asyncio
    >>> asyncio.run(limit_concurrency(asyncio.sleep, 0, "refused")(1))
    'refused'
    """
    waiting = 0

    async def asked(*args: object, **kwargs: object) -> Any:
        """Call the callback, or return the refusal if `many` calls are pending."""
        nonlocal waiting
        if waiting >= many:
            return refusal
        waiting += 1
        try:
            return await ask(*args, **kwargs)
        finally:
            waiting -= 1

    return asked


class OpenCalls(Generic[Call]):
    """The open calls of one connection, with their owners.

    Over a pipe, a question of the older revisions names no call. If all open calls have one owner,
    it is theirs; otherwise it is unknown, and no person is asked. An abandoned call counts for a
    while, since its server may not have stopped.
    """

    def __init__(self) -> None:
        self._open: dict[int, tuple[object, Call]] = {}
        self._left: dict[object, float] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    @contextmanager
    def open(self, owner: object, call: Call) -> Iterator[None]:
        """Register a call while the context is active; if it is cancelled there, it counts as abandoned.

        Args:
            owner: Its owner.
            call: The call.
        """
        self._open[id(call)] = owner, call
        try:
            yield
        except CancelledError:
            self.abandon(owner)
            raise
        finally:
            del self._open[id(call)]

    def abandon(self, owner: object) -> None:
        """Count a call of an owner as open for `GIVEN_UP_SECONDS` more, since its server may continue it."""
        now = monotonic()
        self._left = {each: until for each, until in list(self._left.items()) if until > now}
        self._left[owner] = now + GIVEN_UP_SECONDS

    def newest(self) -> Call | None:
        """Return the most recently opened call of any owner, or None if no call is open."""
        calls = list(self._open.values())
        return calls[-1][1] if calls else None

    def find_owner_call(self, own: Call | None) -> Call | None:
        """Return the call a question belongs to: `own`, or the newest if all calls have one owner; else None.

        Calls are those that are open, and for a while those that were abandoned.

        Args:
            own: The call in whose context the question came, if the transport knows it.
        """
        if own is not None and id(own) in self._open:
            return own
        now = monotonic()
        owners = {owner for owner, until in list(self._left.items()) if until > now}
        owners |= {owner for owner, _ in list(self._open.values())}
        return self.newest() if len(owners) == 1 else None


@record
class Elicitation:
    """A server's question to a person.

    Args:
        server: Name of the server that asks; never what it calls itself.
        message: What it says.
        schema: JSON Schema of the form: a flat object. Empty if it asks to open an address.
        url: The address it wants opened; empty for a form.
    """

    server: str
    message: str
    schema: Mapping[str, object] = NOTHING
    url: str = ""

    @property
    def host(self) -> str:
        """Host and port of the URL, without user and password; empty without a URL."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def defaults(self) -> dict[str, object]:
        """The server's defaults by field, None for a required field without default; other fields are absent."""
        properties = self.schema.get("properties")
        fields = properties if isinstance(properties, Mapping) else {}
        required = self.schema.get("required")
        needed = required if isinstance(required, list) else []
        return {
            name: field.get("default") if isinstance(field, Mapping) else None
            for name, field in fields.items()
            if name in needed or (isinstance(field, Mapping) and "default" in field)
        }


Answer: TypeAlias = Mapping[str, object] | bool | None
Elicit: TypeAlias = Callable[[Elicitation], Answer | Awaitable[Answer]]
"""Answers for a person: the filled form, or True for the form as it is (or the address opened);
False declines, None cancels."""


async def answer_elicitation(
    elicitation: Elicitation, elicit: Elicit | None, context: ToolContext[Any] | None
) -> types.ElicitResult:
    """Ask a person a server's question until the answer fits, `MAX_ATTEMPTS` times at most.

    It is cancelled if no one can answer, or if answering fails, which is logged.

    Args:
        elicitation: The question.
        elicit: Who answers; the run's approver if there is none.
        context: The call in which it asks, if that is known.
    """
    form = _Form(elicitation)
    for _ in range(MAX_ATTEMPTS):
        try:
            answer = await _ask_once(elicitation, elicit, context, form.problem)
        except Exception:
            logging.getLogger("toolkeel").exception(
                "whoever answers %s failed; the question is cancelled", elicitation.server
            )
            return types.ElicitResult(action="cancel")
        if answer is False:
            return types.ElicitResult(action="decline")
        if answer is None:
            break
        if elicitation.url:
            return types.ElicitResult(action="accept")
        if (content := form.content(answer)) is not None:
            return types.ElicitResult(action="accept", content=content)
    return types.ElicitResult(action="cancel")


class _Form:
    """Form of a question, with validation of its answers.

    Attributes:
        problem: What was wrong with the last answer.
    """

    def __init__(self, elicitation: Elicitation) -> None:
        self.problem = ""
        self._defaults = elicitation.defaults
        self._validator: JsonSchemaValidator | None = None
        try:
            self._validator = compile_json_schema(elicitation.schema or True)
        except DefinitionError as error:
            self.problem = str(error)

    def content(self, answer: Mapping[str, object] | bool) -> dict[str, Any] | None:
        """Return the answer over the form's defaults (True: these alone), without empty fields.

        If that does not fit, or the form's schema does not compile, set `problem` and return None.
        """
        filled = self._defaults | (dict(answer) if isinstance(answer, Mapping) else {})
        filled = {name: value for name, value in filled.items() if value is not None}
        if self._validator is None:
            return None
        self.problem = "; ".join(map(str, self._validator.errors(filled)[:10]))
        return None if self.problem else filled


async def _ask_once(
    elicitation: Elicitation, elicit: Elicit | None, context: ToolContext[Any] | None, problem: str
) -> Answer:
    """Ask once: the callback, else the run's approver. Return None if there is neither, or if nobody decides now."""
    if elicit is not None:
        answer: Answer = await ask_person(elicit, elicitation, name="elicit=")
        return answer
    if context is None or context.run.approver is None:
        return None
    ticket = _ticket(elicitation, context.call.id, problem)
    try:
        decision = await ask(context.run, context.call.id, ticket)
    except Suspend:  # nobody says yes or no: a server does not wait for another run
        return None
    if decision.verdict == "edit":
        return decision.arguments
    return decision.verdict == "approve"


def _ticket(elicitation: Elicitation, call_id: str, problem: str) -> Ticket:
    """Build the ticket that shows a question to a person, with the form's fields as arguments."""
    name = f"answer to {elicitation.server}"
    fields, form = elicitation.defaults, elicitation.schema
    lines = [f"the server {elicitation.server} asks: {_line(elicitation.message)}"]
    if elicitation.url:
        fields = {"url": elicitation.url}
        form = {"type": "object", "properties": {"url": {"const": elicitation.url}}}
        lines = [f"the server {elicitation.server} wants you to open an address at "
                 f"{elicitation.host}: {_line(elicitation.message)}"]  # fmt: skip
    lines += _describe_schema(elicitation.schema)
    if problem:
        lines.append(f"not sent yet: {problem}")
    digest = call_digest(name, {"message": elicitation.message}, fields)
    expires = time() + LIFETIME
    return Ticket(new_id(), call_id, name, fields, digest, expires, "\n".join(lines), form=form)


def _describe_schema(schema: Mapping[str, object]) -> list[str]:
    """Return a line for each field of a form: name, type, description and choices."""
    properties = schema.get("properties")
    lines = []
    for name, field in (properties if isinstance(properties, Mapping) else {}).items():
        details = field if isinstance(field, Mapping) else {}
        about = [details.get("title"), details.get("description")]
        choices = details.get("enum")
        if isinstance(choices, list):
            about.append("one of " + ", ".join(map(str, choices)))
        text = _line("; ".join(str(each) for each in about if each))
        lines.append(f"  {_line(name)} ({details.get('type', 'any')}){': ' + text if text else ''}")
    return lines


def _line(text: str) -> str:
    """Return a server's text as one line, so that it cannot forge other lines."""
    shown = text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]} [cut here]"
    return " ".join(remove_hidden(shown)[0].split())


def parse_elicitation(server: str, params: types.ElicitRequestParams) -> Elicitation:
    """Parse the parameters of an elicitation request."""
    if isinstance(params, types.ElicitRequestURLParams):
        return Elicitation(server, params.message, NOTHING, params.url)
    schema = params.requested_schema
    plain = (
        schema if isinstance(schema, dict) else schema.model_dump(by_alias=True, exclude_none=True)
    )
    return Elicitation(server, params.message, plain)
