"""Calls that ask their client something before they end.

Up to revision 2025-11-25 a server sends a question as a request of its own while the call runs. Since
2026-07-28 the server answers the call with the question (`InputRequiredResult`), and the client
repeats the call with the answer (multi round-trip requests). A tool must not notice the difference and
must never run twice. So its task stays alive between two rounds, and the state that the client echoes
is only a handle of the waiting task::

    first request --> RUNNING --returns--> result
                       |   ^
            asks (ask) |   | next request: handle + answers (start_round)
                       v   |
                      WAITING --WAIT_SECONDS, or too many waiting--> cancelled

A handle can be used once.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar, cast

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import CLIENT_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from toolkeel._records.record import record

WAIT_SECONDS = 600.0
"""Seconds a call waits for its next round: as long as the SDK's sealed states are valid."""
MAX_WAITING = 1000
"""Maximum of waiting calls. Above it the longest waiting one is cancelled, of the same client if it
has one."""

Request: TypeAlias = ServerRequestContext[Any, Any]
Params: TypeAlias = types.InputResponseRequestParams
Work: TypeAlias = "Callable[[Exchange], Awaitable[BaseModel]]"
Answer = TypeVar("Answer", bound=BaseModel)


def is_modern(request: Request) -> bool:
    """Return True if a request's revision has no requests from the server."""
    return request.protocol_version in MODERN_PROTOCOL_VERSIONS


def client_id(request: Request) -> str:
    """Return the client id of a request's token, or an empty string without one."""
    scope = getattr(request.request, "scope", None) or {}
    user = scope.get("user")
    return str(user.username) if isinstance(user, AuthenticatedUser) else ""


def client_software(request: Request) -> str:
    """Return the name and version that a client gives of its software; empty if it gives none."""
    told: Any = (request.meta or {}).get(CLIENT_INFO_META_KEY)
    if not isinstance(told, dict):
        params = request.session.client_params
        told = params.client_info.model_dump() if params else {}
    return " ".join(str(told[key]) for key in ("name", "version") if told.get(key))


@record
class _Question:
    """A question without an answer so far.

    Args:
        request: The question as it is sent.
        answer: Completed with the client's answer.
        kind: Type of the answer; others are ignored.
    """

    request: types.InputRequest
    answer: asyncio.Future[BaseModel]
    kind: type[BaseModel]


class Exchange:
    """One call of a client, over all its rounds.

    Args:
        request: The client's request that is being answered.

    Attributes:
        request: Request of the current round; None between two rounds.
        questions: Unanswered questions to the client, by key.
    """

    __slots__ = ("_answers", "_keys", "_question_asked", "questions", "request", "task")

    def __init__(self, request: Request) -> None:
        self.request: Request | None = request
        self.questions: dict[str, _Question] = {}
        self.task: asyncio.Task[BaseModel] | None = None
        self._question_asked: asyncio.Future[None] | None = None
        self._answers: types.InputResponses = {}
        self._keys: set[str] = set()

    async def ask(self, key: str, question: types.InputRequest, kind: type[Answer]) -> Answer:
        """Ask the client, in as many rounds as that takes, and return its answer.

        Args:
            key: Name of the question, made unique within the call.
            question: The question.
            kind: Type of the answer.

        Raises:
            MCPError: the client refused, or cannot be asked.
        """
        request = self.request
        if request is not None and not is_modern(request):
            related = ServerMessageMetadata(related_request_id=request.request_id)
            return await request.session.send_request(question, kind, metadata=related)
        key = self._unique_key(key)
        answer = _parse_answer(self._answers.pop(key, None), kind)
        if answer is not None:
            return cast("Answer", answer)
        future: asyncio.Future[BaseModel] = asyncio.get_running_loop().create_future()
        self.questions[key] = _Question(question, future, kind)
        self._wake()
        return cast("Answer", await future)

    def _unique_key(self, key: str) -> str:
        """Return the key, with a number if it was used before in this call; mark it as used."""
        number, unique = 2, key
        while unique in self._keys:
            number, unique = number + 1, f"{key}_{number}"
        self._keys.add(unique)
        return unique

    def start_round(self, request: Request, answers: types.InputResponses | None) -> None:
        """Start a round with the client's answers, if it sent any; questions without a valid one are asked again."""
        self.request = request
        self._answers = dict(answers or {})
        for key in [key for key in self.questions if key in self._answers]:
            question = self.questions[key]
            answer = _parse_answer(self._answers.pop(key), question.kind)
            if answer is not None:
                del self.questions[key]
                if not question.answer.done():
                    question.answer.set_result(answer)

    async def finish_round(self) -> None:
        """Wait until the call has ended or asked a question; it has no request from then on."""
        assert self.task is not None
        if not self.questions and not self.task.done():
            self._question_asked = asyncio.get_running_loop().create_future()
            self.task.add_done_callback(self._wake)
            await self._question_asked
        self.request = None

    def _wake(self, _: object = None) -> None:
        """Wake the round that waits for a question or the end."""
        if self._question_asked is not None and not self._question_asked.done():
            self._question_asked.set_result(None)


def _parse_answer(answer: BaseModel | None, kind: type[BaseModel]) -> BaseModel | None:
    """Return an answer as the expected type, or None if it does not fit."""
    if answer is None or isinstance(answer, kind):
        return answer
    try:
        return kind.model_validate(answer.model_dump(by_alias=True, exclude_none=True))
    except ValidationError:
        return None


class CallRounds:
    """Calls of one server that wait for their client's next request.

    Args:
        limit: Maximum of waiting calls.
        lifetime: Seconds that a call waits before it is cancelled.
    """

    def __init__(self, limit: int = MAX_WAITING, lifetime: float = WAIT_SECONDS) -> None:
        self._limit = limit
        self._lifetime = lifetime
        self._waiting: dict[str, tuple[Exchange, asyncio.TimerHandle, str]] = {}
        self._tasks: set[asyncio.Task[BaseModel]] = set()

    async def run_round(self, request: Request, params: Params, work: Work) -> BaseModel:
        """Run one round of a call, and return its result or its questions; a cancelled round cancels the call.

        Args:
            request: The client's request.
            params: Its parameters, with the handle and the answers in later rounds.
            work: Returns the call's result; called once, in the first round.

        Raises:
            MCPError: The handle is unknown or expired.
        """
        if params.request_state is None:
            exchange = Exchange(request)
            exchange.start_round(request, params.input_responses)
            exchange.task = self._start(work(exchange))
        else:
            exchange = self._resume(params.request_state)
            exchange.start_round(request, params.input_responses)
        task = exchange.task
        assert task is not None
        try:
            await exchange.finish_round()
        except asyncio.CancelledError:
            task.cancel()
            raise
        if task.done():
            return task.result()
        questions = {key: each.request for key, each in exchange.questions.items()}
        return types.InputRequiredResult(
            input_requests=questions, request_state=self._suspend(exchange, client_id(request))
        )

    def close(self) -> None:
        """Cancel all waiting calls."""
        for handle in list(self._waiting):
            self._drop(handle)

    def _start(self, work: Awaitable[BaseModel]) -> asyncio.Task[BaseModel]:
        """Start a call as a task that outlives the request."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    def _on_task_done(self, task: asyncio.Task[BaseModel]) -> None:
        """Drop a finished task, and mark its exception as retrieved."""
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # marks it retrieved: the round may have been cancelled

    def _suspend(self, exchange: Exchange, client: str) -> str:
        """Store a waiting call and return its handle.

        If there are too many, the oldest one is cancelled, of the same client if it has one.
        """
        if len(self._waiting) >= self._limit:
            own = (handle for handle, (_, _, whose) in self._waiting.items() if whose == client)
            self._drop(next(own, next(iter(self._waiting))))
        handle = secrets.token_urlsafe(16)
        timer = asyncio.get_running_loop().call_later(self._lifetime, self._drop, handle)
        self._waiting[handle] = exchange, timer, client
        return handle

    def _resume(self, handle: str) -> Exchange:
        """Remove and return the waiting call of a handle, and stop its timer.

        Raises:
            MCPError: the handle is unknown or expired.
        """
        found = self._waiting.pop(handle, None)
        if found is None:
            raise MCPError(types.INVALID_PARAMS, "Invalid or expired requestState")
        exchange, timer, _ = found
        timer.cancel()
        return exchange

    def _drop(self, handle: str) -> None:
        """Remove a waiting call and cancel it."""
        exchange, timer, _ = self._waiting.pop(handle)
        timer.cancel()
        if exchange.task is not None:
            exchange.task.cancel()
