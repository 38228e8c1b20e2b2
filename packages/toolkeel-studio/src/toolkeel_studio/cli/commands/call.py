"""``toolkeel call``: call one tool as a model would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from toolkeel._common.nearest_names import nearest_names
from toolkeel.builtin.tools_by_place import load_target
from toolkeel.builtin.tools_in_module import suggest_or_list
from toolkeel.call.toolset import Toolset
from toolkeel.context import CancelToken, RunContext
from toolkeel.define.tool import AnyTool
from toolkeel.events import Event, ToolFinished, event_dict
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.observe.wording import compact, duration, pretty
from toolkeel_studio.cli.arguments import read_arguments
from toolkeel_studio.cli.call_words import complete_call
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.terminal.interrupt import exit_code, run_interruptible
from toolkeel_studio.cli.terminal.progress import view
from toolkeel_studio.cli.terminal.streams import DIM, RED, echo, note, stdout_kept_clean


def command(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Where the tools are.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOOL] [KEY=VALUE]...",
            help="The tool, unless the target has only one; then its arguments.",
            show_default=False,
        ),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Print what is for people, on stderr.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Approve the call, if it asks for approval.")
    ] = False,
    complete: Annotated[bool, typer.Option("--complete", hidden=True)] = False,
) -> None:
    """Call one tool as a model would, without a model.

    Arguments are KEY=VALUE words: text where the tool takes text, JSON elsewhere. KEY=@FILE and
    KEY=- take the value from a file or stdin, KEY:=JSON is JSON in any case, a repeated KEY makes
    a list. One JSON object, @FILE or - stands for all arguments.

    Prints what the model would read. If the call fails, prints why on stderr and exits with 1.
    """
    if complete:
        with stdout_kept_clean():
            offered = complete_call([target, *(words or ())])
        echo("\n".join(offered))
        return
    with stdout_kept_clean():
        tools = load_target(target)
    call_one(tools, target, words or (), (details, as_json, yes))


def call_one(
    tools: Toolset, target: str, words: Sequence[str], options: tuple[bool, bool, bool]
) -> None:
    """Call a tool and print its result.

    Args:
        tools: Where it is.
        target: How the person named them.
        words: The tool, unless there is only one, and its arguments.
        options: Details, JSON, yes: as the command takes them.
    """
    details, as_json, yes = options
    with stdout_kept_clean():
        tool, rest = _choose_tool(tools, list(words), target)
        call = ToolCall("call_1", tool.name, read_arguments(rest, tool))
        message, shown, token = _run(tools, call, yes)
    if as_json:
        echo(pretty(shown))
    elif message.failed:
        note(f"{message.kind}: {message.text}", RED)
        if not details and "error" in message.details:
            note(f"{message.details['error']}  (--details tells more)", DIM)
        if message.kind == "denied" and not yes:
            note("--yes approves it", DIM)
    else:
        echo(message.text)
    if details:
        _show_details(message, shown)
    if message.failed:
        raise typer.Exit(exit_code(token))


def _choose_tool(tools: Toolset, words: list[str], target: str) -> tuple[AnyTool, list[str]]:
    """Return the tool, and the words that are its arguments."""
    first = words[0] if words else ""
    if first in tools:
        return tools[first], words[1:]
    names = tools.names
    is_argument = not first or "=" in first or first.lstrip()[:1] in ("{", "@") or first == "-"
    if is_argument and len(names) == 1:
        return tools[names[0]], words
    if len(names) == 1 and not nearest_names(first, names):
        return tools[names[0]], words  # no tool's name, so a word that lacks its key
    if is_argument:
        raise UsageProblem(f"say which tool of {target}: {', '.join(names)}")
    raise UsageProblem(f"{target} has no tool {first!r}; {suggest_or_list(first, names)}")


def _run(tools: Toolset, call: ToolCall, yes: bool) -> tuple[ToolMessage, Any, CancelToken]:
    """Run the call. Return its result, the result as JSON data, and the cancel token."""
    watcher = view(keep=False)
    ended: list[Any] = []
    tokens: list[CancelToken] = []

    def note_end(event: Event) -> None:
        if isinstance(event, ToolFinished):
            ended.append(event_dict(event)["message"])

    async def run(token: CancelToken) -> ToolMessage:
        tokens.append(token)
        approver = (lambda _: True) if yes else None
        shared: RunContext[None] = RunContext(
            listeners=(watcher, note_end), cancel=token, approver=approver
        )
        [message] = await tools.run([call], shared)
        return message

    try:
        return run_interruptible(run, returns_on_term=True), ended[0], tokens[0]
    finally:
        watcher.close()


def _show_details(message: ToolMessage, shown: Mapping[str, Any]) -> None:
    rows: dict[str, object] = {"duration": duration(message.duration), **shown["details"]}
    if message.kind:
        rows = {"kind": message.kind, **rows}
    if message.artifact is not None:
        rows["artifact"] = shown["artifact"]
    for key, value in rows.items():
        text = value if isinstance(value, str) else compact(value)
        note(f"{key}: {text.rstrip()}" if "\n" not in text else f"{key}:\n{text.rstrip()}", DIM)
