"""Model requests of a run: what is sent of the transcript, limits, steps, guardrails beside them.

Deltas become events as they arrive. While guardrails check what a person said, deltas are delayed, and
a reply to a message that they refuse never becomes an event.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Any

from toolkeel._records.result_store import RESULTS
from toolkeel.agent.guardrail import check_input, is_blocking
from toolkeel.agent.history import HistoryPolicy, ShortenedTranscript, TranscriptWindow
from toolkeel.agent.plan import Plan
from toolkeel.agent.reply_assembly import ReplyBuilder, normalize_reply
from toolkeel.agent.transcript import has_called_since_person
from toolkeel.agent.turn.active_agent import ActiveAgent
from toolkeel.agent.turn.context_overflow import OverflowRecovery, small_context_policy
from toolkeel.agent.turn.read_result import READ_TOOL, make_reading_tool
from toolkeel.agent.turn.reply_checks import (
    EMPTY,
    MAX_EMPTY,
    after_empty_reply,
    is_empty,
    lacks_call,
    raise_if_nothing_arrived,
)
from toolkeel.agent.turn.request_budget import RequestBudget, mark_sending
from toolkeel.agent.turn.steps import compose_steps
from toolkeel.call.body.model_interrupt import Interrupt
from toolkeel.call.enabled_tools import EnabledTools
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.define.tool import AnyTool
from toolkeel.errors import ModelError, ModelUnavailable, describe_error
from toolkeel.events import Replied, Retrying, Streamed, TurnStarted
from toolkeel.messages import AssistantMessage, Message, Usage, UserMessage
from toolkeel.model_interface import Delta, ModelRequest, RetryDelta, Settings, get_provider


class AtLimit(BaseException):
    """Raised when a limit does not permit a request. No step can catch it by mistake."""


class ModelCaller:
    """Sends model requests of a run: transcript window, offered tools, settings, limits, guardrails.

    Args:
        agent: The agent that owns the run.
        run: The run; its transcript grows.

    Attributes:
        window: The part of the transcript that is sent.
        offer: The tools that are offered to the model.
        forced: True while the settings force the model to make a call.
        unchecked_messages: Messages of people that the input guardrails have not checked.
        session_history: History policy of the session, for agents without one.
        full_transcript: The whole conversation of a session; None without a session.
    """

    def __init__(self, agent: ActiveAgent, run: RunContext) -> None:
        self._agent = agent
        self._run = run
        self.window = TranscriptWindow()
        self._overflow = OverflowRecovery(run, self.window, self._shorten)
        self.unchecked_messages: list[Message] = []
        self.session_history: HistoryPolicy | None = None
        self.full_transcript: ShortenedTranscript | None = None
        self._can_read_cuts = False
        self._turn = self._attempt = 0
        self._delayed: list[Delta] | None = None

    def use_tools(self, tools: Toolset) -> Toolset:
        """Prepare requests of the agent that owns the run now: settings, offered tools, budget, steps.

        Returns:
            The agent's `tools`, with further ones that requests need for search, output and reading.

        Raises:
            SetupError: cost is limited, and a model's price is unknown.
        """
        plan, run = self._agent.plan, self._run
        self._model = plan.model
        self._history = plan.history or self.session_history
        self._settings, self._unforced = _settings_of(plan)
        if has_called_since_person(run.transcript, self._agent.list_handoffs_here()):
            self._settings = self._unforced
        self.forced = self._settings is not self._unforced
        extra = (*(() if plan.output is None else plan.output.tools), *self._reading_tools(tools))
        self.offer = EnabledTools(tools, run, plan.search, extra, plan.handoffs)
        self.offer.tools.mask_secrets(run)
        self._request: ModelRequest | None = None
        askers = (*plan.model_steps, self._history)
        others = [model.name for asker in askers for model in getattr(asker, "models", ())]
        self._budget = RequestBudget(run, plan.model.name, *others)
        self._send = compose_steps(plan.model_steps, run, mark_sending(run, self.send))
        return self.offer.tools

    @property
    def limit(self) -> str:
        """The limit that ended the run, or "" if none was reached."""
        pool = self._run.scope.spending
        return self._budget.reached_limit or ("" if pool is None else pool.find_reached_limit())

    def stop_forcing(self) -> None:
        """Send settings from now on that force no call, because one was made."""
        self._settings, self._request, self.forced = self._unforced, None, False

    async def ask(self, turn: int, interrupt: Interrupt) -> AssistantMessage | None:
        """Send the next request and emit its reply. Return it, or None if the run was stopped or is at a limit.

        The taint sources read until then become visible to the reply's calls.

        Raises:
            ModelError: the model failed, or its reply broke off before any content.
            Exception: a guardrail refused the person's message.
        """
        run = self._run
        self._turn, self._attempt = turn, 0
        interrupt.arm()
        try:
            request = await self._next_request()
            # The reply's calls are judged by what it has seen.
            count = 0 if run.taint is None else len(run.taint.sources)
            run.loop_state.visible_taint = run.loop_state.request_taint = count
            fitting = self._overflow.send(request, self._call_with_guardrails, self._next_request)
            reply = await self._repeat_if_empty(*await fitting)
        except asyncio.CancelledError:
            if not interrupt.is_own():
                raise
            return None
        except AtLimit:
            return None
        finally:
            interrupt.disarm()
        if run.listeners:
            if not self._attempt:
                run.emit(
                    TurnStarted(
                        *run.next_event_fields(), turn, self._model.name, get_provider(self._model)
                    )
                )
            run.emit(Replied(*run.next_event_fields(), reply))
        if not reply.tool_calls and reply.finish_reason in ("error", "incomplete"):
            raise_if_nothing_arrived(reply)
        return reply

    async def _repeat_if_empty(
        self, request: ModelRequest, reply: AssistantMessage
    ) -> AssistantMessage:
        """While the reply is empty, tell the model and ask again. Record each as failed, and emit `Retrying`.

        Return it as it is if the run has an output type, or a step answered in the model's place.

        Raises:
            ModelError: a request failed; ModelUnavailable after `MAX_EMPTY` empty replies in a row.
        """
        run, count = self._run, 1
        if self._agent.plan.output is not None or not self._attempt:
            return reply  # a typed answer is corrected; a step may answer by itself
        while is_empty(reply):
            name = (request.model or self._model).name
            if count == MAX_EMPTY:
                raise ModelUnavailable(f"{name}: the model's reply was empty, {count} times")
            if run.recorder is not None:
                failed = self._attempt, EMPTY, name, reply.usage
                run.recorder.record_failed_request(*failed)
            if run.listeners:
                run.emit(Retrying(*run.next_event_fields(), count, 0.0, EMPTY))
            again = after_empty_reply(request)
            count, reply = count + 1, await self._send(again)
        return reply

    def require_call(self, reply: AssistantMessage) -> UserMessage | None:
        """Return a correction for a reply without a call although `tool_choice` forces one, or None.

        Emits `Retrying`. It corrects once: a second reply without a call is an answer.
        """
        run, choice = self._run, self._settings.tool_choice
        is_own = choice in (None, "auto", "none") or _has_hosted_tools(self._request)
        if is_own or not lacks_call(reply, run):
            return None
        wanted = "a tool" if choice == "required" else f"the tool {choice!r}"
        if run.listeners:
            problem = f"the reply calls no tool, and tool_choice is {choice!r}"
            run.emit(Retrying(*run.next_event_fields(), 1, 0.0, problem))
        return UserMessage(f"You called no tool. Call {wanted} now.", "correction")

    async def _next_request(self) -> ModelRequest:
        """Shorten the transcript if necessary. Return the next request; the previous object if unchanged."""
        run, window, messages = self._run, self.window, self._run.transcript
        self._history = self._history or small_context_policy(self._model)
        if self._history is not None or window.cuts:
            await self._shorten()
            messages = window.messages(run)
        fixed = self.offer.fixed
        offered = fixed if fixed is not None else await self.offer.current()
        request = self._request
        if request is None or request.tools is not offered or request.messages is not messages:
            request = ModelRequest(messages, offered, self._settings, self._model)
            self._request = request
        return request

    # — the part of the transcript that is sent —

    async def _shorten(self, policy: HistoryPolicy | None = None) -> None:
        """Let a history policy, by default the run's, cut the transcript; count its usage and cost. Do nothing without a policy."""
        run, window, history = self._run, self.window, policy or self._history
        view = window.view(run)
        if history is None:
            return
        view.reader_tool = self._reader
        start = run.messages[: window.initial_count]
        view.prompt_position = max(0, len(start) - len(unanswered_messages(start)))
        used = await window.shorten(history, run, view)
        if used != Usage():
            run.usage = run.usage + used
            self._budget.add(used, *(model.name for model in getattr(history, "models", ())))

    def _reading_tools(self, tools: Toolset) -> tuple[AnyTool, ...]:
        """Return the tool that reads omitted parts; empty if none is needed or `tools` has one.

        Sets the reader's name that notes on omitted parts mention; empty if nothing can be read again.
        """
        run, window = self._run, self.window
        full = self.full_transcript
        if full is None:
            full = ShortenedTranscript(lambda: window.cuts, lambda: run.messages)
        self._reader = ""
        if not (full.has_named_cuts or (self._history is not None and len(tools) > 0)):
            return ()
        self._register_cuts(full)
        self._reader = tools.keeper[0] if tools.keeper is not None else READ_TOOL
        return () if tools.keeper is not None or READ_TOOL in tools else (make_reading_tool(full),)

    def _register_cuts(self, full: ShortenedTranscript) -> None:
        """Add `full.find` to the lookups of long results, once, until the run ends."""
        if self._can_read_cuts:
            return

        async def forget() -> None:
            """Remove the lookup at the end of the run."""
            RESULTS.fallbacks.remove(find)

        self._can_read_cuts, find = True, full.find
        RESULTS.fallbacks.append(find)
        self._run.loop_state.cleanups.append(forget)

    async def send(self, request: ModelRequest) -> AssistantMessage:
        """Send one request to its model: reserve its cost, record it, stream events, count usage.

        Raises:
            AtLimit: a limit does not permit the request.
            ModelError: the model failed.
        """
        run, model = self._run, request.model or self._model
        if not self._budget.reserve(request, model.name):
            raise AtLimit
        self._attempt += 1
        if run.recorder is not None:
            await run.recorder.record_request(self._turn, model.name, request)
        if run.listeners:
            run.emit(
                TurnStarted(*run.next_event_fields(), self._turn, model.name, get_provider(model))
            )
        stream = model.stream(request)
        assembly: ReplyBuilder | None = None
        reply: AssistantMessage | None = None
        try:
            async for delta in stream:
                if isinstance(delta, AssistantMessage):
                    reply = normalize_reply(delta)
                    break
                if assembly is None:
                    assembly = ReplyBuilder()
                assembly.add(delta)
                if run.listeners:
                    self._emit_delta(delta)
            whole = reply = reply or (assembly or ReplyBuilder()).build()
        except Exception as error:
            reply = self._record_failure(error, assembly, model.name)
            raise
        finally:
            await self._close(stream, reply, model.name)
        run.usage = run.usage + whole.usage.with_request()
        return whole

    async def _close(self, stream: object, reply: AssistantMessage | None, model: str) -> None:
        """Settle the token budget with the reply, None if nothing arrived, and close the stream."""
        pool = self._run.scope.spending
        if pool is not None and pool.counts_tokens:
            self._budget.settle(reply, model)
        if (aclose := getattr(stream, "aclose", None)) is not None:
            await aclose()  # now, not when it is collected: it may hold a connection

    def _record_failure(
        self, error: Exception, assembly: ReplyBuilder | None, model: str
    ) -> AssistantMessage | None:
        """Record a failed request, in its error too, and count its usage. Return what has arrived, or None."""
        run, reply = self._run, None
        usage = error.usage if isinstance(error, ModelError) else Usage()
        if isinstance(error, ModelError) and (assembly is not None or usage != Usage()):
            reply = dataclasses.replace((assembly or ReplyBuilder()).build(), usage=usage)
            error.text = error.text or reply.text
            error.was_streamed = (
                assembly is not None and bool(run.listeners) and self._delayed is None
            )
            run.usage = run.usage + usage
        if run.recorder is not None:
            run.recorder.record_failed_request(self._attempt, describe_error(error), model, usage)
        return reply

    def _emit_delta(self, delta: Delta) -> None:
        """Emit a delta as `Streamed` or `Retrying`; append it to the delayed ones while guardrails run."""
        run = self._run
        if self._delayed is not None:
            self._delayed.append(delta)
        elif isinstance(delta, RetryDelta):
            seq, at, run_id = run.next_event_fields()
            retry = (delta.attempt, delta.wait, delta.error, delta.status)
            run.emit(Retrying(seq, at, run_id, *retry))
        else:
            run.emit(Streamed(*run.next_event_fields(), delta))

    # — guardrails beside it —

    async def _call_with_guardrails(self, request: ModelRequest) -> AssistantMessage:
        """Send the request beside the input guardrails, which delay its deltas, or after blocking ones.

        Raises the exception of a guardrail that refuses; nothing of the reply is emitted then.
        """
        if not self.unchecked_messages:
            return await self._send(request)
        guardrails, said = self._agent.guardrails, tuple(self.unchecked_messages)
        hosted = _has_hosted_tools(request)
        if not guardrails or is_blocking(guardrails, has_hosted_tools=hosted):
            await check_input(guardrails, said, self._run)
            self.unchecked_messages.clear()
            return await self._send(request)
        self._delayed = []
        judging = asyncio.ensure_future(check_input(guardrails, said, self._run))
        sending = asyncio.ensure_future(self._send(request))
        try:
            await asyncio.wait((judging, sending), return_when=asyncio.FIRST_COMPLETED)
            await judging
            self.unchecked_messages.clear()
            delayed, self._delayed = self._delayed, None
            for delta in delayed:
                self._emit_delta(delta)
            return await sending
        finally:
            self._delayed = None
            await self._cancel_tasks(judging, sending)

    async def _cancel_tasks(self, *tasks: asyncio.Future[Any]) -> None:
        """Cancel guardrails and request, and wait for both. A refused request is recorded as failed."""
        judging, sending = tasks
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        recorder = self._run.recorder
        if recorder is None or judging.cancelled() or judging.exception() is None:
            return
        if sending.cancelled() or sending.exception() is None:
            usage = Usage() if sending.cancelled() else sending.result().usage
            recorder.record_failed_request(
                self._attempt, "a guardrail refused it", self._model.name, usage
            )


def _has_hosted_tools(request: ModelRequest | None) -> bool:
    """Return True if the provider may run tools itself, during the request; False without a request."""
    tools = () if request is None else (*request.tools, request.settings.extra_body.get("tools"))
    return any(isinstance(each, list) or getattr(each, "hosted", None) for each in tools)


def _settings_of(plan: Plan) -> tuple[Settings, Settings]:
    """Return two settings: of the first requests, and of those after a call that the first ones force."""
    first, output = plan.settings, plan.output
    later = first
    if first.tool_choice not in (None, "auto", "none") and not first.keep_tool_choice:
        later = dataclasses.replace(first, tool_choice=None)
    if output is None:
        return first, later
    asked = output.apply_to(first)
    return asked, asked if later is first else output.apply_to(later)


def unanswered_messages(messages: Sequence[Message]) -> list[Message]:
    """Return the person's messages at the end of a transcript, after the last reply or result."""
    found: list[Message] = []
    for message in reversed(messages):
        if not isinstance(message, UserMessage) or message.origin != "person":
            break
        found.insert(0, message)
    return found
