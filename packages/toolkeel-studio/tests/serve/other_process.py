"""Another process that serves the same session: ``other_process.py FILE say|hang [LOG]``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from toolkeel import Agent, tool
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Delta, ModelRequest
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call
from toolkeel_studio.serve.channel import Channels


@tool
def look() -> str:
    """Look."""
    with Path(sys.argv[3]).open("a") as log:
        log.write("look\n")
    return "saw it"


class Hanging(Scripted):
    """A model that calls `look`, and never answers after that."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        if len(self.requests) == 1:
            print("looked", flush=True)
            await asyncio.Event().wait()
        async for delta in super().stream(request):
            yield delta


async def main() -> None:
    """Say something in the session, and run it."""
    lines = ["Hello."] if sys.argv[2] == "say" else [call("look")]
    model = Scripted(lines) if sys.argv[2] == "say" else Hanging(lines)
    channels = Channels(Agent(model, [look]), Sessions(sys.argv[1]))
    channel = channels.open("t", "ada")
    accepted = await channel.say("Hi", id="u1")
    await channels.wait()
    if sys.argv[2] == "say":
        print(accepted)


if __name__ == "__main__":
    asyncio.run(main())
