"""The embedded model: rules, no weights, no network.

It is not a language model and says so in the first line of every answer. It exists so that the
first run needs no key, and so that the tour, tests and documentation drive real tools:

1. `plan_calls` finds the tool that each sentence of the prompt speaks of, in English and Chinese;
2. `fill_arguments` reads typed arguments from the sentence and checks them against the schema;
   what is missing is asked for, never invented;
3. `correct_call` corrects a failed call once, if its error suggests a value;
4. `result_sentence` words the results.

The same transcript and tools always give the same reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import TypeAlias

from toolkeel.agent.bind_tools import count_in_run
from toolkeel.define.output_type import is_output_tool
from toolkeel.errors import ModelError
from toolkeel.messages import Usage
from toolkeel.model_interface import (
    CallDelta,
    Delta,
    Finish,
    ModelRequest,
    TextDelta,
    ToolDefinition,
)
from toolkeel.providers.offline import sentences
from toolkeel.providers.offline.answer import call_text, result_sentence
from toolkeel.providers.offline.choose_tool import PlannedCall, plan_calls
from toolkeel.providers.offline.correct_call import correct_call
from toolkeel.providers.offline.fill_arguments import MOST_CALLS
from toolkeel.providers.offline.lexicon import Language, language_of
from toolkeel.providers.offline.parameters import ArgumentChecker
from toolkeel.providers.offline.read_transcript import FinishedCall, Turn, is_same, read_turn

Call: TypeAlias = tuple[str, dict[str, object]]

_SMALL_TALK = re.compile(
    r"\s*(?:hi|hello|hey|good (?:morning|afternoon|evening)|你好|您好)(?![A-Za-z])[\s!！.。,，]*+(?:there|all)?[\s!！.。]*+$"
    r"|.*\bwhat (?:can|do) you (?:do|offer)|.*\bwho are you|.*\bwhat tools|.*\bhelp\s*[!?.]*$"
    r"|.*你(?:能|会|可以)(?:做|干)(?:些)?什么|.*你是谁|.*有(?:哪些|什么)工具",
    re.IGNORECASE,
)
_PIECE = re.compile(r"[\u3400-\u9fff]{1,4}|\S+\s*|\s+")


class Offline:
    """The embedded model.

    >>> Offline().name
    'offline'
    """

    name = "offline"
    note = sentences.NOTE["en"]

    @count_in_run
    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Yield the reply in small pieces, as a served model would.

        Raises:
            ModelError: `tool_choice` names a tool that the request does not have.
        """
        for delta in reply(request):
            yield delta

    def __repr__(self) -> str:
        return "Offline()"


def reply(request: ModelRequest) -> list[Delta]:
    """Return a complete reply as deltas.

    Raises:
        ModelError: if the settings demand a tool that the request does not have.
    """
    turn = read_turn(request.messages)
    choice = request.settings.tool_choice or "auto"
    tools = _filter_tools(request.tools, choice)
    planned = _plan(turn, tools, choice)
    calls: list[Call] = []
    if choice != "none":
        calls = _next_calls(planned, turn, tools) or _output_call(turn, tools)
    if request.settings.parallel_tool_calls is False:
        calls = calls[:1]
    if calls:
        return _call_deltas(calls, turn.call_count)
    return _text_deltas(_write_answer(turn, planned, request.tools, choice == "none"))


def _filter_tools(tools: Sequence[ToolDefinition], choice: str) -> Sequence[ToolDefinition]:
    """Return the tools that the tool choice allows.

    Raises:
        ModelError: if it names a tool that the request does not have.
    """
    if choice in ("auto", "none", "required"):
        return tools
    chosen = [tool for tool in tools if tool.name == choice]
    if not chosen:
        raise ModelError(f"tool_choice names {choice!r}, but the request has no such tool")
    return chosen


def _plan(turn: Turn, tools: Sequence[ToolDefinition], choice: str) -> list[PlannedCall]:
    """Plan calls for the prompt; without any, for the question it answers; if one is required, the best tool's."""
    found = plan_calls(turn.prompt, tools)
    if not found and turn.question:
        asked = plan_calls(turn.question, tools)
        if any(call.missing for call in asked):
            found = plan_calls(f"{turn.question.rstrip('?？')} {turn.prompt}", tools)
    if not found and choice not in ("auto", "none"):
        found = plan_calls(turn.prompt, tools, threshold=float("-inf"))[:1]
    return found


def _next_calls(
    planned: Sequence[PlannedCall], turn: Turn, tools: Sequence[ToolDefinition]
) -> list[Call]:
    """Return planned calls not made yet, and corrections of failed ones; never a call twice, nor over `MOST_CALLS`."""
    wanted = [(call.tool.name, call.arguments) for call in planned if not call.missing]
    for finished in turn.finished:
        if finished.failed and _is_planned(finished, planned):
            corrected = _find_correction(finished, tools)
            wanted += [] if corrected is None else [(finished.name, corrected)]
    fresh = [call for call in wanted if not any(is_same(*call, done) for done in turn.finished)]
    return fresh[: max(MOST_CALLS - len(turn.finished), 0)]


def _find_correction(
    finished: FinishedCall, tools: Sequence[ToolDefinition]
) -> dict[str, object] | None:
    """Return corrected arguments for a failed call, or None if its error suggests nothing."""
    tool = next((tool for tool in tools if tool.name == finished.name), None)
    return correct_call(tool, finished.arguments, finished.text) if tool else None


def _is_planned(finished: FinishedCall, planned: Sequence[PlannedCall]) -> bool:
    """Return True if the prompt asked for a call; a correction is not corrected again."""
    return any(is_same(call.tool.name, call.arguments, finished) for call in planned)


def _output_call(turn: Turn, tools: Sequence[ToolDefinition]) -> list[Call]:
    """Return a call that gives the last result as the agent's typed answer, or an empty list."""
    tool = next(filter(is_output_tool, tools), None)
    if tool is None or not turn.finished or turn.finished[-1].failed:
        return []
    found: object = turn.finished[-1].text
    with suppress(ValueError, RecursionError):
        found = json.loads(turn.finished[-1].text)
    checker = ArgumentChecker(tool.parameters)
    for arguments in (found, {"result": found}):
        if isinstance(arguments, dict) and checker.accepts(arguments):
            return [(tool.name, arguments)]
    return []


def _write_answer(
    turn: Turn, planned: Sequence[PlannedCall], tools: Sequence[ToolDefinition], forbidden: bool
) -> str:
    """Return the text of the reply: results, questions for missing arguments, or that no tool fits.

    With `forbidden`, the request permits no calls, and the text says so.
    """
    language = language_of(turn.prompt)
    parts = _write_results(turn, planned, tools, language)
    parts += [sentences.ask_for(language, c.tool, c.missing) for c in planned if c.missing]
    if not parts and not tools:
        parts = [sentences.no_tools(language)]
    elif not parts and forbidden and planned:
        parts = [sentences.calls_forbidden(language)]
    elif not parts and _SMALL_TALK.match(turn.prompt):
        parts = [sentences.hello(language, tools)]
    elif not parts:
        parts = [sentences.no_fit(language, tools)]
    return "\n".join([sentences.NOTE[language], *dict.fromkeys(parts)])


def _write_results(
    turn: Turn,
    planned: Sequence[PlannedCall],
    tools: Sequence[ToolDefinition],
    language: Language,
) -> list[str]:
    """Return a statement for each result, except failures that were corrected."""
    parts: list[str] = []
    for finished in turn.finished:
        if not finished.failed:
            parts.append(result_sentence(language, turn.prompt, finished))
            continue
        corrected = _find_correction(finished, tools)
        if corrected is None or not any(
            is_same(finished.name, corrected, c) for c in turn.finished
        ):
            again = not _is_planned(finished, planned)
            parts.append(sentences.failed(language, call_text(finished), finished.text, again))
    return parts


def _call_deltas(calls: Sequence[Call], before: int) -> list[Delta]:
    """Return calls as deltas in small pieces, then the end.

    `before` is the number of earlier calls.
    """
    deltas: list[Delta] = []
    for index, (name, arguments) in enumerate(calls):
        deltas.append(CallDelta(index, id=f"call_{before + index + 1}", name=name))
        text = json.dumps(arguments, ensure_ascii=False)
        deltas += [CallDelta(index, arguments=text[i : i + 12]) for i in range(0, len(text), 12)]
    return [*deltas, Finish("tool_calls", Usage(requests=1), Offline.name)]


def _text_deltas(text: str) -> list[Delta]:
    """Return a reply without calls: its text as small deltas, then `Finish`."""
    pieces: list[Delta] = [TextDelta(piece) for piece in _PIECE.findall(text)]
    return [*pieces, Finish("stop", Usage(requests=1), Offline.name)]
