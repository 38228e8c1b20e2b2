"""`AGUIAdapter`: an AG-UI request in, a stream of its events out. Nothing is stored here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, TypedDict, Unpack

from pydantic import BaseModel, ValidationError

from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared, Proceed
from toolkeel.errors import MissingExtraError, SetupError
from toolkeel_compat.check_options import check_options
from toolkeel_compat.pydantic_ai.agent import Agent
from toolkeel_compat.pydantic_ai.exceptions import to_run_error

try:
    from ag_ui.core import events as ui
    from ag_ui.core.types import RunAgentInput
    from ag_ui.encoder import EventEncoder
    from starlette.responses import Response, StreamingResponse
except ImportError as error:
    raise MissingExtraError("AGUIAdapter", "agui") from error

from toolkeel_compat.pydantic_ai.ag_ui.decode import decode_messages, decode_resume, decode_tools
from toolkeel_compat.pydantic_ai.ag_ui.encode import RunEncoder

__all__ = ["AGUIAdapter"]


class DispatchOptions(TypedDict, total=False):
    """Options of `AGUIAdapter.dispatch_request` besides the agent.

    Attributes:
        deps: The user's own object; its ``state`` becomes that of the client.
        model: Another model.
        instructions: Further instructions.
        usage_limits: Limits of the run.
        model_settings: Settings over those of the agent.
        toolsets: Further sets of tools.
        output_type: Another output type.
    """

    deps: Any
    model: Any
    instructions: str | None
    usage_limits: Any
    model_settings: Any
    toolsets: Sequence[Any] | None
    output_type: Any


class AGUIAdapter:
    """Runs an agent for requests of AG-UI clients."""

    @classmethod
    async def dispatch_request(
        cls, request: Any, *, agent: Agent, **options: Unpack[DispatchOptions]
    ) -> Response:
        """Run the agent for a request of Starlette or FastAPI, and stream the run's events.

        Args:
            request: Its body is a ``RunAgentInput``.
            agent: The agent.
            options: See `DispatchOptions`.

        Raises:
            TypeError: An option is unknown.
        """
        known = check_options(options, DispatchOptions, "AGUIAdapter.dispatch_request")
        try:
            sent = RunAgentInput.model_validate_json(await request.body())
        except ValidationError as error:
            text = error.json(include_context=False)
            return Response(text, 422, media_type="application/json")
        encoder = EventEncoder(accept=request.headers.get("accept") or "")
        stream = _stream(agent, sent, known)
        texts = (encoder.encode(event) async for event in stream)
        return StreamingResponse(texts, media_type=encoder.get_content_type())


async def _stream(agent: Agent, sent: Any, options: dict[str, Any]) -> AsyncIterator[ui.BaseEvent]:
    """Yield the events of the run that a client asks for."""
    encoder = RunEncoder(sent)
    for one in encoder.start():
        yield one
    try:
        async for one in _run(agent, sent, options, encoder):
            yield one
    except Exception as error:
        for one in encoder.fail(
            to_run_error(error, str(agent.name or ""), agent.count_retries("output"))
        ):
            yield one


async def _run(
    agent: Agent, sent: Any, options: dict[str, Any], encoder: RunEncoder
) -> AsyncIterator[ui.BaseEvent]:
    async def take_events(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> Any:
        """Take the events that a tool returns, for the client; the model reads them as JSON."""
        value = await proceed(prepared)
        several: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
        events = [one for one in several if isinstance(one, ui.BaseEvent)]
        if not events or len(events) < len(several):
            return value
        encoder.results[context.call.id] = events
        dumped = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in events]
        return dumped if isinstance(value, list | tuple) else dumped[0]

    deps = options.get("deps")
    _set_state(deps, sent.state)
    made = agent.build_for_client(options, decode_tools(sent.tools or ()), [take_events])
    begin: Any = list(decode_messages(sent.messages))
    more: dict[str, Any] = {}
    if sent.resume:
        waiting = await made.run(begin, deps=deps)
        begin, more = waiting.state, {"decisions": decode_resume(sent.resume, waiting.pending)}
    run = made.stream(begin, deps=deps, **agent.make_limits(options), **more)
    async for event in run:
        for one in encoder.encode(event):
            yield one
    result = run.result
    if result.reason == "limit":
        raise SetupError(f"the run reached a limit ({result.limit})")
    for one in encoder.finish(result.pending):
        yield one


def _set_state(deps: Any, state: Any) -> None:
    """Set the client's state, validated if the program's is a model."""
    if hasattr(deps, "state"):
        kind = type(deps.state)
        deps.state = kind.model_validate(state or {}) if issubclass(kind, BaseModel) else state
