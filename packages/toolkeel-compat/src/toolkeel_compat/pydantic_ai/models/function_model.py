"""`FunctionModel`, under the name of Pydantic AI: a model for tests that a function of the program answers for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, SystemMessage
from toolkeel.model_interface import Delta, ModelRequest
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.pydantic_ai.context import current_run
from toolkeel_compat.pydantic_ai.messages import (
    ModelResponse,
    get_values,
    make_reply,
    to_model_messages,
)
from toolkeel_compat.pydantic_ai.models.test_model import OfferedTool, list_offered


@record
class AgentInfo:
    """What a request offers, for the function of a `FunctionModel`.

    Args:
        function_tools: The program's tools.
        allow_text_output: The answer may be text.
        output_tools: Those that take the answer.
        instructions: The instructions; None without any.
    """

    function_tools: list[OfferedTool]
    allow_text_output: bool
    output_tools: list[OfferedTool]
    instructions: str | None


class FunctionModel:
    """A model that a function answers for.

    Args:
        function: ``(messages, AgentInfo) -> ModelResponse``, sync or async.
        options: ``model_name``; ``stream_function`` is refused.

    Raises:
        SetupError: An option has no counterpart.
    """

    def __init__(self, function: Callable[..., Any] | None = None, **options: Any) -> None:
        self.name = options.pop("model_name", None) or "function"
        if function is None or options:
            raise SetupError(
                "FunctionModel takes a function of (messages, info) and model_name; a model that "
                "streams is a toolkeel.Model: name, and async def stream(request)"
            )
        self.function = function

    def supports_format(self, format: Any, *, tools: bool) -> bool:
        """Return False: an answer of a type comes by a call.

        Args:
            format: The type's form.
            tools: Makes no difference here.
        """
        return False

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """Yield the function's reply."""
        tools, output_tools = list_offered(request)
        told = [one.text for one in request.messages if isinstance(one, SystemMessage)]
        said = [one for one in request.messages if not isinstance(one, SystemMessage)]
        is_text = request.settings.tool_choice != "required"
        info = AgentInfo(tools, is_text, output_tools, "\n\n".join(told) or None)
        run = current_run.get()
        values = {} if run is None else get_values(run)
        reply = await maybe_await(self.function(to_model_messages(said, values), info))
        if not isinstance(reply, ModelResponse):
            raise SetupError(f"FunctionModel: the function gave {reply!r:.80}, no ModelResponse")
        yield make_reply(reply)
