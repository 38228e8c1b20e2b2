"""The messages a run begins with: the prompt, and the instructions before it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from toolkeel._common.other_libraries_words import explain_foreign
from toolkeel.agent.run_state import RunState
from toolkeel.agent.transcript import repair
from toolkeel.call.body.callback import run_callback
from toolkeel.content import Audio, Block, Data, File, Image, Text
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage

C = TypeVar("C")
Prompt: TypeAlias = str | Sequence[Message | str | Block] | RunState | None
"""What the person says, or a transcript or a saved run to go on from; None, with a session, to go on
with what waits there."""
Instructions: TypeAlias = str | Callable[[RunContext[C]], str | Awaitable[str]]
"""What the model is told before anything else; a function is asked when a run begins."""

_MESSAGES = (SystemMessage, UserMessage, AssistantMessage, ToolMessage)
_BLOCKS = (Text, Image, Audio, File, Data)


def prompt_to_messages(prompt: Prompt) -> list[Message]:
    r"""Convert a prompt to a list of messages in which each call has its result.

    Raises:
        SetupError: the prompt is empty or of another type; the message names what is wrong.

    >>> prompt_to_messages(["What is this?", Image(url="https://example.org/a.png")])[0].text
    'What is this?\n[image/png, https://example.org/a.png]'
    """
    if isinstance(prompt, str):
        return [UserMessage(prompt)]
    items = _list_items(prompt)
    if not items:
        raise SetupError(f"the prompt is an empty list; {_WANTED}")
    if all(isinstance(item, (str, *_BLOCKS)) for item in items):
        blocks = (Text(item) if isinstance(item, str) else item for item in items)
        return [UserMessage(tuple(blocks))]
    for item in items:
        if not isinstance(item, _MESSAGES):
            raise SetupError(f"{item!r:.80} is no message; {explain_foreign(item) or _WANTED}")
    return repair(items)


def session_prompt_to_messages(prompt: object) -> list[Message]:
    """Convert a prompt to the new messages of a session; None, to only resume, gives no message.

    Raises:
        SetupError: the prompt is a saved run, or of another type.
    """
    if prompt is None:
        return []
    if isinstance(prompt, RunState):
        raise SetupError("a saved run goes on without a session, or a session without a saved run")
    return prompt_to_messages(prompt)  # type: ignore[arg-type]


_WANTED = (
    "give a text, a list of texts and pictures, or messages such as UserMessage('...'); "
    "toolkeel_compat.langchain.convert_to_messages makes them of dicts with a role"
)


def _list_items(prompt: Any) -> list[Any]:
    """Return the blocks or messages of a prompt as a list.

    Raises:
        SetupError: the prompt has another type, such as a dict or another library's object.
    """
    if isinstance(prompt, (*_MESSAGES, *_BLOCKS)):
        return [prompt]
    if isinstance(prompt, RunState):
        return list(prompt.messages)
    foreign = explain_foreign(prompt)
    if foreign or isinstance(prompt, Mapping) or not isinstance(prompt, Iterable):
        raise SetupError(f"{prompt!r:.80} is no prompt; {foreign or _WANTED}")
    return list(prompt)


async def insert_instructions(
    run: RunContext, instructions: Instructions[Any], text: str | None = None
) -> str:
    """Insert the instructions at the start of the run's transcript, replacing earlier ones.

    An empty text only removes those.

    Args:
        text: Their text as evaluated before, in a resumed run; None to evaluate them now.

    Returns:
        Their text.

    Raises:
        SetupError, CallbackTimeout: see `_evaluate`.
    """
    text = await _evaluate(instructions, run) if text is None else text
    run.transcript[: run.loop_state.instruction_count] = [SystemMessage(text)] if text else []
    run.loop_state.instruction_count = 1 if text else 0
    return text


async def _evaluate(instructions: Instructions[Any], run: RunContext) -> str:
    """Return the text of the instructions, or await the function that gives it.

    Raises:
        SetupError: the function returned something else than text.
        CallbackTimeout: the function took longer than the run's `callback_timeout`.
        Exception: what the function raised.
    """
    if isinstance(instructions, str):
        return instructions
    limit = run.scope.callback_timeout
    text = await run_callback(
        instructions, run, seconds=limit, name="the function for instructions"
    )
    if not isinstance(text, str):
        raise SetupError(f"instructions gave {text!r:.80}; let the function return a text")
    return text


def check_instructions(instructions: Instructions[C]) -> Instructions[C]:
    """Return the instructions unchanged.

    Raises:
        SetupError: the instructions are neither text nor a function.
    """
    if not (isinstance(instructions, str) or callable(instructions)):
        raise SetupError(
            f"instructions are {instructions!r:.80}; give a text, or a function of the run"
        )
    return instructions
