"""Questions sent to models, a number of times, and what each was answered.

By default no tool runs: each question is one request, further ones only after an invalid call or as
long as the case expects more calls than were made. With `executes` the real tools run until the
model answers; calls that need approval are refused.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile, zip_longest
from time import perf_counter
from typing import Any

from toolkeel._records.record import record
from toolkeel.agent.agent import Agent
from toolkeel.agent.result import RunResult
from toolkeel.agent.run import Run
from toolkeel.call.toolset import Toolset
from toolkeel.context import CancelToken
from toolkeel.errors import ModelError, describe_error
from toolkeel.events import Event, ToolFinished
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, Usage
from toolkeel.model_interface import Model, Settings
from toolkeel.observe.wording import compact
from toolkeel_studio.evals.cases import Case
from toolkeel_studio.evals.scoring import MadeCall, judge
from toolkeel_studio.evals.tool_stubs import make_stubs

MAX_TURNS = 6
"""Requests for one question."""
UNUSUAL = ("cut_off", "refused", "limit")
"""Ends of a run that explain a wrong answer."""
REFUSED = "calls that need approval are refused in evaluations"


@record
class Subject:
    """A model that is evaluated, with one way of calling tools.

    Args:
        model: The model.
        name: Its name in the report.
        calls: The way of calling; empty for the model's own.
    """

    model: Model
    name: str
    calls: str = ""


@record
class Trial:
    """One question to one model, and what came of it.

    Args:
        case: Name of the case.
        model: Name of the model.
        calls: The way of calling.
        attempt: Which of the repetitions, from 1.
        made: The calls that the model made.
        right_tool: See `Verdict`.
        right_arguments: See `Verdict`.
        why: What is wrong; empty if nothing is.
        error: Why there is no answer: the model failed; empty if it did not.
        end: How the run ended, such as ``returned``, ``answered`` or ``cut_off``.
        text: The model's last text.
        input_tokens: Tokens read.
        output_tokens: Tokens written.
        seconds: Duration.
        corrected: See `Verdict`.
    """

    case: str
    model: str
    calls: str
    attempt: int
    made: tuple[MadeCall, ...]
    right_tool: bool
    right_arguments: bool
    why: str
    error: str
    end: str
    text: str
    input_tokens: int
    output_tokens: int
    seconds: float
    corrected: bool | None = None


@record
class Conditions:
    """What all questions of an evaluation share.

    Args:
        tools: The tools that the models are offered.
        instructions: Instructions for the model.
        times: How often each question is asked.
        executes: Run the tools.
        max_turns: Most requests for one question.
        timeout: Seconds for one question.
        settings: Sampling settings.
    """

    tools: Toolset
    instructions: str = ""
    times: int = 1
    executes: bool = False
    max_turns: int = MAX_TURNS
    timeout: float | None = None
    settings: Settings = Settings()


async def run_trials(
    cases: Sequence[Case],
    subjects: Sequence[Subject],
    conditions: Conditions,
    *,
    parallel: int = 1,
    cancel: CancelToken | None = None,
    finished: Callable[[Trial], object] = bool,
) -> list[Trial]:
    """Ask each question of each model. Return the trials in order: model, attempt, case.

    Args:
        cases: The questions.
        subjects: Who is asked.
        conditions: How.
        parallel: How many questions may be under way at once.
        cancel: Stops the evaluation; the questions under way have no trial.
        finished: Called with each trial.
    """
    token = cancel or CancelToken()
    room = asyncio.Semaphore(parallel)

    async def ask_in_turn(subject: Subject, case: Case, attempt: int) -> Trial | None:
        async with room:
            if token.cancelled:
                return None
            trial = await ask(case, subject, conditions, attempt, token)
            if token.cancelled:
                return None
            finished(trial)
            return trial

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(ask_in_turn(subject, case, attempt))
                for subject in subjects
                for attempt in range(1, conditions.times + 1)
                for case in cases
            ]
    except BaseExceptionGroup as failures:  # a mistake of the program; the first one is enough
        raise failures.exceptions[0] from None
    return [trial for task in tasks if (trial := task.result()) is not None]


async def ask(
    case: Case, subject: Subject, conditions: Conditions, attempt: int, cancel: CancelToken
) -> Trial:
    """Ask one question of one model, and judge its calls."""
    read: dict[str, list[Mapping[str, object] | None]] = {}

    def note_arguments(event: Event) -> None:
        if isinstance(event, ToolFinished):
            read.setdefault(event.call_id, []).append(event.arguments)

    began, error, end = perf_counter(), "", "failed"
    messages: Sequence[Message] = ()
    try:
        result = await _run(case, subject, conditions, [note_arguments], cancel)
        messages, end = result.messages, result.reason
    except ModelError as failure:
        run, error = getattr(failure, "run", None), describe_error(failure)
        messages = run.state.messages if isinstance(run, Run) else ()
    made = list_calls(messages, read)
    verdict = judge(case.calls, made, conditions.tools)
    replies = [message for message in messages if isinstance(message, AssistantMessage)]
    usage = sum((reply.usage for reply in replies), Usage())
    return Trial(
        case.name,
        subject.name,
        subject.calls,
        attempt,
        tuple(made),
        verdict.right_tool and not error,
        verdict.right_arguments and not error,
        f"{verdict.why} (the run ended: {end})" if verdict.why and end in UNUSUAL else verdict.why,
        error,
        end,
        replies[-1].text if replies else "",
        usage.input_tokens,
        usage.output_tokens,
        perf_counter() - began,
        verdict.corrected,
    )


async def _run(
    case: Case,
    subject: Subject,
    conditions: Conditions,
    listeners: Sequence[Callable[[Event], None]],
    cancel: CancelToken,
) -> RunResult:
    tools = conditions.tools if conditions.executes else make_stubs(conditions.tools, case.calls)
    agent = Agent(
        subject.model,
        tools,
        instructions=conditions.instructions,
        settings=conditions.settings,
        max_turns=conditions.max_turns,
    )
    options: dict[str, Any] = {"listeners": listeners, "cancel": cancel}
    if conditions.timeout is not None:
        options["timeout"] = conditions.timeout
    if conditions.executes:
        options["approver"] = lambda ticket: ticket.deny(REFUSED)
    result: RunResult = await agent.run(case.question, **options)
    if conditions.executes:
        return result
    while result.reason == "returned" and _expects_more(case, result.messages, conditions):
        result = await agent.run(result.messages, **options)
    return result


def _expects_more(case: Case, messages: Sequence[Message], conditions: Conditions) -> bool:
    """Return True if fewer calls were accepted than the case expects, and requests are left."""
    accepted = [m for m in messages if isinstance(m, ToolMessage) and not m.failed]
    requests = [m for m in messages if isinstance(m, AssistantMessage)]
    return len(accepted) < len(case.calls) and len(requests) < conditions.max_turns


def list_calls(
    messages: Sequence[Message], read: Mapping[str, Sequence[Mapping[str, object] | None]]
) -> list[MadeCall]:
    """Return the calls of a transcript with their results.

    Args:
        messages: The transcript.
        read: By id of the calls, which may repeat: the arguments as the tool read them, in order;
            None where they are those of the call.
    """
    left = {id: iter(many) for id, many in read.items()}
    made: list[MadeCall] = []
    turn = 0
    for place, message in enumerate(messages):
        if not isinstance(message, AssistantMessage):
            continue
        turn += 1
        results = takewhile(lambda m: isinstance(m, ToolMessage), messages[place + 1 :])
        for call, result in zip_longest(message.tool_calls, results):
            if call is not None:
                arguments = next(left.get(call.id, iter(())), None)
                made.append(_made_call(call, result, arguments, turn))
    return made


def _made_call(
    call: ToolCall, result: Message | None, read: Mapping[str, object] | None, turn: int
) -> MadeCall:
    is_result = isinstance(result, ToolMessage)
    name = result.name if isinstance(result, ToolMessage) else call.name
    kind = (result.kind or "") if isinstance(result, ToolMessage) else ""
    raw = call.arguments if isinstance(call.arguments, str) else compact(call.arguments)
    made = MadeCall(name, raw, kind, turn)
    if not made.valid or not is_result:
        return made
    return MadeCall(name, _as_object(raw) if read is None else read, kind, turn)


def _as_object(text: str) -> Mapping[str, object] | str:
    """Return the arguments of a valid call; their text if the tool takes text alone."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return text
    return found if isinstance(found, dict) else text
