"""A triage agent: it hands the run over to one of two specialists, who answers in its place."""

from toolkeel import Agent, ToolMessage, tool
from toolkeel.models import ModelRequest
from toolkeel.runs import Handoff
from toolkeel.testing import Scripted, call


@tool
def refund(order: str) -> str:
    """Pay an order back."""
    return f"order {order} is paid back"


@tool
def restart(device: str) -> str:
    """Restart a device from afar."""
    return f"{device} is up again"


def choose(request: ModelRequest) -> object:
    """What the triage's model would decide from the descriptions of its handoffs."""
    said = request.messages[-1].text
    return [call("transfer_to_billing" if "money" in said else "transfer_to_support")]


def relay(request: ModelRequest) -> str:
    """Tell the person what the last call gave."""
    last = request.messages[-1]
    return f"Done: {last.text}." if isinstance(last, ToolMessage) else "Nothing was done."


# A real model instead of the scripted ones needs none of the lines: Agent("openai:gpt-5", ...).
billing = Agent(
    Scripted([call("refund", {"order": "A7"}), relay]),
    [refund],
    name="billing",
    instructions="You settle what was paid.",
)
support = Agent(
    Scripted([call("restart", {"device": "router"}), relay]),
    [restart],
    name="support",
    instructions="You get devices to work.",
)
triage = Agent(
    Scripted([choose, choose]),
    name="triage",
    instructions="You find out who can help, and hand over.",
    handoffs=[Handoff(billing, description="Money."), Handoff(support, description="Devices.")],
)

for said in ("I want my money back.", "My router is dead."):
    result = triage.run_sync(said)
    print(f"{result.agent.name}: {result.output}  (from {', '.join(result.state.previous_agents)})")
