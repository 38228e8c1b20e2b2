"""The embedded model: rules, no weights, no network.

It is not a language model and says so in the first line of every answer. It exists so that the
first run needs no key, and so that tests, demos and documentation drive real tools:

1. `plan` cuts the prompt at commas and conjunctions and picks tools by the ideas that a
   part shares with a tool's name, description and parameters, in English and Chinese;
2. `fill` reads typed arguments out of the part, checks them against the schema, and
   turns "Paris and Tokyo" into two calls; what is missing is asked for, never invented;
3. `mend` corrects a failed call once, if its error says how;
4. `answer` words the results.

The same transcript and tools always give the same reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from toolkeel.define.output_type import OUTPUT_TOOL
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
from toolkeel.providers.offline.answer import call_text, sentence
from toolkeel.providers.offline.choose_tool import Wish, plan
from toolkeel.providers.offline.correct_call import mended
from toolkeel.providers.offline.follow_ups import follow_up, with_results
from toolkeel.providers.offline.read_transcript import Done, Turn, read_turn, same
from toolkeel.providers.offline.slots import Checker
from toolkeel.providers.offline.words import Language, language

MAX_CALLS = 16
"""Most calls made for one prompt."""

_GREETING = re.compile(
    r"\s*(?:hi|hello|hey|good (?:morning|afternoon|evening)|你好|您好|嗨|早上好|晚上好)(?![A-Za-z])[\s!！.。,，]*(?:there|all)?[\s!！.。]*",
    re.IGNORECASE,
)
_CAPABILITY = re.compile(
    r"\bwhat (?:can|do) you (?:do|offer)|\bwho are you|\bwhat are you|\bwhat tools|\bhelp\s*[!?.]*$|你(?:能|会|可以)(?:做|干)(?:些)?什么"
    r"|你是谁|有(?:哪些|什么)工具|帮助",
    re.IGNORECASE,
)
_THANKS = re.compile(r"\s*(?:thanks?(?: you)?|thx|谢谢|多谢)(?![A-Za-z]).{0,20}", re.IGNORECASE)
_PIECE = re.compile(r"[\u3400-\u9fff]{1,4}|\S+\s*|\s+")


class Offline:
    """The embedded model.

    >>> Offline().name
    'offline'
    """

    name = "offline"
    note = sentences.NOTE["en"]

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Yield the reply in small pieces, as a served model would."""
        for delta in reply(request):
            yield delta

    def __repr__(self) -> str:
        return "Offline()"


def reply(request: ModelRequest) -> list[Delta]:
    """The whole reply as deltas.

    Raises:
        ModelError: if the settings demand a tool that the request does not have.
    """
    turn = read_turn(request.messages)
    choice = request.settings.tool_choice or "auto"
    tools = _offered(request.tools, choice)
    speech = language(turn.prompt)
    wishes = _wishes(turn, tools, choice)
    calls = [] if choice == "none" else _next_calls(wishes, turn, tools)
    if request.settings.parallel_tool_calls is False:
        calls = calls[:1]
    if not calls and choice != "none":
        calls = _as_output(turn, tools)
    if calls:
        return _call_deltas(calls, turn)
    return _text_deltas(_answer(turn, wishes, request.tools, choice, speech))


def _offered(tools: Sequence[ToolDefinition], choice: str) -> Sequence[ToolDefinition]:
    if choice in ("auto", "none", "required"):
        return tools
    chosen = [tool for tool in tools if tool.name == choice]
    if not chosen:
        raise ModelError(f"tool_choice names {choice!r}, but the request has no such tool")
    return chosen


def _wishes(turn: Turn, tools: Sequence[ToolDefinition], choice: str) -> list[Wish]:
    """What the prompt asks for; a demanded call lowers the bar until some tool passes it."""
    found = plan(turn.prompt, tools) or follow_up(turn, tools)
    if not found and choice not in ("auto", "none"):
        found = plan(turn.prompt, tools, least=float("-inf"))[:1]
    return with_results(found, turn, tools)


def _next_calls(
    wishes: Sequence[Wish], turn: Turn, tools: Sequence[ToolDefinition]
) -> list[tuple[str, dict[str, object]]]:
    """Planned calls not made yet, and corrections of failed ones; never the same call twice."""
    wanted = [(wish.tool.name, wish.arguments) for wish in wishes if not wish.missing]
    by_name = {tool.name: tool for tool in tools}
    for done in turn.done:
        if done.failed and done.name in by_name and _planned(done, wishes):
            better = mended(by_name[done.name], done.arguments, done.text)
            if better is not None:
                wanted.append((done.name, better))
    fresh = [call for call in wanted if not any(same(*call, done) for done in turn.done)]
    return fresh[: max(MAX_CALLS - len(turn.done), 0)]


def _as_output(turn: Turn, tools: Sequence[ToolDefinition]) -> list[tuple[str, dict[str, object]]]:
    """The last result as the answer of a type that is asked for, if it is of that type."""
    tool = next((tool for tool in tools if tool.name == OUTPUT_TOOL), None)
    if tool is None or not turn.done or turn.done[-1].failed:
        return []
    found = _value(turn.done[-1].text)
    for given in (found, {"result": found}):
        if isinstance(given, dict) and Checker(tool.parameters).accepts(given):
            return [(OUTPUT_TOOL, given)]
    return []


def _value(text: str) -> object:
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return text


def _planned(done: Done, wishes: Sequence[Wish]) -> bool:
    """Whether a call came from the prompt itself: a correction is not corrected again."""
    return any(same(wish.tool.name, wish.arguments, done) for wish in wishes)


def _answer(
    turn: Turn,
    wishes: Sequence[Wish],
    tools: Sequence[ToolDefinition],
    choice: str,
    speech: Language,
) -> str:
    parts = _results(turn, wishes, tools, speech)
    parts += [sentences.ask(speech, wish.tool, wish.missing) for wish in wishes if wish.missing]
    if not parts:
        parts = [_small_talk(turn, tools, choice, speech, bool(wishes))]
    return "\n".join([sentences.NOTE[speech], *dict.fromkeys(parts)])


def _results(
    turn: Turn, wishes: Sequence[Wish], tools: Sequence[ToolDefinition], speech: Language
) -> list[str]:
    """A statement for each result that is no mere means to another."""
    parts: list[str] = []
    for done in turn.done:
        if not done.failed:
            if not any(done.text and done.text in wish.arguments.values() for wish in wishes):
                parts.append(sentence(speech, turn.prompt, done))
        elif not _corrected(done, turn, tools):
            tried = not _planned(done, wishes)
            parts.append(sentences.failed(speech, call_text(done), done.text, tried))
    return parts


def _corrected(failed: Done, turn: Turn, tools: Sequence[ToolDefinition]) -> bool:
    """Whether the call that the failure asked for was made."""
    tool = next((tool for tool in tools if tool.name == failed.name), None)
    better = mended(tool, failed.arguments, failed.text) if tool else None
    return better is not None and any(same(failed.name, better, done) for done in turn.done)


def _small_talk(
    turn: Turn, tools: Sequence[ToolDefinition], choice: str, speech: Language, wanted: bool
) -> str:
    if not tools:
        return sentences.no_tools(speech)
    if choice == "none" and wanted:
        return sentences.not_allowed(speech)
    if _THANKS.fullmatch(turn.prompt):
        return sentences.welcome(speech)
    if _GREETING.fullmatch(turn.prompt) or _CAPABILITY.search(turn.prompt):
        return sentences.hello(speech, tools)
    return sentences.no_fit(speech, tools)


def _call_deltas(calls: Sequence[tuple[str, dict[str, object]]], turn: Turn) -> list[Delta]:
    deltas: list[Delta] = []
    for index, (name, arguments) in enumerate(calls):
        deltas.append(CallDelta(index, id=f"call_{turn.calls + index + 1}", name=name))
        text = json.dumps(arguments, ensure_ascii=False)
        deltas += [CallDelta(index, arguments=text[i : i + 12]) for i in range(0, len(text), 12)]
    return [*deltas, Finish("tool_calls", Usage(requests=1), Offline.name)]


def _text_deltas(text: str) -> list[Delta]:
    pieces: list[Delta] = [TextDelta(piece) for piece in _PIECE.findall(text)]
    return [*pieces, Finish("stop", Usage(requests=1), Offline.name)]
