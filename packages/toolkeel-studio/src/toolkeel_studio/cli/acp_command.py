"""``toolkeel acp``: an agent of a file for editors that speak the Agent Client Protocol."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from toolkeel._common.needs_extra import needs_extra
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.cli.exit_codes import UsageProblem


def command(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Where the agent is: a file, or a name in it.")
    ] = "",
    *,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Where the sessions are.")
    ] = None,
    print_config: Annotated[
        str, typer.Option(metavar="EDITOR", help="Print what to put into its settings: zed.")
    ] = "",
) -> None:
    """Serve an agent to an editor, such as Zed (ACP). The editor starts this command."""
    if print_config:
        typer.echo(editor_config(print_config, target or "agent.py"))
        return
    if not target:
        raise UsageProblem("toolkeel acp takes a file with an agent: toolkeel acp agent.py")
    with needs_extra("toolkeel acp", "acp"):
        from toolkeel.mcp.server.stdio import claim_stdout
        from toolkeel_studio.serve.acp.stdio import serve_acp
    claim_stdout()  # before anything of the target runs
    from toolkeel_studio.cli.front_ends import find_agent

    asyncio.run(serve_acp(find_agent(target), Sessions(file)))


def editor_config(editor: str, target: str) -> str:
    """Return the settings with which an editor starts an agent, as JSON.

    Raises:
        UsageProblem: the editor is unknown.
    """
    if editor != "zed":
        raise UsageProblem(f"--print-config takes zed, not {editor!r}")
    path = shutil.which("toolkeel")
    program = [path] if path else [sys.executable, "-P", "-m", "toolkeel"]
    words = [*program[1:], "acp", str(Path(target).resolve())]
    server = {"type": "custom", "command": program[0], "args": words, "env": {}}
    return json.dumps({"agent_servers": {Path(target).stem: server}}, indent=2, ensure_ascii=False)
