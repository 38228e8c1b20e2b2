"""Tools, results and runs as notebooks show them (``_repr_html_``), and runs while they go on.

The HTML is escaped, and has no script and no style sheet.

Whatever a tool wrote is text here, and what a model wrote is Markdown, without HTML and pictures of its
own. Pictures are shown if their bytes are a raster picture's; nothing is fetched.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from importlib import import_module
from time import perf_counter
from typing import Any

from typing_extensions import TypeVar

from toolkeel._records.tickets import Decision, Ticket
from toolkeel.agent.result import RunResult
from toolkeel.agent.run import Run
from toolkeel.call.toolset import Toolset
from toolkeel.content import Content, Image, Text, detect_media_type
from toolkeel.define.tool import Tool
from toolkeel.events import Replied, Streamed
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import TextDelta
from toolkeel.observe.wording import (
    ShownTable,
    arguments_of,
    compact,
    count,
    duration,
    escaped,
    pretty,
    table_of,
    title_of,
)

_render: Callable[[str], str] | None = None
try:
    from toolkeel_studio.markdown_html import MAX_MARKDOWN, markdown_html

    _render = markdown_html
except ImportError:  # without markdown-it, Markdown is shown as text
    MAX_MARKDOWN = 0

T = TypeVar("T", default=str)
MOST = 20_000
"""Characters of one text."""
_PICTURE_BYTES = 2_000_000
_ROWS = 20
_OPEN = 4_000
"""Characters of HTML up to which a result is shown without a click; failed calls and pictures always are."""
_SECONDS = 0.2
"""Seconds between two displays of a run that goes on."""
_DIM = "opacity:.7;font-size:.9em"
_BOX = (
    "border:1px solid currentColor;border-radius:6px;padding:.5em .8em;margin:.2em 0;max-width:60em;"
    "overflow-wrap:anywhere"
)
_PRE = "white-space:pre-wrap;overflow-wrap:anywhere;margin:.2em 0;text-align:left"


def html(value: object) -> str:
    """Render a value as HTML that runs nothing and reaches nothing.

    Args:
        value: A `Tool`, a `Toolset`, a `ToolMessage`, a `RunResult` or a `Run`; of anything else
            its text.

    >>> html("<b>")
    '<div style="white-space:pre-wrap;overflow-wrap:anywhere;margin:.2em 0;text-align:left">&lt;b&gt;</div>'
    """
    match value:
        case Tool():
            return _box(_tool(value))
        case Toolset():
            return _box([_bold(count(len(value), "tool")), *map(_row, value)])
        case ToolMessage():
            return _box(_outcome(value))
        case RunResult() | Run():
            return _box(_run(value))
        case _:
            return _text(str(value))


async def watch(run: Run[T]) -> RunResult[T]:
    """Display a run in a notebook while it goes on, and return its result.

    Where the run has no approver, the person is asked in the notebook about each call that waits.

    Args:
        run: A run of `Agent.stream` whose events are not read elsewhere.

    Raises:
        Exception: what the run raised.
    """
    page: Any = import_module("IPython.display")  # late: a notebook has it
    if run.context.approver is None:
        run.context.approver = ask
    place = page.DisplayHandle()
    place.display(page.HTML(html(run)))
    text, shown_at = "", perf_counter()
    async for event in run:
        if isinstance(event, Streamed) and isinstance(event.delta, TextDelta):
            text += event.delta.text
        elif isinstance(event, Replied):
            text = ""
        if perf_counter() - shown_at >= _SECONDS or not isinstance(event, Streamed):
            place.update(page.HTML(html(run) + (_box([_reply(text)]) if text else "")))
            shown_at = perf_counter()
    place.update(page.HTML(html(run)))
    return run.result


async def ask(ticket: Ticket) -> Decision:
    """Ask the person at a notebook whether a call may run, as an approver.

    An empty line or ``n`` denies it; any other answer than ``y`` denies it, too, and is the reason that
    the model reads.

    Args:
        ticket: The call.
    """
    page: Any = import_module("IPython.display")  # late: a notebook has it
    shown = [_bold(f"{ticket.tool} waits for approval"), _text(ticket.reason)]
    page.display(page.HTML(_box([*shown, _text(pretty(dict(ticket.arguments)))])))
    answer = (await asyncio.to_thread(input, "Run it? y, n, or the reason why not: ")).strip()
    if answer.lower() in ("y", "yes"):
        return ticket.approve()
    return ticket.deny() if answer.lower() in ("", "n", "no") else ticket.deny(answer)


def _escaped(text: object) -> str:
    clean = escaped(str(text))
    more = len(clean) - MOST
    return escape(clean[:MOST] + (f" … {count(more, 'character')} more" if more > 0 else ""))


def _text(text: object) -> str:
    return f'<div style="{_PRE}">{_escaped(text)}</div>'


def _reply(text: str) -> str:
    """Render what a model wrote as Markdown; as text if it is too long, or without markdown-it."""
    if _render is None or len(text) > MAX_MARKDOWN:
        return _text(text)
    return f"<div>{_render(text)}</div>"


def _bold(text: str) -> str:
    return f"<b>{_escaped(text)}</b>"


def _dim(text: str) -> str:
    return f'<span style="{_DIM}">{_escaped(text)}</span>'


def _box(parts: Iterable[str]) -> str:
    return f'<div style="{_BOX}">{" ".join(parts)}</div>'


def _details(head: str, inside: str, is_open: bool = False) -> str:
    return f"<details{' open' * is_open}><summary>{head}</summary>{inside}</details>"


def _tool(tool: Tool[..., Any]) -> Iterator[str]:
    yield _bold(tool.name)
    yield _text(tool.description)
    known: Mapping[str, Any] = tool.parameters.get("properties", {})  # type: ignore[assignment]
    required: Any = tool.parameters.get("required", ())
    for name, schema in known.items():
        fields = schema if isinstance(schema, Mapping) else {}
        must = "" if name in required else ", may be left out"
        kind = _dim(f"{title_of(fields) or 'any'}{must}")
        yield f"<div>{_bold(name)} {kind} {_escaped(fields.get('description', ''))}</div>"
    yield _details("schema", _text(pretty(tool.parameters)))


def _row(tool: Tool[..., Any]) -> str:
    first = tool.description.partition("\n")[0]
    return f"<div>{_bold(tool.name)} {_dim(first)}</div>"


def _outcome(message: ToolMessage) -> Iterator[str]:
    word = f"failed: {message.kind}" if message.failed else "done"
    yield _dim(f"{message.name}: {word}, {duration(message.duration)}")
    details = message.details
    if details.get("exception"):
        place = f", {details['file']}, line {details.get('line')}" if details.get("file") else ""
        yield f"<div>{_bold(str(details.get('error')))}{_dim(place)}</div>"
    text = message.content if isinstance(message.content, str) else ""
    table = table_of(message.details, text)
    yield from _content(message.content) if table is None else _table(table)


def _table(table: ShownTable) -> Iterator[str]:
    """Render the first rows of a table, and how many it has."""
    head = "".join(f"<th>{_escaped(column)}</th>" for column in table.columns)
    shown = table.rows[:_ROWS]
    body = "".join(
        f"<tr>{''.join(f'<td>{_escaped(cell)}</td>' for cell in row)}</tr>" for row in shown
    )
    yield f'<div style="overflow-x:auto"><table><tr>{head}</tr>{body}</table></div>'
    if table.total > len(shown):
        yield _dim(f"{len(shown)} of {count(table.total, 'row')}")


def _content(content: Content, render: Callable[[str], str] = _text) -> Iterator[str]:
    for block in (Text(content),) if isinstance(content, str) else content:
        if not isinstance(block, Image):
            yield render(getattr(block, "text", f"[{type(block).__name__}]"))
            continue
        kind = detect_media_type(block.data)
        if kind.startswith("image/") and len(block.data) <= _PICTURE_BYTES:
            data = b64encode(block.data).decode()
            yield f'<div><img alt="" style="max-width:100%" src="data:{kind};base64,{data}"></div>'
        else:
            yield _dim(f"[{block.media_type}, {count(len(block.data), 'byte')}]")


def _run(run: RunResult[Any] | Run[Any]) -> Iterator[str]:
    messages = run.messages
    results = {one.tool_call_id: one for one in messages if isinstance(one, ToolMessage)}
    turns = sum(isinstance(message, AssistantMessage) for message in messages)
    tokens = [count(run.usage.total_tokens, "token")] if run.usage.total_tokens else []
    facts = [run.reason or "not ended", count(turns, "turn"), count(len(results), "call")]
    yield _dim(", ".join([*facts, *tokens]))
    for message in messages:
        yield from _message(message, results)
    if isinstance(run, RunResult) and run.has_output and run.output != messages[-1].text:
        yield f"<div>{_bold('answer')} {_text(run.output)}</div>"
    for ticket in run.pending:
        why = ticket.reason.partition("\n")[0]
        yield f"<div>{_bold('waits')} {_escaped(ticket.tool)} {_dim(why)}</div>"


def _message(message: Message, results: Mapping[str, ToolMessage]) -> Iterator[str]:
    if isinstance(message, UserMessage):
        yield f"<div>{_bold('you')} {''.join(_content(message.content))}</div>"
    if not isinstance(message, AssistantMessage):
        return
    if message.text.strip():
        yield f"<div>{_bold('model')} {''.join(_content(message.content, _reply))}</div>"
    for call in message.tool_calls:
        result = results.get(call.id)
        inside = "".join(_outcome(result)) if result else _dim("no result yet")
        mark = "" if result is None else "✗ " if result.failed else "✓ "
        is_open = result is not None and (result.failed or "<img" in inside or len(inside) <= _OPEN)
        yield _details(_escaped(f"{mark}{_call_text(call)}"), inside, is_open)


def _call_text(call: ToolCall) -> str:
    arguments = arguments_of(call)
    if isinstance(arguments, str):
        return f"{call.name}({arguments})"
    return (
        f"{call.name}({', '.join(f'{key}={compact(value)}' for key, value in arguments.items())})"
    )
