"""An agent for the editor that started this process, on stdin and stdout."""

from __future__ import annotations

import os
import sys

from acp import run_agent
from acp.core import DEFAULT_STDIO_BUFFER_LIMIT_BYTES
from acp.stdio import stdio_streams

from toolkeel.agent.agent import Agent
from toolkeel.mcp.server.stdio import claim_stdout
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.serve.acp.agent import AcpAgent
from toolkeel_studio.serve.acp.lines import Lines


async def serve_acp(agent: Agent, sessions: Sessions) -> None:
    """Serve an editor until it closes stdin; then runs end.

    Prints go to stderr: stdout has the protocol alone.

    Args:
        agent: Answers.
        sessions: Where the sessions are.
    """
    served = AcpAgent(agent, sessions)
    printed = sys.stdout
    with os.fdopen(os.dup(claim_stdout()), "w") as wire:
        sys.stdout = wire  # the library writes to the stdout of the moment
        try:
            reader, writer = await stdio_streams(limit=DEFAULT_STDIO_BUFFER_LIMIT_BYTES)
        finally:
            sys.stdout = printed
        try:
            await run_agent(served, Lines(reader, writer), use_unstable_protocol=True)  # type: ignore[arg-type]
        finally:
            await served.close("the editor has closed the connection")
