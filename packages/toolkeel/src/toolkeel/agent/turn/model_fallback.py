"""Fallback: another model answers when the agent's is busy, down or too small (a model step)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from toolkeel._common.checked_arguments import checked
from toolkeel.agent.turn.steps import SendRequest
from toolkeel.call.body.callback import run_callback
from toolkeel.context import RunContext
from toolkeel.errors import ModelError, OutputError, RequestTooLarge, SetupError
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Model, ModelRequest, resolve_model


def should_fall_back(error: ModelError) -> bool:
    """Return True for an error that another model may not have: busy, down, unknown or too small.

    A wrong key or a malformed request is False: it would fail again and hide the cause.
    """
    return error.retryable or error.status == 404 or isinstance(error, RequestTooLarge)


_SHOWN = (
    "a part of the reply was shown already, so {} is not asked, as it would give a second answer; "
    "run again to ask it"
)


class Fallback:
    """A `ModelStep`: other models answer when the agent's fails.

    The model that answered is asked first for the rest of the run. No other is asked once listeners
    have received a part of a reply: they would read two answers.

    Args:
        models: Names or models to ask, in order, after the agent's.
        when: Returns True for an error that asks the next model; see `should_fall_back`.

    Raises:
        SetupError: no model is named, or a name is unknown.
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
        """Send a request to the model that last answered in this run, then to those after it.

        Records the model that answers. Raises the error of the last model, or the first error that is
        an `OutputError`, that `when` rejects, or that came after a streamed part.
        """
        tried = (request.model, *self.models)
        first = run.scope.step_state.get(self, 0)
        assert isinstance(first, int)
        for place in range(first, len(tried)):
            try:
                reply = await proceed(replace(request, model=tried[place]))
            except ModelError as error:
                last = place + 1 == len(tried)
                if last or isinstance(error, OutputError) or not await self._accepts(error, run):
                    raise
                if error.was_streamed:
                    error.args = (f"{error}; {_SHOWN.format(self.models[place].name)}",)
                    raise
            else:
                run.scope.step_state[self] = place
                return reply
        raise AssertionError("the last model has answered or failed")

    async def _accepts(self, error: ModelError, run: RunContext) -> bool:
        """Return True if the next model is to be asked after an error.

        Raises:
            CallbackTimeout: `when` took longer than the run's `callback_timeout`.
        """
        if self._when is should_fall_back:
            return should_fall_back(error)
        limit = run.scope.callback_timeout
        return bool(await run_callback(self._when, error, seconds=limit, name="Fallback(when=)"))
