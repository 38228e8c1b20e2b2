"""Fallback: another model answers when the agent's is busy, down or too small (a model step)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from toolkeel._common.checked_arguments import checked
from toolkeel.agent.turn.steps import SendRequest
from toolkeel.context import RunContext
from toolkeel.errors import ModelError, OutputError, RequestTooLarge, SetupError
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Model, ModelRequest, resolve_model


def should_fall_back(error: ModelError) -> bool:
    """Return True if another model may do better: this one is busy, down, gone or too small.

    A wrong key or a malformed request would fail alike, and the cause would be hidden.
    """
    return error.retryable or error.status == 404 or isinstance(error, RequestTooLarge)


_SHOWN = (
    "a part of the reply was shown already, so {} is not asked, as it would give a second answer; "
    "run again to ask it"
)


class Fallback:
    """A `ModelStep`: other models answer when the agent's fails.

    The one that answered is asked first from then on in the same run. Nobody else is asked once a
    part of a reply was told to listeners: they would read two answers.

    Args:
        models: Who is asked, in order; names or models.
        when: True if an error is a reason; see `passes_on`.

    Raises:
        SetupError: for no model, or a name nobody knows.
    """

    @checked
    def __init__(
        self, *models: str | Model, when: Callable[[ModelError], bool] = should_fall_back
    ) -> None:
        if not models:
            raise SetupError("Fallback() names no model; give the models to fall back to")
        self.models = tuple(
            resolve_model(each) if isinstance(each, str) else each for each in models
        )
        self._when = when

    async def __call__(
        self, request: ModelRequest, run: RunContext, proceed: SendRequest
    ) -> AssistantMessage:
        tried = (request.model, *self.models)
        first = run.scope.step_state.get(self, 0)
        assert isinstance(first, int)
        for place in range(first, len(tried)):
            try:
                reply = await proceed(replace(request, model=tried[place]))
            except ModelError as error:
                last = place + 1 == len(tried)
                if last or isinstance(error, OutputError) or not self._when(error):
                    raise
                if error.was_streamed:
                    error.args = (f"{error}; {_SHOWN.format(self.models[place].name)}",)
                    raise
            else:
                run.scope.step_state[self] = place
                return reply
        raise AssertionError("the last model has answered or failed")
