"""Guardrails of an agent: checks of the person's message, and of the agent's answer.

A guardrail that refuses ends the run with an exception that has the run. Input guardrails run beside the
first request; nothing of its reply is published before they have allowed the message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record
from toolkeel.agent.history import Cut, TranscriptWindow
from toolkeel.call.body.callback import CallbackTimeout, run_callback
from toolkeel.call.steps.guard import UNCHANGED, Allow, Reject, Stop, Verdict
from toolkeel.context import RunContext
from toolkeel.errors import SetupError, ToolkeelError, describe_error
from toolkeel.messages import AssistantMessage, Message

C = TypeVar("C")
log = logging.getLogger("toolkeel")

Check: TypeAlias = Callable[[Any, RunContext[C]], Verdict | Awaitable[Verdict]]
"""``(said, run)``, where `said` is the list of messages that the person has added, or ``(output,
run)``; sync or async. `RunContext.messages` has what came before."""
Stage: TypeAlias = Literal["input", "output"]


class GuardrailTripped(ToolkeelError):
    """Raised when a guardrail ends a run. `run` is the run's state.

    Args:
        text: Why.
        guardrail: Its name.
        stage: ``input`` if it looked at what a person said, ``output`` at what the agent answered.
    """

    run: Any = None

    def __init__(self, text: str, guardrail: str, stage: Stage) -> None:
        super().__init__(text)
        self.guardrail = guardrail
        self.stage = stage


@checked
@record
class Guardrail:
    """A check of the messages to an agent, or of its answers.

    Args:
        check: Gives `Allow`, `Reject` with a reason, or `Stop` with the exception to be raised. One
            that fails has rejected.
        name: For people; the check's own by default.
        blocking: True if the model is asked only after the check allowed; else both run side by
            side. It is always so if the model has tools that run at the provider.
    """

    check: Check[Any]
    name: str = ""
    blocking: bool = False

    async def check_value(self, about: object, run: RunContext, stage: Stage) -> None:
        """Run the check, write its verdict to the journal, and raise if it refuses.

        A check that raises, or returns no verdict, refuses; a warning is logged.

        Raises:
            GuardrailTripped: The check refused or failed.
            CallbackTimeout: It took longer than the run's `callback_timeout`.
            Exception: The one that its `Stop` has.
        """
        error: Exception | None = None
        try:
            limit, name = run.scope.callback_timeout, f"the guardrail {self.display_name!r}"
            verdict = await run_callback(self.check, about, run, seconds=limit, name=name)
            error = self._refusal_of(verdict, stage)
        except CallbackTimeout as late:  # no verdict: the run fails, and a resumed run asks again
            if run.recorder is not None:
                run.recorder.record_verdict(self.display_name, "timed out", str(late))
            raise
        except Exception as failure:
            log.warning(
                "the guardrail %s failed, which counts as a no", self.display_name, exc_info=failure
            )
            text = f"the guardrail {self.display_name!r} failed: {describe_error(failure)}"
            error = GuardrailTripped(text, self.display_name, stage)
            error.__cause__ = failure
        if run.recorder is not None:
            told = "" if error is None else str(error)
            run.recorder.record_verdict(
                self.display_name, "allowed" if error is None else "tripped", told
            )
        if error is not None:
            raise error

    @property
    def display_name(self) -> str:
        """The guardrail's name, or that of its check if it has none."""
        return self.name or str(getattr(self.check, "__name__", type(self.check).__name__))

    def _refusal_of(self, verdict: object, stage: Stage) -> Exception | None:
        """Return the exception for a verdict that refuses, or None for `Allow`.

        Raises:
            TypeError: The check returned no verdict, or a changed value.
        """
        if isinstance(verdict, Stop):
            return verdict.error
        if isinstance(verdict, Reject):
            return GuardrailTripped(verdict.text, self.display_name, stage)
        if not isinstance(verdict, Allow):
            kind = type(verdict).__name__
            raise TypeError(f"a guardrail must return Allow, Reject or Stop, not {kind}")
        if verdict.modified is not UNCHANGED:
            raise TypeError("a guardrail changes nothing: a step around the model request can")
        return None


NO_GUARDRAILS: tuple[Guardrail, ...] = ()
"""A default that leaves the type of `deps` open, as a bare ``()`` does not for type checkers."""


def as_guardrails(given: Iterable[Guardrail | Check[Any]]) -> tuple[Guardrail, ...]:
    """Convert a mix of `Guardrail` objects and plain check functions to guardrails.

    Raises:
        SetupError: an item is neither.
    """
    known = tuple(given)
    for each in known:
        if not (isinstance(each, Guardrail) or callable(each)):
            raise SetupError(f"{each!r:.80} is no guardrail; give Guardrail(check) or a function")
    return tuple(each if isinstance(each, Guardrail) else Guardrail(each) for each in known)


def is_blocking(guardrails: Iterable[Guardrail], *, has_hosted_tools: bool) -> bool:
    """Return True if input guardrails run before the model request, not beside it.

    Args:
        guardrails: The input guardrails of the agent; one that blocks makes all of them run first.
        has_hosted_tools: True if the provider may run tools itself, which no guardrail can hold back.
    """
    return has_hosted_tools or any(each.blocking for each in guardrails)


async def check_input(
    guardrails: Sequence[Guardrail], said: Sequence[Message], run: RunContext
) -> None:
    """Run the input guardrails on the person's messages.

    If one refuses, the journal notes that later requests of the session omit the messages.

    Raises:
        CallbackTimeout: one took too long; the messages are not omitted.
        Exception: what the first guardrail that refused raised.
    """
    try:
        await _run_guardrails(guardrails, list(said), run, "input")
    except CallbackTimeout:
        raise
    except Exception:
        if run.recorder is not None:
            run.recorder.hide_last_messages(len(said))
        raise


async def check_output(
    guardrails: Sequence[Guardrail], answer: object, run: RunContext, window: TranscriptWindow
) -> None:
    """Run the output guardrails on the answer.

    If one refuses, the window and the journal omit the answer from later requests.

    Raises:
        CallbackTimeout: one took too long; the answer is not omitted.
        Exception: what the first guardrail that refused raised.
    """
    try:
        await _run_guardrails(guardrails, answer, run, "output")
    except CallbackTimeout:
        raise
    except Exception:
        messages = run.messages
        start = len(messages) - 1
        while start and not isinstance(messages[start], AssistantMessage):
            start -= 1
        window.apply_cut(Cut(start, len(messages), (), "guardrail"))
        if run.recorder is not None:
            run.recorder.hide_last_messages(len(messages) - start)
        raise


async def _run_guardrails(
    guardrails: Sequence[Guardrail], about: object, run: RunContext, stage: Stage
) -> None:
    """Run guardrails concurrently and wait for all. The first refusal cancels the others.

    Raises:
        Exception: what the first guardrail that refused raised.
    """
    tasks = [asyncio.ensure_future(each.check_value(about, run, stage)) for each in guardrails]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
