"""The command ``toolkeel``: its entry point and exit codes.

Only the command that runs is imported; the others are known by the line that lists them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from toolkeel import __version__
from toolkeel.errors import CallError, ModelError, SetupError
from toolkeel_studio.cli import exit_codes
from toolkeel_studio.cli.terminal.standard_streams import (
    OutputLost,
    flush_output,
    output_exit_code,
)
from toolkeel_studio.cli.terminal.streams import RED, echo, note, prepare_streams, show_warnings

COMMANDS = {
    "demo": (
        "toolkeel_studio.cli.commands.demo",
        "Run a two-minute tour: real calls, no key, no network.",
    ),
    "run": (
        "toolkeel_studio.cli.commands.run",
        "Ask a model that may call tools, and print its answer.",
    ),
    "chat": ("toolkeel_studio.cli.chat.repl", "Talk with a model that may call tools."),
    "resume": ("toolkeel_studio.cli.commands.resume", "Go on with a run that waits for approval."),
    "approvals": (
        "toolkeel_studio.cli.commands.approvals",
        "List the calls that wait for approval.",
    ),
    "sessions": (
        "toolkeel_studio.cli.commands.sessions",
        "List, search, show, compare, fork and decide sessions.",
    ),
    "inspect": (
        "toolkeel_studio.cli.commands.inspect",
        "Open a page to try tools, watch runs, approve and compare.",
    ),
    "record": (
        "toolkeel_studio.cli.commands.record_replay:record",
        "Ask as run does, and keep the whole run in a file: a test.",
    ),
    "replay": (
        "toolkeel_studio.cli.commands.record_replay:replay",
        "Play a recorded run: no model is asked; changed requests fail.",
    ),
    "eval": (
        "toolkeel_studio.cli.eval_command",
        "Say how well models call tools, over a file of cases.",
    ),
    "stats": (
        "toolkeel_studio.cli.commands.stats",
        "Say how well models call tools, over sessions.",
    ),
    "skills": ("toolkeel_studio.cli.skills", "List and check Agent Skills."),
    "tools": ("toolkeel_studio.cli.commands.tools", "List the tools that a target brings."),
    "schema": (
        "toolkeel_studio.cli.commands.schema",
        "Show tools as a provider is told of them, as JSON.",
    ),
    "convert": (
        "toolkeel_studio.cli.commands.convert",
        "Turn a stored conversation of one provider into another's.",
    ),
    "index": ("toolkeel_studio.cli.commands.index", "Index a folder of documents, to be searched."),
    "local": (
        "toolkeel_studio.cli.local.command",
        "Run a model on this machine, from a file of weights.",
    ),
    "doctor": (
        "toolkeel_studio.cli.commands.doctor",
        "Say what is here, what is missing and what to do next.",
    ),
    "call": (
        "toolkeel_studio.cli.commands.call",
        "Call one tool as a model would, without a model.",
    ),
    "mcp": (
        "toolkeel_studio.cli.commands.mcp",
        "MCP servers: add, list, login, tools, call, pin, diff ...",
    ),
    "gateway": ("toolkeel_studio.cli.commands.gateway", "Many MCP servers behind one, with rules."),
    "serve": ("toolkeel_studio.cli.commands.serve", "Serve tools over the Model Context Protocol."),
    "acp": ("toolkeel_studio.cli.acp_command", "Serve an agent to an editor, such as Zed (ACP)."),
    "runs": (
        "toolkeel_studio.cli.runs",
        "List, decide, cancel, retry and delete durable runs.",
    ),
    "worker": ("toolkeel_studio.cli.worker", "Run what is in the queue of a durable agent."),
    "migrate": (
        "toolkeel_studio.cli.commands.migrate",
        "Change the imports of programs for other libraries to ours.",
    ),
    "completion": (
        "toolkeel_studio.cli.completion",
        "Print what makes a shell complete these commands.",
    ),
    "sandbox": (
        "toolkeel_studio.cli.commands.sandbox",
        "Run a command in the sandbox that agents' commands run in.",
    ),
}
"""Where each command is (``module``, or ``module:function``), and what it is for."""

_HELP = """Define a tool once; any model can call it.

A TARGET is a file (tools.py), one name in it (tools.py:search), a folder, a module
(package.module:name), a builtin (calculator, clock, files, weather), "builtin" for these, a builtin
with options (workspace:root=DIR, file_search:stores=NAME, fetch, web_search, code_interpreter), a
file of MCP servers (mcp.json, mcp.json:name), or the address of one (https://...).
"""
GROUPS = ("mcp", "runs", "sessions", "skills")
"""Commands that have commands of their own."""
ADVISE = ("run", "chat")
"""Commands that say themselves where words belong that they do not expect."""
EVERY = "completion"
"""The command that inspects all the others."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    Args:
        arguments: The words after the program's name; those of the process by default.
    """
    prepare_streams()
    show_warnings()
    code: int | str | None = exit_codes.OK
    try:
        _run_reporting(list(sys.argv[1:] if arguments is None else arguments))
    except SystemExit as end:
        code = end.code
    except OutputLost:
        pass
    if lost := flush_output():
        if not lost.is_unread:
            note(f"toolkeel: {lost}", RED)
        code = output_exit_code(code, lost)
    sys.exit(code)


def _run_reporting(words: Sequence[str]) -> None:
    """Run the command, and report its errors in one line each."""
    try:
        _run(words)
    except exit_codes.UsageProblem as problem:
        _fail(str(problem), exit_codes.USAGE)
    except SetupError as error:
        _fail(str(error), exit_codes.SETUP)
    except ModelError as error:
        _fail(f"the model failed: {error}", exit_codes.FAILED)
    except CallError as error:  # of a server, asked for something besides a call of a tool
        _fail(error.text, exit_codes.FAILED)
    except KeyboardInterrupt:
        _fail("interrupted", exit_codes.INTERRUPTED)


def _fail(text: str, code: int) -> NoReturn:
    note(f"toolkeel: {text}", RED)
    sys.exit(code)


def _run(words: Sequence[str]) -> None:
    try:
        import typer
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        raise SetupError("the command line needs an extra: pip install 'toolkeel[cli]'") from None
    if not words:
        import_module("toolkeel_studio.cli.start").start()
        return
    app = typer.Typer(
        **exit_codes.OPTIONS,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(help=_HELP)
    def everything(
        show_version: bool = typer.Option(
            False, "--version", help="Print the version and end.", callback=_version, is_eager=True
        ),
    ) -> None: ...

    asked = next((word for word in words if not word.startswith("-")), "")
    ask = "toolkeel_studio.cli.terminal.consent"  # before a server is started that a file names
    import_module("toolkeel.mcp.consent").set_prompter(
        lambda request: import_module(ask).ask(request)
    )
    for name, (module, summary) in COMMANDS.items():
        found = (
            _load_command(module, name in GROUPS, asked) if asked in (name, EVERY) else _placeholder
        )
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            rest = {"allow_extra_args": found is not _placeholder and name in ADVISE}
            text = None if name == asked else summary
            app.command(name, help=text, epilog=exit_codes.EPILOG, context_settings=rest)(found)
    app(words, prog_name="toolkeel")


def _load_command(place: str, is_group: bool, asked: str) -> Any:
    """Load a command or a group; for help alone its extra may be missing."""
    module, _, name = place.partition(":")
    try:
        return getattr(import_module(module), "app" if is_group else name or "command")
    except SetupError:
        if asked != EVERY:
            raise
        return _placeholder


def _version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        echo(f"toolkeel {__version__}")
        sys.exit(exit_codes.OK)


def _placeholder() -> None:
    """Represent a command that is not running."""
