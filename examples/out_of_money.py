"""A job that runs out of money halfway: it ends whole, is saved, and goes on with a larger limit."""

import tempfile
from itertools import repeat
from pathlib import Path

from toolkeel import Agent, AssistantMessage, RunState, ToolContext, ToolMessage, Usage, tool
from toolkeel.models import ModelRequest
from toolkeel.runs import Price, RunLimits
from toolkeel.testing import Scripted, call

LETTERS = ["ada", "bob", "cy", "dee"]
PRICES = {"scripted": Price(input=2.0, output=8.0)}  # dollars for a million tokens
FILE = Path(tempfile.mkdtemp()) / "job.json"


@tool
def send(to: str, context: ToolContext) -> str:
    """Send a letter: what nobody wants done twice."""
    print("sent to", to)
    context.update("sent", lambda sent: [*sent, to], [])
    return f"sent to {to}"


def reply(request: ModelRequest) -> AssistantMessage:
    """The next letter by what the transcript says was sent; a real model does it by itself."""
    done = sum(isinstance(message, ToolMessage) for message in request.messages)
    spent = Usage(input_tokens=10_000, output_tokens=500)  # 2.4 cents a request
    if done == len(LETTERS):
        return AssistantMessage("All are sent.", usage=spent)
    next_call = call("send", {"to": LETTERS[done]}, id=f"call_{done}")
    return AssistantMessage(tool_calls=(next_call,), usage=spent)


clerk = Agent(Scripted(repeat(reply)), [send])
result = clerk.run_sync("Send the four letters.", limits=RunLimits(cost=0.06, prices=PRICES))
print(result.reason, "-", result.limit)
FILE.write_text(result.state.to_json(), encoding="utf-8")

# Tomorrow, in another process: the file says what was done and what it cost.
state = RunState.from_json(FILE.read_text(encoding="utf-8"))
result = clerk.run_sync(state, limits=RunLimits(cost=0.20, prices=PRICES))
print(result.reason, "-", result.output, f"{result.state.cost:.3f} dollars in all")
print("sent:", result.state.values["sent"])
